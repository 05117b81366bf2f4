//! `ServiceAffinity`: keeps the pods of one service on nodes that share the values of some labels, or spreads them over
//! the values of others. A plugin of the legacy Policy (`serviceAffinity`, `serviceAntiAffinity`).
//!
//! The service of a pod is the first, by name, of those that select it. Its pods may be on nodes with different values of
//! an affinity label already, be it because the plugin is new to the cluster: then the value with the most of them counts,
//! and of several such the first in order of text; for a further label only pods on nodes with the values so far are looked
//! at, so that some node has all the values. Kubernetes took whichever pod it met first.
//!
//! The score is that of Kubernetes 1.0, out of 100 rather than 10: the share of the service's pods that are elsewhere. It
//! counts pods in the whole domain, also on nodes that can't take the pod, and leaves out those that terminate.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_config::{PluginArgs, ServiceAffinityArgs, WeightedLabel};
use plimsoll_framework::{
    Construction, CycleContext, CycleState, Extensions, Filter, FilterPass, MAX_NODE_SCORE, Plugin, Prepare,
    ReasonCode, Resolvability, Score,
};
use plimsoll_model::columns::{Columns, DomainCounts, LabelColumn, NodeIndex, PodCounts};
use plimsoll_model::{LabelSelector, Pod, PodQuery};
use smallvec::{SmallVec, smallvec};

use crate::workload_of_pod::{pods_beside, services_of};

mod queueing_hint;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "ServiceAffinity";

/// What users read.
pub const REASON: &str = "node(s) didn't match service affinity";

/// Keeps a service together by some labels and apart by others.
#[derive(Debug, Clone)]
pub struct ServiceAffinity {
    together: Vec<String>,
    apart: Vec<WeightedLabel>,
}

/// Makes the plugin with the arguments of a profile.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let args = match with.args {
        None => ServiceAffinityArgs::default(),
        Some(PluginArgs::ServiceAffinity(args)) => args.clone(),
        Some(_) => return Err("want args to be of type ServiceAffinityArgs".to_owned()),
    };
    if let Some(label) = args
        .anti_affinity_labels_preference
        .iter()
        .find(|label| label.weight < 1)
    {
        return Err(format!("label {:?} should have a positive weight", label.label));
    }
    let plugin = Arc::new(ServiceAffinity {
        together: args.affinity_labels,
        apart: args.anti_affinity_labels_preference,
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .prepare(plugin.clone())
        .filter(plugin.clone())
        .score(plugin))
}

impl Plugin for ServiceAffinity {
    fn name(&self) -> &'static str {
        NAME
    }
}

fn service_of(pod: &Pod, columns: &Columns) -> Option<LabelSelector> {
    services_of(pod, columns).next().cloned()
}

/// The pods that say where a service is: also those that terminate, so that it stays where it is when all are replaced.
fn whole_service(pod: &Pod, service: LabelSelector) -> PodQuery {
    pods_beside(pod, service, true)
}

fn lasting_pods(pod: &Pod, service: LabelSelector) -> PodQuery {
    pods_beside(pod, service, false)
}

impl Prepare for ServiceAffinity {
    fn prepare(&self, pod: &Pod, columns: &mut Columns) {
        let Some(service) = service_of(pod, columns) else {
            return;
        };
        if !self.together.is_empty() {
            columns.keep_count(&whole_service(pod, service.clone()));
        }
        if !self.apart.is_empty() {
            let query = lasting_pods(pod, service);
            for label in &self.apart {
                columns.keep_count_by(&query, &label.label);
            }
        }
    }
}

impl Filter for ServiceAffinity {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        if self.together.is_empty() {
            return Ok(());
        }
        let CycleContext { pod, columns, .. } = cycle;
        let service = service_of(pod, columns).map(|service| whole_service(pod, service));
        let counts = service.and_then(|service| columns.count_of(&service));
        let mut pods: Vec<(NodeIndex, u32)> = counts.into_iter().flat_map(PodCounts::iter).collect();
        let chosen = pod.spec.node_selector.as_ref();
        for label in &self.together {
            let by_pod = chosen.and_then(|selector| selector.get(label));
            let value = by_pod.or_else(|| {
                let value = prevailing_value(label, &pods, columns)?;
                pods.retain(|(node, _)| columns.label(*node, label) == Some(value));
                Some(value)
            });
            if let Some(value) = value {
                let matching = columns.nodes_with_label(label, value);
                pass.keep_only(&matching, ReasonCode(0), Resolvability::Resolvable);
            }
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }
}

/// The value of a label with the most of the pods.
fn prevailing_value<'a>(label: &str, pods: &[(NodeIndex, u32)], columns: &'a Columns) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (node, pods) in pods {
        if let Some(value) = columns.label(*node, label) {
            *counts.entry(value).or_default() += u64::from(*pods);
        }
    }
    let first_of_most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    first_of_most.map(|(value, _)| value)
}

/// How the pods of a service are spread over one label.
struct Spread<'a> {
    weight: i128,
    column: LabelColumn<'a>,
    /// None when the service has no pods.
    domains: Option<DomainCounts<'a>>,
}

impl Spread<'_> {
    /// How many of all the pods are elsewhere, weighted; nothing without the label.
    fn elsewhere(&self, node: NodeIndex, total: u64) -> i128 {
        let Some(value) = self.column.value(node) else {
            return 0;
        };
        let here = self.domains.map_or(0, |domains| domains.of(value));
        self.weight * i128::from(total.saturating_sub(here))
    }
}

impl Score for ServiceAffinity {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let CycleContext { pod, columns, .. } = cycle;
        let service = service_of(pod, columns).map(|service| lasting_pods(pod, service));
        let counts = service
            .and_then(|query| columns.count_of(&query))
            .filter(|counts| counts.total() > 0);
        // Where there are no pods all of them are elsewhere.
        let total = counts.map_or(1, PodCounts::total);
        let spreads: SmallVec<[Spread<'_>; 2]> = self
            .apart
            .iter()
            .filter_map(|label| {
                Some(Spread {
                    weight: label.weight.into(),
                    column: columns.label_key(&label.label)?,
                    domains: counts.and_then(|counts| counts.by_domain(&label.label)),
                })
            })
            .collect();
        let weights: i128 = self.apart.iter().map(|label| i128::from(label.weight)).sum();
        let best = weights * i128::from(total);
        if best == 0 {
            return Ok(());
        }
        for (node, score) in feasible.iter().zip(scores) {
            let elsewhere: i128 = spreads.iter().map(|spread| spread.elsewhere(*node, total)).sum();
            *score = i64::try_from(elsewhere * i128::from(MAX_NODE_SCORE) / best).unwrap_or(MAX_NODE_SCORE);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
