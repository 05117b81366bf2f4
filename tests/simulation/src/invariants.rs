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
    on: BTreeMap<String, Placed>,
    bound: BTreeMap<String, String>,
    /// Who holds the lease, once there is one.
    leader: Option<String>,
}

#[derive(Debug)]
struct Placed {
    node: String,
    load: Load,
    host_ports: Vec<i64>,
}

/// Replays the history and lists everything that was ever wrong: a pod bound twice, a node past its allocatable or with
/// a host port taken twice, a pod written by a replica that did not hold the lease at that very version.
pub fn violations(server: &ApiServer) -> Vec<String> {
    let mut cluster = Cluster::default();
    let mut found = Vec::new();
    for mutation in server.history() {
        match mutation.resource.plural {
            "nodes" => cluster.take_node(&mutation),
            "pods" => {
                cluster.check_writer(&mutation, &mut found);
                cluster.take_pod(&mutation, &mut found);
            }
            "leases" => cluster.leader = Some(text(&mutation.object, "/spec/holderIdentity")),
            _ => {}
        }
    }
    found
}

/// Pods that a scheduler took away although none of its preemptions named them, by the history of writes and the trace of
/// messages.
pub fn unplanned_removals(server: &ApiServer, trace: &[String]) -> Vec<String> {
    let planned: BTreeSet<&str> = trace
        .iter()
        .filter_map(|line| line.split_once("Evictor: Preempt ")?.1.split_once("victims="))
        .flat_map(|(_, victims)| victims.split_whitespace().next().unwrap_or_default().split(','))
        .collect();
    let history = server.history();
    let removals = history.iter().filter(|write| {
        let removed = write.deleted || write.verb == "delete" || write.verb == "evict";
        removed && write.resource.plural == "pods" && write.user_agent.starts_with("plimsoll")
    });
    removals
        .filter(|write| !planned.contains(text(&write.object, "/metadata/uid").as_str()))
        .map(|write| {
            let name = text(&write.object, "/metadata/name");
            format!(
                "{} removed pod {name} at version {}, and no plan named it",
                write.user_agent, write.rv
            )
        })
        .collect()
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
    /// Replicas sign their requests with their identity, at the end of the user agent.
    fn check_writer(&self, mutation: &Mutation, found: &mut Vec<String>) {
        let Some(leader) = &self.leader else { return };
        let by_a_replica = mutation.user_agent.starts_with("plimsoll");
        if by_a_replica && mutation.user_agent.rsplit(' ').next() != Some(leader.as_str()) {
            found.push(format!(
                "{} wrote ({}) pod {} at version {} while {leader:?} held the lease",
                mutation.user_agent,
                mutation.verb,
                text(&mutation.object, "/metadata/name"),
                mutation.rv
            ));
        }
    }

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
        let placed = Placed {
            node: node.clone(),
            load: load(pod),
            host_ports: host_ports(pod),
        };
        self.on.insert(uid, placed);
        if mutation.verb == "bind" {
            self.check(&node, mutation.rv, found);
        }
    }

    fn check(&self, node: &str, version: u64, found: &mut Vec<String>) {
        let Some(room) = self.room.get(node) else { return };
        let mut sum = Load::default();
        let mut ports = BTreeSet::new();
        for placed in self.on.values().filter(|placed| placed.node == node) {
            sum.milli_cpu += placed.load.milli_cpu;
            sum.memory += placed.load.memory;
            sum.pods += 1;
            for port in placed.host_ports.iter().filter(|port| !ports.insert(**port)) {
                found.push(format!(
                    "host port {port} of node {node} is taken twice at version {version}"
                ));
            }
        }
        if sum.milli_cpu > room.milli_cpu || sum.memory > room.memory || sum.pods > room.pods {
            found.push(format!("node {node} holds {sum:?} of {room:?} at version {version}"));
        }
    }
}

/// Host ports of containers; the workloads here use no host addresses and one protocol.
fn host_ports(pod: &Value) -> Vec<i64> {
    let empty = Vec::new();
    let list = |value: &Value, pointer: &str| {
        value
            .pointer(pointer)
            .and_then(Value::as_array)
            .unwrap_or(&empty)
            .clone()
    };
    list(pod, "/spec/containers")
        .iter()
        .flat_map(|container| list(container, "/ports"))
        .filter_map(|port| port["hostPort"].as_i64())
        .filter(|port| *port != 0)
        .collect()
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
