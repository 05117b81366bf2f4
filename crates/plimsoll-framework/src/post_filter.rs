use compact_str::CompactString;
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};

use crate::{Code, CycleContext, CycleState, Plugin, PreemptionTerms, Status, Verdicts};

/// What is to happen to the pod's `status.nominatedNodeName`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nomination {
    /// It stays as it is.
    Keep,
    /// It is emptied.
    Clear,
    /// It names this node.
    Set(CompactString),
}

/// Why the pod has no node, one status per node, for post-filters to read.
#[derive(Debug, Clone, Copy)]
pub struct Rejections<'a> {
    verdicts: Option<&'a Verdicts>,
    others: Code,
}

impl<'a> Rejections<'a> {
    /// The filters judged the nodes; what the pre-filters left out cannot be helped.
    pub fn by_filters(verdicts: &'a Verdicts) -> Self {
        Self {
            verdicts: Some(verdicts),
            others: Code::UnschedulableAndUnresolvable,
        }
    }

    /// The pre-filters turned the pod away as a whole, with this code.
    pub fn of_all_nodes(code: Code) -> Self {
        Self {
            verdicts: None,
            others: code,
        }
    }

    /// `Unschedulable` when removing pods from the node could help, else `UnschedulableAndUnresolvable` or `Pending`.
    pub fn code_of(&self, node: NodeIndex) -> Code {
        let verdict = self.verdicts.map(|verdicts| verdicts.of(node)).unwrap_or_default();
        match verdict.filter() {
            None => self.others,
            Some(_) => verdict.resolvability().code(),
        }
    }

    /// The nodes on which removing pods could help.
    pub fn resolvable(&self, columns: &Columns) -> NodeSet {
        let nodes = columns.nodes().iter();
        nodes
            .filter(|node| self.code_of(*node) == Code::Unschedulable)
            .collect()
    }
}

/// What a post-filter did for a pod that has no node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostFilterOutcome {
    /// What becomes of the pod's nomination.
    pub nomination: Nomination,
    /// `Success` when the pod will fit after this, and `UnschedulableAndUnresolvable` when nothing can help it: either way
    /// no further post-filter is asked. `Unschedulable` asks the next one; anything else is an internal failure. Reasons
    /// are added to what users read.
    pub status: Status,
}

impl PostFilterOutcome {
    /// Room is being made on this node.
    pub fn nominate(node: impl Into<CompactString>) -> Self {
        Self {
            nomination: Nomination::Set(node.into()),
            status: Status::success(),
        }
    }

    /// Nothing was done, for this reason.
    pub fn rejected(status: Status) -> Self {
        Self {
            nomination: Nomination::Keep,
            status,
        }
    }
}

/// Has a try at making a pod schedulable when no node will do, for example by preemption.
pub trait PostFilter: Plugin {
    /// What can be done for the pod; called after filters and pre-filters, not when there are no nodes at all.
    fn post_filter(
        &self,
        cycle: CycleContext<'_>,
        state: &mut CycleState,
        rejections: Rejections<'_>,
    ) -> PostFilterOutcome;

    /// The terms on which the engine is to look for pods to evict, in place of a call of [`PostFilter::post_filter`]: only
    /// the engine can try the filters on nodes without some of their pods.
    fn preempts(&self) -> Option<PreemptionTerms> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReasonCode, Resolvability};

    #[test]
    fn each_node_has_the_code_that_its_filter_gave_and_others_that_of_the_pre_filters() {
        let [first, second, waiting, left_out] = [0, 1, 2, 3].map(NodeIndex::new);
        let mut verdicts = Verdicts::default();
        verdicts.begin(&[first, second, waiting].into_iter().collect(), 4);
        verdicts.pass(0).reject(first, ReasonCode(0), Resolvability::Resolvable);
        verdicts.pass(0).reject(waiting, ReasonCode(0), Resolvability::Pending);
        verdicts
            .pass(1)
            .reject(second, ReasonCode(0), Resolvability::Unresolvable);
        let by_filters = Rejections::by_filters(&verdicts);
        assert_eq!(by_filters.code_of(first), Code::Unschedulable);
        assert_eq!(by_filters.code_of(second), Code::UnschedulableAndUnresolvable);
        assert_eq!(by_filters.code_of(waiting), Code::Pending);
        assert_eq!(by_filters.code_of(left_out), Code::UnschedulableAndUnresolvable);
        let as_a_whole = Rejections::of_all_nodes(Code::Unschedulable);
        assert_eq!(as_a_whole.code_of(first), Code::Unschedulable);
    }
}
