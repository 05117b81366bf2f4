//! Which volumes of the CSI driver are on which nodes, by the API server's history of writes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_apiserver::Mutation;
use serde_json::Value;

use super::cluster::text;
use crate::storage::{claim_names, claims_named};

/// Claims, volumes and limits at the version of the last write taken.
#[derive(Debug, Default)]
pub(super) struct Storage {
    /// The volume of each claim, by namespace and name.
    bound: BTreeMap<String, String>,
    /// Volumes of the driver.
    attachable: BTreeSet<String>,
    /// How many of them a node can take.
    limits: BTreeMap<String, u64>,
}

impl Storage {
    pub(super) fn take(&mut self, mutation: &Mutation) {
        let object = &mutation.object;
        let name = text(object, "/metadata/name");
        match mutation.resource.plural {
            "csinodes" => {
                let count = object
                    .pointer("/spec/drivers/0/allocatable/count")
                    .and_then(Value::as_u64);
                if let Some(count) = count.filter(|_| !mutation.deleted) {
                    self.limits.insert(name, count);
                }
            }
            "persistentvolumes" if mutation.deleted => drop(self.attachable.remove(&name)),
            "persistentvolumes" if object.pointer("/spec/csi").is_some() => drop(self.attachable.insert(name)),
            "persistentvolumeclaims" => {
                let key = format!("{}/{name}", text(object, "/metadata/namespace"));
                let volume = text(object, "/spec/volumeName");
                if mutation.deleted || volume.is_empty() {
                    self.bound.remove(&key);
                } else {
                    self.bound.insert(key, volume);
                }
            }
            _ => {}
        }
    }

    /// How many volumes these claims have attached; one that several have counts once.
    pub(super) fn attached(&self, claims: &BTreeSet<&str>) -> u64 {
        let volumes = claims.iter().filter_map(|claim| self.bound.get(*claim));
        let attached: BTreeSet<_> = volumes.filter(|volume| self.attachable.contains(*volume)).collect();
        u64::try_from(attached.len()).unwrap_or(u64::MAX)
    }

    /// How many volumes may be attached to a node, as far as the driver says.
    pub(super) fn most_on(&self, node: &str) -> Option<u64> {
        self.limits.get(node).copied()
    }
}

/// The claims that a pod names, and those that are made for it, by namespace and name.
pub(super) fn claims(pod: &Value) -> Vec<String> {
    in_namespace_of(pod, claim_names(pod))
}

/// The claims that a pod names, in the same way.
pub(super) fn named_claims(pod: &Value) -> Vec<String> {
    in_namespace_of(pod, claims_named(pod))
}

fn in_namespace_of(pod: &Value, names: Vec<String>) -> Vec<String> {
    let namespace = text(pod, "/metadata/namespace");
    names.into_iter().map(|claim| format!("{namespace}/{claim}")).collect()
}
