use std::fmt::Write as _;

use plimsoll_engine::{NodeDump, Resources};
use plimsoll_model::{Pod, PodPhase};
use plimsoll_queue::Counts;

use super::QueueDump;

/// So many pods at most stand in one line of the log.
const PODS: usize = 100;

/// Writes everything to the log, a line for each node and each hundred pods: collectors of logs cut lines that are too long.
pub(super) fn dump(queue: &QueueDump, nodes: &[NodeDump]) {
    for node in nodes {
        tracing::info!(nodes = node_text(node), "Dump of cached NodeInfo");
    }
    let waiting = queue.pods.iter().filter(|queued| is_pending(queued.place));
    let waiting: Vec<_> = waiting.map(|queued| pod_text(&queued.pod)).collect();
    let summary = summary(&queue.counts);
    if waiting.is_empty() {
        tracing::info!(summary, pods = "", "Dump of scheduling queue");
    }
    for part in waiting.chunks(PODS) {
        tracing::info!(summary, pods = part.concat(), "Dump of scheduling queue");
    }
}

fn is_pending(place: plimsoll_queue::Place) -> bool {
    use plimsoll_queue::Place;

    !matches!(place, Place::InFlight | Place::Placed)
}

fn summary(counts: &Counts) -> String {
    format!(
        "activeQ:{}; backoffQ:{}; unschedulablePods:{}",
        counts.active,
        counts.backoff + counts.error_backoff,
        counts.unschedulable + counts.gated
    )
}

fn node_text(node: &NodeDump) -> String {
    let mut text = format!(
        "Node name: {}\nDeleted: {}\nRequested Resources: {}\nAllocatable Resources:{}\nScheduled Pods(number: {}):\n",
        node.name,
        node.deleted,
        resources_text(&node.requested),
        resources_text(&node.allocatable),
        node.pods.len()
    );
    text.extend(node.pods.iter().map(|pod| pod_text(pod)));
    if !node.nominated.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Nominated Pods(number: {}):", node.nominated.len());
        text.extend(node.nominated.iter().map(|pod| pod_text(pod)));
    }
    text
}

/// As Go prints it, whose eyes may be used to it.
fn resources_text(resources: &Resources) -> String {
    let scalars = resources
        .scalars
        .iter()
        .map(|(name, amount)| format!("{name}:{amount}"));
    let scalars: Vec<_> = scalars.collect();
    format!(
        "&{{MilliCPU:{} Memory:{} EphemeralStorage:{} AllowedPodNumber:{} ScalarResources:map[{}]}}",
        resources.milli_cpu,
        resources.memory,
        resources.ephemeral_storage,
        resources.pods,
        scalars.join(" ")
    )
}

pub(super) fn phase_text(phase: PodPhase) -> &'static str {
    match phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    }
}

fn pod_text(pod: &Pod) -> String {
    format!(
        "name: {}, namespace: {}, uid: {}, phase: {}, nominated node: {}\n",
        pod.name.name,
        pod.name.namespace,
        pod.uid,
        phase_text(pod.status.phase),
        pod.status.nominated_node_name.as_deref().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_model::testing::pod;

    use super::*;

    #[test]
    fn nodes_and_the_queue_are_told_in_kube_schedulers_words() {
        let resident = Arc::new(pod("a").on("n1").build());
        let nominee = Arc::new(pod("b").build());
        let node = NodeDump {
            name: "n1".into(),
            deleted: false,
            requested: Resources {
                milli_cpu: 500,
                memory: 1024,
                pods: 1,
                ..Resources::default()
            },
            allocatable: Resources {
                milli_cpu: 4000,
                memory: 8192,
                ephemeral_storage: 7,
                pods: 110,
                scalars: [("example.com/gpu".into(), 2)].into(),
            },
            pods: vec![Arc::clone(&resident)],
            nominated: vec![Arc::clone(&nominee)],
        };
        let line = |pod: &Pod| {
            let (name, namespace, uid) = (&pod.name.name, &pod.name.namespace, &pod.uid);
            let phase = phase_text(pod.status.phase);
            format!("name: {name}, namespace: {namespace}, uid: {uid}, phase: {phase}, nominated node: \n")
        };
        let expected = format!(
            "Node name: n1\nDeleted: false\n\
             Requested Resources: &{{MilliCPU:500 Memory:1024 EphemeralStorage:0 AllowedPodNumber:1 ScalarResources:map[]}}\n\
             Allocatable Resources:&{{MilliCPU:4000 Memory:8192 EphemeralStorage:7 AllowedPodNumber:110 \
             ScalarResources:map[example.com/gpu:2]}}\n\
             Scheduled Pods(number: 1):\n{}Nominated Pods(number: 1):\n{}",
            line(&resident),
            line(&nominee)
        );
        assert_eq!(node_text(&node), expected);
        let counts = Counts {
            active: 1,
            backoff: 2,
            error_backoff: 3,
            unschedulable: 4,
            gated: 5,
            ..Counts::default()
        };
        assert_eq!(summary(&counts), "activeQ:1; backoffQ:5; unschedulablePods:9");
    }
}
