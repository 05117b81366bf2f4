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

#[cfg(test)]
mod tests {
    use plimsoll_model::{decode_node, decode_pod};
    use serde_json::{Value, json};

    use super::*;

    fn pod_with(spec: &Value, status: &Value) -> Pod {
        let metadata = json!({ "name": "a", "namespace": "default", "uid": "u1", "resourceVersion": "1" });
        let pod = json!({ "metadata": metadata, "spec": spec, "status": status });
        decode_pod(pod.to_string().as_bytes()).unwrap()
    }

    fn node_with(status: &Value) -> Node {
        let node = json!({ "metadata": { "name": "n", "uid": "u1", "resourceVersion": "1" }, "status": status });
        decode_node(node.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn amounts_that_come_to_the_same_numbers_have_not_changed() {
        let allocatable = |amounts: &Value| node_with(&json!({ "allocatable": amounts }));
        let old = allocatable(&json!({ "cpu": "1", "memory": "0", "ephemeral-storage": "0", "pods": "0" }));
        let same = allocatable(&json!({ "cpu": "1000m" }));
        assert!(node_update_events(&old, &same).is_empty());
        let more = allocatable(&json!({ "cpu": "1", "pods": "1" }));
        assert_eq!(node_update_events(&old, &more).len(), 1);

        let asking = |amounts: &Value| {
            let container = json!({ "name": "c", "image": "i", "resources": { "requests": amounts } });
            pod_with(&json!({ "nodeName": "n", "containers": [container] }), &json!({}))
        };
        let old = asking(&json!({ "cpu": "1", "example.com/gpu": "0" }));
        let generic = ClusterEvent::new(EventResource::AssignedPod, Action::UPDATE);
        assert_eq!(
            pod_update_events(&old, &asking(&json!({ "cpu": "1000m" }))).as_slice(),
            [generic]
        );
        let smaller = ClusterEvent::new(EventResource::AssignedPod, Action::UPDATE_POD_SCALE_DOWN);
        assert_eq!(
            pod_update_events(&old, &asking(&json!({ "cpu": "999m" }))).as_slice(),
            [smaller]
        );
    }

    #[test]
    fn each_of_two_conditions_of_one_type_counts() {
        let ready = |statuses: &[&str]| {
            let conditions = statuses
                .iter()
                .map(|status| json!({ "type": "Ready", "status": status }));
            node_with(&json!({ "conditions": conditions.collect::<Vec<_>>() }))
        };
        let changed = ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_CONDITION);
        let both = ready(&["True", "False"]);
        assert_eq!(node_update_events(&both, &ready(&["False"])).as_slice(), [changed]);
        assert!(node_update_events(&both, &ready(&["True", "False"])).is_empty());
    }

    #[test]
    fn a_claim_made_for_extended_resources_is_an_update_like_any_other() {
        let spec = json!({ "containers": [] });
        let status = json!({ "extendedResourceClaimStatus": { "resourceClaimName": "made", "requestMappings": [] } });
        let events = pod_update_events(&pod_with(&spec, &json!({})), &pod_with(&spec, &status));
        let generic = ClusterEvent::new(EventResource::UnschedulablePod, Action::UPDATE);
        assert_eq!(events.as_slice(), [generic]);
    }
}
