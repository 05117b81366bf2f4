//! Several replicas, one lease.

use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, State, suite};

/// Long enough for a lease of six seconds to run out and be taken, twice.
pub(crate) const TAKE_OVER: Duration = Duration::from_secs(40);

/// Waits until the lease has been taken that many times and is held.
pub(crate) async fn until_led(cluster: &Cluster<'_>, holders: usize) -> anyhow::Result<()> {
    let held = |state: &State| {
        let led = state.holders.iter().filter(|holder| !holder.is_empty()).count();
        (led >= holders && state.holder().is_some()).then_some(())
    };
    cluster
        .history()
        .until(&format!("leader number {holders}"), TAKE_OVER, held)
        .await
}

/// The place of the replica that bound the pod called `name`.
pub(crate) async fn binder(cluster: &mut Cluster<'_>, name: &str) -> anyhow::Result<usize> {
    let group = cluster.bind_of(name).await?.group;
    let at = cluster
        .replicas()
        .iter()
        .position(|replica| replica.user.group == group);
    at.context("an unknown replica bound the pod")
}

#[test]
fn when_the_leader_is_killed_with_500_pods_pending_a_standby_places_the_rest() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // Room for exactly 501 pods: one claim lost or counted twice shows.
        cluster
            .create_nodes((0..10).map(|i| node(&format!("n{i}")).cpu("5").pods(110)))
            .await?;
        cluster.create_nodes([node("last").cpu("100m")]).await?;
        for _ in 0..3 {
            cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
        }
        until_led(cluster, 1).await?;
        cluster.create_pods([pod("first").cpu("100m")]).await?;
        cluster.bound("first").await?;
        let old = binder(cluster, "first").await?;

        cluster.replicas()[old].process.suspend()?;
        cluster
            .create_pods((0..500).map(|i| pod(&format!("p{i}")).cpu("100m")))
            .await?;
        cluster.replicas()[old].process.resume()?;
        let some = |state: &State| (state.bound() > 50).then_some(());
        cluster
            .history()
            .until("the leader is at it", Duration::from_secs(20), some)
            .await?;
        cluster.replicas()[old].process.kill()?;
        let left = 501 - cluster.history().read(State::bound);

        let killed = tokio::time::Instant::now();
        cluster.bound_count(501, TAKE_OVER).await?;
        suite::say(&format!(
            "    leader killed with {left} pods pending; all placed {:.1?} later",
            killed.elapsed()
        ));
        cluster.create_pods([pod("one-too-many").cpu("100m")]).await?;
        cluster
            .pending_because("one-too-many", "0/11 nodes are available: 11 Insufficient cpu.")
            .await
    })
}

#[test]
fn a_standby_takes_over_at_once_when_the_leader_is_asked_to_go() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        for _ in 0..2 {
            cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
        }
        until_led(cluster, 1).await?;
        cluster.create_pods([pod("a").cpu("1")]).await?;
        cluster.bound("a").await?;
        let old = binder(cluster, "a").await?;
        let code = cluster.replicas()[old].terminate().await?;
        assert_eq!(code, Some(0), "a leader that is asked to go ends well");
        cluster.create_pods([pod("b").cpu("1")]).await?;
        cluster.bound("b").await?;
        assert_ne!(binder(cluster, "b").await?, old);
        Ok(())
    })
}

#[test]
fn a_leader_that_stood_still_past_its_lease_does_not_bind_any_more() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // kube-scheduler breaks this promise: it notices the loss only after it has sent more Bindings.
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        cluster
            .create_nodes((0..4).map(|i| node(&format!("n{i}")).cpu("5")))
            .await?;
        for _ in 0..2 {
            cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
        }
        until_led(cluster, 1).await?;
        cluster.create_pods([pod("first").cpu("1")]).await?;
        cluster.bound("first").await?;
        let old = binder(cluster, "first").await?;
        cluster.replicas()[old].process.suspend()?;
        until_led(cluster, 2).await?;
        cluster
            .create_pods((0..10).map(|i| pod(&format!("during{i}")).cpu("1")))
            .await?;
        cluster.bound_count(11, TAKE_OVER).await?;
        let before = cluster.binds()?.len();
        cluster.replicas()[old].process.resume()?;
        cluster
            .create_pods((0..9).map(|i| pod(&format!("after{i}")).cpu("1")))
            .await?;
        cluster.bound_count(20, TAKE_OVER).await?;
        let stale = cluster.replicas()[old].user.group.clone();
        let binds = cluster.binds()?.split_off(before);
        ensure!(
            binds.iter().all(|bind| bind.group != stale),
            "it bound although another one leads: {binds:?}"
        );
        Ok(())
    })
}

#[test]
fn the_lease_is_handed_from_kube_scheduler_to_plimsoll_and_back() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let other = Scheduler::KubeScheduler;
        if cluster.control_plane().programs().path(other.name()).is_none() {
            suite::say("*** no kube-scheduler on this machine: the lease is not handed over ***");
            return Ok(());
        }
        cluster
            .create_nodes((0..10).map(|i| node(&format!("n{i}")).cpu("10")))
            .await?;
        let first = cluster.start(other, Election::Quick, &[])?;
        until_led(cluster, 1).await?;
        cluster
            .create_pods((0..20).map(|i| pod(&format!("a{i}")).cpu("1")))
            .await?;
        cluster.bound_count(20, TAKE_OVER).await?;

        let second = cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
        cluster
            .create_pods((0..40).map(|i| pod(&format!("b{i}")).cpu("1")))
            .await?;
        cluster.replicas()[first].terminate().await?;
        cluster.bound_count(60, TAKE_OVER).await?;
        cluster
            .create_pods((0..10).map(|i| pod(&format!("c{i}")).cpu("1")))
            .await?;
        cluster.bound_count(70, TAKE_OVER).await?;
        assert_eq!(binder(cluster, "c9").await?, second);

        let third = cluster.start(other, Election::Quick, &[])?;
        cluster
            .create_pods((0..20).map(|i| pod(&format!("d{i}")).cpu("1")))
            .await?;
        cluster.replicas()[second].terminate().await?;
        cluster.bound_count(90, TAKE_OVER).await?;
        cluster
            .create_pods((0..10).map(|i| pod(&format!("e{i}")).cpu("1")))
            .await?;
        cluster.bound_count(100, TAKE_OVER).await?;
        assert_eq!(binder(cluster, "e9").await?, third);
        Ok(())
    })
}
