//! Who leads, by whose word, and what everybody is told of it: our replicas among themselves and with kube-scheduler on one
//! lease.

use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Record, Scheduler, State, suite};
use serde_json::json;

use crate::failover::{TAKE_OVER, binder, until_led};

mod coordinated;

/// The lease duration of [`Election::Quick`], in seconds.
const LEASE: f64 = 6.0;
/// The longest wait between two looks of a standby: its retry period with all of the jitter.
const LOOK: f64 = 2.2;

/// Every record of the lease so far.
fn records(cluster: &Cluster<'_>) -> Vec<LeaseSpec> {
    let of_lease = |record: &Record| match record {
        Record::Lease(lease) => lease.spec.clone(),
        _ => None,
    };
    let read = |records: &[(i64, Record)]| records.iter().filter_map(|(_, record)| of_lease(record)).collect();
    cluster.history().read_records(read)
}

/// What the last change of hands was like: how long after the last word of the one before it the new holder took the lease,
/// in seconds, by the one clock of this machine; and by how many the transitions rose.
fn last_change(cluster: &Cluster<'_>) -> anyhow::Result<(f64, i32)> {
    let records = records(cluster);
    let taken = records
        .windows(2)
        .rfind(|pair| {
            let [before, after] = pair else { return false };
            before.holder_identity != after.holder_identity && after.holder_identity.as_deref() != Some("")
        })
        .context("the lease has never changed hands")?;
    let (before, after) = (&taken[0], &taken[1]);
    let said = before.renew_time.as_ref().context("never renewed")?;
    let acquired = after.acquire_time.as_ref().context("never acquired")?;
    let transitions = |spec: &LeaseSpec| spec.lease_transitions.unwrap_or(0);
    Ok((
        acquired.0.duration_since(said.0).as_secs_f64(),
        transitions(after) - transitions(before),
    ))
}

fn without_kube_scheduler(cluster: &mut Cluster<'_>) -> bool {
    let missing = cluster.control_plane().programs().path("kube-scheduler").is_none();
    if missing {
        suite::say("*** no kube-scheduler on this machine: nothing shares the lease with it ***");
    }
    missing || Scheduler::under_test() != Scheduler::Plimsoll
}

/// Creates so many pods and waits until all of the test's are bound.
async fn place(cluster: &Cluster<'_>, name: &str, count: usize) -> anyhow::Result<()> {
    let before = cluster.history().read(State::bound);
    cluster
        .create_pods((0..count).map(|i| pod(&format!("{name}{i}")).cpu("100m")))
        .await?;
    cluster.bound_count(before + count, TAKE_OVER).await
}

/// Fails unless that replica alone bound the pods of this name.
async fn bound_by(cluster: &mut Cluster<'_>, name: &str, count: usize, replica: usize) -> anyhow::Result<()> {
    for number in 0..count {
        let pod = format!("{name}{number}");
        assert_eq!(binder(cluster, &pod).await?, replica, "who bound {pod}");
    }
    Ok(())
}

/// Waits until the replica counts itself among the standbys, so that the first look at the lease is behind it.
async fn stands_by(cluster: &mut Cluster<'_>, replica: usize) -> anyhow::Result<()> {
    for _ in 0..200 {
        if let Ok(metrics) = cluster.replicas()[replica].metrics().await
            && metrics.has("leader_election_master_status")
        {
            assert_eq!(metrics.sum("leader_election_master_status", &[]), 0);
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("replica {replica} does not stand by")
}

#[test]
fn kube_scheduler_and_plimsoll_take_the_lease_from_each_other_when_the_leader_is_killed() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if without_kube_scheduler(cluster) {
            return Ok(());
        }
        cluster
            .create_nodes([node("n1").cpu("16"), node("n2").cpu("16")])
            .await?;
        for (first, second) in [
            (Scheduler::KubeScheduler, Scheduler::Plimsoll),
            (Scheduler::Plimsoll, Scheduler::KubeScheduler),
        ] {
            let led = |state: &State| state.holders.iter().filter(|holder| !holder.is_empty()).count();
            let holders = cluster.history().read(led);
            let leader = cluster.start(first, Election::Quick, &[])?;
            until_led(cluster, holders + 1).await?;
            let standby = cluster.start(second, Election::Quick, &[])?;
            stands_by(cluster, standby).await?;
            let name = format!("with-{leader}-");
            place(cluster, &name, 10).await?;
            bound_by(cluster, &name, 10, leader).await?;

            cluster.replicas()[leader].process.kill()?;
            let name = format!("after-{leader}-");
            place(cluster, &name, 10).await?;
            bound_by(cluster, &name, 10, standby).await?;
            let (silence, transitions) = last_change(cluster)?;
            suite::say(&format!(
                "    {} killed; {} took the lease {silence:.1} s after its last renewal",
                first.name(),
                second.name()
            ));
            ensure!(
                silence >= LEASE,
                "taken {silence} s after the last renewal of a lease of {LEASE} s"
            );
            ensure!(silence <= LEASE + 2.0 * LOOK + 3.0, "taken only after {silence} s");
            assert_eq!(transitions, 1);
            cluster.replicas()[standby].terminate().await?;
        }
        Ok(())
    })
}

#[test]
fn kube_scheduler_and_plimsoll_take_the_lease_from_each_other_at_once_when_it_is_released() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if without_kube_scheduler(cluster) {
            return Ok(());
        }
        cluster
            .create_nodes([node("n1").cpu("16"), node("n2").cpu("16")])
            .await?;
        let mut leader = cluster.start(Scheduler::Plimsoll, Election::Quick, &[])?;
        until_led(cluster, 1).await?;
        for next in [Scheduler::KubeScheduler, Scheduler::Plimsoll] {
            let standby = cluster.start(next, Election::Quick, &[])?;
            stands_by(cluster, standby).await?;
            let name = format!("with-{leader}-");
            place(cluster, &name, 5).await?;
            bound_by(cluster, &name, 5, leader).await?;

            assert_eq!(cluster.replicas()[leader].terminate().await?, Some(0));
            let name = format!("after-{leader}-");
            place(cluster, &name, 5).await?;
            bound_by(cluster, &name, 5, standby).await?;
            let (silence, transitions) = last_change(cluster)?;
            suite::say(&format!(
                "    {} took the released lease after {silence:.1} s",
                next.name()
            ));
            ensure!(
                silence <= LOOK + 2.0,
                "a released lease was taken only after {silence} s"
            );
            assert_eq!(transitions, 1);
            leader = standby;
        }
        Ok(())
    })
}

/// The events about the lease with this reason and a message that ends so.
async fn told(cluster: &Cluster<'_>, ending: &str) -> anyhow::Result<Vec<Event>> {
    let events: Api<Event> = Api::namespaced(cluster.client().clone(), "kube-system");
    let about_leading = ListParams::default().fields("reason=LeaderElection,involvedObject.kind=Lease");
    let mut told = events.list(&about_leading).await?.items;
    told.retain(|event| {
        event
            .message
            .as_deref()
            .is_some_and(|message| message.ends_with(ending))
    });
    Ok(told)
}

async fn until_told(cluster: &Cluster<'_>, holder: &str, what: &str) -> anyhow::Result<Event> {
    let message = format!("{holder} {what}");
    for _ in 0..200 {
        if let Some(event) = told(cluster, &message).await?.into_iter().next() {
            return Ok(event);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("no event says {message:?}")
}

fn holder(cluster: &Cluster<'_>) -> anyhow::Result<String> {
    let holder = cluster.history().read(|state| state.holder().map(str::to_owned));
    holder.context("nobody holds the lease")
}

/// What of an event does not depend on the time or the replica.
fn shape(event: &Event) -> serde_json::Value {
    let of_kind = |value: &Option<String>| value.as_deref().map(|text| !text.is_empty());
    let about = &event.involved_object;
    json!({
        "type": event.type_, "reason": event.reason, "action": event.action, "count": event.count,
        "source": event.source, "component": event.reporting_component, "instance": event.reporting_instance,
        "about": [about.api_version, about.kind, about.namespace, about.name, about.field_path],
        "uid": of_kind(&about.uid), "version": of_kind(&about.resource_version),
        "times": [event.first_timestamp.is_some(), event.last_timestamp.is_some(), event.event_time.is_some()],
    })
}

#[test]
fn who_leads_and_who_has_stopped_is_told_on_the_lease_in_the_form_of_kube_scheduler() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
        until_led(cluster, 1).await?;
        let ours = holder(cluster)?;
        let became = until_told(cluster, &ours, "became leader").await?;
        // The process waits for the last word to be written before it ends.
        cluster.replicas()[0].terminate().await?;
        if Scheduler::under_test() == Scheduler::Plimsoll {
            assert_eq!(told(cluster, &format!("{ours} stopped leading")).await?.len(), 1);
        }
        if without_kube_scheduler(cluster) {
            return Ok(());
        }
        cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;
        let taken = |state: &State| state.holder().filter(|holder| *holder != ours).map(str::to_owned);
        let theirs = cluster.history().until("the other leads", TAKE_OVER, taken).await?;
        let original = until_told(cluster, &theirs, "became leader").await?;
        assert_eq!(shape(&became), shape(&original));
        Ok(())
    })
}

#[test]
fn a_leader_that_lost_its_lease_tells_so_lives_on_and_counts_itself_out() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // kube-scheduler ends.
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        cluster.start(Scheduler::Plimsoll, Election::Quick, &[])?;
        until_led(cluster, 1).await?;
        let first = holder(cluster)?;
        until_told(cluster, &first, "became leader").await?;
        let status = |metrics: &plimsoll_cluster::Metrics| {
            metrics.sum("leader_election_master_status", &[("name", "kube-scheduler")])
        };
        assert_eq!(status(&cluster.replicas()[0].metrics().await?), 1);
        cluster.start(Scheduler::Plimsoll, Election::Quick, &[])?;
        stands_by(cluster, 1).await?;
        cluster.replicas()[0].process.suspend()?;
        until_led(cluster, 2).await?;
        cluster.replicas()[0].process.resume()?;
        // Told although the token of the term is dead.
        until_told(cluster, &first, "stopped leading").await?;
        assert_eq!(status(&cluster.replicas()[0].metrics().await?), 0);
        assert_eq!(status(&cluster.replicas()[1].metrics().await?), 1);
        assert_eq!(cluster.replicas()[0].reads("/readyz").await?, "ok");
        Ok(())
    })
}

#[test]
fn renewals_that_have_to_read_first_are_counted() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
        until_led(cluster, 1).await?;
        let slow = async |cluster: &mut Cluster<'_>| -> anyhow::Result<i64> {
            let metrics = cluster.replicas()[0].metrics().await?;
            Ok(metrics.sum("leader_election_slowpath_total", &[("name", "kube-scheduler")]))
        };
        let before = slow(cluster).await?;
        // Somebody labels the lease: the version that its holder knows is stale.
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "kube-system");
        let label = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
        leases.patch("kube-scheduler", &PatchParams::default(), &label).await?;
        for _ in 0..100 {
            if slow(cluster).await? > before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(slow(cluster).await?, before + 1);
        assert_eq!(
            cluster.replicas()[0]
                .metrics()
                .await?
                .sum("leader_election_master_status", &[]),
            1
        );
        let lease = leases.get("kube-scheduler").await?;
        let labels = lease.metadata.labels.unwrap_or_default();
        assert_eq!(labels.get("seen").map(String::as_str), Some("yes"), "the label is lost");
        Ok(())
    })
}

#[test]
fn without_leader_election_a_replica_schedules_touches_no_lease_and_ends_with_code_1() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1")]).await?;
        cluster.start(Scheduler::under_test(), Election::Off, &[])?;
        cluster.create_pods([pod("a")]).await?;
        cluster.bound("a").await?;
        let replica = &cluster.replicas()[0];
        ensure!(!replica.metrics().await?.has("leader_election_master_status"));
        assert_eq!(
            replica.reads("/healthz?verbose").await?,
            "[+]ping ok\nhealthz check passed\n"
        );
        ensure!(!replica.reads("/readyz?verbose").await?.contains("leaderElection"));
        assert_eq!(cluster.replicas()[0].terminate().await?, Some(1));
        assert_eq!(records(cluster).len(), 0, "a lease was written");
        Ok(())
    })
}

#[test]
fn a_lease_of_another_name_in_another_namespace_is_the_one_that_is_used() -> anyhow::Result<()> {
    const NAMED: Election = Election::Flags(&[
        "--leader-elect-lease-duration=6s",
        "--leader-elect-renew-deadline=4s",
        "--leader-elect-retry-period=1s",
        "--leader-elect-resource-name=second",
        "--leader-elect-resource-namespace=default",
    ]);
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1")]).await?;
        // What docs/running.md says it needs.
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "default");
        allow_lease(cluster, "default").await?;
        let first = cluster.start(Scheduler::under_test(), NAMED, &[])?;
        cluster.create_pods([pod("a")]).await?;
        cluster.bound("a").await?;
        let holder = async || -> anyhow::Result<String> {
            let spec = leases.get("second").await?.spec;
            Ok(spec.and_then(|spec| spec.holder_identity).unwrap_or_default())
        };
        let leader = holder().await?;
        ensure!(!leader.is_empty(), "nobody holds it");
        let second = cluster.start(Scheduler::under_test(), NAMED, &[])?;
        stands_by(cluster, second).await?;
        assert_eq!(cluster.replicas()[first].terminate().await?, Some(0));
        cluster.create_pods([pod("b")]).await?;
        cluster.bound("b").await?;
        assert_eq!(binder(cluster, "b").await?, second);
        ensure!(holder().await? != leader, "the first still holds it");
        assert_eq!(records(cluster).len(), 0, "the lease of the usual name was written");
        cluster.replicas()[second].terminate().await?;
        leases.delete("second", &kube::api::DeleteParams::default()).await?;
        Ok(())
    })
}

async fn allow_lease(cluster: &Cluster<'_>, namespace: &str) -> anyhow::Result<()> {
    let apply = PatchParams::apply("plimsoll-test").force();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "lease" },
        "rules": [{ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"] }],
    });
    let roles: Api<Role> = Api::namespaced(cluster.client().clone(), namespace);
    roles.patch("lease", &apply, &Patch::Apply(role)).await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "lease" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lease" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-scheduler" }],
    });
    let bindings: Api<RoleBinding> = Api::namespaced(cluster.client().clone(), namespace);
    bindings.patch("lease", &apply, &Patch::Apply(binding)).await?;
    Ok(())
}
