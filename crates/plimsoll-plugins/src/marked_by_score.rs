use plimsoll_framework::{CycleContext, CycleState, Score};
use plimsoll_model::columns::NodeIndex;

/// Marks nodes by their raw scores, for plugins whose raw scores follow rows and are only normalised by those of all nodes.
pub(crate) fn marked_by_score(
    plugin: &impl Score,
    cycle: CycleContext<'_>,
    state: &CycleState,
    nodes: &[NodeIndex],
    marks: &mut [u64],
) -> bool {
    let mut scores = vec![0; nodes.len()];
    if plugin.score(cycle, state, nodes, &mut scores).is_err() {
        return false;
    }
    for (mark, score) in marks.iter_mut().zip(scores) {
        *mark = score.cast_unsigned();
    }
    true
}
