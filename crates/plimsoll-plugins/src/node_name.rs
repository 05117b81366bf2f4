//! `NodeName`: a pod that names its node fits no other.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{
    Action, ClusterEvent, CycleContext, CycleState, EnqueueExtensions, EventResource, Extensions, Filter, FilterPass,
    Plugin, PodsSeen, ReasonCode, Resolvability,
};
use plimsoll_model::columns::{NodeIndex, NodeSet};
use smallvec::{SmallVec, smallvec};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeName";

/// What users read.
pub const REASON: &str = "node(s) didn't match the requested node name";

/// Holds a pod to `spec.nodeName`.
#[derive(Debug, Clone, Copy)]
pub struct NodeName;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().enqueue(Arc::new(NodeName)).filter(Arc::new(NodeName))
}

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for NodeName {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let Some(name) = cycle.pod.node_name.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let mut named = NodeSet::new();
        if let Some(node) = cycle.columns.index_of(name) {
            named.insert(node);
        }
        pass.keep_only(&named, ReasonCode(0), Resolvability::Unresolvable);
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn follows_rows(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }

    fn lacking(&self, cycle: CycleContext<'_>, _: &CycleState, _: NodeIndex) -> Vec<String> {
        let name = cycle.pod.node_name.as_deref().unwrap_or_default();
        vec![format!("the pod names node {name}")]
    }
}

impl EnqueueExtensions for NodeName {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![ClusterEvent::new(EventResource::Node, Action::ADD)]
    }

    fn reads_labels(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, Listener, node, pod, unresolvable};

    #[test]
    fn only_new_nodes_bring_pods_back_and_what_may_have_hidden_one() {
        let listener = Listener::of(&extensions());
        let (waiting, node) = (pod("{}"), node("n", "{}"));
        assert!(listener.wakes_on_node(Action::ADD, &waiting, None, Some(&node)));
        assert!(listener.wakes_on_node(Action::UPDATE_NODE_TAINT, &waiting, Some(&node), Some(&node)));
        for action in [
            Action::UPDATE_NODE_LABEL,
            Action::UPDATE_NODE_ALLOCATABLE,
            Action::DELETE,
        ] {
            assert!(!listener.hears_of(EventResource::Node, action));
        }
        assert!(!listener.hears_of(EventResource::AssignedPod, Action::DELETE));
    }

    #[test]
    fn only_the_named_node_can_take_the_pod() {
        let cluster = Cluster::of_nodes([("a", "{}"), ("b", "{}")]);
        let reason = "node(s) didn't match the requested node name";
        let cases = [
            ("{}", [None, None]),
            (r#"{"nodeName":""}"#, [None, None]),
            (r#"{"nodeName":"b"}"#, [Some(unresolvable([reason])), None]),
            (
                r#"{"nodeName":"c"}"#,
                [Some(unresolvable([reason])), Some(unresolvable([reason]))],
            ),
        ];
        for (spec, [a, b]) in cases {
            let verdicts = cluster.filter(&extensions(), &pod(spec));
            assert_eq!((verdicts.of("a"), verdicts.of("b")), (a, b), "{spec}");
        }
    }
}
