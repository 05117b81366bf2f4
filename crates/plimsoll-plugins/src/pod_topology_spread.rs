//! `PodTopologySpread`: like pods are spread evenly over the values of node labels, strictly or as far as possible.
//!
//! The columns keep how many pods match each constraint on each node. Which nodes count depends on the pod (its node
//! affinity and tolerations), so each cycle sums those counts by domain: a pass over the nodes, none over the pods.
//!
//! The pre-filter counts once. When the filter finds more or fewer pods than that, they were put on the one node that is
//! judged, or taken off it, and it reckons with the difference.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::{DefaultingType, Gate, PluginArgs, PodTopologySpreadArgs};
use plimsoll_framework::{
    Code, Construction, CycleContext, CycleState, Extensions, Feasible, Filter, FilterPass, MarkBasis, Plugin,
    PreFilter, PreFilterOutcome, PreScore, PreScoreOutcome, Prepare, ReasonCode, Score, Status,
};
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::{Pod, TopologySpreadConstraint, WhenUnsatisfiable};
use smallvec::SmallVec;

mod constraint;
mod defaults;
mod domains;
mod eligible;
mod filter;
mod queueing_hint;
mod score;
#[cfg(test)]
mod tests;

use constraint::Constraint;
use eligible::Eligible;
use filter::Hard;
use score::Soft;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "PodTopologySpread";

/// What users read of nodes that are in no domain of a constraint.
pub const MISSING_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// What users read of nodes in domains that have too many of the pods already.
pub const TOO_MANY: &str = "node(s) didn't match pod topology spread constraints";

const REASONS: [&str; 2] = [MISSING_LABEL, TOO_MANY];

/// Rejects nodes in domains with too many like pods, and prefers nodes in domains with few.
#[derive(Debug, Clone)]
pub struct PodTopologySpread {
    /// For pods without constraints of their own.
    defaults: Vec<TopologySpreadConstraint>,
    /// Whether those are kube-scheduler's own, which nodes without zones also may meet.
    system_defaults: bool,
    /// Whether `matchLabelKeys` narrow the selector.
    match_label_keys: bool,
    /// Whether `Lt` and `Gt` tolerate anything.
    compares: bool,
}

/// Makes the plugin with the arguments of a profile, or without any.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let args = match with.args {
        None => &PodTopologySpreadArgs::default(),
        Some(PluginArgs::PodTopologySpread(args)) => args,
        Some(_) => return Err("args are not of type PodTopologySpreadArgs".to_owned()),
    };
    let system_defaults = args.defaulting_type == DefaultingType::System;
    let plugin = Arc::new(PodTopologySpread {
        defaults: if system_defaults {
            defaults::of_system()
        } else {
            args.default_constraints.iter().map(defaults::of_args).collect()
        },
        system_defaults,
        match_label_keys: with.gates.enabled(Gate::MatchLabelKeysInPodTopologySpread),
        compares: with.gates.enabled(Gate::TaintTolerationComparisonOperators),
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .prepare(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin))
}

impl PodTopologySpread {
    /// The pod's constraints of one sort: its own, or the default ones when it has none at all.
    fn constraints(&self, pod: &Pod, columns: &Columns, when: WhenUnsatisfiable) -> Result<Vec<Constraint>, String> {
        let sort = match when {
            WhenUnsatisfiable::DoNotSchedule => "hard",
            WhenUnsatisfiable::ScheduleAnyway => "soft",
        };
        let own = &pod.spec.topology_spread_constraints;
        if own.is_empty() {
            let defaults = self.defaults.iter().filter(|spread| spread.when_unsatisfiable == when);
            return Ok(defaults::for_pod(defaults, pod, columns));
        }
        let labels = self.match_label_keys.then_some(&pod.labels);
        own.iter()
            .filter(|spread| spread.when_unsatisfiable == when)
            .map(|spread| Constraint::of_pod(spread, labels))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("obtaining pod's {sort} topology spread constraints: {error}"))
    }

    fn eligible<'a>(&self, pod: &'a Pod, columns: &'a Columns) -> Eligible<'a> {
        Eligible::new(pod, columns, self.compares)
    }

    /// Whether nodes must have the labels of all constraints to be scored.
    fn requires_all_keys(&self, pod: &Pod) -> bool {
        !pod.spec.topology_spread_constraints.is_empty() || !self.system_defaults
    }
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Prepare for PodTopologySpread {
    fn prepare(&self, pod: &Pod, columns: &mut Columns) {
        for when in [WhenUnsatisfiable::DoNotSchedule, WhenUnsatisfiable::ScheduleAnyway] {
            // What can't be parsed is told when it is needed.
            let constraints = self.constraints(pod, columns, when).unwrap_or_default();
            for constraint in &constraints {
                let Some(query) = constraint.query(pod) else { continue };
                // Scores take the pods of each node for those of its host.
                if when == WhenUnsatisfiable::ScheduleAnyway && constraint.topology_key == score::HOSTNAME {
                    columns.keep_count(&query);
                } else {
                    columns.keep_count_by(&query, &constraint.topology_key);
                }
            }
        }
    }
}

impl PreFilter for PodTopologySpread {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        let constraints = match self.constraints(cycle.pod, cycle.columns, WhenUnsatisfiable::DoNotSchedule) {
            Ok(constraints) => constraints,
            Err(error) => {
                let message = format!("get constraints from pod: {error}");
                return PreFilterOutcome::Stop(Status::new(Code::Error, NAME, message));
            }
        };
        if constraints.is_empty() {
            return PreFilterOutcome::Skip;
        }
        let eligible = self.eligible(cycle.pod, cycle.columns);
        match Hard::count(cycle.pod, cycle.columns, constraints, &eligible) {
            Ok(hard) => {
                state.insert(hard);
                PreFilterOutcome::Continue
            }
            Err(error) => PreFilterOutcome::Stop(Status::new(Code::Error, NAME, error)),
        }
    }
}

impl Filter for PodTopologySpread {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        match state.get::<Hard>() {
            Some(hard) => hard.judge(cycle.columns, pass),
            None => Err(format!("reading \"PreFilter{NAME}\" from cycleState: not found")),
        }
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let reason = usize::try_from(code.0).ok().and_then(|code| REASONS.get(code));
        reason.map(|reason| Cow::Borrowed(*reason)).into_iter().collect()
    }

    fn sort_out(&self, cycle: CycleContext<'_>, state: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        state
            .get::<Hard>()
            .is_some_and(|hard| hard.sort_out(cycle.columns, nodes, marks))
    }

    fn lacking(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> Vec<String> {
        let hard = state.get::<Hard>();
        hard.map_or_else(Vec::new, |hard| hard.lacking(cycle.columns, node))
    }
}

impl PreScore for PodTopologySpread {
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, feasible: &Feasible<'_>) -> PreScoreOutcome {
        let pod = cycle.pod;
        let constraints = match self.constraints(pod, cycle.columns, WhenUnsatisfiable::ScheduleAnyway) {
            Ok(constraints) => constraints,
            Err(error) => return PreScoreOutcome::Error(format!("calculating preScoreState: {error}")),
        };
        if constraints.is_empty() {
            return PreScoreOutcome::Skip;
        }
        let eligible = self.eligible(pod, cycle.columns);
        match Soft::count(cycle, constraints, &eligible, feasible, self.requires_all_keys(pod)) {
            Ok(soft) => {
                state.insert(soft);
                PreScoreOutcome::Continue
            }
            Err(error) => PreScoreOutcome::Error(error),
        }
    }
}

impl Score for PodTopologySpread {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        soft(state)?.score(cycle.columns, feasible, scores);
        Ok(())
    }

    fn mark_basis(&self, _: CycleContext<'_>, state: &CycleState) -> Option<MarkBasis> {
        state.get::<Soft>().map(Soft::mark_basis)
    }

    fn mark(&self, cycle: CycleContext<'_>, state: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        state
            .get::<Soft>()
            .is_some_and(|soft| soft.mark(cycle.columns, nodes, marks))
    }

    fn normalize_scores(
        &self,
        _: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        soft(state)?.normalize(feasible, scores);
        Ok(())
    }
}

fn soft(state: &CycleState) -> Result<&Soft, String> {
    state
        .get::<Soft>()
        .ok_or_else(|| format!("error reading \"PreScore{NAME}\" from cycleState: not found"))
}
