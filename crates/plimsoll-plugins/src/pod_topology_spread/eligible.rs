use std::cell::OnceCell;

use plimsoll_model::columns::{Columns, NodeSet};
use plimsoll_model::{Pod, Taint};

use super::constraint::Constraint;

/// Which nodes count for a constraint of one pod.
pub(super) struct Eligible<'a> {
    pod: &'a Pod,
    columns: &'a Columns,
    compares: bool,
    selected: OnceCell<NodeSet>,
    untolerated: OnceCell<NodeSet>,
}

impl<'a> Eligible<'a> {
    pub(super) fn new(pod: &'a Pod, columns: &'a Columns, compares: bool) -> Self {
        Self {
            pod,
            columns,
            compares,
            selected: OnceCell::new(),
            untolerated: OnceCell::new(),
        }
    }

    /// The nodes that have the labels of all constraints.
    pub(super) fn with_all_keys(&self, constraints: &[Constraint]) -> NodeSet {
        let mut nodes = self.columns.nodes().clone();
        for constraint in constraints {
            match self.columns.label_key(&constraint.topology_key) {
                Some(column) => nodes.intersect_with(column.nodes()),
                None => nodes.clear(),
            }
        }
        nodes
    }

    /// Those of the nodes that the constraint's policies let count.
    pub(super) fn among(&self, nodes: &NodeSet, constraint: &Constraint) -> NodeSet {
        let mut eligible = nodes.clone();
        if constraint.honours_affinity {
            let selected = || self.columns.match_required(&self.pod.spec);
            eligible.intersect_with(self.selected.get_or_init(selected));
        }
        if constraint.honours_taints {
            eligible.subtract(self.untolerated.get_or_init(|| self.untolerated()));
        }
        eligible
    }

    fn untolerated(&self) -> NodeSet {
        let mut untolerated = NodeSet::new();
        for (class, taints) in self.columns.taint_classes() {
            if taints
                .iter()
                .any(|taint| taint.effect.rules_out() && !self.tolerates(taint))
            {
                untolerated.union_with(self.columns.nodes_of_taint_class(class));
            }
        }
        untolerated
    }

    fn tolerates(&self, taint: &Taint) -> bool {
        self.pod.spec.tolerations.iter().any(|toleration| {
            if self.compares {
                toleration.tolerates_with_comparison(taint)
            } else {
                toleration.tolerates(taint)
            }
        })
    }
}
