//! Which pods may be evicted when no disruption budget may be violated.

use std::sync::Arc;

use plimsoll_model::{DisruptionBudget, Moment, Pod};
use smallvec::SmallVec;

use super::under_way::UnderWay;

/// What the budgets allow when an attempt looks for victims.
#[derive(Debug, Default)]
pub(crate) struct HardBudgets {
    /// In the order of their names, and so those of a namespace together.
    allowances: Vec<Allowance>,
}

#[derive(Debug)]
struct Allowance {
    budget: Arc<DisruptionBudget>,
    left: i32,
}

impl HardBudgets {
    /// What the status of the budgets allows, less the evictions of ours that it does not show yet. The budgets come in the
    /// order of their names.
    pub(crate) fn new<'b>(
        budgets: impl Iterator<Item = &'b Arc<DisruptionBudget>>,
        under_way: &UnderWay,
        now: Moment,
    ) -> Self {
        let allowance = |budget: &Arc<DisruptionBudget>| Allowance {
            left: budget
                .disruptions_allowed
                .saturating_sub(under_way.hidden_from(budget, now)),
            budget: Arc::clone(budget),
        };
        Self {
            allowances: budgets.map(allowance).collect(),
        }
    }

    /// Of the pods on a node, the most important first, whether each has to stay: because its eviction, after those of the
    /// pods before it, would violate a budget, or because several budgets are for it, which the API server refuses. A pod
    /// that goes already, or whose eviction is granted, needs no leave.
    pub(crate) fn spared<'p>(&self, pods: impl Iterator<Item = &'p Pod>) -> Vec<bool> {
        let mut used = Used::new();
        pods.map(|pod| self.spares(pod, &mut used)).collect()
    }

    fn spares(&self, pod: &Pod, used: &mut Used) -> bool {
        if pod.is_terminating() {
            return false;
        }
        let mut guards = self.guards_of(pod);
        match (guards.next(), guards.next()) {
            (None, _) => false,
            (Some(_), Some(_)) => true,
            (Some((_, only)), None) if only.budget.has_granted(pod) => false,
            (Some((at, only)), None) => {
                let known = used.iter().position(|(budget, _)| *budget == at);
                let known = known.unwrap_or_else(|| {
                    used.push((at, 0));
                    used.len() - 1
                });
                used[known].1 += 1;
                used[known].1 > only.left
            }
        }
    }

    fn guards_of(&self, pod: &Pod) -> impl Iterator<Item = (usize, &Allowance)> {
        let namespace = &pod.name.namespace;
        let from = self
            .allowances
            .partition_point(|allowance| allowance.budget.name.namespace < *namespace);
        let there = (from..).zip(&self.allowances[from..]);
        there
            .take_while(move |(_, allowance)| allowance.budget.name.namespace == *namespace)
            .filter(move |(_, allowance)| allowance.budget.guards(pod))
    }
}

/// How many pods of the node each budget would have to let go.
type Used = SmallVec<[(usize, i32); 4]>;

#[cfg(test)]
mod tests;
