//! Who is a victim on a node, and what is said when nobody can be.

use plimsoll_cluster::fixtures::{PodFixture, node, pod};
use plimsoll_cluster::{Cluster, suite};

use super::{names, preemption_says, removed};

/// Starts kubelets and the scheduler and lets `preemptor`, of priority 100, find its place, which must be `n1`.
async fn preempt(cluster: &mut Cluster<'_>, preemptor: PodFixture) -> anyhow::Result<()> {
    cluster.start_kubelets();
    cluster.start_scheduler()?;
    cluster.create_pods([preemptor.priority(100)]).await?;
    assert_eq!(cluster.bound("preemptor").await?, "n1");
    Ok(())
}

#[test]
fn a_pod_of_the_preemptors_own_priority_is_never_a_victim() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([100]).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster
            .create_running_pods([pod("equal").priority(100).cpu("4").on("n1")])
            .await?;
        cluster.start_kubelets();
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        cluster
            .pending_because("preemptor", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        let nobody = "0/1 nodes are available: 1 No preemption victims found for incoming pod.";
        preemption_says(cluster, "preemptor", nobody).await?;
        assert_eq!(removed(cluster), names([]));
        Ok(())
    })
}

#[test]
fn a_pod_that_never_preempts_says_so_and_evicts_nobody() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1]).await?;
        cluster.create_priority_class("modest", 100, false).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster
            .create_running_pods([pod("low").priority(1).cpu("4").on("n1")])
            .await?;
        cluster.start_kubelets();
        cluster.start_scheduler()?;
        cluster
            .create_pods([pod("high").priority_class("modest").cpu("4")])
            .await?;
        cluster
            .pending_because("high", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        preemption_says(cluster, "high", "not eligible due to preemptionPolicy=Never.").await?;
        let event = cluster.event("high", "FailedScheduling").await?;
        let note = event.note.unwrap_or_default();
        assert!(
            note.ends_with("preemption: not eligible due to preemptionPolicy=Never."),
            "{note}"
        );
        assert!(cluster.events("low").await?.is_empty());
        assert_eq!(removed(cluster), names([]));
        Ok(())
    })
}

#[test]
fn the_message_counts_what_preemption_found_on_each_node() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster
            .create_nodes([
                node("equal"),
                node("mixed"),
                node("small").cpu("1"),
                node("tainted").taint("dedicated", "batch", "NoSchedule"),
            ])
            .await?;
        cluster
            .create_running_pods([
                pod("a").priority(100).cpu("4").on("equal"),
                // Without the low one there is still not enough.
                pod("b").priority(100).cpu("3").on("mixed"),
                pod("c").priority(1).cpu("1").on("mixed"),
                pod("d").priority(1).cpu("1").on("small"),
                pod("e").priority(1).cpu("4").on("tainted"),
            ])
            .await?;
        cluster.start_kubelets();
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("2")]).await?;
        let why = "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu.";
        cluster.pending_because("preemptor", why).await?;
        let found = "0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, \
                     2 Preemption is not helpful for scheduling.";
        preemption_says(cluster, "preemptor", found).await?;
        assert_eq!(removed(cluster), names([]));
        Ok(())
    })
}

#[test]
fn only_as_many_go_as_must_and_the_least_important_first() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 3, 100]).await?;
        cluster.create_nodes([node("n1").cpu("3")]).await?;
        let one = |name: &str, priority| pod(name).priority(priority).cpu("1").on("n1");
        cluster
            .create_running_pods([one("three", 3), one("one", 1), one("two", 2)])
            .await?;
        preempt(cluster, pod("preemptor").cpu("2")).await?;
        assert_eq!(removed(cluster), names(["one", "two"]));
        Ok(())
    })
}

#[test]
fn a_less_important_pod_stays_when_its_going_would_not_help() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 3, 100]).await?;
        cluster.create_nodes([node("n1")]).await?;
        let low = |name: &str, priority, cpu| pod(name).priority(priority).cpu(cpu).on("n1");
        cluster
            .create_running_pods([low("three", 3, "1"), low("two", 2, "2"), low("one", 1, "1")])
            .await?;
        // With "two" gone there is room for this and for "one".
        preempt(cluster, pod("preemptor").cpu("2")).await?;
        assert_eq!(removed(cluster), names(["two"]));
        Ok(())
    })
}

#[test]
fn among_equals_the_one_that_runs_longest_stays() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1").cpu("3")]).await?;
        let one = |name: &str, hour: u8| {
            let start = format!("2026-01-01T{hour:02}:00:00Z");
            pod(name).priority(1).cpu("1").started(&start).on("n1")
        };
        cluster
            .create_running_pods([one("noon", 12), one("night", 1), one("evening", 18)])
            .await?;
        preempt(cluster, pod("preemptor").cpu("2")).await?;
        assert_eq!(removed(cluster), names(["noon", "evening"]));
        Ok(())
    })
}

#[test]
fn pods_are_victims_for_a_port_or_for_their_company_too() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster
            .create_running_pods([
                pod("port").priority(1).host_port(8080).on("n1"),
                pod("company").priority(1).label("app", "noisy").on("n1"),
                pod("bystander").priority(1).on("n1"),
            ])
            .await?;
        preempt(cluster, pod("preemptor").host_port(8080).away_from("app", "noisy")).await?;
        assert_eq!(removed(cluster), names(["port", "company"]));
        Ok(())
    })
}
