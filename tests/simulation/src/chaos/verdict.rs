//! Whether a pod waits although it would fit: computed from the API server's objects alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_apiserver::resource;
use plimsoll_model::Quantity;
use serde_json::Value;

use super::reach::Reach;
use crate::world::World;
use crate::{extender, invariants};

/// Room on one node.
struct Room {
    milli_cpu: i64,
    memory: i64,
    pods: i64,
    ports: BTreeSet<i64>,
}

/// The cluster as the API server has it, and what else decides where a pod may go.
pub(super) struct Verdict {
    pods: Vec<Arc<Value>>,
    nodes: Vec<Arc<Value>>,
    /// Whether an extender narrows nodes, which is well now.
    extender: bool,
    reach: Reach,
}

impl Verdict {
    pub(super) fn of(world: &World, extender: bool) -> Self {
        let pods = snapshot(world, "pods");
        Self {
            reach: Reach::of(world, &pods),
            pods,
            nodes: snapshot(world, "nodes"),
            extender,
        }
    }

    /// Pods that wait although a node would take them now.
    pub(super) fn left_out(&self) -> Vec<String> {
        let rooms = rooms(&self.pods, &self.nodes);
        let waiting = self.pods.iter().filter(|pod| waits(pod));
        waiting
            .filter_map(|pod| {
                let node = self.node_for(pod, &rooms, &|_| false)?;
                Some(format!("pod {} would fit on node {node} and is not placed", name(pod)))
            })
            .collect()
    }

    /// Pods that wait although a node would take them if all pods of lower priority were gone from it.
    pub(super) fn behind_lower(&self) -> Vec<String> {
        let waiting = self.pods.iter().filter(|pod| waits(pod));
        waiting
            .filter_map(|pod| {
                let stays = |other: &&Arc<Value>| priority(other) >= priority(pod);
                let others: Vec<_> = self.pods.iter().filter(stays).cloned().collect();
                let goes = |other: &Value| priority(other) < priority(pod);
                let node = self.node_for(pod, &rooms(&others, &self.nodes), &goes)?;
                Some(format!(
                    "pod {} waits although only pods of lower priority are in its way on node {node}",
                    name(pod)
                ))
            })
            .collect()
    }

    fn node_for(&self, pod: &Value, rooms: &BTreeMap<String, Room>, goes: &dyn Fn(&Value) -> bool) -> Option<String> {
        let extender = |node: &Value| !self.extender || extender::lets(&name(pod), &name(node));
        let lets = |node: &Value| extender(node) && self.reach.lets(pod, node, goes);
        let node = self.nodes.iter().find(|node| fits(pod, node, rooms) && lets(node))?;
        Some(name(node))
    }
}

fn snapshot(world: &World, plural: &str) -> Vec<Arc<Value>> {
    resource::find("", "v1", plural).map_or_else(Vec::new, |kind| world.server().snapshot(kind))
}

fn name(object: &Value) -> String {
    text(&object["metadata"]["name"])
}

/// A node that would take a pod, by the API server's objects.
pub(super) fn room_for(world: &World, pod: &Value) -> Option<String> {
    let (pods, nodes) = (snapshot(world, "pods"), snapshot(world, "nodes"));
    let rooms = rooms(&pods, &nodes);
    let node = nodes.iter().find(|node| fits(pod, node, &rooms))?;
    Some(name(node))
}

/// Pods that are meant for a node that is not there.
pub(super) fn misled(world: &World) -> Vec<String> {
    let nodes: BTreeSet<String> = snapshot(world, "nodes").iter().map(|node| name(node)).collect();
    let pods = snapshot(world, "pods");
    let waiting = pods.iter().filter(|pod| waits(pod));
    waiting
        .filter_map(|pod| {
            let node = pod["status"]["nominatedNodeName"].as_str()?;
            let wrong = !node.is_empty() && !nodes.contains(node);
            wrong.then(|| format!("pod {} is nominated to {node}, which is gone", pod["metadata"]["name"]))
        })
        .collect()
}

/// Whether a node is promised to a pod that waits.
pub(super) fn any_promised(world: &World) -> bool {
    let promised = |pod: &Arc<Value>| !text(&pod["status"]["nominatedNodeName"]).is_empty();
    snapshot(world, "pods").iter().any(|pod| waits(pod) && promised(pod))
}

/// Pods of ours that wait and were not told why.
pub(super) fn untold(world: &World) -> Vec<String> {
    let untold = invariants::forgotten(world.server()).into_iter();
    let ours = untold.filter(|name| world.pod(name).is_some_and(|pod| is_ours(&pod)));
    ours.map(|pod| format!("nobody was told why pod {pod} waits")).collect()
}

pub(super) fn is_ours(pod: &Value) -> bool {
    pod["spec"]["schedulerName"] == "default-scheduler"
}

fn priority(pod: &Value) -> i64 {
    pod["spec"]["priority"].as_i64().unwrap_or(0)
}

fn rooms(pods: &[Arc<Value>], nodes: &[Arc<Value>]) -> BTreeMap<String, Room> {
    let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
    for node in nodes {
        let allocatable = &node["status"]["allocatable"];
        let room = Room {
            milli_cpu: quantity(&allocatable["cpu"]).map_or(0, |cpu| cpu.milli_value()),
            memory: quantity(&allocatable["memory"]).map_or(0, |memory| memory.value()),
            pods: quantity(&allocatable["pods"]).map_or(0, |pods| pods.value()),
            ports: BTreeSet::new(),
        };
        rooms.insert(text(&node["metadata"]["name"]), room);
    }
    for pod in pods.iter().filter(|pod| pod["status"]["phase"] != "Succeeded") {
        if let Some(room) = rooms.get_mut(&text(&pod["spec"]["nodeName"])) {
            let (cpu, memory) = requests(pod);
            room.milli_cpu -= cpu;
            room.memory -= memory;
            room.pods -= 1;
            room.ports.extend(port(pod));
        }
    }
    rooms
}

/// A pod of ours that could be bound.
pub(super) fn waits(pod: &Value) -> bool {
    let gated = pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty());
    let going = pod["metadata"]["deletionTimestamp"].is_string();
    text(&pod["spec"]["nodeName"]).is_empty() && !gated && !going && is_ours(pod)
}

fn fits(pod: &Value, node: &Value, rooms: &BTreeMap<String, Room>) -> bool {
    let Some(room) = rooms.get(&text(&node["metadata"]["name"])) else {
        return false;
    };
    let (cpu, memory) = requests(pod);
    let empty = serde_json::Map::new();
    let mut selector = pod["spec"]["nodeSelector"].as_object().unwrap_or(&empty).iter();
    let selected = selector.all(|(key, value)| node["metadata"]["labels"][key] == *value);
    cpu <= room.milli_cpu
        && memory <= room.memory
        && room.pods > 0
        && port(pod).is_none_or(|port| !room.ports.contains(&port))
        && selected
        && node["spec"]["unschedulable"] != true
        && tolerates(pod, node)
}

/// All taints here keep pods off; one that tells of a cordon goes with the field.
fn tolerates(pod: &Value, node: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let tolerations = list(&pod["spec"]["tolerations"]);
    let tolerated = |taint: &Value| {
        let same = |toleration: &Value| {
            let effect = toleration["effect"].as_str().unwrap_or_default();
            toleration["key"] == taint["key"] && (effect.is_empty() || toleration["effect"] == taint["effect"])
        };
        tolerations.iter().any(same)
    };
    let taints = list(&node["spec"]["taints"]);
    let mut others = taints
        .iter()
        .filter(|taint| taint["key"] != "node.kubernetes.io/unschedulable");
    others.all(tolerated)
}

fn requests(pod: &Value) -> (i64, i64) {
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    (
        quantity(&requests["cpu"]).map_or(0, |cpu| cpu.milli_value()),
        quantity(&requests["memory"]).map_or(0, |memory| memory.value()),
    )
}

fn port(pod: &Value) -> Option<i64> {
    pod["spec"]["containers"][0]["ports"][0]["hostPort"].as_i64()
}

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
