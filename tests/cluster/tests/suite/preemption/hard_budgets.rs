//! The policy that kube-scheduler does not have: a disruption budget is never broken, whoever waits.

use plimsoll_cluster::fixtures::{PodFixture, node, pod};
use plimsoll_cluster::{Cluster, PodFacts, Scheduler, State, lowest_healthy, suite};
use plimsoll_controlplane::PodWrite;
use serde_json::json;

use super::{LIMIT, names, removed};

const APP: (&str, &str) = ("app", "guarded");

const CONFIG: &str = "apiVersion: plimsoll.dev/v1alpha1\n\
                      kind: SchedulerConfiguration\n\
                      leaderElection:\n  leaderElect: false\n\
                      clientConnection:\n  kubeconfig: KUBECONFIG\n  qps: 5000\n  burst: 5000\n\
                      profiles:\n- schedulerName: default-scheduler\n  podDisruptionBudgetPolicy: Hard\n";

fn guarded(number: usize) -> PodFixture {
    let (name, node) = (format!("guarded-{number}"), format!("n{number}"));
    pod(&name).priority(1).cpu("2").label(APP.0, APP.1).on(&node)
}

fn preemptor(number: usize) -> PodFixture {
    pod(&format!("preemptor-{number}")).priority(100).cpu("2")
}

fn preemptors_bound(state: &State) -> usize {
    let bound = |pod: &&k8s_openapi::api::core::v1::Pod| {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        name.starts_with("preemptor-") && pod.node().is_some()
    };
    state.pods.values().filter(bound).count()
}

/// So many nodes, each filled by one pod of the budget.
async fn stage(cluster: &mut Cluster<'_>, nodes: usize, least: usize) -> anyhow::Result<()> {
    cluster.create_priorities([1, 100]).await?;
    cluster
        .create_nodes((0..nodes).map(|i| node(&format!("n{i}")).cpu("2")))
        .await?;
    cluster.create_running_pods((0..nodes).map(guarded)).await?;
    cluster.start_disruption_controller().await?;
    let allowed = i32::try_from(nodes - least)?;
    cluster
        .create_budget("guard", APP, json!({ "minAvailable": least }), allowed)
        .await?;
    cluster.allow_evictions().await?;
    cluster.start_kubelets();
    cluster.start_configured(CONFIG)?;
    Ok(())
}

#[test]
fn under_the_hard_policy_a_pod_waits_rather_than_break_a_budget() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        stage(cluster, 1, 1).await?;
        cluster.create_pods([preemptor(0)]).await?;
        cluster
            .pending_because("preemptor-0", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        let why = cluster.why_pending("preemptor-0").await?;
        assert!(why.contains("preemption: "), "{why}");
        cluster.pod_changes_heard_by_scheduler().await?;
        assert_eq!(removed(cluster), names([]));
        // Another of the set comes up where the preemptor cannot go, and now one may go.
        cluster.create_nodes([node("n1").cpu("2").unschedulable()]).await?;
        cluster.create_running_pods([guarded(1)]).await?;
        cluster.bound("preemptor-0").await?;
        let evicted = cluster.pod_requests()?;
        assert!(
            evicted.iter().any(|request| request.write == PodWrite::Evict),
            "{evicted:?}"
        );
        assert!(
            evicted.iter().all(|request| request.write != PodWrite::Delete),
            "{evicted:?}"
        );
        Ok(())
    })
}

#[test]
fn under_the_hard_policy_a_crowd_of_preemptors_uses_a_budget_up_and_stops_there() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        stage(cluster, 10, 7).await?;
        let start = cluster.control_plane().etcd().revision().await?;
        cluster.create_pods((0..6).map(preemptor)).await?;
        let three = |state: &State| (preemptors_bound(state) >= 3).then_some(());
        cluster
            .history()
            .until("three preemptors are bound", LIMIT, three)
            .await?;
        cluster.at_rest(3, LIMIT).await?;
        assert_eq!(removed(cluster).len(), 3);
        assert_eq!(cluster.history().read(preemptors_bound), 3);

        // Two replacements come up elsewhere: two more may go.
        cluster
            .create_nodes((10..12).map(|i| node(&format!("n{i}")).cpu("2").unschedulable()))
            .await?;
        cluster.create_running_pods((10..12).map(guarded)).await?;
        let five = |state: &State| (preemptors_bound(state) >= 5).then_some(());
        cluster
            .history()
            .until("five preemptors are bound", LIMIT, five)
            .await?;
        cluster.at_rest(1, LIMIT).await?;
        assert_eq!(removed(cluster).len(), 5);
        let lowest = cluster
            .history()
            .read_records(|records| lowest_healthy(records, start, APP));
        assert_eq!(lowest, 7, "nobody is below the budget, ever");
        Ok(())
    })
}
