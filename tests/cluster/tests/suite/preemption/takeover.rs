//! The leader is killed in the middle of a preemption: at each write it makes, and between them. The next leader knows only
//! what the API server holds; whatever was done already, one victim goes and the preemptor gets its place.

use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, Write, suite};

use super::{asked_to_go, names, nominated, removed};
use crate::failover::{binder, until_led};

/// The `preemptor` needs a whole node; making room on `n1`, where `low` runs, is best, but it could be made on `n2` too.
/// Returns the place of the leader of two replicas, which has not seen the preemptor yet.
async fn stage(cluster: &mut Cluster<'_>) -> anyhow::Result<usize> {
    cluster.create_priorities([1, 2, 100]).await?;
    cluster.create_nodes([node("n1"), node("n2")]).await?;
    cluster
        .create_running_pods([
            pod("low").priority(1).cpu("4").on("n1"),
            pod("other").priority(2).cpu("4").on("n2"),
        ])
        .await?;
    two_replicas(cluster).await
}

async fn two_replicas(cluster: &mut Cluster<'_>) -> anyhow::Result<usize> {
    for _ in 0..2 {
        cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
    }
    until_led(cluster, 1).await?;
    cluster.create_pods([pod("first")]).await?;
    cluster.bound("first").await?;
    binder(cluster, "first").await
}

/// Kills the leader when it makes this write, which is not applied, and lets the next one finish.
fn killed_at(write: Write, name: &str) -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let leader = stage(cluster).await?;
        cluster.start_kubelets();
        let gate = cluster.write_gate().await?;
        gate.close(write, name);
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        gate.arrival(write, name).await?;
        cluster.replicas()[leader].process.kill()?;
        gate.open(write, name);
        finished(cluster, leader).await
    })
}

/// Waits until the other replica leads and the preemptor is bound, and looks at what became of the victims.
async fn finished(cluster: &mut Cluster<'_>, killed: usize) -> anyhow::Result<()> {
    until_led(cluster, 2).await?;
    assert_eq!(cluster.bound("preemptor").await?, "n1");
    assert_ne!(binder(cluster, "preemptor").await?, killed);
    assert_eq!(removed(cluster), names(["low"]));
    Ok(())
}

#[test]
fn the_leader_is_killed_when_it_marks_the_victim() -> anyhow::Result<()> {
    killed_at(Write::Status, "low")
}

#[test]
fn the_leader_is_killed_when_it_deletes_the_victim() -> anyhow::Result<()> {
    killed_at(Write::Delete, "low")
}

#[test]
fn the_leader_is_killed_when_it_writes_the_nomination() -> anyhow::Result<()> {
    killed_at(Write::Status, "preemptor")
}

#[test]
fn the_leader_is_killed_when_it_binds_the_preemptor() -> anyhow::Result<()> {
    killed_at(Write::Bind, "preemptor")
}

#[test]
fn the_leader_is_killed_while_the_victim_is_terminating() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let leader = stage(cluster).await?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        asked_to_go(cluster, "low").await?;
        cluster.replicas()[leader].process.kill()?;
        until_led(cluster, 2).await?;
        // The next leader is shown more than it can place, and its word on that shows that it has seen the preemptor.
        cluster.create_pods([pod("late").priority(1).cpu("4")]).await?;
        cluster
            .pending_because("late", "0/2 nodes are available: 2 Insufficient cpu.")
            .await?;
        assert_eq!(removed(cluster), names(["low"]));
        cluster.start_kubelets();
        finished(cluster, leader).await
    })
}

#[test]
fn the_leader_is_killed_between_the_victims_end_and_the_next_attempt() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let leader = stage(cluster).await?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        asked_to_go(cluster, "low").await?;
        cluster.replicas()[leader].process.suspend()?;
        cluster.delete_pod("low").await?;
        cluster.replicas()[leader].process.kill()?;
        finished(cluster, leader).await
    })
}

#[test]
fn the_leader_is_killed_with_one_of_two_victims_deleted() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 100]).await?;
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        let low = |name: &str| pod(name).priority(1).cpu("2").on("n1");
        let other = pod("other").priority(2).cpu("4").on("n2");
        cluster.create_running_pods([low("a"), low("b"), other]).await?;
        let leader = two_replicas(cluster).await?;
        let gate = cluster.write_gate().await?;
        let deletions = [(Write::Delete, "a"), (Write::Delete, "b")];
        for (write, name) in deletions {
            gate.close(write, name);
        }
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        // Whichever comes first passes, and the other one does not.
        let first = deletions[gate.first_arrival(&deletions).await?];
        let second = deletions[usize::from(first == deletions[0])];
        gate.open(first.0, first.1);
        asked_to_go(cluster, first.1).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        gate.arrival(second.0, second.1).await?;
        cluster.replicas()[leader].process.kill()?;
        gate.open(second.0, second.1);
        cluster.start_kubelets();
        until_led(cluster, 2).await?;
        assert_eq!(cluster.bound("preemptor").await?, "n1");
        assert_eq!(removed(cluster), names(["a", "b"]));
        Ok(())
    })
}
