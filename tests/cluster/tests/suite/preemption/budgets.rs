//! Disruption budgets, as the original minds them: where it can, and not where it cannot.

use plimsoll_cluster::fixtures::{PodFixture, node, pod};
use plimsoll_cluster::{Cluster, lowest_healthy, suite};
use serde_json::json;

use super::{names, removed};

const APP: (&str, &str) = ("app", "guarded");

fn guarded(name: &str, node: &str) -> PodFixture {
    pod(name).priority(1).cpu("2").label(APP.0, APP.1).on(node)
}

/// Starts kubelets and the scheduler and lets a pod of two CPUs and priority 100 find its place.
async fn preempt(cluster: &mut Cluster<'_>) -> anyhow::Result<String> {
    cluster.start_kubelets();
    cluster.start_scheduler()?;
    cluster.create_pods([pod("preemptor").priority(100).cpu("2")]).await?;
    cluster.bound("preemptor").await
}

#[test]
fn a_pod_whose_budget_is_used_up_is_spared_for_a_more_important_one() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 100]).await?;
        cluster.create_nodes([node("n1")]).await?;
        let other = pod("other").priority(2).cpu("2").on("n1");
        cluster.create_running_pods([guarded("spared", "n1"), other]).await?;
        cluster.start_disruption_controller().await?;
        cluster
            .create_budget("guard", APP, json!({ "minAvailable": 1 }), 0)
            .await?;
        assert_eq!(preempt(cluster).await?, "n1");
        assert_eq!(removed(cluster), names(["other"]));
        Ok(())
    })
}

#[test]
fn a_budget_that_allows_a_disruption_spares_nobody() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 100]).await?;
        cluster.create_nodes([node("n1"), node("n2").cpu("2")]).await?;
        let other = pod("other").priority(2).cpu("2").on("n1");
        // The second of the set is where the preemptor cannot go.
        let elsewhere = guarded("elsewhere", "n2").priority(100);
        cluster
            .create_running_pods([guarded("guarded", "n1"), elsewhere, other])
            .await?;
        cluster.start_disruption_controller().await?;
        cluster
            .create_budget("guard", APP, json!({ "minAvailable": 1 }), 1)
            .await?;
        assert_eq!(preempt(cluster).await?, "n1");
        assert_eq!(removed(cluster), names(["guarded"]));
        cluster.budget_allows("guard", 0).await
    })
}

#[test]
fn a_budget_of_a_replica_set_counts_the_replicas_that_are_wanted() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 100]).await?;
        cluster.create_nodes([node("n1").cpu("6")]).await?;
        // Three are wanted, one may be away, and one is.
        let set = cluster.create_replica_set("web", APP, 3).await?;
        let member = |name: &str| guarded(name, "n1").controlled_by("ReplicaSet", "web", &set);
        let other = pod("other").priority(2).cpu("2").on("n1");
        cluster
            .create_running_pods([member("web-1"), member("web-2"), other])
            .await?;
        cluster.start_disruption_controller().await?;
        cluster
            .create_budget("guard", APP, json!({ "maxUnavailable": 1 }), 0)
            .await?;
        assert_eq!(preempt(cluster).await?, "n1");
        assert_eq!(removed(cluster), names(["other"]));
        Ok(())
    })
}

#[test]
fn under_the_soft_policy_a_budget_is_broken_where_nothing_else_makes_room() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1").cpu("2")]).await?;
        cluster.create_running_pods([guarded("last", "n1")]).await?;
        cluster.start_disruption_controller().await?;
        cluster
            .create_budget("guard", APP, json!({ "minAvailable": 1 }), 0)
            .await?;
        let start = cluster.control_plane().etcd().revision().await?;
        assert_eq!(preempt(cluster).await?, "n1");
        assert_eq!(removed(cluster), names(["last"]));
        let lowest = cluster
            .history()
            .read_records(|records| lowest_healthy(records, start, APP));
        assert_eq!(lowest, 0);
        Ok(())
    })
}
