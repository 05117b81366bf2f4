use plimsoll_framework::{
    Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, ObjectChange, QueueingHint,
};
use plimsoll_model::{Labels, Node, Pod, WorkloadKind, WorkloadSelector};

use super::ServiceAffinity;

/// A hint does not know the services. But one selects by labels with their values, so pods of one service have a label in
/// common.
impl EnqueueExtensions for ServiceAffinity {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![
            ClusterEvent::new(
                EventResource::Pod,
                Action::ADD | Action::DELETE | Action::UPDATE_POD_LABEL,
            ),
            ClusterEvent::new(
                EventResource::Node,
                Action::ADD | Action::DELETE | Action::UPDATE_NODE_LABEL,
            ),
            ClusterEvent::new(EventResource::Workload(WorkloadKind::Service), Action::ALL),
        ]
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = match registered.resource {
            EventResource::Node => objects.node().is_none_or(|change| self.moves_between_domains(change)),
            EventResource::Workload(_) => objects.workload().is_none_or(|change| may_select(change, pod)),
            _ => objects.pod().is_none_or(|change| may_share_a_service(change, pod)),
        };
        Ok(QueueingHint::queue_if(!self.together.is_empty() && may_help))
    }
}

impl ServiceAffinity {
    fn moves_between_domains(&self, change: ObjectChange<'_, Node>) -> bool {
        let ObjectChange::Updated { old, new } = change else {
            return true;
        };
        let differs = |label: &String| old.labels.get(label) != new.labels.get(label);
        self.together.iter().any(differs)
    }
}

fn may_share_a_service(change: ObjectChange<'_, Pod>, pod: &Pod) -> bool {
    let beside =
        |other: &Pod| other.name.namespace == pod.name.namespace && have_a_label_in_common(&other.labels, &pod.labels);
    change.is_of(&pod.uid) || change.before().is_some_and(beside) || change.after().is_some_and(beside)
}

fn have_a_label_in_common(one: &Labels, other: &Labels) -> bool {
    one.iter().any(|(key, value)| other.get(key) == Some(value))
}

fn may_select(change: ObjectChange<'_, WorkloadSelector>, pod: &Pod) -> bool {
    let selects = |service: &WorkloadSelector| {
        service.name.namespace == pod.name.namespace
            && service
                .selector
                .as_ref()
                .is_some_and(|selector| selector.matches(&pod.labels))
    };
    change.before().is_some_and(selects) || change.after().is_some_and(selects)
}
