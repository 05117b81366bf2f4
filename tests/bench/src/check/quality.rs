//! How well pods lie on nodes.

use std::collections::BTreeMap;

use plimsoll_cluster::quantity::{self, Amounts};
use serde::Serialize;

use super::Regret;
use super::cluster::View;
use crate::statistics::{deviation, mean};

/// Numbers to be held against another scheduler's.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Quality {
    /// Nodes with a pod at least.
    pub nodes_used: usize,
    /// How much of each node is given away at the end: the mean, and how far nodes are from it, by resource.
    pub filled: BTreeMap<&'static str, Filled>,
    /// What was given away of each resource when a pod was first told that it fits nowhere, as shares of 1.
    pub utilisation_at_first_refusal: BTreeMap<&'static str, f64>,
    /// Pods that were placed until then.
    pub placed_at_first_refusal: Option<usize>,
    /// How much better places there were.
    pub regret: Option<Regret>,
}

/// Shares of 1.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "a mean and a deviation")]
pub struct Filled {
    pub mean: f64,
    pub deviation: f64,
}

pub(super) fn of(
    view: &View<'_>,
    order: &[(&str, &str)],
    refused_after: Option<usize>,
    regret: Option<Regret>,
) -> Quality {
    let by_node = view.by_node();
    let mut filled = BTreeMap::new();
    for resource in ["cpu", "memory"] {
        let shares: Vec<f64> = view
            .nodes
            .iter()
            .map(|(name, node)| {
                let pods = by_node.get(name).into_iter().flatten();
                let taken = pods.map(|placed| amount(&placed.requests, resource)).sum();
                share(taken, amount(&node.allocatable, resource))
            })
            .collect();
        if let (Some(mean), Some(deviation)) = (mean(&shares), deviation(&shares)) {
            filled.insert(resource, Filled { mean, deviation });
        }
    }
    Quality {
        nodes_used: by_node.keys().filter(|name| view.nodes.contains_key(*name)).count(),
        filled,
        utilisation_at_first_refusal: refused_after.map_or_else(BTreeMap::new, |count| utilisation(view, order, count)),
        placed_at_first_refusal: refused_after,
        regret,
    }
}

/// What the first so many pods took of all nodes.
fn utilisation(view: &View<'_>, order: &[(&str, &str)], count: usize) -> BTreeMap<&'static str, f64> {
    let requests: BTreeMap<&str, &Amounts> = view
        .placed
        .iter()
        .map(|placed| (placed.key.as_str(), &placed.requests))
        .collect();
    let mut taken = Amounts::new();
    for (key, _) in order.iter().take(count) {
        if let Some(requests) = requests.get(key) {
            quantity::add(&mut taken, requests);
        }
    }
    ["cpu", "memory"]
        .map(|resource| {
            let all = view
                .nodes
                .values()
                .map(|node| amount(&node.allocatable, resource))
                .sum();
            (resource, share(amount(&taken, resource), all))
        })
        .into()
}

fn amount(amounts: &Amounts, resource: &str) -> i128 {
    amounts.get(resource).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "shares are told with three digits")]
fn share(taken: i128, line: i128) -> f64 {
    if line == 0 { 0.0 } else { taken as f64 / line as f64 }
}
