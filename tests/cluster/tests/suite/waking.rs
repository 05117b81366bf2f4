//! Thousands of pods that fit nowhere, and nodes that come one at a time: each wakes the pods that may fit it, not the
//! others.

use std::time::Duration;

use anyhow::ensure;
use plimsoll_cluster::fixtures::{NodeFixture, PodFixture, node, pod};
use plimsoll_cluster::{Cluster, Metrics, PodFacts, Scheduler, suite};
use serde_json::json;

/// For two thousand pods to be tried, and for their conditions to be written, on a shared machine of two cores.
const LIMIT: Duration = Duration::from_mins(3);

/// How many pods wait of each kind.
const EACH: usize = 400;

/// Every new node has room for so many of them.
const ROOM: usize = 4;

/// What a node has that most have not.
const GPU: &str = "example.com/gpu";

/// Pods that are alike, told apart from the others by their names.
struct Kind {
    name: &'static str,
    pod: fn(PodFixture) -> PodFixture,
}

/// The last wants more than any node has.
const KINDS: [Kind; 5] = [
    Kind {
        name: "plain",
        pod: |pod| pod.cpu("1"),
    },
    Kind {
        name: "ssd",
        pod: |pod| pod.cpu("1").node_selector("disk", "ssd"),
    },
    Kind {
        name: "batch",
        pod: |pod| {
            pod.cpu("1")
                .node_selector("pool", "batch")
                .toleration("dedicated", "batch")
        },
    },
    Kind {
        name: "gpu",
        pod: |pod| pod.request(GPU, "1"),
    },
    Kind {
        name: "large",
        pod: |pod| pod.cpu("16"),
    },
];

/// How many pods of a kind still wait.
fn waiting(cluster: &Cluster<'_>, kind: &str) -> usize {
    let of_kind = |pod: &&k8s_openapi::api::core::v1::Pod| {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        pod.node().is_none() && name.starts_with(kind)
    };
    cluster
        .history()
        .read(|state| state.pods.values().filter(of_kind).count())
}

/// Adds a node and waits until it is full and everybody rests again. Only the pods of these kinds may be tried.
async fn fill(cluster: &Cluster<'_>, node: NodeFixture, wakes: &[&str]) -> anyhow::Result<()> {
    let name = node.clone().build().metadata.name.unwrap_or_default();
    let before = cluster.all_at_rest(LIMIT).await?;
    let may: usize = wakes.iter().map(|kind| waiting(cluster, kind)).sum();
    cluster.create_nodes([node]).await?;
    let full = |state: &plimsoll_cluster::State| {
        let on = state.pods.values().filter(|pod| pod.node() == Some(name.as_str()));
        (on.count() == ROOM).then_some(())
    };
    cluster.history().until(&format!("{name} is full"), LIMIT, full).await?;
    let after = cluster.all_at_rest(LIMIT).await?;
    let in_vain = after.attempts_in_vain() - before.attempts_in_vain();
    let tried = ROOM + usize::try_from(in_vain)?;
    let woken = usize::try_from(after.woken_by("NodeAdd") - before.woken_by("NodeAdd"))?;
    suite::say(&format!(
        "    {name}: {woken} of {may} were woken, {tried} times one was tried"
    ));
    ensure!(
        woken <= may && tried <= may,
        "{name} may help {may} pods; {woken} were woken, and {tried} times one was tried"
    );
    Ok(())
}

#[test]
fn of_two_thousand_waiting_pods_a_new_node_wakes_those_that_may_fit_it() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("full").cpu("100m")]).await?;
        cluster.start_scheduler()?;
        cluster.nodes_known_to_scheduler().await?;
        let pods = (0..EACH).flat_map(|number| {
            KINDS
                .iter()
                .map(move |kind| (kind.pod)(pod(&format!("{}-{number}", kind.name))))
        });
        cluster.create_pods(pods).await?;
        cluster.at_rest(KINDS.len() * EACH, LIMIT).await?;
        for name in ["plain-0", "plain-1", "plain-2"] {
            fill(cluster, node(name), &["plain"]).await?;
        }
        let gpu = |name| node(name).cpu("100m").allocatable(GPU, "4");
        fill(cluster, gpu("gpu-0"), &["gpu"]).await?;
        fill(cluster, gpu("gpu-1"), &["gpu"]).await?;
        // From here on the pods with a selector have been kept from a full node too. One that has room and not the label does
        // not help them; kube-scheduler takes room alone for help.
        let in_vain = |kinds: &'static [&'static str]| match Scheduler::under_test() {
            Scheduler::Plimsoll => &[],
            Scheduler::KubeScheduler => kinds,
        };
        fill(cluster, node("ssd").label("disk", "ssd"), &["plain", "ssd"]).await?;
        fill(cluster, gpu("gpu-2"), &["gpu"]).await?;
        let batch = |name| {
            let node = node(name).label("pool", "batch");
            node.taint("dedicated", "batch", "NoSchedule")
        };
        // That plain pods do not tolerate the taint is known once one has met it.
        fill(
            cluster,
            batch("batch-0"),
            &[&["plain", "batch"], in_vain(&["ssd"])].concat(),
        )
        .await?;
        fill(
            cluster,
            batch("batch-1"),
            &[&["batch"], in_vain(&["plain", "ssd"])].concat(),
        )
        .await?;
        if Scheduler::under_test() == Scheduler::Plimsoll {
            let useful = |metrics: &Metrics| {
                let label = [("result", "useful")];
                usize::try_from(metrics.sum("plimsoll_queue_wakeups_total", &label)) == Ok(9 * ROOM)
            };
            cluster
                .until_metrics("every placed pod was a useful wake-up", LIMIT, useful)
                .await?;
        }
        Ok(())
    })
}

#[test]
fn a_node_whose_taint_no_waiting_pod_tolerates_wakes_none_before_it_loses_the_taint() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes([node("first").taint("dedicated", "first", "NoSchedule")])
            .await?;
        cluster.start_scheduler()?;
        cluster.nodes_known_to_scheduler().await?;
        cluster
            .create_pods((0..EACH).map(|number| pod(&format!("plain-{number}")).cpu("1")))
            .await?;
        let before = cluster.at_rest(EACH, LIMIT).await?;
        cluster
            .create_nodes([node("second").taint("dedicated", "second", "NoSchedule")])
            .await?;
        cluster.changes_heard_by_scheduler().await?;
        // The gated pod that told us.
        let after = cluster.at_rest(EACH + 1, LIMIT).await?;
        assert_eq!(after.attempts_in_vain(), before.attempts_in_vain());
        cluster
            .patch_node("second", json!({ "spec": { "taints": null } }))
            .await?;
        cluster.bound_count(ROOM, LIMIT).await?;
        let after = cluster.at_rest(EACH - ROOM + 1, LIMIT).await?;
        let in_vain = after.attempts_in_vain() - before.attempts_in_vain();
        ensure!(in_vain <= i64::try_from(EACH - ROOM)?, "{in_vain} attempts in vain");
        Ok(())
    })
}
