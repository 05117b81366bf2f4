//! Pods with storage: they get a node where their data can be, and their volumes are bound there by the real controllers. The
//! judge looks at every one of these tests: each pod is bound where its volumes are, no volume has two claims, no node has more
//! volumes attached than it takes.

mod binding;
mod capacity;
mod conflicts;
mod crowd;
mod fencing;
mod limits;
mod provisioning;
mod setbacks;
mod takeover;

use std::time::Duration;

use plimsoll_cluster::fixtures::{NodeFixture, node};
use plimsoll_cluster::{Cluster, PodFacts, Record};

const LIMIT: Duration = Duration::from_secs(30);

const ZONE: &str = "topology.kubernetes.io/zone";

/// A node in a zone.
fn node_in(zone: &str, name: &str) -> NodeFixture {
    node(name).label(ZONE, zone)
}

/// The scheduler waits so many seconds for volumes.
fn waits_for_volumes(seconds: u32) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: KUBECONFIG, qps: 5000, burst: 5000}}
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: VolumeBinding
    args: {{bindTimeoutSeconds: {seconds}}}
"
    )
}

/// Waits until the pod has been told this about itself, whatever it is told by now.
async fn was_told(cluster: &Cluster<'_>, name: &str, text: &str) -> anyhow::Result<()> {
    let told = |records: &[(i64, Record)]| {
        let mut pods = records.iter().filter_map(|(_, record)| match record {
            Record::Pod(_, pod) if pod.metadata.name.as_deref() == Some(name) => Some(pod),
            _ => None,
        });
        pods.any(|pod| pod.why_pending() == Some(text)).then_some(())
    };
    cluster
        .history()
        .until_recorded(&format!("{name} is told {text:?}"), LIMIT, told)
        .await
}
