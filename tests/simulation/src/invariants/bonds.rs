//! Which volume each claim has and from where it is reached, by the API server's history of writes: a pod is bound only where
//! its volumes are, and a claim that is for one pod alone has one pod.

use std::collections::BTreeMap;

use plimsoll_apiserver::Mutation;
use serde_json::Value;

use super::cluster::text;

const COMPLETED: &str = "/metadata/annotations/pv.kubernetes.io~1bind-completed";

/// Claims and volumes at the version of the last write taken, those that have gone among them.
#[derive(Debug, Default)]
pub(super) struct Bonds {
    /// The labels of nodes, which do not change where the volumes of a run look at them: a node that comes again has them.
    labels: BTreeMap<String, Value>,
    /// All that had this namespace and name, the last one last.
    claims: BTreeMap<String, Vec<Claim>>,
    volumes: BTreeMap<String, Volume>,
}

#[derive(Debug)]
struct Claim {
    uid: String,
    volume: String,
    is_completed: bool,
    is_for_one_pod: bool,
    is_gone: bool,
}

#[derive(Debug)]
struct Volume {
    affinity: Value,
    is_gone: bool,
}

/// What is to be said of the claims of a pod that was bound.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// Each has its volume, which the node reaches.
    Holds,
    /// So it was, until somebody took one of the claims away.
    HeldOnce,
    /// One does not, and never did.
    Lacks(String),
}

impl Bonds {
    pub(super) fn take(&mut self, mutation: &Mutation) {
        let object = &mutation.object;
        let name = text(object, "/metadata/name");
        match mutation.resource.plural {
            "nodes" if !mutation.deleted => {
                let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
                self.labels.insert(name, labels);
            }
            "persistentvolumes" => {
                let affinity = object.pointer("/spec/nodeAffinity/required").cloned();
                let volume = Volume {
                    affinity: affinity.unwrap_or_default(),
                    is_gone: mutation.deleted,
                };
                self.volumes.insert(name, volume);
            }
            "persistentvolumeclaims" => {
                let all = self
                    .claims
                    .entry(format!("{}/{name}", text(object, "/metadata/namespace")));
                let (all, now) = (all.or_default(), Claim::of(mutation));
                match all.last_mut().filter(|last| last.uid == now.uid) {
                    Some(last) => *last = now,
                    None => all.push(now),
                }
            }
            _ => {}
        }
    }

    /// Whether the claims that a pod names let it on a node.
    pub(super) fn of(&self, claims: &[String], node: &str) -> Bond {
        let mut found = Bond::Holds;
        for name in claims {
            let Some((now, before)) = self.claims.get(name).and_then(|all| all.split_last()) else {
                return Bond::Lacks(format!("there never was its claim {name}"));
            };
            match self.lack(now, node) {
                None if !now.is_gone => {}
                None => found = Bond::HeldOnce,
                Some(_) if before.iter().any(|claim| self.lack(claim, node).is_none()) => found = Bond::HeldOnce,
                Some(lack) => return Bond::Lacks(format!("its claim {name} {lack}")),
            }
        }
        found
    }

    /// What a claim lacks, or lacked when it went, for a pod on this node.
    fn lack(&self, claim: &Claim, node: &str) -> Option<String> {
        let Claim { volume: name, .. } = claim;
        if name.is_empty() || !claim.is_completed {
            return Some("is not bound".to_owned());
        }
        let Some(volume) = self.volumes.get(name) else {
            return Some(format!("has volume {name}, which never was there"));
        };
        if volume.is_gone && !claim.is_gone {
            return Some(format!("has volume {name}, which is gone"));
        }
        let is_reached = self
            .labels
            .get(node)
            .is_some_and(|labels| reaches(labels, &volume.affinity));
        (!is_reached).then(|| format!("has volume {name}, which is elsewhere"))
    }

    /// Whether a claim is there and may be used by one pod alone.
    pub(super) fn is_for_one_pod(&self, claim: &str) -> bool {
        let last = self.claims.get(claim).and_then(|all| all.last());
        last.is_some_and(|claim| claim.is_for_one_pod && !claim.is_gone)
    }
}

impl Claim {
    fn of(mutation: &Mutation) -> Self {
        let object = &mutation.object;
        let modes = object.pointer("/spec/accessModes").and_then(Value::as_array);
        Self {
            uid: text(object, "/metadata/uid"),
            volume: text(object, "/spec/volumeName"),
            is_completed: object.pointer(COMPLETED).is_some(),
            is_for_one_pod: modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod")),
            is_gone: mutation.deleted,
        }
    }
}

/// Whether a node with these labels has what a volume asks of nodes that reach it: one of its terms, all of it. The
/// workloads here say `In` and nothing else; a term that says more reaches nobody.
fn reaches(labels: &Value, affinity: &Value) -> bool {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let holds = |expression: &Value| {
        let label = expression["key"].as_str().map(|key| &labels[key]);
        expression["operator"] == "In" && label.is_some_and(|label| list(expression, "values").contains(label))
    };
    affinity.is_null()
        || list(affinity, "nodeSelectorTerms")
            .iter()
            .any(|term| list(term, "matchExpressions").iter().all(holds))
}
