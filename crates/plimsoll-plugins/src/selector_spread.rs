//! `SelectorSpread` and `ServiceSpreading`: spread the pods of a workload over nodes and zones. Plugins of the legacy
//! Policy (`SelectorSpreadPriority`, `ServiceSpreadingPriority`), as kube-scheduler had them up to 1.22.
//!
//! A zone counts two thirds and the node itself one third, on nodes that are in a zone. Nodes that can't take the pod
//! count for nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_framework::{
    CycleContext, CycleState, Extensions, Feasible, MAX_NODE_SCORE, Plugin, PreScore, PreScoreOutcome, Prepare, Score,
};
use plimsoll_model::columns::{Columns, LabelColumn, NodeIndex};
use plimsoll_model::{Pod, PodQuery};

use crate::workload_of_pod::{controller_of, joined, pods_beside, services_of};

/// Name of the plugin that knows services, replication controllers, replica sets and stateful sets.
pub const SELECTOR_SPREAD: &str = "SelectorSpread";
/// Name of the plugin that knows services only.
pub const SERVICE_SPREADING: &str = "ServiceSpreading";

/// Zones and regions; an older label wins.
const ZONE_LABELS: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
const REGION_LABELS: [&str; 2] = [
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/region",
];

const ZONE_WEIGHT: f64 = 2.0 / 3.0;

/// Prefers nodes and zones with fewer pods of the workload.
#[derive(Debug, Clone, Copy)]
pub struct SelectorSpread {
    name: &'static str,
    controllers: bool,
}

/// The plugin for pods of services and controllers.
pub fn selector_spread() -> Extensions {
    extensions(SelectorSpread {
        name: SELECTOR_SPREAD,
        controllers: true,
    })
}

/// The plugin for pods of services.
pub fn service_spreading() -> Extensions {
    extensions(SelectorSpread {
        name: SERVICE_SPREADING,
        controllers: false,
    })
}

fn extensions(plugin: SelectorSpread) -> Extensions {
    let plugin = Arc::new(plugin);
    Extensions::new()
        .prepare(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin)
}

impl SelectorSpread {
    /// The pods that are spread with this one; none when it belongs to no workload.
    fn alike(self, pod: &Pod, columns: &Columns) -> Option<PodQuery> {
        let controller = self.controllers.then(|| controller_of(pod, columns)).flatten();
        let controller = controller.map(|(_, selector)| selector);
        let selector = joined(services_of(pod, columns).chain(controller))?;
        Some(pods_beside(pod, selector, false))
    }
}

impl Plugin for SelectorSpread {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Prepare for SelectorSpread {
    fn prepare(&self, pod: &Pod, columns: &mut Columns) {
        if let Some(alike) = self.alike(pod, columns) {
            columns.keep_count(&alike);
        }
    }
}

impl PreScore for SelectorSpread {
    /// Pods with constraints of their own are spread by those.
    fn pre_score(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        if cycle.pod.spec.topology_spread_constraints.is_empty() {
            PreScoreOutcome::Continue
        } else {
            PreScoreOutcome::Skip
        }
    }
}

impl Score for SelectorSpread {
    /// How many pods of the workload there are on each node.
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let alike = self.alike(cycle.pod, cycle.columns);
        let Some(counts) = alike.and_then(|alike| cycle.columns.count_of(&alike)) else {
            return Ok(());
        };
        for (node, score) in feasible.iter().zip(scores) {
            *score = counts.on(*node).into();
        }
        Ok(())
    }

    fn normalize_scores(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let zones = Zones::of(feasible, scores, cycle.columns);
        let most = scores.iter().copied().max().unwrap_or(0);
        for (score, zone) in scores.iter_mut().zip(&zones.of_node) {
            let by_node = share_of_free(*score, most);
            *score = truncated(match zone {
                Some(zone) => {
                    let by_zone = share_of_free(zones.counts[*zone], zones.most);
                    by_node * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * by_zone
                }
                None => by_node,
            });
        }
        Ok(())
    }
}

/// 100 where there are no pods, 0 where there are most.
#[expect(
    clippy::cast_precision_loss,
    reason = "kube-scheduler computed this in float64, and equal scores matter"
)]
fn share_of_free(count: i64, most: i64) -> f64 {
    let best = MAX_NODE_SCORE as f64;
    if most > 0 {
        best * ((most - count) as f64 / most as f64)
    } else {
        best
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "kube-scheduler truncated, and equal scores matter"
)]
fn truncated(score: f64) -> i64 {
    score as i64
}

/// Pods by zone, and the zone of each node.
struct Zones {
    of_node: Vec<Option<usize>>,
    counts: Vec<i64>,
    most: i64,
}

impl Zones {
    fn of(nodes: &[NodeIndex], pods: &[i64], columns: &Columns) -> Self {
        let zones = ZONE_LABELS.map(|key| columns.label_key(key));
        let regions = REGION_LABELS.map(|key| columns.label_key(key));
        let mut numbers = BTreeMap::new();
        let mut counts = Vec::new();
        let of_node = nodes
            .iter()
            .zip(pods)
            .map(|(node, count)| {
                let zone = (first_value(&regions, *node), first_value(&zones, *node));
                if zone == ("", "") {
                    return None;
                }
                let number = *numbers.entry(zone).or_insert_with(|| {
                    counts.push(0);
                    counts.len() - 1
                });
                counts[number] += count;
                Some(number)
            })
            .collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        Self { of_node, counts, most }
    }
}

fn first_value<'a>(columns: &[Option<LabelColumn<'a>>], node: NodeIndex) -> &'a str {
    let mut values = columns
        .iter()
        .flatten()
        .filter_map(|column| Some(column.text(column.value(node)?)));
    values.next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
