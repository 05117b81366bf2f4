//! `SchedulingGates`: a pod with scheduling gates is not tried before they are gone.

use std::sync::Arc;

use plimsoll_framework::{
    Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, Extensions, GateStatus, Plugin, PreEnqueue,
    QueueingHint,
};
use plimsoll_model::Pod;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "SchedulingGates";

/// Holds gated pods back.
#[derive(Debug, Clone, Copy)]
pub struct SchedulingGates;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new()
        .enqueue(Arc::new(SchedulingGates))
        .pre_enqueue(Arc::new(SchedulingGates))
}

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreEnqueue for SchedulingGates {
    fn pre_enqueue(&self, pod: &Pod) -> GateStatus {
        let gates = &pod.spec.scheduling_gates;
        if gates.is_empty() {
            return Ok(());
        }
        Err(format!("waiting for scheduling gates: [{}]", gates.join(" ")))
    }
}

impl EnqueueExtensions for SchedulingGates {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let ungated = Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        vec![ClusterEvent::new(EventResource::Pod, ungated)]
    }

    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let own = objects.pod().is_none_or(|change| change.is_of(&pod.uid));
        Ok(QueueingHint::queue_if(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Listener, pod};

    #[test]
    fn a_pod_comes_back_when_its_own_last_gate_is_gone() {
        let listener = Listener::of(&extensions());
        let eliminated = Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        let gated = pod(r#"{"schedulingGates":[{"name":"a"}]}"#);
        let ungated = pod("{}");
        assert!(listener.wakes_on_pod(eliminated, &ungated, Some(&gated), Some(&ungated)));
        let other = Pod {
            uid: "other".into(),
            ..ungated.clone()
        };
        assert!(!listener.wakes_on_pod(eliminated, &other, Some(&gated), Some(&ungated)));
        assert!(!listener.wakes_on_pod(Action::UPDATE_POD_LABEL, &ungated, Some(&gated), Some(&ungated)));
    }

    #[test]
    fn a_gated_pod_waits_and_its_gates_are_named_in_their_order() {
        let cases = [
            ("[]", Ok(())),
            (r#"[{"name":"b"}]"#, Err("waiting for scheduling gates: [b]")),
            (
                r#"[{"name":"b"},{"name":"example.com/a"}]"#,
                Err("waiting for scheduling gates: [b example.com/a]"),
            ),
        ];
        for (gates, expected) in cases {
            let pod = pod(&format!(r#"{{"schedulingGates":{gates}}}"#));
            assert_eq!(
                SchedulingGates.pre_enqueue(&pod),
                expected.map_err(str::to_owned),
                "{gates}"
            );
        }
    }
}
