//! The independent check: it knows nothing of the scheduler and reads only what the API server says it was told.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_apiserver::Mutation;
use serde_json::Value;

use super::amounts::Amounts;
use super::api::{explanation, list, text};

#[cfg(test)]
mod tests;

/// What must hold in every history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// No node holds more than its allocatable, at any time.
    NeverPastTheLine,
    /// No two pods of a node have the same host port.
    PortsApart,
    /// Each pod is bound once, to a node there is, and stays where it is.
    BoundOnce,
    /// Each pending pod was told why.
    Told,
}

/// What came of the check.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Which promises were broken, and how.
    pub(super) violations: Vec<(Promise, String)>,
    /// How many bindings the API server took.
    pub(super) bindings: usize,
    /// Pods without a node at the end.
    pub(super) pending: usize,
    /// The highest share of a node's CPU, memory or pods that was ever taken, in percent.
    pub(super) fullest: i64,
}

impl Findings {
    /// Whether a promise was kept throughout.
    pub(super) fn kept(&self, promise: Promise) -> bool {
        !self.violations.iter().any(|(broken, _)| *broken == promise)
    }
}

/// Replays every write in its order.
pub(super) fn check(history: &[Mutation]) -> Findings {
    let mut replay = Replay::default();
    for mutation in history {
        match mutation.resource.plural {
            "nodes" => replay.take_node(mutation),
            "pods" => replay.take_pod(mutation),
            _ => {}
        }
    }
    replay.end()
}

#[derive(Debug, Default)]
struct Replay {
    nodes: BTreeMap<String, Node>,
    pods: BTreeMap<String, Pod>,
    findings: Findings,
}

#[derive(Debug, Default)]
struct Node {
    room: Amounts,
    load: Amounts,
    /// Which pod has a port.
    ports: BTreeMap<i64, String>,
}

#[derive(Debug, Default)]
struct Pod {
    name: String,
    node: String,
    bindings: usize,
    explained: bool,
    requests: Amounts,
    ports: BTreeSet<i64>,
    /// Whether it takes room: on a node, and neither ended nor gone.
    counts: bool,
}

impl Replay {
    fn take_node(&mut self, mutation: &Mutation) {
        let name = text(&mutation.object, "/metadata/name").to_owned();
        self.nodes.entry(name).or_default().room = if mutation.deleted {
            Amounts::default()
        } else {
            Amounts::allocatable(&mutation.object)
        };
    }

    fn take_pod(&mut self, mutation: &Mutation) {
        let object = &mutation.object;
        let uid = text(object, "/metadata/uid").to_owned();
        let before = self.pods.remove(&uid).unwrap_or_default();
        self.leave(&before);
        let ended = matches!(text(object, "/status/phase"), "Succeeded" | "Failed");
        let node = text(object, "/spec/nodeName").to_owned();
        let pod = Pod {
            name: text(object, "/metadata/name").to_owned(),
            bindings: before.bindings + usize::from(mutation.verb == "bind"),
            explained: explanation(object).is_some(),
            requests: Amounts::requests(object),
            ports: host_ports(object),
            counts: !node.is_empty() && !ended && !mutation.deleted,
            node,
        };
        self.compare(&before, &pod, mutation);
        self.enter(&pod, mutation);
        if !mutation.deleted {
            self.pods.insert(uid, pod);
        }
    }

    fn compare(&mut self, before: &Pod, pod: &Pod, mutation: &Mutation) {
        if !before.node.is_empty() && before.node != pod.node {
            let what = format!("pod {} went from {} to {:?}", pod.name, before.node, pod.node);
            self.broken(Promise::BoundOnce, mutation, &what);
        }
        if pod.bindings > before.bindings {
            self.findings.bindings += 1;
            if pod.bindings > 1 {
                let what = format!("pod {} was bound {} times", pod.name, pod.bindings);
                self.broken(Promise::BoundOnce, mutation, &what);
            }
        }
    }

    fn leave(&mut self, pod: &Pod) {
        if let Some(node) = self.nodes.get_mut(&pod.node).filter(|_| pod.counts) {
            node.load.subtract(&pod.requests);
            node.ports.retain(|_, owner| *owner != pod.name);
        }
    }

    fn enter(&mut self, pod: &Pod, mutation: &Mutation) {
        if !pod.counts {
            return;
        }
        let Some(node) = self.nodes.get_mut(&pod.node) else {
            let what = format!("pod {} is on {}, which is no node", pod.name, pod.node);
            return self.broken(Promise::BoundOnce, mutation, &what);
        };
        node.load.add(&pod.requests);
        let mut found = Vec::new();
        for resource in node.load.beyond(&node.room) {
            let (load, room) = (node.load.of(resource), node.room.of(resource));
            let what = format!(
                "node {} holds {load} of {room} {resource} with pod {}",
                pod.node, pod.name
            );
            found.push((Promise::NeverPastTheLine, what));
        }
        for port in &pod.ports {
            if let Some(other) = node.ports.insert(*port, pod.name.clone()) {
                let what = format!("pods {other} and {} have port {port} of {}", pod.name, pod.node);
                found.push((Promise::PortsApart, what));
            }
        }
        for resource in ["cpu", "memory", "pods"] {
            self.findings.fullest = self.findings.fullest.max(node.load.percent(&node.room, resource));
        }
        for (promise, what) in found {
            self.broken(promise, mutation, &what);
        }
    }

    fn broken(&mut self, promise: Promise, mutation: &Mutation, what: &str) {
        let what = format!("{what} (at version {})", mutation.rv);
        self.findings.violations.push((promise, what));
    }

    fn end(mut self) -> Findings {
        for pod in self.pods.values().filter(|pod| pod.node.is_empty()) {
            self.findings.pending += 1;
            if !pod.explained {
                let what = format!("pod {} is pending and was not told why", pod.name);
                self.findings.violations.push((Promise::Told, what));
            }
        }
        self.findings
    }
}

fn host_ports(pod: &Value) -> BTreeSet<i64> {
    list(pod, "/spec/containers")
        .iter()
        .flat_map(|container| list(container, "/ports"))
        .filter_map(|port| port.get("hostPort").and_then(Value::as_i64))
        .collect()
}
