//! All kubelets of the demo in one: a pod that was bound runs.

use plimsoll_apiserver::ApiServer;
use serde_json::{Value, json};

use super::api::{Kinds, explanation, text};

/// How many pods are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) total: usize,
    /// Have a node.
    pub(super) placed: usize,
    /// Have none, and were told why.
    pub(super) explained: usize,
}

impl Census {
    /// Whether every pod either has a node or knows why not.
    pub(super) fn is_settled(self) -> bool {
        self.placed + self.explained == self.total
    }
}

/// Starts what was bound since the last round, removes what was deleted, and counts.
pub(super) fn round(server: &ApiServer, kinds: Kinds) -> anyhow::Result<Census> {
    let mut census = Census::default();
    for pod in server.snapshot(kinds.pods) {
        census.total += 1;
        if text(&pod, "/spec/nodeName").is_empty() {
            census.explained += usize::from(explanation(&pod).is_some());
            continue;
        }
        census.placed += 1;
        if text(&pod, "/status/phase") == "Pending" {
            let (namespace, name) = (text(&pod, "/metadata/namespace"), text(&pod, "/metadata/name"));
            server.modify_status(kinds.pods, namespace, name, run)?;
        }
    }
    server.reap_terminated_pods();
    Ok(census)
}

fn run(pod: &mut Value) {
    let names: Vec<Value> = super::api::list(pod, "/spec/containers")
        .iter()
        .map(|container| {
            json!({ "name": container["name"], "image": container["image"], "imageID": "", "ready": true,
                                 "started": true, "restartCount": 0, "state": { "running": {} } })
        })
        .collect();
    pod["status"]["phase"] = "Running".into();
    pod["status"]["containerStatuses"] = names.into();
    if let Some(conditions) = pod.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        conditions.push(json!({ "type": "Ready", "status": "True" }));
    }
}
