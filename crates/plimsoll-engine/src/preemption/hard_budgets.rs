//! Which pods may be evicted when no disruption budget may be violated.

use std::sync::Arc;

use plimsoll_model::{DisruptionBudget, Moment, Pod};

use super::under_way::UnderWay;

/// As the message of the pod counts nodes on which budgets leave nobody to evict.
pub(crate) const ALL_SPARED: &str = "Pod disruption budgets spare all victims";

/// What the budgets allow when an attempt looks for victims.
#[derive(Debug, Default)]
pub(crate) struct HardBudgets {
    budgets: Vec<(Arc<DisruptionBudget>, i32)>,
}

impl HardBudgets {
    /// What the budgets' status allows, less the evictions of ours that it does not show yet.
    pub(crate) fn new<'b>(
        budgets: impl Iterator<Item = &'b Arc<DisruptionBudget>>,
        under_way: &UnderWay,
        now: Moment,
    ) -> Self {
        let left = |budget: &'b Arc<DisruptionBudget>| {
            let hidden = under_way.hidden_from(budget, now);
            (Arc::clone(budget), budget.disruptions_allowed.saturating_sub(hidden))
        };
        Self {
            budgets: budgets.map(left).collect(),
        }
    }

    /// Of the pods on a node, the most important first, whether each has to stay: because its eviction, after those of the
    /// pods before it, would violate a budget, or because several budgets are for it, which the API server refuses. A pod
    /// that goes already, or whose eviction is granted, needs no leave.
    pub(crate) fn spared<'p>(&self, pods: impl Iterator<Item = &'p Pod>) -> Vec<bool> {
        let mut left: Vec<i32> = self.budgets.iter().map(|(_, left)| *left).collect();
        pods.map(|pod| self.spares(pod, &mut left)).collect()
    }

    fn spares(&self, pod: &Pod, left: &mut [i32]) -> bool {
        if pod.is_terminating() {
            return false;
        }
        let mut guards = self
            .budgets
            .iter()
            .zip(left)
            .filter(|((budget, _), _)| budget.guards(pod));
        match (guards.next(), guards.next()) {
            (None, _) => false,
            (Some(_), Some(_)) => true,
            (Some(((budget, _), left)), None) => {
                if budget.has_granted(pod) {
                    return false;
                }
                *left = left.saturating_sub(1);
                *left < 0
            }
        }
    }
}

#[cfg(test)]
mod tests;
