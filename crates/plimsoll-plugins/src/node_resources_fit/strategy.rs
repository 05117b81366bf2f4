use plimsoll_config::{ScoringStrategy, ScoringStrategyType, UtilizationShapePoint};
use plimsoll_framework::MAX_NODE_SCORE;
use plimsoll_model::Amounts;
use plimsoll_model::columns::{Columns, NodeIndex};

use crate::broken_line::BrokenLine;
use crate::scored_resource::{Load, Missing, ScoredResource, loads};

const FULL: i64 = 100;

/// A strategy with the resources that it looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceScore {
    strategy: Strategy,
    resources: Vec<ScoredResource>,
}

impl ResourceScore {
    /// As configured; `Err` when there is no such strategy.
    pub(crate) fn new(configured: &ScoringStrategy) -> Result<Self, String> {
        let shape = configured.requested_to_capacity_ratio.as_deref();
        let strategy = Strategy::new(&configured.kind, shape)?;
        Ok(Self {
            strategy,
            resources: ScoredResource::all(&configured.resources),
        })
    }

    /// Scores nodes for a pod with these requests; `Err` when no resources are configured.
    pub(crate) fn score(
        &self,
        request: &Amounts,
        columns: &Columns,
        nodes: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        if self.resources.is_empty() {
            return Err("resources not found".to_owned());
        }
        let loads = loads(&self.resources, request, columns, Missing::AsDefault);
        for (node, score) in nodes.iter().zip(scores) {
            *score = self.strategy.score(&loads, node.as_usize());
        }
        Ok(())
    }
}

/// How the used share of a node's resources becomes its score.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Strategy {
    /// Mean of the free shares.
    LeastAllocated,
    /// Mean of the used shares.
    MostAllocated,
    /// Mean of a function of the used shares.
    RequestedToCapacityRatio(BrokenLine),
}

impl Strategy {
    fn new(kind: &ScoringStrategyType, shape: Option<&[UtilizationShapePoint]>) -> Result<Self, String> {
        Ok(match kind {
            ScoringStrategyType::LeastAllocated => Self::LeastAllocated,
            ScoringStrategyType::MostAllocated => Self::MostAllocated,
            ScoringStrategyType::RequestedToCapacityRatio => {
                Self::RequestedToCapacityRatio(BrokenLine::new(shape.unwrap_or_default()))
            }
            ScoringStrategyType::Other(kind) => return Err(format!("scoring strategy {kind} is not supported")),
        })
    }

    /// The score of one node, 0 to 100. Resources that it does not have are left out.
    fn score(&self, loads: &[Load<'_>], node: usize) -> i64 {
        match self {
            Self::LeastAllocated => weighted(loads, node, free_share).mean(),
            Self::MostAllocated => weighted(loads, node, used_share).mean(),
            Self::RequestedToCapacityRatio(line) => weighted(loads, node, |requested, allocatable| {
                Some(line.at(utilisation(requested, allocatable))).filter(|score| *score > 0)
            })
            .rounded_mean(),
        }
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "only the function of the ratio leaves resources out, and all three have one shape"
)]
fn free_share(requested: i64, allocatable: i64) -> Option<i64> {
    if requested > allocatable {
        return Some(0);
    }
    Some(percent(allocatable.wrapping_sub(requested), allocatable))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "only the function of the ratio leaves resources out, and all three have one shape"
)]
fn used_share(requested: i64, allocatable: i64) -> Option<i64> {
    Some(percent(requested.min(allocatable), allocatable))
}

fn utilisation(requested: i64, allocatable: i64) -> i64 {
    if requested > allocatable {
        FULL
    } else {
        percent(requested, allocatable)
    }
}

/// Wraps where Go does.
fn percent(part: i64, whole: i64) -> i64 {
    part.wrapping_mul(MAX_NODE_SCORE).wrapping_div(whole)
}

/// A sum of weighted scores with the sum of their weights.
#[derive(Debug, Clone, Copy, Default)]
struct Weighted {
    scores: i64,
    weights: i64,
}

fn weighted(loads: &[Load<'_>], node: usize, score: impl Fn(i64, i64) -> Option<i64>) -> Weighted {
    let mut sum = Weighted::default();
    for load in loads {
        let Some((used, allocatable)) = load.on(node) else {
            continue;
        };
        let Some(score) = score(used.wrapping_add(load.asked), allocatable) else {
            continue;
        };
        sum.scores = sum.scores.wrapping_add(score.wrapping_mul(load.weight));
        sum.weights = sum.weights.wrapping_add(load.weight);
    }
    sum
}

impl Weighted {
    fn mean(self) -> i64 {
        if self.weights == 0 {
            0
        } else {
            self.scores.wrapping_div(self.weights)
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "kube-scheduler computes this in float64 and rounds, and equal scores matter"
    )]
    fn rounded_mean(self) -> i64 {
        if self.weights == 0 {
            0
        } else {
            (self.scores as f64 / self.weights as f64).round() as i64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_wrap_as_in_kube_scheduler() {
        let huge = i64::MAX / 50;
        assert_eq!(free_share(0, huge), Some(huge.wrapping_mul(100) / huge));
        assert_eq!(free_share(0, 1024 * 1024), Some(100));
    }

    #[test]
    fn a_mean_of_ratios_is_rounded_half_away_from_zero() {
        let cases = [(1, 2, 1), (3, 2, 2), (5, 4, 1), (7, 4, 2), (0, 0, 0)];
        for (scores, weights, expected) in cases {
            assert_eq!(
                Weighted { scores, weights }.rounded_mean(),
                expected,
                "{scores}/{weights}"
            );
        }
    }
}
