use plimsoll_model::columns::NodeIndex;

use super::Cycle;

impl Cycle {
    /// Keeps the first `wanted` feasible nodes from `start` on, in this order of all nodes, and takes back the judgement of
    /// those that kube-scheduler with one worker would not have looked at: it stops at the first feasible node beyond.
    /// Says how many it would have.
    pub(crate) fn sample(&mut self, order: &[NodeIndex], start: usize, wanted: usize) -> usize {
        let nodes: Vec<NodeIndex> = order
            .iter()
            .copied()
            .filter(|node| self.candidates.contains(*node))
            .collect();
        let begin = start % nodes.len().max(1);
        let mut nodes_in_turn = nodes[begin..].iter().chain(&nodes[..begin]);
        let (mut found, mut examined) = (0, 0);
        let mut stopped_at = None;
        for node in nodes_in_turn.by_ref() {
            let feasible = self.verdicts.feasible().contains(*node);
            if feasible && found == wanted {
                stopped_at = Some(node);
                break;
            }
            found += usize::from(feasible);
            examined += 1;
        }
        for node in stopped_at.into_iter().chain(nodes_in_turn) {
            // What the nomination brought to light about a node stays.
            examined += usize::from(self.turned_down == Some(*node));
            self.verdicts.forget(*node);
        }
        self.evaluated = examined;
        examined
    }
}
