//! `NodeAffinity`: node selectors and required node affinity hold pods to some nodes, preferred terms draw them to others.
//!
//! Differs from kube-scheduler in one thing: a preferred term that can't be parsed (the API server only warns about some,
//! for example a negative `Gt` value) counts for nothing here. There it fails every attempt of the pod, for ever.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::{NodeAffinityArgs, PluginArgs};
use plimsoll_framework::{
    Action, ClusterEvent, Code, Construction, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource,
    Extensions, Feasible, Filter, FilterPass, MarkBasis, Normalize, Plugin, PodsSeen, PreFilter, PreFilterOutcome,
    PreScore, PreScoreOutcome, QueueingHint, ReasonCode, Resolvability, Restriction, Score, Status,
};
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::{
    Labels, Node, NodeAffinity as Wanted, NodeSelectorTerm, Operator, Pod, PreferredTerm, Requirement,
};
use smallvec::{SmallVec, smallvec};

use crate::marked_by_score::marked_by_score;
use crate::validated::validated;

mod lacking;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeAffinity";

/// What users read when selector or affinity rule a node out.
pub const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
/// What users read when the profile's added affinity rules a node out.
pub const ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
/// What users read when no node name can satisfy the affinity.
pub const CONFLICT: &str = "pod affinity terms conflict";

const NAME_FIELD: &str = "metadata.name";

const BY_POD: ReasonCode = ReasonCode(0);
const BY_PROFILE: ReasonCode = ReasonCode(1);

/// Holds pods to the nodes they need and scores those they prefer.
#[derive(Debug, Clone, Default)]
pub struct NodeAffinity {
    /// What the profile wants for all its pods, on top of their own wishes.
    added: Wanted,
}

/// Makes the plugin with the arguments of a profile, or without any.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    validated(with)?;
    let defaults = NodeAffinityArgs::default();
    let args = match with.args {
        None => &defaults,
        Some(PluginArgs::NodeAffinity(args)) => args,
        Some(_) => return Err("args are not of type NodeAffinityArgs".to_owned()),
    };
    let plugin = Arc::new(NodeAffinity {
        added: args.added_affinity.clone().unwrap_or_default(),
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin))
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
        if terms.is_none() && self.added.required.is_none() && cycle.pod.spec.node_selector.is_none() {
            return PreFilterOutcome::Skip;
        }
        let Some(names) = terms.and_then(named_nodes) else {
            return PreFilterOutcome::Continue;
        };
        if names.is_empty() {
            return PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, NAME, CONFLICT));
        }
        PreFilterOutcome::Restrict(restriction(names, cycle.columns))
    }
}

fn restriction(names: Vec<&str>, columns: &Columns) -> Restriction {
    let mut restriction = Restriction::default();
    for name in names {
        match columns.index_of(name).filter(|node| columns.nodes().contains(*node)) {
            Some(node) => {
                restriction.nodes.insert(node);
            }
            None => restriction.absent.push(name.into()),
        }
    }
    restriction
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
        if let Some(terms) = &self.added.required {
            let matching = cycle.columns.match_terms(terms);
            pass.keep_only(&matching, BY_PROFILE, Resolvability::Unresolvable);
        }
        let matching = cycle.columns.match_required(&cycle.pod.spec);
        pass.keep_only(&matching, BY_POD, Resolvability::Unresolvable);
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn follows_rows(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(if code == BY_PROFILE { ENFORCED } else { REASON })]
    }

    fn lacking(&self, cycle: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Vec<String> {
        lacking::of_node(cycle, self.added.required.as_deref(), node)
    }
}

impl NodeAffinity {
    fn allows(&self, pod: &Pod, node: &Node) -> bool {
        let added = self.added.required.as_deref();
        added.is_none_or(|terms| some_term_matches(terms, node)) && allows(pod, node)
    }
}

/// Whether the pod's node selector and required node affinity allow a node.
pub(crate) fn allows(pod: &Pod, node: &Node) -> bool {
    let mut selected = pod.spec.node_selector.iter().flat_map(Labels::iter);
    selected.all(|(key, value)| node.labels.get(key) == Some(value))
        && required_terms(pod).is_none_or(|terms| some_term_matches(terms, node))
}

fn some_term_matches(terms: &[NodeSelectorTerm], node: &Node) -> bool {
    terms.iter().any(|term| term.matches(&node.name, &node.labels))
}

impl EnqueueExtensions for NodeAffinity {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let node = Action::ADD | Action::UPDATE_NODE_LABEL;
        vec![ClusterEvent::new(EventResource::Node, node)]
    }

    fn reads_labels(&self) -> bool {
        false
    }

    /// Differs from kube-scheduler, which does not ask whether the profile's affinity allowed the node before: there a node
    /// that comes to match it only now brings no pod back.
    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = objects.node().is_none_or(|change| {
            change.after().is_some_and(|node| self.allows(pod, node))
                && !change.before().is_some_and(|node| self.allows(pod, node))
        });
        Ok(QueueingHint::queue_if(may_help))
    }
}

impl PreScore for NodeAffinity {
    fn pre_score(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        if self.added.preferred.is_empty() && preferred_terms(cycle.pod).is_empty() {
            PreScoreOutcome::Skip
        } else {
            PreScoreOutcome::Continue
        }
    }
}

fn preferred_terms(pod: &Pod) -> &[PreferredTerm] {
    node_affinity(pod).map_or(&[], |affinity| &affinity.preferred)
}

impl Score for NodeAffinity {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let preferred = self.added.preferred.iter().chain(preferred_terms(cycle.pod));
        for term in preferred.filter(|term| term.weight != 0) {
            let matching = cycle.columns.match_term(&term.preference);
            for (node, score) in feasible.iter().zip(scores.iter_mut()) {
                if matching.contains(*node) {
                    *score += i64::from(term.weight);
                }
            }
        }
        Ok(())
    }

    fn mark_basis(&self, _: CycleContext<'_>, _: &CycleState) -> Option<MarkBasis> {
        Some(MarkBasis::default())
    }

    fn mark(&self, cycle: CycleContext<'_>, state: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        marked_by_score(self, cycle, state, nodes, marks)
    }

    fn normalize(&self) -> Normalize {
        Normalize::Default { reverse: false }
    }
}

#[cfg(test)]
mod tests;
