//! Which pods are missing near a node, or in the way there, in words.

use plimsoll_framework::CycleContext;
use plimsoll_model::columns::{Columns, NodeIndex};

use super::{Rules, counted, domains, forbidding, near_enough, nodes_in};

/// One phrase for each rule that the node does not meet.
pub(super) fn of_node(cycle: CycleContext<'_>, rules: &Rules, node: NodeIndex) -> Vec<String> {
    let columns = cycle.columns;
    let mut lacking = Vec::new();
    let near = near_enough(cycle, rules).is_ok_and(|near| near.contains(node));
    for key in rules.affinity_keys.iter().filter(|_| !near) {
        let pods = counted(columns, &rules.affinity, key);
        let is_near = pods.is_ok_and(|pods| nodes_in(columns, key, [pods]).contains(node));
        if !is_near {
            lacking.push(match columns.label(node, key) {
                Some(value) => format!("no pod that it must be near is in {key}={value}"),
                None => format!("the node has no label {key}"),
            });
        }
    }
    for rule in &rules.anti_affinity {
        let key = &rule.topology_key;
        if domains(columns, rule).is_ok_and(|pods| nodes_in(columns, key, [pods]).contains(node)) {
            lacking.push(format!(
                "a pod that it must be away from is in {}",
                place(columns, node, key)
            ));
        }
    }
    for term in forbidding(columns, cycle.pod) {
        if nodes_in(columns, term.topology_key, [term.owners]).contains(node) {
            let place = place(columns, node, term.topology_key);
            lacking.push(format!("a pod in {place} must be away from it"));
        }
    }
    lacking.sort_unstable();
    lacking.dedup();
    lacking
}

fn place(columns: &Columns, node: NodeIndex, key: &str) -> String {
    format!("{key}={}", columns.label(node, key).unwrap_or_default())
}
