//! `SchedulingGates`: a pod with scheduling gates is not tried before they are gone.

use std::sync::Arc;

use plimsoll_framework::{Extensions, GateStatus, Plugin, PreEnqueue};
use plimsoll_model::Pod;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "SchedulingGates";

/// Holds gated pods back.
#[derive(Debug, Clone, Copy)]
pub struct SchedulingGates;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().pre_enqueue(Arc::new(SchedulingGates))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::pod;

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
