//! `NodeUnschedulable`: a cordoned node takes only pods that tolerate the taint which stands for that.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{
    Action, ClusterEvent, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource, Extensions, Filter,
    FilterPass, ObjectChange, Plugin, PodsSeen, QueueingHint, ReasonCode, Resolvability,
};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{Effect, Node, Pod, Taint};
use smallvec::{SmallVec, smallvec};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeUnschedulable";

/// What users read.
pub const REASON: &str = "node(s) were unschedulable";

const TAINT_KEY: &str = "node.kubernetes.io/unschedulable";

/// Rejects cordoned nodes.
#[derive(Debug, Clone, Copy)]
pub struct NodeUnschedulable;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new()
        .enqueue(Arc::new(NodeUnschedulable))
        .filter(Arc::new(NodeUnschedulable))
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for NodeUnschedulable {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        if !puts_up_with_it(cycle.pod) {
            pass.reject_set(
                cycle.columns.unschedulable(),
                ReasonCode(0),
                Resolvability::Unresolvable,
            );
        }
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

    fn lacking(&self, _: CycleContext<'_>, _: &CycleState, _: NodeIndex) -> Vec<String> {
        vec!["the node is cordoned".to_owned()]
    }
}

fn puts_up_with_it(pod: &Pod) -> bool {
    let taint = Taint::new(TAINT_KEY, "", Effect::NoSchedule);
    let mut tolerations = pod.spec.tolerations.iter();
    tolerations.any(|toleration| toleration.tolerates(&taint))
}

impl EnqueueExtensions for NodeUnschedulable {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![
            ClusterEvent::new(EventResource::Node, Action::ADD | Action::UPDATE_NODE_TAINT),
            ClusterEvent::new(EventResource::Pod, Action::UPDATE_POD_TOLERATION),
        ]
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = if registered.resource == EventResource::Node {
            objects.node().is_none_or(takes_pods_now)
        } else {
            let own_toleration =
                |change: ObjectChange<'_, Pod>| change.is_of(&pod.uid) && change.after().is_none_or(puts_up_with_it);
            objects.pod().is_none_or(own_toleration)
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

fn takes_pods_now(change: ObjectChange<'_, Node>) -> bool {
    let cordoned_before = change.before().is_none_or(|node| node.spec.unschedulable);
    cordoned_before && change.after().is_some_and(|node| !node.spec.unschedulable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, Listener, node, pod, unresolvable};

    #[test]
    fn a_node_that_is_not_cordoned_any_more_brings_pods_back() {
        let listener = Listener::of(&extensions());
        let open = node("n", "{}");
        let cordoned = node("n", r#"{"spec":{"unschedulable":true}}"#);
        let waiting = pod("{}");
        let wakes = |action, old, new| listener.wakes_on_node(action, &waiting, old, new);
        assert!(wakes(Action::ADD, None, Some(&open)));
        assert!(!wakes(Action::ADD, None, Some(&cordoned)));
        assert!(wakes(Action::UPDATE_NODE_TAINT, Some(&cordoned), Some(&open)));
        assert!(!wakes(Action::UPDATE_NODE_TAINT, Some(&open), Some(&open)));
        assert!(!wakes(Action::UPDATE_NODE_TAINT, Some(&open), Some(&cordoned)));
        assert!(!wakes(Action::UPDATE_NODE_LABEL, Some(&cordoned), Some(&open)));
    }

    #[test]
    fn a_toleration_of_its_own_brings_a_pod_back_if_it_is_of_cordoned_nodes() {
        let listener = Listener::of(&extensions());
        let waiting = pod("{}");
        let key = "node.kubernetes.io/unschedulable";
        let tolerating = pod(&format!(r#"{{"tolerations":[{{"key":"{key}","operator":"Exists"}}]}}"#));
        let unrelated = pod(r#"{"tolerations":[{"key":"other","operator":"Exists"}]}"#);
        let other = Pod {
            uid: "other".into(),
            ..tolerating.clone()
        };
        for (new, expected) in [(&tolerating, true), (&unrelated, false), (&other, false)] {
            let wakes = listener.wakes_on_pod(Action::UPDATE_POD_TOLERATION, &waiting, Some(&waiting), Some(new));
            assert_eq!(wakes, expected, "{:?}", new.spec.tolerations);
        }
    }

    #[test]
    fn a_cordoned_node_takes_only_pods_that_tolerate_it() {
        let cluster = Cluster::of_nodes([("open", "{}"), ("cordoned", r#"{"spec":{"unschedulable":true}}"#)]);
        let rejected = Some(unresolvable(["node(s) were unschedulable"]));
        let key = "node.kubernetes.io/unschedulable";
        let cases = [
            ("[]".to_owned(), rejected.clone()),
            (r#"[{"operator":"Exists"}]"#.to_owned(), None),
            (format!(r#"[{{"key":"{key}","operator":"Exists"}}]"#), None),
            (
                format!(r#"[{{"key":"{key}","operator":"Equal","value":"","effect":"NoSchedule"}}]"#),
                None,
            ),
            (
                format!(r#"[{{"key":"{key}","operator":"Equal","value":"true"}}]"#),
                rejected.clone(),
            ),
            (
                format!(r#"[{{"key":"{key}","operator":"Exists","effect":"NoExecute"}}]"#),
                rejected,
            ),
        ];
        for (tolerations, expected) in cases {
            let verdicts = cluster.filter(&extensions(), &pod(&format!(r#"{{"tolerations":{tolerations}}}"#)));
            assert_eq!(verdicts.of("open"), None);
            assert_eq!(verdicts.of("cordoned"), expected, "{tolerations}");
        }
    }
}
