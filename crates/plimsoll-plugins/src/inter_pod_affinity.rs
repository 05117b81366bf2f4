//! `InterPodAffinity`: pods that must, or would like to, be near other pods, or far from them.
//!
//! What "near" means is said by a node label: nodes with the same value of it are one domain. The columns keep, by domain,
//! how many pods match each rule of the pod and how many pods have each rule that matches the pod, so a filter marks the
//! domains that will do and passes over the nodes once.
//!
//! The filter reads the counts as they are when it runs: pods put on a node for a while, such as nominated ones, count.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::{InterPodAffinityArgs, PluginArgs};
use plimsoll_framework::{
    Code, Construction, CycleContext, CycleState, Extensions, Filter, FilterPass, Plugin, PreFilter, PreFilterOutcome,
    Prepare, ReasonCode, Resolvability, Status,
};
use plimsoll_model::columns::{Columns, DomainCounts, MatchingTerm, NodeIndex, NodeSet};
use plimsoll_model::{Pod, PodQuery, TermKind};
use smallvec::{SmallVec, smallvec};

mod lacking;
mod queueing_hint;
mod rules;
mod scoring;
mod sorting;

use rules::{Rule, Rules};
use sorting::Sorting;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "InterPodAffinity";

/// What users read when the pods that the pod must be near are not there.
pub const AFFINITY: &str = "node(s) didn't match pod affinity rules";
/// What users read when pods that the pod must not be near are there.
pub const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
/// What users read when pods are there that must not be near the pod.
pub const EXISTING_ANTI_AFFINITY: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

const REASONS: [&str; 3] = [AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY];

/// Keeps together what must be together and apart what must be apart, and scores what would rather be.
#[derive(Debug, Clone, Default)]
pub struct InterPodAffinity {
    args: InterPodAffinityArgs,
}

/// Makes the plugin with the arguments of a profile, or without any.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let args = match with.args {
        None => InterPodAffinityArgs::default(),
        Some(PluginArgs::InterPodAffinity(args)) => args.clone(),
        Some(_) => return Err("args are not of type InterPodAffinityArgs".to_owned()),
    };
    let plugin = Arc::new(InterPodAffinity { args });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .prepare(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin))
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Prepare for InterPodAffinity {
    fn prepare(&self, pod: &Pod, columns: &mut Columns) {
        // What can't be parsed is told by the pre-filter.
        let Ok(rules) = Rules::of(pod) else { return };
        for key in &rules.affinity_keys {
            columns.keep_count_by(&rules.affinity, key);
        }
        for rule in &rules.anti_affinity {
            columns.keep_count_by(&rule.query, &rule.topology_key);
        }
        for wish in &rules.wishes {
            columns.keep_count_by(&wish.rule.query, &wish.rule.topology_key);
        }
    }
}

/// The terms of pods on nodes that forbid this pod to come near.
fn forbidding<'a>(columns: &'a Columns, pod: &'a Pod) -> impl Iterator<Item = MatchingTerm<'a>> {
    columns
        .terms_towards(pod)
        .filter(|term| term.kind == TermKind::RequiredAntiAffinity && !term.owners.is_empty())
}

impl PreFilter for InterPodAffinity {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        let rules = match Rules::of(cycle.pod) {
            Ok(rules) => rules,
            Err(error) => {
                let message = format!("parsing pod: {error}");
                return PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, NAME, message));
            }
        };
        let asks_nothing = rules.affinity_keys.is_empty() && rules.anti_affinity.is_empty();
        if asks_nothing && forbidding(cycle.columns, cycle.pod).next().is_none() {
            return PreFilterOutcome::Skip;
        }
        state.insert(rules);
        PreFilterOutcome::Continue
    }
}

impl Filter for InterPodAffinity {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let Some(rules) = state.get::<Rules>() else {
            return Err(format!("error reading \"PreFilter{NAME}\" from cycleState: not found"));
        };
        if !rules.affinity_keys.is_empty() {
            let near = near_enough(cycle, rules)?;
            pass.keep_only(&near, ReasonCode(0), Resolvability::Unresolvable);
        }
        for rule in &rules.anti_affinity {
            let too_near = nodes_in(cycle.columns, &rule.topology_key, [domains(cycle.columns, rule)?]);
            pass.reject_set(&too_near, ReasonCode(1), Resolvability::Resolvable);
        }
        pass.reject_set(&forbidden(cycle), ReasonCode(2), Resolvability::Resolvable);
        Ok(())
    }

    fn sort_out(&self, cycle: CycleContext<'_>, state: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        let Some(rules) = state.get::<Rules>() else {
            return false;
        };
        let sorting = Sorting::by(rules, cycle.columns);
        for (node, mark) in nodes.iter().zip(marks) {
            *mark = sorting.mark(*node);
        }
        !sorting.is_of_no_use()
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let reason = usize::try_from(code.0).ok().and_then(|code| REASONS.get(code));
        smallvec![Cow::Borrowed(reason.copied().unwrap_or(AFFINITY))]
    }

    fn lacking(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> Vec<String> {
        let rules = state.get::<Rules>();
        rules.map_or_else(Vec::new, |rules| lacking::of_node(cycle, rules, node))
    }
}

/// The pods of a count that [`Prepare`] has asked for, by domain.
fn counted<'a>(columns: &'a Columns, query: &PodQuery, key: &str) -> Result<DomainCounts<'a>, String> {
    let counts = columns.count_of(query);
    counts
        .and_then(|counts| counts.by_domain(key))
        .ok_or_else(|| format!("{NAME} reads a count that it has not asked for"))
}

fn domains<'a>(columns: &'a Columns, rule: &Rule) -> Result<DomainCounts<'a>, String> {
    counted(columns, &rule.query, &rule.topology_key)
}

fn nodes_in<'a>(columns: &Columns, key: &str, domains: impl IntoIterator<Item = DomainCounts<'a>>) -> NodeSet {
    let column = columns.label_key(key);
    column.map_or_else(NodeSet::new, |column| column.nodes_in_domains(domains))
}

/// The nodes that have pods matching all affinity terms near, by every term. When there are no such pods at all, and the
/// pod matches its own terms, it is the first of its kind: then the labels alone will do.
fn near_enough(cycle: CycleContext<'_>, rules: &Rules) -> Result<NodeSet, String> {
    let columns = cycle.columns;
    let mut by_key: SmallVec<[(&str, DomainCounts<'_>); 2]> = SmallVec::new();
    for key in &rules.affinity_keys {
        by_key.push((key, counted(columns, &rules.affinity, key)?));
    }
    let first_of_its_kind =
        by_key.iter().all(|(_, domains)| domains.is_empty()) && rules.affinity_means(cycle.pod, columns);
    let mut near = columns.nodes().clone();
    for (key, domains) in by_key {
        match columns.label_key(key) {
            Some(column) if first_of_its_kind => near.intersect_with(column.nodes()),
            Some(column) => near.intersect_with(&column.nodes_in_domains([domains])),
            None => near.clear(),
        }
    }
    Ok(near)
}

/// The nodes near pods that forbid this pod to come near.
fn forbidden(cycle: CycleContext<'_>) -> NodeSet {
    let mut terms: Vec<MatchingTerm<'_>> = forbidding(cycle.columns, cycle.pod).collect();
    terms.sort_by_key(|term| term.topology_key);
    let mut nodes = NodeSet::new();
    for by_key in terms.chunk_by(|a, b| a.topology_key == b.topology_key) {
        let owners = by_key.iter().map(|term| term.owners);
        nodes.union_with(&nodes_in(cycle.columns, by_key[0].topology_key, owners));
    }
    nodes
}

#[cfg(test)]
mod tests;
