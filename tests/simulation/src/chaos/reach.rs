//! Where pods with volumes can go, by the API server's objects and with a volume controller and a provisioner that are well.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::verdict::text;
use crate::storage::{self, IMMEDIATE, LOCAL};
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

    /// Whether the pod's volume lets it on a node, where those that must go for it have gone: `goes` says who that is.
    pub(super) fn lets(&self, pod: &Value, node: &Value, goes: &dyn Fn(&Value) -> bool) -> bool {
        let Some(name) = claim_of(pod) else { return true };
        let Some(claim) = self.claims.iter().find(|claim| claim["metadata"]["name"] == *name) else {
            return false;
        };
        let node_name = &node["metadata"]["name"];
        let gone = |other: &&Arc<Value>| other["spec"]["nodeName"] == *node_name && goes(other);
        let stay: Vec<_> = self.placed.iter().filter(|other| !gone(other)).collect();
        let alone = claim["spec"]["accessModes"][0] == "ReadWriteOncePod";
        let is_used = stay.iter().any(|other| claim_of(other) == Some(name));
        !(alone && is_used) && self.reaches(claim, node) && self.attaches(claim, node_name, &stay)
    }

    fn reaches(&self, claim: &Value, node: &Value) -> bool {
        let uid = &claim["metadata"]["uid"];
        let mut volumes = self.volumes.iter();
        if let Some(bound) = claim["spec"]["volumeName"].as_str() {
            let volume = volumes.find(|volume| volume["metadata"]["name"] == bound);
            return volume.is_some_and(|volume| is_reached_from(volume, node));
        }
        if let Some(kept) = volumes.clone().find(|volume| volume["spec"]["claimRef"]["uid"] == *uid) {
            return is_reached_from(kept, node);
        }
        match claim["spec"]["storageClassName"].as_str() {
            Some(LOCAL) => volumes.any(|volume| {
                volume["spec"]["storageClassName"] == LOCAL
                    && volume["spec"]["claimRef"].is_null()
                    && volume["status"]["phase"] == "Available"
                    && is_reached_from(volume, node)
            }),
            // It comes with a volume, by and by.
            Some(IMMEDIATE) => false,
            _ => true,
        }
    }

    fn attaches(&self, claim: &Value, node: &Value, stay: &[&Arc<Value>]) -> bool {
        if claim["spec"]["storageClassName"] == LOCAL {
            return true;
        }
        let csi_node = self
            .csi_nodes
            .iter()
            .find(|csi_node| csi_node["metadata"]["name"] == *node);
        let Some(most) = csi_node.and_then(|csi_node| csi_node["spec"]["drivers"][0]["allocatable"]["count"].as_u64())
        else {
            return true;
        };
        let there = stay.iter().filter(|pod| pod["spec"]["nodeName"] == *node);
        let mut attached: BTreeSet<&str> = there
            .filter_map(|pod| claim_of(pod))
            .filter(|claim| self.is_csi(claim))
            .collect();
        attached.insert(claim["metadata"]["name"].as_str().unwrap_or_default());
        u64::try_from(attached.len()).unwrap_or(u64::MAX) <= most
    }

    fn is_csi(&self, claim: &str) -> bool {
        let claim = self.claims.iter().find(|other| other["metadata"]["name"] == claim);
        claim.is_some_and(|claim| claim["spec"]["storageClassName"] != LOCAL)
    }
}

/// The claim of a pod: here none has two.
pub(super) fn claim_of(pod: &Value) -> Option<&str> {
    pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"].as_str()
}

fn is_reached_from(volume: &Value, node: &Value) -> bool {
    let wanted = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0];
    text(&node["metadata"]["labels"][text(&wanted["key"])]) == text(&wanted["values"][0])
}
