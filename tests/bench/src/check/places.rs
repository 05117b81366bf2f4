//! Whether nodes have room for what is on them, and pods are where they may be.

use std::collections::BTreeMap;

use plimsoll_cluster::quantity::{self, Amounts};

use super::cluster::View;
use super::selector::{repelled_by, wants};

/// Nodes that have given away more than they have, and pods on nodes that there are not.
pub(super) fn overcommitted(view: &View<'_>, broken: &mut Vec<String>) {
    for (name, pods) in view.by_node() {
        let Some(node) = view.nodes.get(name) else {
            let keys: Vec<&str> = pods.iter().map(|placed| placed.key.as_str()).collect();
            broken.push(format!("there is no node {name}, on which {} are", keys.join(", ")));
            continue;
        };
        let mut taken = Amounts::new();
        for placed in pods {
            quantity::add(&mut taken, &placed.requests);
        }
        for (resource, taken) in taken {
            let line = node.allocatable.get(&resource).copied().unwrap_or(0);
            if taken > line {
                broken.push(format!(
                    "{name} has given away {taken} of {line} thousandths of {resource}"
                ));
            }
        }
    }
}

/// Pods on nodes that they do not select, do not want or do not tolerate.
pub(super) fn allowed(view: &View<'_>, broken: &mut Vec<String>) {
    for placed in &view.placed {
        let Some(node) = view.node_of(placed) else { continue };
        let (key, on) = (&placed.key, placed.on);
        if !wants(placed.pod, node) {
            broken.push(format!(
                "{key} is on {on}, which its node selector or affinity excludes"
            ));
        }
        if let Some(taint) = repelled_by(placed.pod, node) {
            broken.push(format!("{key} is on {on}, whose taint {taint} it does not tolerate"));
        }
    }
}

/// Pods of one node with the same port of their host.
pub(super) fn ports(view: &View<'_>, broken: &mut Vec<String>) {
    for (name, pods) in view.by_node() {
        let mut taken: BTreeMap<(String, i32), Vec<(String, &str)>> = BTreeMap::new();
        for placed in pods {
            let containers = placed.pod.spec.iter().flat_map(|spec| &spec.containers);
            for port in containers.flat_map(|container| container.ports.iter().flatten()) {
                let Some(number) = port.host_port.filter(|number| *number > 0) else {
                    continue;
                };
                let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
                let address = port.host_ip.clone().filter(|address| !address.is_empty());
                let address = address.unwrap_or_else(|| "0.0.0.0".to_owned());
                taken
                    .entry((protocol, number))
                    .or_default()
                    .push((address, placed.key.as_str()));
            }
        }
        for ((protocol, number), holders) in taken {
            for (index, (address, key)) in holders.iter().enumerate() {
                let clash =
                    |(other, _): &&(String, &str)| other == address || other == "0.0.0.0" || address == "0.0.0.0";
                if let Some((_, other)) = holders[..index].iter().find(clash) {
                    broken.push(format!(
                        "{key} and {other} both have port {number}/{protocol} of {name}"
                    ));
                }
            }
        }
    }
}
