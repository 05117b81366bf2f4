use super::Engine;
use crate::cycle::Cycle;

impl Engine {
    /// Keeps as many of the feasible nodes as the profile looks for. The next pod's search begins where this one's ended, so
    /// that all nodes get their turn.
    ///
    /// Filters have judged whole columns before: what is saved is scoring. A filter that fails on any node fails the attempt,
    /// also where kube-scheduler would not have come to that node.
    pub(super) fn sample(&mut self, cycle: &mut Cycle) {
        let nodes = self.ledger.columns().node_count();
        let Some(wanted) = cycle.plan.nodes_to_find(cycle.candidates().len()) else {
            return;
        };
        let examined = cycle.sample(self.ledger.node_order(), self.next_start, wanted);
        self.next_start = (self.next_start + examined) % nodes.max(1);
    }
}
