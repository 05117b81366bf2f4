//! Where pods with volumes can go, by the API server's objects and with a volume controller and a provisioner that are well.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::verdict::text;
use crate::storage::{self, IMMEDIATE, LOCAL, claim_names, claims_named};
use crate::world::World;

/// The volumes, and who uses them.
pub(super) struct Reach {
    volumes: Vec<Arc<Value>>,
    claims: Vec<Arc<Value>>,
    csi_nodes: Vec<Arc<Value>>,
    /// Pods that have a node and have not ended.
    placed: Vec<Arc<Value>>,
}

impl Reach {
    pub(super) fn of(world: &World, pods: &[Arc<Value>]) -> Self {
        let snapshot = |plural: &str| world.server().snapshot(storage::kind(plural));
        let placed = pods
            .iter()
            .filter(|pod| pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] != "Succeeded");
        Self {
            volumes: snapshot("persistentvolumes"),
            claims: snapshot("persistentvolumeclaims"),
            csi_nodes: snapshot("csinodes"),
            placed: placed.cloned().collect(),
        }
    }

    /// Whether the pod's volumes let it on a node, where those that must go for it have gone: `goes` says who that is.
    pub(super) fn lets(&self, pod: &Value, node: &Value, goes: &dyn Fn(&Value) -> bool) -> bool {
        let names = claim_names(pod);
        if names.is_empty() {
            return true;
        }
        let claims: Vec<_> = names.iter().filter_map(|name| self.claim(name)).collect();
        if claims.len() < names.len() {
            return false;
        }
        let node_name = &node["metadata"]["name"];
        let gone = |other: &&Arc<Value>| other["spec"]["nodeName"] == *node_name && goes(other);
        let stay: Vec<_> = self.placed.iter().filter(|other| !gone(other)).collect();
        let used: BTreeSet<String> = stay.iter().flat_map(|pod| claims_named(pod)).collect();
        let is_for_one_pod = |claim: &Value| claim["spec"]["accessModes"][0] == "ReadWriteOncePod";
        let is_taken =
            |name: &String| used.contains(name) && self.claim(name).is_some_and(|claim| is_for_one_pod(claim));
        let mut to_match = 0;
        for claim in &claims {
            match self.reaches(claim, node) {
                Reached::Yes => {}
                Reached::ByAnyFree => to_match += 1,
                Reached::No => return false,
            }
        }
        !claims_named(pod).iter().any(is_taken)
            && to_match <= self.free_on(node)
            && self.attaches(&claims, node_name, &stay)
    }

    fn claim(&self, name: &str) -> Option<&Arc<Value>> {
        self.claims.iter().find(|claim| claim["metadata"]["name"] == *name)
    }

    fn reaches(&self, claim: &Value, node: &Value) -> Reached {
        let uid = &claim["metadata"]["uid"];
        let mut volumes = self.volumes.iter();
        let if_reached = |volume: Option<&Arc<Value>>| match volume {
            Some(volume) if is_reached_from(volume, node) => Reached::Yes,
            _ => Reached::No,
        };
        if let Some(bound) = claim["spec"]["volumeName"].as_str() {
            return if_reached(volumes.find(|volume| volume["metadata"]["name"] == bound));
        }
        if let Some(kept) = volumes.find(|volume| volume["spec"]["claimRef"]["uid"] == *uid) {
            return if_reached(Some(kept));
        }
        match claim["spec"]["storageClassName"].as_str() {
            Some(LOCAL) => Reached::ByAnyFree,
            // It comes with a volume, by and by.
            Some(IMMEDIATE) => Reached::No,
            _ => Reached::Yes,
        }
    }

    /// How many volumes there are on a node that are for nobody: each is as good as the other for any claim of their class.
    fn free_on(&self, node: &Value) -> usize {
        let free = self.volumes.iter().filter(|volume| {
            volume["spec"]["storageClassName"] == LOCAL
                && volume["spec"]["claimRef"].is_null()
                && volume["status"]["phase"] == "Available"
                && is_reached_from(volume, node)
        });
        free.count()
    }

    fn attaches(&self, claims: &[&Arc<Value>], node: &Value, stay: &[&Arc<Value>]) -> bool {
        let csi_node = self
            .csi_nodes
            .iter()
            .find(|csi_node| csi_node["metadata"]["name"] == *node);
        let Some(most) = csi_node.and_then(|csi_node| csi_node["spec"]["drivers"][0]["allocatable"]["count"].as_u64())
        else {
            return true;
        };
        let there = stay.iter().filter(|pod| pod["spec"]["nodeName"] == *node);
        let there = there.flat_map(|pod| claim_names(pod));
        let mut attached: BTreeSet<String> = there
            .filter(|name| self.claim(name).is_some_and(|claim| is_csi(claim)))
            .collect();
        let wanted: BTreeSet<String> = claims
            .iter()
            .filter(|claim| is_csi(claim))
            .map(|claim| text(&claim["metadata"]["name"]))
            .collect();
        if wanted.is_subset(&attached) {
            return true;
        }
        attached.extend(wanted);
        u64::try_from(attached.len()).unwrap_or(u64::MAX) <= most
    }
}

/// Whether a claim lets its pod on a node.
enum Reached {
    Yes,
    /// Any volume of its class that is free there will do.
    ByAnyFree,
    No,
}

fn is_csi(claim: &Value) -> bool {
    claim["spec"]["storageClassName"] != LOCAL
}

fn is_reached_from(volume: &Value, node: &Value) -> bool {
    let wanted = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0];
    text(&node["metadata"]["labels"][text(&wanted["key"])]) == text(&wanted["values"][0])
}
