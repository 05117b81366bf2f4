//! Room for the more important: who has to go, how, and what comes of it. The victims end when a kubelet has ended them;
//! tests without kubelets end them by hand.

mod budgets;
mod crowd;
mod hard_budgets;
mod node_choice;
mod sampling;
mod takeover;
mod terminating;
mod timeline;
mod victims;

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_cluster::{Cluster, PodFacts, Removal, State, preemption_part, removals};

const LIMIT: Duration = Duration::from_secs(30);

/// Waits until the pod is promised a node, and tells which.
async fn nominated(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<String> {
    let node = |state: &State| state.pod(name)?.nominated().map(str::to_owned);
    cluster
        .history()
        .until(&format!("{name} is nominated"), LIMIT, node)
        .await
}

/// Waits until the pod is promised no node any more.
async fn not_nominated(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<()> {
    let given_up = |state: &State| state.pod(name)?.nominated().is_none().then_some(());
    cluster
        .history()
        .until(&format!("{name} is not nominated"), LIMIT, given_up)
        .await
}

/// Waits until the pod was asked to go, by whomever.
async fn asked_to_go(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<()> {
    let asked = |state: &State| state.pod(name)?.metadata.deletion_timestamp.as_ref().map(drop);
    cluster
        .history()
        .until(&format!("{name} is asked to go"), LIMIT, asked)
        .await
}

/// Waits until what the pending pod says of preemption is `expected`.
async fn preemption_says(cluster: &Cluster<'_>, name: &str, expected: &str) -> anyhow::Result<()> {
    let says = |state: &State| {
        let part = preemption_part(state.pod(name)?.why_pending()?);
        (part == Some(expected)).then_some(())
    };
    cluster
        .history()
        .until(&format!("{name} says of preemption {expected:?}"), LIMIT, says)
        .await
}

/// How the pod called `name` went, if it did.
fn removal(cluster: &Cluster<'_>, name: &str) -> Option<Removal> {
    let all = cluster.history().read_records(removals);
    all.into_iter().find(|removal| removal.name == name)
}

/// The names of all pods whose removal has begun.
pub(crate) fn removed(cluster: &Cluster<'_>) -> BTreeSet<String> {
    let all = cluster.history().read_records(removals);
    all.into_iter()
        .filter(Removal::begun)
        .map(|removal| removal.name)
        .collect()
}

pub(crate) fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}
