//! Two hundred preemptors over five hundred nodes at once.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, PodFacts, State, removals, suite};

const NODES: usize = 500;
const PREEMPTORS: usize = 200;
const LIMIT: Duration = Duration::from_mins(3);

/// CPUs of a node, each taken by a pod of its own.
const CPUS: usize = 4;

/// CPUs that preemptor number `i` asks for.
fn wanted(i: usize) -> usize {
    1 + i % 3
}

fn preemptors_bound(state: &State) -> BTreeMap<String, usize> {
    let mut by_node: BTreeMap<String, usize> = BTreeMap::new();
    for pod in state.pods.values() {
        let number = pod
            .metadata
            .name
            .as_deref()
            .and_then(|name| name.strip_prefix("preemptor-"));
        if let (Some(number), Some(node)) = (number.and_then(|number| number.parse().ok()), pod.node()) {
            *by_node.entry(node.to_owned()).or_default() += wanted(number);
        }
    }
    by_node
}

fn placed(state: &State) -> usize {
    let bound = state.pods.values().filter(|pod| pod.node().is_some());
    bound
        .filter(|pod| {
            pod.metadata
                .name
                .as_deref()
                .is_some_and(|name| name.starts_with("preemptor-"))
        })
        .count()
}

/// Nobody goes whom the preemptors on his node do not need gone: with one more pod back, there would be too little room.
fn every_victim_was_needed(cluster: &Cluster<'_>) -> anyhow::Result<usize> {
    let taken = cluster.history().read(preemptors_bound);
    let mut victims: BTreeMap<String, usize> = BTreeMap::new();
    for removal in cluster.history().read_records(removals) {
        ensure!(removal.marked.is_some(), "{removal:?} was not marked first");
        *victims.entry(removal.node).or_default() += 1;
    }
    ensure!(
        victims == taken,
        "CPUs freed on each node: {victims:?}; taken by preemptors: {taken:?}"
    );
    Ok(victims.values().sum())
}

#[test]
fn two_hundred_preemptors_at_once_all_get_their_place_and_nobody_goes_in_vain() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster
            .create_nodes((0..NODES).map(|i| node(&format!("n{i}")).cpu(&CPUS.to_string())))
            .await?;
        let low = |i: usize| {
            pod(&format!("low-{i}"))
                .priority(1)
                .cpu("1")
                .on(&format!("n{}", i / CPUS))
        };
        cluster.create_pods((0..NODES * CPUS).map(low)).await?;
        cluster.start_kubelets();
        let preemptor = |i| pod(&format!("preemptor-{i}")).priority(100).cpu(&wanted(i).to_string());
        cluster.create_pods((0..PREEMPTORS).map(preemptor)).await?;
        cluster.start_scheduler()?;
        let all = |state: &State| (placed(state) == PREEMPTORS).then_some(());
        cluster.history().until("all preemptors are bound", LIMIT, all).await?;
        let victims = every_victim_was_needed(cluster)?;
        let attempts = cluster.metrics().await?.sum("scheduler_preemption_attempts_total", &[]);
        suite::say(&format!(
            "    {PREEMPTORS} preemptors on {NODES} nodes: {victims} victims, {attempts} attempts at preemption"
        ));
        Ok(())
    })
}
