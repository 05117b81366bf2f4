use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_engine::NodeDump;
use plimsoll_model::{Node, Pod};

use super::QueueDump;

/// What is known here and not there.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Mismatch {
    missed_nodes: Vec<String>,
    redundant_nodes: Vec<String>,
    missed_pods: Vec<String>,
    redundant_pods: Vec<String>,
}

/// Holds the nodes and pods that the API server told of against those on the cycle's nodes and in the queue.
pub(super) fn compare(nodes: &[Arc<Node>], pods: &[Arc<Pod>], queue: &QueueDump, cycle: &[NodeDump]) -> Mismatch {
    let told: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let known = cycle.iter().map(|node| node.name.as_str()).collect();
    let (missed_nodes, redundant_nodes) = differences(&told, &known);
    let told: BTreeSet<&str> = pods.iter().map(|pod| pod.uid.as_str()).collect();
    let on_nodes = cycle.iter().flat_map(|node| &node.pods);
    let queued = queue.pods.iter().map(|queued| &queued.pod);
    let known = on_nodes.chain(queued).map(|pod| pod.uid.as_str()).collect();
    let (missed_pods, redundant_pods) = differences(&told, &known);
    Mismatch {
        missed_nodes,
        redundant_nodes,
        missed_pods,
        redundant_pods,
    }
}

fn differences(told: &BTreeSet<&str>, known: &BTreeSet<&str>) -> (Vec<String>, Vec<String>) {
    let owned = |names: Vec<&&str>| names.into_iter().map(|&name| name.to_owned()).collect();
    (
        owned(told.difference(known).collect()),
        owned(known.difference(told).collect()),
    )
}

impl Mismatch {
    /// Says what does not agree, and nothing when all does.
    pub(super) fn tell(&self) {
        if !(self.missed_nodes.is_empty() && self.redundant_nodes.is_empty()) {
            tracing::info!(
                missedNodes = ?self.missed_nodes,
                redundantNodes = ?self.redundant_nodes,
                "Cache mismatch"
            );
        }
        if !(self.missed_pods.is_empty() && self.redundant_pods.is_empty()) {
            tracing::info!(
                missedPods = ?self.missed_pods,
                redundantPods = ?self.redundant_pods,
                "Cache mismatch"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_engine::Resources;
    use plimsoll_model::Moment;
    use plimsoll_model::testing::{node, pod};
    use plimsoll_queue::{Counts, Place, QueuedPod};

    use super::*;

    fn on(name: &str, pods: Vec<Arc<Pod>>) -> NodeDump {
        NodeDump {
            name: name.into(),
            deleted: false,
            requested: Resources::default(),
            allocatable: Resources::default(),
            pods,
            nominated: Vec::new(),
        }
    }

    #[test]
    fn pods_count_on_a_node_or_in_the_queue_and_only_what_one_side_knows_is_told() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| Arc::new(pod(name).build()));
        let nodes = ["n1", "n2"].map(|name| Arc::new(node(name).build()));
        let queue = QueueDump {
            counts: Counts::default(),
            pods: vec![QueuedPod {
                pod: Arc::clone(&a),
                place: Place::InFlight,
                since: Moment::ZERO,
                next_look: Moment::ZERO,
                retry_at: None,
                attempts: 1,
            }],
        };
        let told = [Arc::clone(&a), Arc::clone(&b), Arc::clone(&c)];
        // A pod that is claimed is on a node and in the queue.
        let cycle = [on("n1", vec![a, Arc::clone(&b)]), on("n2", vec![Arc::clone(&c)])];
        assert_eq!(compare(&nodes, &told, &queue, &cycle), Mismatch::default());

        let cycle = [on("n1", vec![b, Arc::clone(&d)]), on("n3", Vec::new())];
        let mismatch = compare(&nodes, &told, &queue, &cycle);
        let expected = Mismatch {
            missed_nodes: vec!["n2".to_owned()],
            redundant_nodes: vec!["n3".to_owned()],
            missed_pods: vec![c.uid.as_str().to_owned()],
            redundant_pods: vec![d.uid.as_str().to_owned()],
        };
        assert_eq!(mismatch, expected);
    }
}
