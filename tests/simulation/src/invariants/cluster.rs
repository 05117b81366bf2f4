//! What was where, by the API server's history of writes: nodes, pods and the lease, at each version.

use std::collections::{BTreeMap, BTreeSet};

use super::attachments::{Storage, claims, named_claims};
use super::bonds::{Bond, Bonds};
use plimsoll_apiserver::Mutation;
use plimsoll_model::Quantity;
use serde_json::Value;

/// What a pod asks for, or what a node has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) milli_cpu: i64,
    pub(super) memory: i64,
    pub(super) pods: i64,
}

impl Load {
    pub(super) fn add(&mut self, other: Self) {
        self.milli_cpu += other.milli_cpu;
        self.memory += other.memory;
        self.pods += other.pods;
    }

    pub(super) fn exceeds(self, room: Self) -> bool {
        self.milli_cpu > room.milli_cpu || self.memory > room.memory || self.pods > room.pods
    }
}

/// Something that took other values at other versions.
#[derive(Debug)]
struct Past<T>(Vec<(u64, T)>);

impl<T: Copy> Past<T> {
    fn at(&self, version: u64) -> Option<T> {
        let known = self.0.iter().rev().find(|(from, _)| *from <= version);
        known.or_else(|| self.0.first()).map(|(_, value)| *value)
    }
}

/// A pod that is there and has not ended.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    /// Where it is, since when, and whether somebody else put it there.
    pub(super) placed: Option<Placed>,
    loads: Past<Load>,
    pub(super) host_ports: Vec<i64>,
    /// Its claims, by namespace and name, and those of them that it names itself.
    claims: Vec<String>,
    named_claims: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) node: String,
    since: u64,
    by_others: bool,
}

impl Placed {
    fn is_known(&self, known: Knowledge) -> bool {
        !self.by_others || self.since <= known.pods
    }
}

/// The cluster at the version of the last write taken.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    rooms: BTreeMap<String, Past<Load>>,
    /// Which nodes were there.
    nodes: BTreeMap<String, Past<bool>>,
    pods: BTreeMap<String, Pod>,
    on: BTreeMap<String, BTreeSet<String>>,
    bound: BTreeMap<String, String>,
    /// Who holds the lease, once there is one.
    leader: Option<String>,
    storage: Storage,
    bonds: Bonds,
    are_volumes_ignored: bool,
    /// Pods that were bound where their claims do not let them, by others or after others had taken a claim away.
    excluded: u64,
}

/// Up to which versions somebody knows pods and nodes. Whatever others did later cannot have been thought of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knowledge {
    pub(super) pods: u64,
    pub(super) nodes: u64,
}

impl Knowledge {
    pub(super) const NOTHING: Self = Self { pods: 0, nodes: 0 };

    pub(super) const ALL: Self = Self {
        pods: u64::MAX,
        nodes: u64::MAX,
    };
}

/// What would be on a node, as somebody knows it.
struct Sum<'a> {
    load: Load,
    ports: Vec<i64>,
    claims: BTreeSet<&'a str>,
}

impl Cluster {
    /// One in which claims say nothing of where pods may go.
    pub(super) fn without_volumes() -> Self {
        Self {
            are_volumes_ignored: true,
            ..Self::default()
        }
    }

    /// Takes one write; says what was wrong with it apart from room.
    pub(super) fn take(&mut self, mutation: &Mutation, found: &mut Vec<String>) {
        match mutation.resource.plural {
            "nodes" => {
                self.take_node(mutation);
                self.bonds.take(mutation);
            }
            "pods" => {
                self.check_writer(mutation, found);
                self.take_pod(mutation, found);
            }
            "csinodes" | "persistentvolumes" | "persistentvolumeclaims" => {
                self.check_writer(mutation, found);
                self.storage.take(mutation);
                self.bonds.take(mutation);
            }
            "leases" => self.leader = Some(text(&mutation.object, "/spec/holderIdentity")),
            _ => {}
        }
    }

    /// Replicas sign their requests with their identity, at the end of the user agent.
    fn check_writer(&self, mutation: &Mutation, found: &mut Vec<String>) {
        let Some(leader) = &self.leader else { return };
        let by = replica(mutation);
        if by.is_some_and(|by| by != leader) {
            found.push(format!(
                "{} wrote ({}) {} {} at version {} while {leader:?} held the lease",
                mutation.user_agent,
                mutation.verb,
                mutation.resource.plural.trim_end_matches('s'),
                text(&mutation.object, "/metadata/name"),
                mutation.rv
            ));
        }
    }

    fn take_node(&mut self, mutation: &Mutation) {
        let name = text(&mutation.object, "/metadata/name");
        let there = self.nodes.entry(name).or_insert_with(|| Past(Vec::new()));
        there.0.push((mutation.rv, !mutation.deleted));
        if mutation.deleted {
            return;
        }
        let room = Load {
            milli_cpu: quantity(&mutation.object, "/status/allocatable/cpu").map_or(0, |cpu| cpu.milli_value()),
            memory: quantity(&mutation.object, "/status/allocatable/memory").map_or(0, |memory| memory.value()),
            pods: quantity(&mutation.object, "/status/allocatable/pods").map_or(0, |pods| pods.value()),
        };
        let past = self.rooms.entry(text(&mutation.object, "/metadata/name"));
        let past = past.or_insert_with(|| Past(Vec::new()));
        past.0.push((mutation.rv, room));
    }

    fn take_pod(&mut self, mutation: &Mutation, found: &mut Vec<String>) {
        let object = &mutation.object;
        let uid = text(object, "/metadata/uid");
        let phase = text(object, "/status/phase");
        if mutation.deleted || phase == "Succeeded" || phase == "Failed" {
            self.drop_pod(&uid);
            return;
        }
        let node = text(object, "/spec/nodeName");
        if mutation.verb == "bind" && !self.are_volumes_ignored {
            self.check_claims(mutation, found);
        }
        if mutation.verb == "bind"
            && let Some(before) = self.bound.insert(uid.clone(), node.clone())
        {
            let name = text(object, "/metadata/name");
            found.push(format!(
                "pod {name} was bound to {before} and again to {node} at version {}",
                mutation.rv
            ));
        }
        let pod = self.pods.entry(uid.clone()).or_insert_with(|| Pod {
            name: text(object, "/metadata/name"),
            placed: None,
            loads: Past(Vec::new()),
            host_ports: host_ports(object),
            claims: claims(object),
            named_claims: named_claims(object),
        });
        pod.loads.0.push((mutation.rv, load(object)));
        if !node.is_empty() && pod.placed.is_none() {
            pod.placed = Some(Placed {
                node: node.clone(),
                since: mutation.rv,
                by_others: replica(mutation).is_none(),
            });
            self.on.entry(node).or_default().insert(uid);
        }
    }

    /// What others bind is theirs to answer for, and so is that a claim went while a pod that had it was on its way.
    fn check_claims(&mut self, mutation: &Mutation, found: &mut Vec<String>) {
        let object = &mutation.object;
        let (name, node) = (text(object, "/metadata/name"), text(object, "/spec/nodeName"));
        match self.bonds.of(&claims(object), &node) {
            Bond::Holds => {}
            Bond::Lacks(lack) if replica(mutation).is_some() => found.push(format!(
                "{} bound pod {name} to {node} at version {}, and {lack}",
                mutation.user_agent, mutation.rv
            )),
            Bond::Lacks(_) | Bond::HeldOnce => self.excluded += 1,
        }
    }

    fn drop_pod(&mut self, uid: &str) {
        let placed = self.pods.remove(uid).and_then(|pod| pod.placed);
        if let Some(on) = placed.and_then(|placed| self.on.get_mut(&placed.node)) {
            on.remove(uid);
        }
    }

    pub(super) fn pod(&self, uid: &str) -> Option<&Pod> {
        self.pods.get(uid)
    }

    /// What is wrong with a node that has the pods on it and these more, as far as somebody knows.
    pub(super) fn past_the_line(&self, node: &str, more: &[&str], known: Knowledge) -> Option<String> {
        let room = self.rooms.get(node)?.at(known.nodes)?;
        let sum = self.sum(node, more, known);
        let mut ports = BTreeSet::new();
        if let Some(port) = sum.ports.iter().find(|port| !ports.insert(**port)) {
            return Some(format!("host port {port} of node {node} is taken twice"));
        }
        let load = sum.load;
        if load.exceeds(room) {
            return Some(format!("node {node} holds {load:?} of {room:?}"));
        }
        let (attached, most) = (self.storage.attached(&sum.claims), self.storage.most_on(node)?);
        (attached > most).then(|| format!("node {node} has {attached} volumes attached and may have {most}"))
    }

    /// How many pods were bound where their claims do not let them, and no replica is to blame.
    pub(super) fn excluded(&self) -> u64 {
        self.excluded
    }

    /// What is wrong with a pod that is bound or on its way, as these others are, when it has a claim that is for one pod
    /// alone, as far as somebody knows who else names it. As for kube-scheduler, a pod whose node is gone is as good as gone,
    /// and one that brought the claim along does not name it.
    pub(super) fn shares_in_vain(&self, uid: &str, coming: &[&str], known: Knowledge) -> Option<String> {
        let pod = self.pods.get(uid)?;
        let uses = |other: &Pod, claim: &String| other.named_claims.contains(claim);
        let mut alone = pod.named_claims.iter().filter(|claim| self.bonds.is_for_one_pod(claim));
        alone.find_map(|claim| {
            let mut others = self.pods.iter().filter(|(other, _)| *other != uid);
            let (_, other) = others.find(|(other, pod)| {
                let is_placed = pod.placed.as_ref().is_some_and(|placed| {
                    let node = self.nodes.get(&placed.node).and_then(|there| there.at(known.nodes));
                    placed.is_known(known) && node == Some(true)
                });
                uses(pod, claim) && (is_placed || coming.contains(&other.as_str()))
            })?;
            Some(format!(
                "claim {claim} is for one pod alone, and pod {} has it",
                other.name
            ))
        })
    }

    fn sum(&self, node: &str, more: &[&str], known: Knowledge) -> Sum<'_> {
        let empty = BTreeSet::new();
        let on = self.on.get(node).unwrap_or(&empty);
        let known_of = |pod: &&Pod| pod.placed.as_ref().is_none_or(|placed| placed.is_known(known));
        let there = on.iter().filter_map(|uid| self.pods.get(uid)).filter(known_of);
        let coming = more.iter().filter(|uid| !on.contains(**uid));
        let coming = coming.filter_map(|uid| self.pods.get(*uid));
        let mut sum = Sum {
            load: Load::default(),
            ports: Vec::new(),
            claims: BTreeSet::new(),
        };
        for pod in there.chain(coming) {
            sum.load.add(pod.loads.at(known.pods).unwrap_or_default());
            sum.ports.extend(&pod.host_ports);
            sum.claims.extend(pod.claims.iter().map(String::as_str));
        }
        sum
    }
}

/// The replica that made a write, or had an extender make it; none when somebody else did.
pub(super) fn replica(mutation: &Mutation) -> Option<&str> {
    let agent = &mutation.user_agent;
    let ours = agent.starts_with("plimsoll") || agent.starts_with("extender for ");
    ours.then(|| agent.rsplit(' ').next().unwrap_or_default())
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

pub(super) fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
