//! `NodePreferAvoidPods`: nodes can ask, by an annotation of old, that the pods of some controllers rather go elsewhere. A
//! plugin of the legacy Policy (`NodePreferAvoidPodsPriority`).

use std::sync::Arc;

use plimsoll_framework::{CycleContext, CycleState, Extensions, MAX_NODE_SCORE, Plugin, Score};
use plimsoll_model::ControllerReference;
use plimsoll_model::columns::NodeIndex;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodePreferAvoidPods";

/// The only kinds of controllers that can be avoided.
const KINDS: [&str; 2] = ["ReplicationController", "ReplicaSet"];

/// Gives nothing to nodes that ask the pod's controller to avoid them, and everything to others.
#[derive(Debug, Clone, Copy)]
pub struct NodePreferAvoidPods;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().score(Arc::new(NodePreferAvoidPods))
}

impl Plugin for NodePreferAvoidPods {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Score for NodePreferAvoidPods {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        scores.fill(MAX_NODE_SCORE);
        let can_be_avoided = |controller: &&ControllerReference| KINDS.contains(&controller.kind.as_str());
        let Some(controller) = cycle.pod.controller.as_deref().filter(can_be_avoided) else {
            return Ok(());
        };
        let avoided = cycle.columns.nodes_avoided_by(&controller.kind, &controller.uid);
        for (node, score) in feasible.iter().zip(scores) {
            if avoided.contains(*node) {
                *score = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{AvoidedController, Node};

    use super::*;
    use crate::fixture::{Cluster, controlled_pod, node, pod};

    fn avoiding(name: &str, controllers: &[(&str, &str)]) -> Node {
        let avoided_controllers = controllers
            .iter()
            .map(|(kind, uid)| AvoidedController {
                kind: (*kind).into(),
                uid: (*uid).into(),
            })
            .collect();
        Node {
            avoided_controllers,
            ..node(name, "{}")
        }
    }

    #[test]
    fn nodes_that_ask_the_controller_to_avoid_them_score_nothing() {
        let mut cluster = Cluster::of_nodes([("free", "{}")]);
        for node in [
            avoiding("set", &[("ReplicaSet", "other"), ("ReplicaSet", "web")]),
            avoiding("rc", &[("ReplicationController", "web")]),
            avoiding("stateful", &[("StatefulSet", "web")]),
        ] {
            cluster.columns.set_node(&node);
        }
        let owned = |version: &str, kind: &str| controlled_pod(version, kind, "web", "{}");
        let cases = [
            (owned("apps/v1", "ReplicaSet"), [100, 0, 100, 100]),
            (owned("v1", "ReplicationController"), [100, 100, 0, 100]),
            (owned("apps/v1", "StatefulSet"), [100, 100, 100, 100]),
            (pod("{}"), [100, 100, 100, 100]),
        ];
        for (pod, expected) in cases {
            let scores = cluster.score(&extensions(), &pod).unwrap();
            let raw = ["free", "set", "rc", "stateful"].map(|name| scores.raw(name));
            assert_eq!(raw, expected, "{:?}", pod.controller);
        }
        cluster.columns.remove_node("set");
        cluster.columns.set_node(&avoiding("set", &[]));
        let scores = cluster.score(&extensions(), &owned("apps/v1", "ReplicaSet")).unwrap();
        assert_eq!(scores.raw("set"), 100);
    }
}
