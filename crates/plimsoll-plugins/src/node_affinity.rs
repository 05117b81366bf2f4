//! `NodeAffinity`: node selectors and required node affinity hold pods to some nodes, preferred terms draw them to others.
//!
//! Differs from kube-scheduler in one thing: a preferred term that can't be parsed (the API server only warns about some,
//! for example a negative `Gt` value) counts for nothing here. There it fails every attempt of the pod, for ever.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{
    Code, CycleContext, CycleState, Extensions, Filter, FilterPass, Normalize, Plugin, PreFilter, PreFilterOutcome,
    PreScore, PreScoreOutcome, ReasonCode, Resolvability, Score, Status,
};
use plimsoll_model::columns::{NodeIndex, NodeSet};
use plimsoll_model::{NodeAffinity as Wanted, NodeSelectorTerm, Operator, Pod, Requirement};
use smallvec::{SmallVec, smallvec};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeAffinity";

/// What users read when selector or affinity rule a node out.
pub const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
/// What users read when no node name can satisfy the affinity.
pub const CONFLICT: &str = "pod affinity terms conflict";

const NAME_FIELD: &str = "metadata.name";

/// Holds pods to the nodes they need and scores those they prefer.
#[derive(Debug, Clone, Copy)]
pub struct NodeAffinity;

/// Where it takes part.
pub fn extensions() -> Extensions {
    let plugin = Arc::new(NodeAffinity);
    Extensions::new()
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin)
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        NAME
    }
}

fn node_affinity(pod: &Pod) -> Option<&Wanted> {
    pod.spec.affinity.as_deref()?.node_affinity.as_ref()
}

fn required_terms(pod: &Pod) -> Option<&[NodeSelectorTerm]> {
    node_affinity(pod)?.required.as_deref()
}

impl PreFilter for NodeAffinity {
    fn pre_filter(&self, cycle: CycleContext<'_>, _: &mut CycleState) -> PreFilterOutcome {
        let terms = required_terms(cycle.pod);
        if terms.is_none() && cycle.pod.spec.node_selector.is_none() {
            return PreFilterOutcome::Skip;
        }
        let Some(names) = terms.and_then(named_nodes) else {
            return PreFilterOutcome::Continue;
        };
        if names.is_empty() {
            return PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, NAME, CONFLICT));
        }
        let mut nodes: NodeSet = names.iter().filter_map(|name| cycle.columns.index_of(name)).collect();
        nodes.intersect_with(cycle.columns.nodes());
        PreFilterOutcome::Restrict(nodes)
    }
}

/// The names that the terms allow together; none when some term allows nodes whatever their name.
fn named_nodes(terms: &[NodeSelectorTerm]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for term in terms {
        names.extend(names_of_term(term)?);
    }
    (!terms.is_empty()).then_some(names)
}

/// The names that are in every `In` requirement of the term.
fn names_of_term(term: &NodeSelectorTerm) -> Option<Vec<&str>> {
    let restricts = |field: &&Requirement| field.key == NAME_FIELD && field.operator == Operator::In;
    let mut fields = term.match_fields.iter().filter(restricts);
    let mut names: Vec<&str> = fields.next()?.values.iter().map(AsRef::as_ref).collect();
    for field in fields {
        names.retain(|name| field.values.iter().any(|value| value == name));
    }
    Some(names)
}

impl Filter for NodeAffinity {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let matching = cycle.columns.match_required(&cycle.pod.spec);
        pass.keep_only(&matching, ReasonCode(0), Resolvability::Unresolvable);
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }
}

impl PreScore for NodeAffinity {
    fn pre_score(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &[NodeIndex]) -> PreScoreOutcome {
        let wished = node_affinity(cycle.pod).is_some_and(|affinity| !affinity.preferred.is_empty());
        if wished {
            PreScoreOutcome::Continue
        } else {
            PreScoreOutcome::Skip
        }
    }
}

impl Score for NodeAffinity {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let preferred = node_affinity(cycle.pod).map_or(&[][..], |affinity| &affinity.preferred);
        for term in preferred.iter().filter(|term| term.weight != 0) {
            let matching = cycle.columns.match_term(&term.preference);
            for (node, score) in feasible.iter().zip(scores.iter_mut()) {
                if matching.contains(*node) {
                    *score += i64::from(term.weight);
                }
            }
        }
        Ok(())
    }

    fn normalize(&self) -> Normalize {
        Normalize::Default { reverse: false }
    }
}

#[cfg(test)]
mod tests;
