//! What must hold in every run, read from the API server's history of writes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_apiserver::{ApiServer, Mutation};
use plimsoll_model::Quantity;
use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Load {
    milli_cpu: i64,
    memory: i64,
    pods: i64,
}

#[derive(Debug, Default)]
struct Cluster {
    room: BTreeMap<String, Load>,
    on: BTreeMap<String, (String, Load)>,
    bound: BTreeMap<String, String>,
}

/// Replays the history and lists everything that was ever wrong: a pod bound twice, a node past its allocatable.
pub fn violations(server: &ApiServer) -> Vec<String> {
    let mut cluster = Cluster::default();
    let mut found = Vec::new();
    for mutation in server.history() {
        match mutation.resource.plural {
            "nodes" => cluster.take_node(&mutation),
            "pods" => cluster.take_pod(&mutation, &mut found),
            _ => {}
        }
    }
    found
}

/// Pods that are neither bound, nor gated, nor told why not.
pub fn forgotten(server: &ApiServer) -> Vec<String> {
    let Some(pods) = plimsoll_apiserver::resource::find("", "v1", "pods") else {
        return Vec::new();
    };
    server
        .snapshot(pods)
        .iter()
        .filter(|pod| !is_explained(pod))
        .map(|pod| text(pod, "/metadata/name"))
        .collect()
}

/// Names of the nodes that pods are bound to, by pod.
pub fn placements(server: &ApiServer) -> BTreeMap<String, String> {
    let Some(pods) = plimsoll_apiserver::resource::find("", "v1", "pods") else {
        return BTreeMap::new();
    };
    let placed = server.snapshot(pods);
    let placed = placed
        .iter()
        .map(|pod| (text(pod, "/metadata/name"), text(pod, "/spec/nodeName")));
    placed.filter(|(_, node)| !node.is_empty()).collect()
}

/// Which clients have written bindings, by user agent.
pub fn binders(server: &ApiServer) -> BTreeSet<String> {
    server
        .history()
        .iter()
        .filter(|write| write.verb == "bind")
        .map(|write| write.user_agent.to_string())
        .collect()
}

fn is_explained(pod: &Value) -> bool {
    let empty = Vec::new();
    let conditions = pod
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    !text(pod, "/spec/nodeName").is_empty()
        || conditions.iter().any(|condition| {
            text(condition, "/type") == "PodScheduled"
                && text(condition, "/status") == "False"
                && !text(condition, "/reason").is_empty()
        })
}

impl Cluster {
    fn take_node(&mut self, mutation: &Mutation) {
        let name = text(&mutation.object, "/metadata/name");
        if mutation.deleted {
            self.room.remove(&name);
            return;
        }
        let room = Load {
            milli_cpu: quantity(&mutation.object, "/status/allocatable/cpu").map_or(0, |cpu| cpu.milli_value()),
            memory: quantity(&mutation.object, "/status/allocatable/memory").map_or(0, |memory| memory.value()),
            pods: quantity(&mutation.object, "/status/allocatable/pods").map_or(0, |pods| pods.value()),
        };
        self.room.insert(name, room);
    }

    fn take_pod(&mut self, mutation: &Mutation, found: &mut Vec<String>) {
        let pod = &mutation.object;
        let uid = text(pod, "/metadata/uid");
        let name = text(pod, "/metadata/name");
        let node = text(pod, "/spec/nodeName");
        let phase = text(pod, "/status/phase");
        if mutation.deleted || phase == "Succeeded" || phase == "Failed" {
            self.on.remove(&uid);
            return;
        }
        if node.is_empty() {
            return;
        }
        if mutation.verb == "bind"
            && let Some(before) = self.bound.insert(uid.clone(), node.clone())
        {
            found.push(format!(
                "pod {name} was bound to {before} and again to {node} at version {}",
                mutation.rv
            ));
        }
        self.on.insert(uid, (node.clone(), load(pod)));
        if mutation.verb == "bind" {
            self.check(&node, mutation.rv, found);
        }
    }

    fn check(&self, node: &str, version: u64, found: &mut Vec<String>) {
        let Some(room) = self.room.get(node) else { return };
        let mut sum = Load::default();
        for (_, load) in self.on.values().filter(|(on, _)| on == node) {
            sum.milli_cpu += load.milli_cpu;
            sum.memory += load.memory;
            sum.pods += 1;
        }
        if sum.milli_cpu > room.milli_cpu || sum.memory > room.memory || sum.pods > room.pods {
            found.push(format!("node {node} holds {sum:?} of {room:?} at version {version}"));
        }
    }
}

fn load(pod: &Value) -> Load {
    let empty = Vec::new();
    let containers = pod
        .pointer("/spec/containers")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    let sum = |pointer: &'static str| {
        containers
            .iter()
            .filter_map(move |container| quantity(container, pointer))
    };
    Load {
        milli_cpu: sum("/resources/requests/cpu").map(|cpu| cpu.milli_value()).sum(),
        memory: sum("/resources/requests/memory").map(|memory| memory.value()).sum(),
        pods: 1,
    }
}

fn quantity(value: &Value, pointer: &str) -> Option<Quantity> {
    text(value, pointer).parse().ok()
}

fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{run, workload, world::World};

    #[test]
    fn the_check_finds_a_node_past_its_line() {
        let found = run(async {
            let world = World::new(1);
            world.add_node(workload::node("n", 1000, 1000, 110));
            for name in ["a", "b"] {
                world.add_pod(workload::pod(name, 600, 10));
                world.server().bind("default", name, "n").unwrap();
            }
            violations(world.server())
        });
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
