//! Spreading that must hold, by what is there at the end.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, TopologySpreadConstraint};

use super::cluster::{Placed, View};
use super::selector::{labels_of, repelled_by, selects, wants};

/// Constraints of pods that are broken at the end. While pods are only added, a domain whose last pod was placed within
/// the limit stays within it; but only if all pods that count have the constraint, which is looked at.
pub(super) fn hard(view: &View<'_>, broken: &mut Vec<String>, unjudged: &mut Vec<String>) {
    // Pods with one constraint, one way of choosing nodes and one namespace are judged together.
    let mut groups: BTreeMap<String, Vec<(&Placed<'_>, &TopologySpreadConstraint)>> = BTreeMap::new();
    for placed in &view.placed {
        for constraint in constraints(placed.pod) {
            groups
                .entry(group(placed, constraint))
                .or_default()
                .push((placed, constraint));
        }
    }
    for pods in groups.values() {
        let Some((first, constraint)) = pods.first() else {
            continue;
        };
        let counted: Vec<&Placed<'_>> = view
            .placed
            .iter()
            .filter(|placed| placed.namespace == first.namespace && counts(constraint, first, placed))
            .collect();
        if counted.len() != pods.len() || !counts(constraint, first, first) {
            unjudged.push(format!("{}: not all pods that count have the constraint", first.key));
            continue;
        }
        let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
        for node in view
            .nodes
            .values()
            .filter(|node| eligible(first.pod, constraint, node.node))
        {
            if let Some(domain) = labels_of(node.node).get(&constraint.topology_key) {
                domains.entry(domain).or_default();
            }
        }
        for placed in counted {
            let domain = view
                .node_of(placed)
                .and_then(|node| labels_of(node).get(&constraint.topology_key));
            match domain.and_then(|domain| domains.get_mut(domain.as_str())) {
                Some(count) => *count += 1,
                None => broken.push(format!(
                    "{} is on {}, in no domain to spread over",
                    placed.key, placed.on
                )),
            }
        }
        let too_few = usize::try_from(constraint.min_domains.unwrap_or(1)).is_ok_and(|min| domains.len() < min);
        let least = if too_few {
            0
        } else {
            domains.values().min().copied().unwrap_or(0)
        };
        let limit = usize::try_from(constraint.max_skew).unwrap_or(0);
        for (domain, count) in &domains {
            if count - least > limit {
                let (key, topology) = (&first.key, &constraint.topology_key);
                broken.push(format!(
                    "{topology} {domain} has {count} pods like {key}, another {least}: more than {limit} apart"
                ));
            }
        }
    }
}

fn constraints(pod: &Pod) -> impl Iterator<Item = &TopologySpreadConstraint> {
    let all = pod
        .spec
        .iter()
        .flat_map(|spec| spec.topology_spread_constraints.iter().flatten());
    all.filter(|constraint| constraint.when_unsatisfiable == "DoNotSchedule")
}

/// What is the same for pods that are judged together.
fn group(placed: &Placed<'_>, constraint: &TopologySpreadConstraint) -> String {
    let spec = placed.pod.spec.as_ref();
    let keys: Vec<Option<&String>> = constraint
        .match_label_keys
        .iter()
        .flatten()
        .map(|key| placed.labels.get(key))
        .collect();
    let parts = serde_json::json!([
        placed.namespace,
        constraint,
        keys,
        spec.and_then(|spec| spec.node_selector.as_ref()),
        spec.and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref()),
        spec.and_then(|spec| spec.tolerations.as_ref()),
    ]);
    parts.to_string()
}

/// Whether a pod of the owner's namespace counts for its constraint.
fn counts(constraint: &TopologySpreadConstraint, owner: &Placed<'_>, other: &Placed<'_>) -> bool {
    let mut keys = constraint.match_label_keys.iter().flatten();
    selects(constraint.label_selector.as_ref(), other.labels)
        && keys.all(|key| !owner.labels.contains_key(key) || owner.labels.get(key) == other.labels.get(key))
}

/// Whether the node's domain is one to spread over.
fn eligible(pod: &Pod, constraint: &TopologySpreadConstraint, node: &Node) -> bool {
    let labels = labels_of(node);
    let by_affinity = constraint.node_affinity_policy.as_deref() == Some("Ignore") || wants(pod, node);
    let by_taints = constraint.node_taints_policy.as_deref() != Some("Honor") || repelled_by(pod, node).is_none();
    let mut keys = constraints(pod).map(|constraint| &constraint.topology_key);
    by_affinity && by_taints && keys.all(|key| labels.contains_key(key))
}
