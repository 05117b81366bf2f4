//! What parks a pod, and the one change that helps it: for every default plugin that rejects pods on this cluster. A
//! change that cannot help wakes nobody.

use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_cluster::fixtures::{NodeFixture, PodFixture, node, pod};
use plimsoll_cluster::{Cluster, Scheduler, suite};
use serde_json::{Value, json};

mod affinity;
mod change;
mod nodes;
mod resources;
mod spreading;

use change::Change;

const LIMIT: Duration = Duration::from_secs(30);

/// The pod that waits.
const WAITING: &str = "waiting";

/// A pod is parked by a plugin, something else happens, and then what the pod waits for.
struct Case {
    /// The change that helps, in words.
    help_is: &'static str,
    /// The plugin that parks the pod.
    plugin: &'static str,
    nodes: Vec<NodeFixture>,
    /// Placed before the pod comes, one after the other.
    placed: Vec<PodFixture>,
    /// The pod, called [`WAITING`].
    waiting: PodFixture,
    /// Is no reason to try the pod again.
    unrelated: Change,
    /// Is one, and then the pod has its place.
    help: Change,
    /// Whether kube-scheduler leaves the pod where it is.
    beyond_the_original: bool,
}

impl Case {
    async fn play(self, cluster: &Cluster<'_>) -> anyhow::Result<()> {
        cluster.create_nodes(self.nodes).await?;
        for placed in self.placed {
            let name = placed.clone().build().metadata.name.unwrap_or_default();
            cluster.create_pods([placed]).await?;
            cluster.bound(&name).await?;
        }
        cluster.nodes_known_to_scheduler().await?;
        cluster.create_pods([self.waiting]).await?;
        let parked = cluster.at_rest(1, LIMIT).await?;
        ensure!(
            parked.rejected_by(self.plugin) == 1,
            "it is not {} that parked it: {:?}",
            self.plugin,
            cluster.why_pending(WAITING).await
        );

        let of_nodes = self.unrelated.is_of_nodes();
        self.unrelated.make(cluster).await?;
        if of_nodes {
            cluster.changes_heard_by_scheduler().await?;
        } else {
            cluster.pod_changes_heard_by_scheduler().await?;
        }
        let after = cluster.at_rest(2, LIMIT).await?;
        let tried = after.attempts_in_vain() - parked.attempts_in_vain();
        ensure!(tried == 0, "it was tried {tried} times after what cannot help");

        self.help.make(cluster).await?;
        cluster.bound(WAITING).await?;
        cluster.clear().await
    }
}

fn web(name: &str) -> PodFixture {
    pod(name).label("app", "web")
}

/// A patch that sets a label, or takes it away.
fn label<'a>(key: &str, value: impl Into<Option<&'a str>>) -> Value {
    json!({ "metadata": { "labels": { key: value.into() } } })
}

/// Plays the cases one after the other with one scheduler.
fn play(cases: fn() -> Vec<Case>) -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.start_scheduler()?;
        for case in cases() {
            if case.beyond_the_original && Scheduler::under_test() == Scheduler::KubeScheduler {
                continue;
            }
            let what = format!("{}: {}", case.plugin, case.help_is);
            Box::pin(case.play(cluster)).await.context(what)?;
        }
        Ok(())
    })
}
