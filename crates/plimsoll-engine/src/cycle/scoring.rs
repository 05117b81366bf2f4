use std::sync::OnceLock;

use plimsoll_framework::{
    Code, CycleContext, CycleState, ExtensionPoint, Feasible, MAX_NODE_SCORE, PreScoreOutcome, Profile, WeightedScore,
};
use plimsoll_model::Moment;
use plimsoll_model::columns::{Columns, NodeIndex};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

use super::Cycle;
use crate::PluginScores;
use crate::score_groups::{ScoreGroups, Winners};
use crate::timeline::Timing;

/// Score columns over the feasible nodes, kept between cycles.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The feasible nodes, once somebody has asked for a list.
    pub(super) list: OnceLock<Vec<NodeIndex>>,
    /// How many there are.
    pub(super) count: usize,
    scores: Vec<i64>,
    pub(super) totals: Vec<i64>,
    pub(super) skip: Vec<bool>,
    pub(super) sums: Sums,
}

/// Where the sums of the scores are.
#[derive(Debug, Default)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each cycle, and it is moved a few times"
)]
pub(super) enum Sums {
    /// One of each feasible node.
    #[default]
    Totals,
    /// The sums by row are all.
    Rows,
    /// They and what nodes get with their groups; these have the best nodes.
    Groups(ScoreGroups, Winners),
}

/// Hears each score column, for those who want to know more than the sums.
pub(crate) trait ScoreLog {
    /// A plugin has scored.
    fn raw(&mut self, score: &WeightedScore, scores: &[i64]);
    /// Its scores are in 0..=100.
    fn normalised(&mut self, scores: &[i64]);
}

impl ScoreLog for () {
    fn raw(&mut self, _: &WeightedScore, _: &[i64]) {}
    fn normalised(&mut self, _: &[i64]) {}
}

impl ScoreLog for Vec<PluginScores> {
    fn raw(&mut self, score: &WeightedScore, scores: &[i64]) {
        self.push(PluginScores {
            plugin: score.plugin.name(),
            weight: score.weight,
            raw: scores.to_vec(),
            normalised: Vec::new(),
        });
    }

    fn normalised(&mut self, scores: &[i64]) {
        if let Some(last) = self.last_mut() {
            last.normalised = scores.to_vec();
        }
    }
}

impl Buffers {
    /// Adds one plugin's scores of all feasible nodes to the totals.
    pub(super) fn add(
        &mut self,
        number: usize,
        profile: &Profile,
        context: CycleContext<'_>,
        state: &CycleState,
        timing: &Timing,
        log: &mut impl ScoreLog,
    ) -> Result<(), String> {
        let Self {
            list, scores, totals, ..
        } = self;
        let nodes = list.get().map_or(&[][..], Vec::as_slice);
        let weighted = &profile.score[number];
        let plugin = &weighted.plugin;
        scores.clear();
        scores.resize(nodes.len(), 0);
        timing.count_score(number, nodes.len());
        let begun = timing.plugin_begins();
        let scored = plugin.score(context, state, nodes, scores);
        let (point, code) = (ExtensionPoint::Score, code_of(&scored));
        timing.plugin_ended(begun, plugin.name(), point, code, nodes.len());
        scored.map_err(|error| format!("running Score plugins: plugin {:?} failed with: {error}", plugin.name()))?;
        log.raw(weighted, scores);
        let begun = timing.plugin_begins();
        let normalized = plugin.normalize_scores(context, state, nodes, scores);
        let (point, code) = (ExtensionPoint::ScoreExtensionNormalize, code_of(&normalized));
        timing.plugin_ended(begun, plugin.name(), point, code, nodes.len());
        normalized.map_err(|error| {
            format!(
                "running Normalize on Score plugins: plugin {:?} failed with: {error}",
                plugin.name()
            )
        })?;
        log.normalised(scores);
        if let Some(score) = scores.iter().find(|score| !(0..=MAX_NODE_SCORE).contains(*score)) {
            return Err(format!(
                "applying score defaultWeights on Score plugins: plugin {:?} returns an invalid score {score}, it \
                 should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
                plugin.name()
            ));
        }
        for (total, score) in totals.iter_mut().zip(scores.iter()) {
            *total += score * weighted.weight;
        }
        Ok(())
    }

    /// The sum of a node's scores, if it was scored.
    pub(super) fn total_of(&mut self, node: NodeIndex) -> Option<&mut i64> {
        let at = self.list.get()?.binary_search(&node).ok()?;
        self.totals.get_mut(at)
    }
}

impl Cycle {
    /// Scores the feasible nodes.
    pub(crate) fn rate(&mut self, columns: &Columns, now: Moment, log: &mut impl ScoreLog) -> Result<(), String> {
        let mut known = self.known.take();
        self.scoring.list = OnceLock::new();
        self.scoring.count = self.verdicts.feasible().len();
        self.scoring.sums = Sums::Totals;
        // As in kube-scheduler, nothing is prepared for scores that nobody gives.
        if !self.plan.profile.score.is_empty() || !self.plan.profile.extenders.is_empty() {
            let begun = self.timing.now();
            let prepared = self.pre_score(columns, now);
            self.timing.point(ExtensionPoint::PreScore, begun, code_of(&prepared));
            prepared?;
        }
        let begun = self.timing.now();
        let is_known = known
            .as_mut()
            .is_some_and(|known| self.score_changed(known, columns, now));
        self.known = known.filter(|_| is_known);
        let scored = if is_known {
            Ok(())
        } else {
            self.score(columns, now, log)
        };
        self.timing.point(ExtensionPoint::Score, begun, code_of(&scored));
        scored
    }

    fn pre_score(&mut self, columns: &Columns, now: Moment) -> Result<(), String> {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let Buffers { list, skip, .. } = &mut self.scoring;
        let nodes = &Feasible::new(self.verdicts.feasible(), list);
        skip.clear();
        skip.resize(self.plan.profile.score.len(), false);
        let plugins = self.plan.profile.pre_score.iter().zip(&self.plan.score_of);
        for (number, (plugin, score)) in plugins.enumerate() {
            self.timing.count_pre_score(number);
            let begun = self.timing.plugin_begins();
            let outcome = plugin.pre_score(context, &mut self.state, nodes);
            let code = match outcome {
                PreScoreOutcome::Continue => Code::Success,
                PreScoreOutcome::Skip => Code::Skip,
                PreScoreOutcome::Error(_) => Code::Error,
            };
            self.timing
                .plugin_ended(begun, plugin.name(), ExtensionPoint::PreScore, code, nodes.count());
            match (outcome, score) {
                (PreScoreOutcome::Error(error), _) => {
                    return Err(format!("running PreScore plugin {:?}: {error}", plugin.name()));
                }
                (PreScoreOutcome::Skip, Some(score)) => skip[*score] = true,
                (PreScoreOutcome::Skip, None) | (PreScoreOutcome::Continue, _) => {}
            }
        }
        Ok(())
    }

    fn score(&mut self, columns: &Columns, now: Moment, log: &mut impl ScoreLog) -> Result<(), String> {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let feasible = self.verdicts.feasible();
        let buffers = &mut self.scoring;
        buffers.sums = Sums::Totals;
        buffers.list.get_or_init(|| feasible.iter().collect());
        buffers.totals.clear();
        buffers.totals.resize(buffers.count, 0);
        let profile = &self.plan.profile;
        for number in 0..profile.score.len() {
            if !buffers.skip.get(number).copied().unwrap_or(false) {
                buffers.add(number, profile, context, &self.state, &self.timing, log)?;
            }
        }
        Ok(())
    }

    /// Chooses among the best of the nodes scored; `None` when there are none. Each of the best has the same chance, up to one
    /// part in 2^64 per node.
    pub(crate) fn choose(&self, ties: &mut ChaCha8Rng) -> Option<NodeIndex> {
        match &self.scoring.sums {
            Sums::Totals => {}
            Sums::Rows => {
                let scores = &self.known.as_ref()?.scores;
                let count = scores.count_of_best();
                return scores.nth_of_best(if count > 1 { draw(ties, count) } else { 0 });
            }
            Sums::Groups(groups, winners) => {
                let sums = self.known.as_ref()?.scores.sums();
                let count = winners.count;
                let pick = if count > 1 { draw(ties, count) } else { 0 };
                return groups.nth_of_best(winners, pick, self.verdicts.feasible(), sums);
            }
        }
        let Buffers { list, totals, .. } = &self.scoring;
        let nodes = list.get()?;
        let best = totals.iter().max()?;
        let count = totals.iter().filter(|total| *total == best).count();
        let pick = if count > 1 { draw(ties, count) } else { 0 };
        let mut equals = nodes.iter().zip(totals).filter(|(_, total)| *total == best);
        equals.nth(pick).map(|(node, _)| *node)
    }
}

fn code_of<T>(result: &Result<T, String>) -> Code {
    if result.is_ok() { Code::Success } else { Code::Error }
}

/// A number below `count`: the high half of a 64-bit draw times `count`.
pub(crate) fn draw(ties: &mut ChaCha8Rng, count: usize) -> usize {
    let scaled = (u128::from(ties.next_u64()) * count as u128) >> 64;
    usize::try_from(scaled).unwrap_or(0)
}
