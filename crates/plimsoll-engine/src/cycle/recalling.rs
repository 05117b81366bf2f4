//! Filters and scores that follow rows are asked about the nodes that have changed since a pod of the same kind was looked
//! at; of all others it is known what they say.

use std::sync::Arc;

use plimsoll_framework::{Code, CycleContext, ExtensionPoint, MAX_NODE_SCORE, Verdict};
use plimsoll_model::Moment;
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use smallvec::SmallVec;

use super::scoring::{Buffers, Sums};
use super::{Cycle, Scope};
use crate::recall::Known;

impl Cycle {
    /// Begins the verdicts on the nodes entered, contested ones rejected, by what is known of pods of this kind. Says how
    /// many filters, from the first one on, need not run any more.
    pub(super) fn begin_verdicts(&mut self, columns: &Columns, now: Moment) -> usize {
        if self.entered == Some(Scope::All)
            && let Some(mut known) = self.known.take()
            && self.judge_changed(&mut known, columns, now)
        {
            self.verdicts.follow(&known.verdicts);
            for (node, verdict) in &self.contested {
                self.verdicts.overrule(*node, *verdict);
            }
            #[cfg(debug_assertions)]
            self.check_judged(&known, columns, now);
            let filters = known.filters;
            self.known = Some(known);
            return filters;
        }
        self.verdicts.begin(&self.scope, columns.capacity());
        for (node, verdict) in &self.contested {
            self.verdicts.reject(*node, *verdict);
        }
        0
    }

    /// Has the filters that follow rows judge the nodes that have changed. Whether they could.
    fn judge_changed(&self, known: &mut Known, columns: &Columns, now: Moment) -> bool {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let changed = known.changed_rows(columns);
        let mut nodes = changed.clone();
        nodes.intersect_with(columns.nodes());
        for node in &changed {
            if let Some(rejected) = known
                .verdicts
                .of(node)
                .filter()
                .and_then(|at| known.rejected_by.get_mut(usize::from(at)))
            {
                *rejected -= 1;
            }
            known.verdicts.forget(node);
        }
        let judged = known.verdicts.reopen(&nodes, columns.capacity());
        let mut reached = columns.node_count();
        for number in 0..known.filters {
            if reached == 0 {
                break;
            }
            if self.skip_filter[number] {
                continue;
            }
            let Some(rejected) = self.judge_with(number, reached, known, context) else {
                return false;
            };
            reached -= rejected;
        }
        known.verdicts.close(&judged);
        true
    }

    /// Has one filter judge what nodes are left, and says how many it has rejected in all.
    fn judge_with(&self, number: usize, reached: usize, known: &mut Known, context: CycleContext<'_>) -> Option<usize> {
        let plugin = &self.plan.profile.filter[number];
        let is_away = |(node, _): &&(NodeIndex, Verdict)| reaches(known.verdicts.of(*node), number);
        let away = self.contested.iter().filter(is_away).count();
        self.timing.count_filter(number, reached.saturating_sub(away));
        let begun = self.timing.filter_begins();
        let left = known.verdicts.feasible().len();
        if left > 0 {
            let pass = u8::try_from(number).unwrap_or(u8::MAX);
            plugin
                .filter(context, &self.state, &mut known.verdicts.pass(pass))
                .ok()?;
        }
        known.rejected_by[number] += left - known.verdicts.feasible().len();
        let rejected = known.rejected_by[number];
        let code = if rejected < reached {
            Code::Success
        } else {
            Code::Unschedulable
        };
        self.timing
            .plugin_ended(begun, plugin.name(), ExtensionPoint::Filter, code, reached);
        Some(rejected)
    }
}

/// Scores.
impl Cycle {
    /// Has the scores that follow rows look at the nodes that have changed, those that are the same for all nodes at none, and
    /// the others at all feasible nodes. Whether they could.
    pub(super) fn score_changed(&mut self, known: &mut Known, columns: &Columns, now: Moment) -> bool {
        let plan = Arc::clone(&self.plan);
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let scores = plan.profile.score.iter().enumerate();
        let asked: SmallVec<[usize; 8]> = scores
            .map(|(number, _)| number)
            .filter(|number| !self.scoring.skip[*number])
            .collect();
        let follows_rows = |number: &usize| plan.profile.score[*number].plugin.follows_rows();
        let (by_row, others): (SmallVec<[usize; 8]>, SmallVec<[usize; 8]>) = asked.into_iter().partition(follows_rows);
        if self.score_changed_rows(&by_row, known, context).is_err() {
            return false;
        }
        #[cfg(debug_assertions)]
        self.check_scored(known, columns, now);
        let over_nodes: SmallVec<[usize; 8]> = others
            .into_iter()
            .filter(|number| !self.is_uniform(*number, context))
            .collect();
        if over_nodes.is_empty() && self.verdicts.feasible() == known.verdicts.feasible() {
            self.scoring.sums = Sums::Rows;
            return true;
        }
        if let Some(sums) = self.score_groups(by_row, &over_nodes, known, context) {
            self.scoring.sums = sums;
            return true;
        }
        let feasible = self.verdicts.feasible();
        let Buffers { list, totals, .. } = &mut self.scoring;
        let nodes = list.get_or_init(|| feasible.iter().collect());
        totals.clear();
        totals.extend(nodes.iter().map(|node| known.scores.of(*node)));
        over_nodes.into_iter().all(|number| {
            self.scoring
                .add(number, &plan.profile, context, &self.state, &self.timing, &mut ())
                .is_ok()
        })
    }

    fn score_changed_rows(
        &self,
        plugins: &[usize],
        known: &mut Known,
        context: CycleContext<'_>,
    ) -> Result<(), String> {
        let columns = context.columns;
        let changed = if let Some(version) = known.scores.scored_at(plugins) {
            columns.changed_since(version)
        } else {
            known.scores.restart(plugins);
            columns.nodes().clone()
        };
        let feasible: Vec<NodeIndex> = feasible_among(known, &changed).iter().collect();
        let (mut sums, mut scores) = (vec![0; feasible.len()], vec![0; feasible.len()]);
        for number in plugins {
            let weighted = &self.plan.profile.score[*number];
            let begun = self.timing.plugin_begins();
            scores.fill(0);
            weighted.plugin.score(context, &self.state, &feasible, &mut scores)?;
            if scores.iter().any(|score| !(0..=MAX_NODE_SCORE).contains(score)) {
                return Err("out of range".to_owned());
            }
            for (sum, score) in sums.iter_mut().zip(&scores) {
                *sum += score * weighted.weight;
            }
            self.tell_score(*number, begun);
        }
        known
            .scores
            .update(columns.version(), columns.capacity(), &changed, &feasible, &sums);
        Ok(())
    }

    fn is_uniform(&self, number: usize, context: CycleContext<'_>) -> bool {
        let begun = self.timing.plugin_begins();
        let is_uniform = self.plan.profile.score[number].plugin.is_uniform(context, &self.state);
        if is_uniform {
            self.tell_score(number, begun);
        }
        is_uniform
    }

    /// The plugin knows the scores of all feasible nodes, and has made them 0..=100.
    pub(super) fn tell_score(&self, number: usize, begun: Option<Moment>) {
        let nodes = self.scoring.count;
        let name = self.plan.profile.score[number].plugin.name();
        self.timing.count_score(number, nodes);
        self.timing
            .plugin_ended(begun, name, ExtensionPoint::Score, Code::Success, nodes);
        let begun = self.timing.plugin_begins();
        let normalise = ExtensionPoint::ScoreExtensionNormalize;
        self.timing.plugin_ended(begun, name, normalise, Code::Success, nodes);
    }
}

/// Debug builds look at all nodes as well.
#[cfg(debug_assertions)]
impl Cycle {
    fn check_judged(&self, known: &Known, columns: &Columns, now: Moment) {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let mut anew = plimsoll_framework::Verdicts::default();
        anew.begin(columns.nodes(), columns.capacity());
        for number in (0..known.filters).filter(|number| !self.skip_filter[*number]) {
            let pass = u8::try_from(number).unwrap_or(u8::MAX);
            let filtered = self.plan.profile.filter[number].filter(context, &self.state, &mut anew.pass(pass));
            debug_assert_eq!(filtered, Ok(()), "a filter fails on nodes that have not changed");
        }
        debug_assert_eq!(
            anew.feasible(),
            known.verdicts.feasible(),
            "nodes are as feasible as if looked at anew"
        );
        for node in columns.nodes() {
            debug_assert_eq!(anew.of(node), known.verdicts.of(node), "{}", columns.name(node));
        }
    }

    fn check_scored(&self, known: &Known, columns: &Columns, now: Moment) {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let nodes: &Vec<NodeIndex> = &self.verdicts.feasible().iter().collect();
        let mut sums = vec![0; nodes.len()];
        for (number, weighted) in self.plan.profile.score.iter().enumerate() {
            let plugin = &weighted.plugin;
            let is_uniform = plugin.is_uniform(context, &self.state);
            if self.scoring.skip[number] || !(plugin.follows_rows() || is_uniform) {
                continue;
            }
            let mut scores = vec![0; nodes.len()];
            let result = plugin.score(context, &self.state, nodes, &mut scores);
            let result = result.and_then(|()| plugin.normalize_scores(context, &self.state, nodes, &mut scores));
            debug_assert_eq!(result, Ok(()), "{} scores", plugin.name());
            if plugin.follows_rows() {
                sums.iter_mut()
                    .zip(&scores)
                    .for_each(|(sum, score)| *sum += score * weighted.weight);
            } else {
                debug_assert!(
                    scores.iter().all(|score| *score == scores[0]),
                    "{} is uniform",
                    plugin.name()
                );
            }
        }
        for (node, sum) in nodes.iter().zip(sums) {
            debug_assert_eq!(known.scores.of(*node), sum, "the sum of {}", columns.name(*node));
        }
    }
}

/// Whether a node with this verdict got as far as this filter.
fn reaches(verdict: Verdict, number: usize) -> bool {
    verdict.filter().is_none_or(|filter| usize::from(filter) >= number)
}

pub(super) fn feasible_among(known: &Known, nodes: &NodeSet) -> NodeSet {
    let mut feasible = known.verdicts.feasible().clone();
    feasible.intersect_with(nodes);
    feasible
}
