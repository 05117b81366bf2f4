//! Lines of the log about changes and moves, in kube-scheduler's words.

use plimsoll_framework::ClusterEvent;
use plimsoll_model::{Delta, Node, Pod};
use plimsoll_queue::{Place, PodMove};
use plimsoll_telemetry::logs::{V2, V3, V4, V5};

use crate::log_subject::trace_of;

const REGION: &str = "topology.kubernetes.io/region";
/// What brings a pod back to the queue after an attempt. Such returns are told at a lower level than other moves.
const ATTEMPT_FAILED: &str = "ScheduleAttemptFailure";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Tells of a change of pods or nodes, at the levels that it has there.
pub(super) fn tell(delta: &Delta) {
    match delta {
        Delta::PodAdded(pod) => added(pod),
        Delta::PodUpdated { old, new } => match (old.node_name().is_some(), new.node_name().is_some()) {
            (false, true) => {
                deleted(old);
                added(new);
            }
            (assigned, _) => tracing::debug!(
                name: V4, pod = %new.name, trace_id = %trace_of(new), "Update event for {} pod", which(assigned)
            ),
        },
        Delta::PodDeleted(pod) => deleted(pod),
        Delta::NodeAdded(node) => {
            tracing::debug!(name: V3, node = node.name.as_str(), "Add event for node");
            in_tree(node);
        }
        Delta::NodeUpdated { old, new } => {
            tracing::debug!(name: V4, node = new.name.as_str(), "Update event for node");
            if zone(old) != zone(new) {
                out_of_tree(old);
                in_tree(new);
            }
        }
        Delta::NodeDeleted(node) => {
            tracing::debug!(name: V3, node = node.name.as_str(), "Delete event for node");
            out_of_tree(node);
        }
        _ => {}
    }
}

/// Tells where a pod waits after an attempt; nothing of one that has a node.
pub(super) fn tell_of_return(pod: &Pod, place: Place, plugins: &str) {
    let Some(queue) = queue_at(place) else { return };
    tracing::debug!(
        name: V3, pod = %pod.name, event = ATTEMPT_FAILED, queue, plugins, trace_id = %trace_of(pod),
        "Pod moved to an internal scheduling queue"
    );
}

/// Tells of any other move.
pub(super) fn tell_of_move(moved: &PodMove) {
    if moved.cause == ClusterEvent::labelled(ATTEMPT_FAILED) {
        return;
    }
    let (pod, Some(queue)) = (&moved.pod, queue_at(moved.to)) else {
        return;
    };
    tracing::trace!(
        name: V5, pod = %pod.name, event = %moved.cause, queue, trace_id = %trace_of(pod),
        "Pod moved to an internal scheduling queue"
    );
}

fn queue_at(place: Place) -> Option<&'static str> {
    match place {
        Place::Active => Some("Active"),
        Place::Backoff | Place::ErrorBackoff => Some("Backoff"),
        Place::Unschedulable | Place::Gated => Some("Unschedulable"),
        Place::InFlight | Place::Placed => None,
    }
}

fn which(assigned: bool) -> &'static str {
    if assigned { "scheduled" } else { "unscheduled" }
}

fn added(pod: &Pod) {
    let which = which(pod.node_name().is_some());
    tracing::debug!(name: V3, pod = %pod.name, trace_id = %trace_of(pod), "Add event for {which} pod");
}

fn deleted(pod: &Pod) {
    let which = which(pod.node_name().is_some());
    tracing::debug!(name: V3, pod = %pod.name, trace_id = %trace_of(pod), "Delete event for {which} pod");
}

fn in_tree(node: &Node) {
    tracing::info!(name: V2, node = node.name.as_str(), zone = zone(node), "Added node to NodeTree");
}

fn out_of_tree(node: &Node) {
    tracing::info!(name: V2, node = node.name.as_str(), zone = zone(node), "Removed node from NodeTree");
}

/// Region and zone as kube-scheduler puts them together; empty for a node without.
fn zone(node: &Node) -> String {
    let label = |key| node.labels.get(key).unwrap_or_default();
    match (label(REGION), label(ZONE)) {
        ("", "") => String::new(),
        (region, zone) => format!("{region}:\0:{zone}"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::node;

    use super::*;

    #[test]
    fn a_zone_is_named_as_kube_scheduler_names_it() {
        assert_eq!(zone(&node("n").build()), "");
        let zoned = node("n").label(ZONE, "z").build();
        assert_eq!(zone(&zoned), ":\0:z");
        let both = node("n").label(ZONE, "z").label(REGION, "r").build();
        assert_eq!(zone(&both), "r:\0:z");
    }
}
