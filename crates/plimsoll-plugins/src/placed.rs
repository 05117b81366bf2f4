use plimsoll_model::Pod;

/// Whether a pod holds a place: it is on a node, or room on one is kept for it.
pub(crate) fn is_placed(pod: &Pod) -> bool {
    let named = |node: &str| !node.is_empty();
    pod.node_name().is_some_and(named) || pod.status.nominated_node_name.as_deref().is_some_and(named)
}
