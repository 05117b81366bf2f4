//! Which events may make room for a pod.
//!
//! Differs from kube-scheduler in that resources which the profile leaves to others do not count here either: there a pod
//! that asks for one is not told of nodes without it.

use plimsoll_framework::{
    Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, ObjectChange, QueueingHint,
};
use plimsoll_model::{Amounts, Node, Pod, RequestOptions, pod_requests};

use super::NodeResourcesFit;
use crate::placed::is_placed;

impl EnqueueExtensions for NodeResourcesFit {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let node = Action::ADD | Action::UPDATE_NODE_ALLOCATABLE;
        let mut events = vec![
            ClusterEvent::new(EventResource::Pod, Action::DELETE | Action::UPDATE_POD_SCALE_DOWN),
            ClusterEvent::new(EventResource::Node, node),
        ];
        if self.device_classes {
            events.push(ClusterEvent::new(
                EventResource::DeviceClass,
                Action::ADD | Action::UPDATE,
            ));
        }
        events
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
        let may_help = match registered.resource {
            EventResource::Node => objects.node().is_none_or(|change| self.node_has_room_now(pod, change)),
            EventResource::DeviceClass => !requests(pod).scalars.is_empty(),
            _ => objects.pod().is_none_or(|change| self.pod_makes_room(pod, change)),
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

fn requests(pod: &Pod) -> Amounts {
    pod_requests(pod, RequestOptions::INCOMING)
}

impl NodeResourcesFit {
    fn pod_makes_room(&self, pod: &Pod, change: ObjectChange<'_, Pod>) -> bool {
        match change {
            ObjectChange::Added(_) => false,
            ObjectChange::Deleted(old) => is_placed(old),
            ObjectChange::Updated { new, .. } if new.uid == pod.uid => true,
            ObjectChange::Updated { old, new } => {
                let occupies = |pod: &Pod| pod_requests(pod, RequestOptions::ON_NODE);
                new.node_name().is_some_and(|node| !node.is_empty())
                    && self.some_wanted_amount_rises(&requests(pod), &occupies(new), &occupies(old))
            }
        }
    }

    /// Whether the pod fits the node while nothing else is there, and the node has more than before of something that the
    /// pod wants.
    fn node_has_room_now(&self, pod: &Pod, change: ObjectChange<'_, Node>) -> bool {
        let Some(node) = change.after() else { return false };
        let (request, has) = (requests(pod), &node.status.allocatable);
        if has.pods < 1 || !self.covers(&has.amounts, &request) {
            return false;
        }
        change.before().is_none_or(|node| {
            let had = &node.status.allocatable;
            has.pods > had.pods || self.some_wanted_amount_rises(&request, &had.amounts, &has.amounts)
        })
    }

    fn covers(&self, has: &Amounts, request: &Amounts) -> bool {
        let native = NATIVE.iter().all(|amount| {
            let wanted = amount(request);
            wanted <= 0 || wanted <= amount(has)
        });
        native
            && self
                .wanted_scalars(request)
                .all(|(_, name, amount)| amount <= has.scalar(name))
    }

    fn some_wanted_amount_rises(&self, request: &Amounts, before: &Amounts, after: &Amounts) -> bool {
        let native = NATIVE
            .iter()
            .any(|amount| amount(request) > 0 && amount(after) > amount(before));
        native
            || self
                .wanted_scalars(request)
                .any(|(_, name, _)| after.scalar(name) > before.scalar(name))
    }
}

const NATIVE: [fn(&Amounts) -> i64; 3] = [
    |amounts| amounts.milli_cpu,
    |amounts| amounts.memory,
    |amounts| amounts.ephemeral_storage,
];

#[cfg(test)]
mod tests {
    use plimsoll_config::{FeatureGates, Gate, NodeResourcesFitArgs, PluginArgs};

    use crate::fixture::{self, Listener, made_of, made_with, node};
    use crate::node_resources_fit::construct;

    use super::*;

    fn asking(fields: &str, requests: &str) -> Pod {
        fixture::pod(&format!(
            r#"{{{fields}"containers":[{{"name":"c","resources":{{"requests":{requests}}}}}]}}"#
        ))
    }

    fn other(fields: &str, requests: &str) -> Pod {
        Pod {
            uid: "other".into(),
            ..asking(fields, requests)
        }
    }

    fn having(allocatable: &str) -> Node {
        node("n", &format!(r#"{{"status":{{"allocatable":{allocatable}}}}}"#))
    }

    fn listener() -> Listener {
        Listener::of(&fixture::made(construct))
    }

    const ON_NODE: &str = r#""nodeName":"n","#;

    #[test]
    fn a_new_node_must_have_room_when_empty() {
        let pod = asking("", r#"{"cpu":"2","memory":"1Gi","example.com/a":"1"}"#);
        let cases = [
            (r#"{"pods":"1","cpu":"2","memory":"1Gi","example.com/a":"1"}"#, true),
            (r#"{"pods":"0","cpu":"2","memory":"1Gi","example.com/a":"1"}"#, false),
            (r#"{"pods":"1","cpu":"1","memory":"1Gi","example.com/a":"1"}"#, false),
            (r#"{"pods":"1","cpu":"2","memory":"1Mi","example.com/a":"1"}"#, false),
            (r#"{"pods":"1","cpu":"2","memory":"1Gi"}"#, false),
        ];
        for (allocatable, expected) in cases {
            let wakes = listener().wakes_on_node(Action::ADD, &pod, None, Some(&having(allocatable)));
            assert_eq!(wakes, expected, "{allocatable}");
        }
        let modest = asking("", "{}");
        assert!(listener().wakes_on_node(Action::ADD, &modest, None, Some(&having(r#"{"pods":"1"}"#))));
    }

    #[test]
    fn a_node_must_get_more_of_what_the_pod_wants() {
        let pod = asking("", r#"{"cpu":"2","example.com/a":"1","example.com/b":"0"}"#);
        let before = r#"{"pods":"3","cpu":"4","memory":"4","example.com/a":"1","example.com/b":"1"}"#;
        let cases = [
            (r#"{"pods":"3","cpu":"5","memory":"4","example.com/a":"1"}"#, true),
            (r#"{"pods":"4","cpu":"4","memory":"4","example.com/a":"1"}"#, true),
            (r#"{"pods":"3","cpu":"4","memory":"4","example.com/a":"2"}"#, true),
            (r#"{"pods":"3","cpu":"4","memory":"5","example.com/a":"1"}"#, false),
            (r#"{"pods":"3","cpu":"3","memory":"4","example.com/a":"1"}"#, false),
            (
                r#"{"pods":"3","cpu":"4","memory":"4","example.com/a":"1","example.com/b":"2"}"#,
                false,
            ),
            (r#"{"pods":"3","cpu":"5","memory":"4"}"#, false),
        ];
        for (after, expected) in cases {
            let (old, new) = (having(before), having(after));
            let action = Action::UPDATE_NODE_ALLOCATABLE;
            let wakes = listener().wakes_on_node(action, &pod, Some(&old), Some(&new));
            assert_eq!(wakes, expected, "{after}");
        }
    }

    #[test]
    fn a_pod_that_had_a_place_makes_room_when_it_goes() {
        let pod = asking("", r#"{"cpu":"2"}"#);
        let mut nominated = other("", "{}");
        nominated.status.nominated_node_name = Some("n".into());
        for (gone, expected) in [
            (other(ON_NODE, "{}"), true),
            (nominated, true),
            (other("", "{}"), false),
        ] {
            assert_eq!(
                listener().wakes_on_pod(Action::DELETE, &pod, Some(&gone), None),
                expected
            );
        }
    }

    #[test]
    fn a_pod_must_shrink_in_what_the_waiting_pod_wants_or_be_that_pod() {
        let pod = asking("", r#"{"cpu":"2","example.com/a":"1"}"#);
        let big = r#"{"cpu":"4","memory":"4","example.com/a":"2"}"#;
        let cases = [
            (ON_NODE, r#"{"cpu":"3","memory":"4","example.com/a":"2"}"#, true),
            (ON_NODE, r#"{"cpu":"4","memory":"4","example.com/a":"1"}"#, true),
            (ON_NODE, r#"{"cpu":"4","memory":"3","example.com/a":"2"}"#, false),
            (ON_NODE, r#"{"cpu":"5","memory":"3","example.com/a":"2"}"#, false),
            ("", r#"{"cpu":"3","memory":"4","example.com/a":"2"}"#, false),
        ];
        let action = Action::UPDATE_POD_SCALE_DOWN;
        for (fields, after, expected) in cases {
            let (old, new) = (other(fields, big), other(fields, after));
            let wakes = listener().wakes_on_pod(action, &pod, Some(&old), Some(&new));
            assert_eq!(wakes, expected, "{fields} {after}");
        }
        let before = asking("", r#"{"memory":"2"}"#);
        let own = asking("", r#"{"memory":"1"}"#);
        assert!(listener().wakes_on_pod(action, &own, Some(&before), Some(&own)));
        assert!(!listener().hears_of(EventResource::AssignedPod, Action::UPDATE));
    }

    #[test]
    fn what_is_left_to_others_does_not_keep_a_pod_from_coming_back() {
        let args = NodeResourcesFitArgs {
            ignored_resources: vec!["example.com/a".to_owned()],
            ignored_resource_groups: vec!["other.com".to_owned()],
            ..NodeResourcesFitArgs::default()
        };
        let listener = Listener::of(&made_of(construct, &PluginArgs::NodeResourcesFit(args)));
        let pod = asking("", r#"{"example.com/a":"1","other.com/b":"1"}"#);
        assert!(listener.wakes_on_node(Action::ADD, &pod, None, Some(&having(r#"{"pods":"1"}"#))));
        let pod = asking("", r#"{"example.com/c":"1"}"#);
        assert!(!listener.wakes_on_node(Action::ADD, &pod, None, Some(&having(r#"{"pods":"1"}"#))));
    }

    #[test]
    fn device_classes_matter_to_pods_with_extended_resources_behind_their_gate() {
        let extended = asking("", r#"{"example.com/a":"1"}"#);
        let plain = asking("", r#"{"cpu":"1"}"#);
        for enabled in [true, false] {
            let gates = FeatureGates::default().with(Gate::DRAExtendedResource, enabled);
            let listener = Listener::of(&made_with(construct, None, &gates).unwrap());
            for action in [Action::ADD, Action::UPDATE] {
                let wakes = |pod| listener.wakes(EventResource::DeviceClass, action, pod, &EventObjects::None);
                assert_eq!(wakes(&extended), enabled);
                assert!(!wakes(&plain));
            }
        }
    }
}
