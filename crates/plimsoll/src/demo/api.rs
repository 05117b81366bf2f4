//! Kinds by name, and fields by path.

use anyhow::Context;
use plimsoll_apiserver::{Resource, resource};
use serde_json::Value;

/// Where the pods of the demo live.
pub(super) const NAMESPACE: &str = "harbour";
/// The lease the replicas compete for: namespace and name.
pub(super) const LEASE: (&str, &str) = ("kube-system", "kube-scheduler");

/// The kinds that the demo writes or reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds {
    pub(super) namespaces: &'static Resource,
    pub(super) priority_classes: &'static Resource,
    pub(super) nodes: &'static Resource,
    pub(super) pods: &'static Resource,
    pub(super) leases: &'static Resource,
}

impl Kinds {
    pub(super) fn find() -> anyhow::Result<Self> {
        let find = |group, plural| {
            resource::find(group, "v1", plural).with_context(|| format!("the API server has no {plural}"))
        };
        Ok(Self {
            namespaces: find("", "namespaces")?,
            priority_classes: find("scheduling.k8s.io", "priorityclasses")?,
            nodes: find("", "nodes")?,
            pods: find("", "pods")?,
            leases: find("coordination.k8s.io", "leases")?,
        })
    }
}

/// The text at a JSON pointer; empty when there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of the list at a JSON pointer.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Why a pod is pending, if it was told: reason and message of its `PodScheduled` condition.
pub(super) fn explanation(pod: &Value) -> Option<(&str, &str)> {
    let condition = list(pod, "/status/conditions")
        .iter()
        .find(|condition| text(condition, "/type") == "PodScheduled" && text(condition, "/status") == "False")?;
    let (reason, message) = (text(condition, "/reason"), text(condition, "/message"));
    (!reason.is_empty() && !message.is_empty()).then_some((reason, message))
}
