//! Extension points that rank the nodes.

use plimsoll_model::columns::NodeIndex;

use super::{CycleContext, Plugin};
use crate::{CycleState, Feasible, LastAnswer, MAX_NODE_SCORE, MarkBasis};

/// What a pre-score says.
#[derive(Debug, PartialEq, Eq)]
pub enum PreScoreOutcome {
    /// The plugin's score runs.
    Continue,
    /// The plugin's score has nothing to add in this cycle.
    Skip,
    /// An internal failure ends the attempt.
    Error(String),
}

/// Prepares scoring over the feasible nodes.
pub trait PreScore: Plugin {
    /// Prepares what the score needs.
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, feasible: &Feasible<'_>) -> PreScoreOutcome;
}

/// How raw scores become 0..=100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalize {
    /// Raw scores are in range already.
    No,
    /// `score * 100 / max` in integers; reversed: 100 minus that. A maximum of 0 or less leaves scores as they are, or
    /// makes them 100 when reversed.
    Default {
        /// Whether the highest raw score is the worst.
        reverse: bool,
    },
}

impl Normalize {
    /// Normalises a column of scores.
    pub fn apply(self, scores: &mut [i64]) {
        let Self::Default { reverse } = self else { return };
        let max = scores.iter().copied().max().unwrap_or(0).max(0);
        // Wraps where Go does: what comes of it is out of range, and told.
        let share = |score: i64| score.wrapping_mul(MAX_NODE_SCORE) / max;
        let normalized = |score: i64| match (max, reverse) {
            (0, true) => MAX_NODE_SCORE,
            (0, false) => score,
            (_, false) => share(score),
            (_, true) => MAX_NODE_SCORE.wrapping_sub(share(score)),
        };
        let mut normalized = LastAnswer::of(normalized);
        for score in scores {
            *score = normalized.to(*score);
        }
    }
}

/// Fills a column of scores, one per feasible node.
pub trait Score: Plugin {
    /// Writes the raw score of `feasible[i]` to `scores[i]`, which is 0 before; `Err` is an internal failure.
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String>;

    /// Whether a node's raw score is in 0..=100, needs no [`normalize`](Score::normalize), and follows from no more than
    /// [`Filter::follows_rows`](super::Filter::follows_rows) says.
    fn follows_rows(&self) -> bool {
        false
    }

    /// Whether every node gets the same score in 0..=100 in the end, whichever are feasible: then nobody need be asked. Called
    /// after the pre-scores.
    fn is_uniform(&self, _cycle: CycleContext<'_>, _state: &CycleState) -> bool {
        false
    }

    /// Whether it can tell nodes apart by marks, and what these follow from; asked after the pre-scores.
    ///
    /// Feasible nodes with the same mark get the same score in the end, and [`score`](Score::score) and
    /// [`normalize_scores`](Score::normalize_scores) come to that score also when they are shown one feasible node of each mark
    /// instead of all of them. The mark of a node follows from the pod's spec but for its volumes and claims, from the node's row,
    /// the pods there among it, and from the basis: as long as this is equal, nodes that have not changed
    /// ([`Columns::changed_since`](plimsoll_model::columns::Columns::changed_since)) keep their marks. Scores need not stay as they are.
    fn mark_basis(&self, _cycle: CycleContext<'_>, _state: &CycleState) -> Option<MarkBasis> {
        None
    }

    /// Writes the marks of these nodes, feasible or not; false when it cannot after all.
    fn mark(&self, _cycle: CycleContext<'_>, _state: &CycleState, _nodes: &[NodeIndex], _marks: &mut [u64]) -> bool {
        false
    }

    /// How raw scores become 0..=100.
    fn normalize(&self) -> Normalize {
        Normalize::No
    }

    /// Turns the raw scores of `feasible` into 0..=100, for plugins that do it in a way of their own; by default as
    /// [`Score::normalize`] says. `Err` is an internal failure.
    fn normalize_scores(
        &self,
        _cycle: CycleContext<'_>,
        _state: &CycleState,
        _feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        self.normalize().apply(scores);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizing_is_integer_arithmetic_with_the_zero_cases_of_kube_scheduler() {
        let cases: [(&[i64], bool, &[i64]); 9] = [
            (&[1, 2, 3], false, &[33, 66, 100]),
            (&[1, 2, 3], true, &[67, 34, 0]),
            (&[0, 0], false, &[0, 0]),
            (&[0, 0], true, &[100, 100]),
            (&[-3, -1], false, &[-3, -1]),
            (&[-3, -1], true, &[100, 100]),
            (&[-1, 0], false, &[-1, 0]),
            (&[-1, 2], false, &[-50, 100]),
            (&[i64::MAX, 0], false, &[0, 0]),
        ];
        for (raw, reverse, expected) in cases {
            let mut scores = raw.to_vec();
            Normalize::Default { reverse }.apply(&mut scores);
            assert_eq!(scores, expected);
        }
    }
}
