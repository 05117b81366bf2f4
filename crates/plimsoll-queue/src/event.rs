use plimsoll_framework::{Action, ClusterEvent, EventResource};
use plimsoll_model::{Amounts, Node, NodeCondition, Pod, RequestOptions, pod_requests};
use smallvec::SmallVec;

/// The events that one update stands for, in kube-scheduler's order.
pub type UpdateEvents = SmallVec<[ClusterEvent; 2]>;

/// What an update of a pod means for waiting pods; a generic `Update` when nothing that has its own event changed.
///
/// A change of the status of extended-resource claims has no event yet: the model does not keep it.
pub fn pod_update_events(old: &Pod, new: &Pod) -> UpdateEvents {
    let resource = if new.node_name().is_some() {
        EventResource::AssignedPod
    } else {
        EventResource::UnschedulablePod
    };
    let changes = [
        (Action::UPDATE_POD_LABEL, old.labels != new.labels),
        (Action::UPDATE_POD_SCALE_DOWN, asks_for_less(old, new)),
        (
            Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            !old.spec.scheduling_gates.is_empty() && new.spec.scheduling_gates.is_empty(),
        ),
        // The API server lets tolerations only be added.
        (
            Action::UPDATE_POD_TOLERATION,
            old.spec.tolerations.len() != new.spec.tolerations.len(),
        ),
        (
            Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            old.status.resource_claim_statuses != new.status.resource_claim_statuses,
        ),
    ];
    let mut events = events_of(resource, &changes);
    if events.is_empty() {
        events.push(ClusterEvent::new(resource, Action::UPDATE));
    }
    events
}

/// What an update of a node means for waiting pods; nothing for a heartbeat.
pub fn node_update_events(old: &Node, new: &Node) -> UpdateEvents {
    events_of(
        EventResource::Node,
        &[
            (
                Action::UPDATE_NODE_TAINT,
                old.spec.unschedulable && !new.spec.unschedulable,
            ),
            (
                Action::UPDATE_NODE_ALLOCATABLE,
                old.status.allocatable != new.status.allocatable,
            ),
            (Action::UPDATE_NODE_LABEL, old.labels != new.labels),
            (Action::UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
            (
                Action::UPDATE_NODE_CONDITION,
                conditions_differ(&old.status.conditions, &new.status.conditions),
            ),
            (
                Action::UPDATE_NODE_ANNOTATION,
                old.annotations_hash != new.annotations_hash,
            ),
            (
                Action::UPDATE_NODE_DECLARED_FEATURE,
                old.status.declared_features != new.status.declared_features,
            ),
        ],
    )
}

fn events_of(resource: EventResource, changes: &[(Action, bool)]) -> UpdateEvents {
    changes
        .iter()
        .filter(|(_, changed)| *changed)
        .map(|(action, _)| ClusterEvent::new(resource, *action))
        .collect()
}

fn asks_for_less(old: &Pod, new: &Pod) -> bool {
    if old.spec == new.spec
        && old.status.container_statuses == new.status.container_statuses
        && old.status.pod_level == new.status.pod_level
        && old.status.resize_pending_reason == new.status.resize_pending_reason
    {
        return false;
    }
    let requests = |pod| pod_requests(pod, RequestOptions::ON_NODE);
    some_amount_is_smaller(&requests(old), &requests(new))
}

fn some_amount_is_smaller(old: &Amounts, new: &Amounts) -> bool {
    new.milli_cpu < old.milli_cpu
        || new.memory < old.memory
        || new.ephemeral_storage < old.ephemeral_storage
        || old.scalars.iter().any(|(name, amount)| new.scalar(name) < *amount)
}

fn conditions_differ(old: &[NodeCondition], new: &[NodeCondition]) -> bool {
    old.len() != new.len() || old.iter().any(|condition| !new.contains(condition))
}
