//! Where preemptions are meant to differ.

use plimsoll_model::{HostPort, Pod, TopologySpreadConstraint, WhenUnsatisfiable};

use super::{
    ALLOWED, WHOLE_PODS, decoded, has_untold_volumes, mounts_twice, overhead_adds_up, preferred_term_fails,
    resizes_whole_pods_behind_their_gate, sums_wrap,
};
use crate::case::Case;
use crate::preemption::{PreemptionAnswer, PreemptionCase};

/// An intended difference in who has to go.
#[derive(Debug, Clone, Copy)]
pub struct AllowedPreemption {
    /// What docs/differences.md says of it, word for word.
    pub line: &'static str,
    applies: fn(&PreemptionCase, &PreemptionAnswer) -> bool,
}

/// Every intended difference in who has to go.
pub const ALLOWED_PREEMPTIONS: [AllowedPreemption; 10] = [
    AllowedPreemption {
        line: ALLOWED[0].line,
        applies: |case, _| sums_wrap(&case.0),
    },
    AllowedPreemption {
        line: WHOLE_PODS,
        applies: |case, _| resizes_whole_pods_behind_their_gate(&case.0, &case.0.pods),
    },
    AllowedPreemption {
        line: ALLOWED[1].line,
        applies: |_, upstream| upstream.failure.as_deref().is_some_and(preferred_term_fails),
    },
    AllowedPreemption {
        line: "A host port that two pods of a node hold is free when both are gone.",
        applies: |case, _| shares_ports(&case.0),
    },
    AllowedPreemption {
        line: "A pod that is told to go never counts for spreading, also when it is tried who else would have to.",
        applies: |case, _| spreads_among_leaving_pods(&case.0),
    },
    AllowedPreemption {
        line: "A node that the pod is nominated to is not looked at if a pre-filter has named other nodes, and its reason is the \
               one of all nodes left out.",
        applies: |case, _| {
            let pod = &case.0.pod;
            let names_nodes = pod["spec"]["affinity"]["nodeAffinity"]
                .to_string()
                .contains("matchFields");
            let added = case.0.config.to_string().contains("matchFields");
            pod["status"]["nominatedNodeName"].is_string() && (names_nodes || added)
        },
    },
    AllowedPreemption {
        line: ALLOWED[3].line,
        applies: |case, _| overhead_adds_up(&case.0),
    },
    AllowedPreemption {
        line: "A pod that the pre-filters turned away as a whole reaches `DefaultPreemption`.",
        applies: |_, upstream| upstream.text.as_deref() == Some("not found"),
    },
    AllowedPreemption {
        line: ALLOWED[4].line,
        applies: |case, _| mounts_twice(&case.0.pod),
    },
    AllowedPreemption {
        line: ALLOWED[5].line,
        applies: |case, _| has_untold_volumes(&case.0),
    },
];

/// Whether some node has two pods with the same port of the same address, and the pod to place wants ports.
fn shares_ports(case: &Case) -> bool {
    let mut seen: Vec<(String, HostPort)> = Vec::new();
    let mut shares = false;
    for pod in case.pods.iter().filter_map(decoded).filter(|pod| !pod.is_finished()) {
        let Some(node) = pod.node_name() else { continue };
        for port in pod.host_ports() {
            let held = (node.to_owned(), port.clone());
            shares |= seen.contains(&held);
            seen.push(held);
        }
    }
    shares && decoded(&case.pod).is_some_and(|pod| pod.host_ports().next().is_some())
}

/// Whether a pod that could be a victim is told to go and counts as one of those among which the pod to place spreads.
fn spreads_among_leaving_pods(case: &Case) -> bool {
    let Some(new) = decoded(&case.pod) else { return false };
    let own = &new.spec.topology_spread_constraints;
    let selects = |pod: &Pod| {
        let by = |constraint: &TopologySpreadConstraint| {
            let selector = constraint.label_selector.as_ref();
            constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
                && selector.is_some_and(|selector| selector.matches(&pod.labels))
        };
        // Default constraints select by the workloads of the pod.
        own.is_empty() || own.iter().any(by)
    };
    let by_default = case.config.to_string().contains("defaultConstraints");
    let leaving = |pod: &Pod| {
        let is_there = pod.node_name().is_some() && !pod.is_finished() && pod.is_terminating();
        is_there && pod.priority() < new.priority() && pod.name.namespace == new.name.namespace
    };
    (by_default || !own.is_empty())
        && case
            .pods
            .iter()
            .filter_map(decoded)
            .any(|pod| leaving(&pod) && selects(&pod))
}

/// The intended difference that a preemption shows, if it does.
pub fn allowed_preemption(case: &PreemptionCase, upstream: &PreemptionAnswer) -> Option<&'static AllowedPreemption> {
    ALLOWED_PREEMPTIONS
        .iter()
        .find(|allowed| (allowed.applies)(case, upstream))
}
