//! On which of several nodes room is made: the criteria, each where those before it leave a tie.

use plimsoll_cluster::fixtures::{PodFixture, node, pod};
use plimsoll_cluster::{Cluster, suite};
use serde_json::json;

use super::{names, removed};

/// The nodes, each with its pods; `n1` comes first wherever names count.
async fn stage(cluster: &mut Cluster<'_>, priorities: &[i32], pods: Vec<PodFixture>) -> anyhow::Result<()> {
    cluster
        .create_priorities(priorities.iter().copied().chain([100]))
        .await?;
    cluster.create_nodes([node("n1").cpu("6"), node("n2").cpu("6")]).await?;
    cluster.create_running_pods(pods).await
}

/// Lets a pod that needs a whole node find its place, and tells which.
async fn choice(cluster: &mut Cluster<'_>) -> anyhow::Result<String> {
    cluster.start_kubelets();
    cluster.start_scheduler()?;
    cluster.create_pods([pod("preemptor").priority(100).cpu("6")]).await?;
    cluster.bound("preemptor").await
}

fn on(node: &str, name: &str, priority: i32, cpu: &str) -> PodFixture {
    pod(name).priority(priority).cpu(cpu).on(node)
}

#[test]
fn a_node_without_a_violated_budget_wins_over_lower_victims() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let guarded = on("n1", "guarded", 1, "6").label("app", "guarded");
        stage(cluster, &[1, 50], vec![guarded, on("n2", "higher", 50, "6")]).await?;
        cluster.start_disruption_controller().await?;
        cluster
            .create_budget("guard", ("app", "guarded"), json!({ "minAvailable": 1 }), 0)
            .await?;
        assert_eq!(choice(cluster).await?, "n2");
        assert_eq!(removed(cluster), names(["higher"]));
        Ok(())
    })
}

#[test]
fn the_lowest_top_priority_wins_whatever_the_others_are() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let pods = vec![
            on("n1", "ten", 10, "3"),
            on("n1", "one", 1, "3"),
            on("n2", "a", 5, "2"),
            on("n2", "b", 5, "2"),
            on("n2", "c", 5, "2"),
        ];
        stage(cluster, &[1, 5, 10], pods).await?;
        assert_eq!(choice(cluster).await?, "n2");
        assert_eq!(removed(cluster), names(["a", "b", "c"]));
        Ok(())
    })
}

#[test]
fn with_equal_top_priorities_the_smaller_sum_wins() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let pods = vec![
            on("n1", "a", 5, "3"),
            on("n1", "b", 3, "3"),
            on("n2", "c", 5, "3"),
            on("n2", "d", 2, "3"),
        ];
        stage(cluster, &[2, 3, 5], pods).await?;
        assert_eq!(choice(cluster).await?, "n2");
        assert_eq!(removed(cluster), names(["c", "d"]));
        Ok(())
    })
}

#[test]
fn the_sum_favours_one_victim_over_two_though_the_second_has_a_negative_priority() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let pods = vec![
            on("n1", "a", 5, "3"),
            on("n1", "b", -1_000_000, "3"),
            on("n2", "c", 5, "6"),
        ];
        stage(cluster, &[5, -1_000_000], pods).await?;
        assert_eq!(choice(cluster).await?, "n2");
        assert_eq!(removed(cluster), names(["c"]));
        Ok(())
    })
}

#[test]
fn with_equal_sums_fewer_victims_win() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // The lowest priority there is adds nothing to the sum.
        let pods = vec![
            on("n1", "a", 5, "3"),
            on("n1", "b", i32::MIN, "3"),
            on("n2", "c", 5, "6"),
        ];
        stage(cluster, &[5, i32::MIN], pods).await?;
        assert_eq!(choice(cluster).await?, "n2");
        assert_eq!(removed(cluster), names(["c"]));
        Ok(())
    })
}

#[test]
fn with_all_else_equal_the_node_whose_most_important_victims_began_last_wins() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let at = |hour: u8| format!("2026-01-01T{hour:02}:00:00Z");
        let pods = vec![
            // What counts is the earliest start among the most important victims of a node: 2 o'clock here, 3 there.
            on("n1", "a", 5, "2").started(&at(2)),
            on("n1", "b", 5, "2").started(&at(20)),
            on("n1", "c", 1, "2").started(&at(20)),
            on("n2", "d", 5, "2").started(&at(3)),
            on("n2", "e", 5, "2").started(&at(4)),
            on("n2", "f", 1, "2").started(&at(1)),
        ];
        stage(cluster, &[1, 5], pods).await?;
        assert_eq!(choice(cluster).await?, "n2");
        assert_eq!(removed(cluster), names(["d", "e", "f"]));
        Ok(())
    })
}
