use plimsoll_framework::EventObjects;
use plimsoll_model::{ResourceVersion, Uid};
use serde_json::{Value, json};

use super::super::construct;
use super::*;
use crate::fixture::{Listener, made, named_pod, node};

fn listener() -> Listener {
    Listener::of(&made(construct))
}

/// A term towards pods with this label.
fn towards(label: (&str, &str), key: &str) -> Value {
    json!({"labelSelector": {"matchLabels": {label.0: label.1}}, "topologyKey": key})
}

fn by_namespaces(mut term: Value, labels: &Value) -> Value {
    term["namespaceSelector"] = json!({"matchLabels": labels});
    term
}

fn required(terms: &[Value]) -> Value {
    json!({"requiredDuringSchedulingIgnoredDuringExecution": terms})
}

fn waiting(labels: &Value, affinity: &[Value], anti_affinity: &[Value]) -> Pod {
    let spec = json!({"affinity": {"podAffinity": required(affinity), "podAntiAffinity": required(anti_affinity)}});
    named_pod("default", &labels.to_string(), &spec.to_string())
}

fn other_in(namespace: &str, labels: &Value) -> Pod {
    Pod {
        uid: Uid::from("other"),
        ..named_pod(namespace, &labels.to_string(), r#"{"nodeName":"n"}"#)
    }
}

fn other(labels: &Value) -> Pod {
    other_in("default", labels)
}

/// A pod on a node that keeps others away.
fn averse(anti_affinity: &[Value]) -> Pod {
    let spec = json!({"nodeName": "n", "affinity": {"podAntiAffinity": required(anti_affinity)}});
    Pod {
        uid: Uid::from("other"),
        ..named_pod("default", "{}", &spec.to_string())
    }
}

const LABEL: Action = Action::UPDATE_POD_LABEL;

const A: (&str, &str) = ("a", "1");
const B: (&str, &str) = ("b", "1");

#[test]
fn a_new_pod_helps_when_all_affinity_terms_mean_it() {
    let drawn = waiting(&json!({}), &[towards(A, "zone"), towards(B, "host")], &[]);
    let wakes = |other: &Pod| listener().wakes_on_pod(Action::ADD, &drawn, None, Some(other));
    assert!(wakes(&other(&json!({"a": "1", "b": "1"}))));
    assert!(!wakes(&other(&json!({"a": "1"}))));
    assert!(!wakes(&other_in("elsewhere", &json!({"a": "1", "b": "1"}))));
    let mut unplaced = other(&json!({"a": "1", "b": "1"}));
    unplaced.node_name = None;
    assert!(!wakes(&unplaced));
    unplaced.status.nominated_node_name = Some("n".into());
    assert!(wakes(&unplaced));
    // Nobody comes nearer to a pod that wants to be near none.
    let averse = waiting(&json!({}), &[], &[towards(A, "zone")]);
    let new = other(&json!({"a": "1"}));
    assert!(!listener().wakes_on_pod(Action::ADD, &averse, None, Some(&new)));
}

#[test]
fn other_labels_of_a_pod_help_when_they_draw_or_no_longer_keep_away() {
    let (plain, a) = (other(&json!({})), other(&json!({"a": "1"})));
    let drawn = waiting(&json!({}), &[towards(A, "zone")], &[]);
    let kept_away = waiting(&json!({}), &[], &[towards(A, "zone"), towards(B, "zone")]);
    let wakes = |pod: &Pod, old: &Pod, new: &Pod| listener().wakes_on_pod(LABEL, pod, Some(old), Some(new));
    assert!(wakes(&drawn, &plain, &a));
    assert!(!wakes(&drawn, &a, &plain));
    assert!(!wakes(&drawn, &a, &a));
    assert!(wakes(&kept_away, &a, &plain));
    assert!(!wakes(&kept_away, &plain, &a));
    assert!(wakes(&kept_away, &a, &other(&json!({"b": "1"}))));
    assert!(!wakes(&kept_away, &a, &other(&json!({"a": "1", "b": "1"}))));
}

#[test]
fn labels_of_its_own_bring_a_pod_back() {
    let before = waiting(&json!({"a": "1"}), &[], &[]);
    let after = waiting(&json!({"a": "2"}), &[], &[]);
    assert!(listener().wakes_on_pod(LABEL, &after, Some(&before), Some(&after)));
    assert!(!listener().hears_of(EventResource::UnschedulablePod, Action::UPDATE));
}

#[test]
fn a_pod_that_one_anti_affinity_term_means_helps_when_it_goes() {
    let kept_away = waiting(&json!({"c": "1"}), &[], &[towards(A, "zone"), towards(B, "host")]);
    let wakes = |gone: &Pod| listener().wakes_on_pod(Action::DELETE, &kept_away, Some(gone), None);
    assert!(wakes(&other(&json!({"a": "1", "b": "1"}))));
    assert!(wakes(&other(&json!({"b": "1"}))));
    assert!(!wakes(&other(&json!({"c": "1"}))));
    assert!(!wakes(&other_in("elsewhere", &json!({"a": "1"}))));
}

#[test]
fn a_pod_that_kept_the_waiting_one_away_helps_when_it_goes() {
    let pod = waiting(&json!({"a": "1"}), &[], &[]);
    let wakes = |gone: &Pod| listener().wakes_on_pod(Action::DELETE, &pod, Some(gone), None);
    assert!(wakes(&averse(&[towards(A, "zone")])));
    assert!(wakes(&averse(&[towards(B, "zone"), towards(A, "host")])));
    assert!(!wakes(&averse(&[towards(B, "zone")])));
    let elsewhere = Pod {
        name: plimsoll_model::ObjectName::new("elsewhere", "p"),
        ..averse(&[towards(A, "zone")])
    };
    assert!(!wakes(&elsewhere));
}

#[test]
fn the_last_pod_to_be_near_helps_a_pod_that_means_itself_when_it_goes() {
    let (a, plain) = (other(&json!({"a": "1"})), other(&json!({})));
    let of_its_kind = waiting(&json!({"a": "1"}), &[towards(A, "zone")], &[]);
    let of_another = waiting(&json!({"b": "1"}), &[towards(A, "zone")], &[]);
    for (pod, expected) in [(&of_its_kind, true), (&of_another, false)] {
        assert_eq!(listener().wakes_on_pod(Action::DELETE, pod, Some(&a), None), expected);
        assert_eq!(listener().wakes_on_pod(LABEL, pod, Some(&a), Some(&plain)), expected);
    }
}

#[test]
fn namespaces_that_are_meant_by_their_labels_count_as_meant() {
    let team = json!({"team": "x"});
    let drawn = waiting(&json!({}), &[by_namespaces(towards(A, "zone"), &team)], &[]);
    let kept_away = waiting(&json!({}), &[], &[by_namespaces(towards(A, "zone"), &team)]);
    let pod = other_in("elsewhere", &json!({"a": "1"}));
    assert!(listener().wakes_on_pod(Action::ADD, &drawn, None, Some(&pod)));
    assert!(listener().wakes_on_pod(Action::DELETE, &kept_away, Some(&pod), None));
    let meant = waiting(&json!({"a": "1"}), &[], &[]);
    let averse = averse(&[by_namespaces(towards(A, "zone"), &team)]);
    assert!(listener().wakes_on_pod(Action::DELETE, &meant, Some(&averse), None));
    let unlike = other_in("elsewhere", &json!({"a": "2"}));
    assert!(!listener().wakes_on_pod(Action::ADD, &drawn, None, Some(&unlike)));
}

#[test]
fn a_new_node_helps_unless_it_is_in_no_domain_to_be_near_in() {
    let in_zone = node("n", r#"{"labels":{"zone":"x"}}"#);
    let bare = node("n", "{}");
    let plain = waiting(&json!({}), &[], &[]);
    let drawn = waiting(&json!({}), &[towards(A, "zone")], &[]);
    let kept_away = waiting(&json!({}), &[], &[towards(A, "zone")]);
    let both = waiting(&json!({}), &[towards(A, "zone")], &[towards(A, "zone")]);
    for (pod, node, expected) in [
        (&plain, &bare, true),
        (&plain, &in_zone, true),
        (&drawn, &in_zone, true),
        (&drawn, &bare, false),
        (&kept_away, &bare, true),
        (&both, &in_zone, true),
    ] {
        let wakes = listener().wakes_on_node(Action::ADD, pod, None, Some(node));
        assert_eq!(wakes, expected, "{:?} {:?}", pod.spec.affinity, node.labels);
    }
}

#[test]
fn a_node_helps_when_it_leaves_a_domain_or_enters_one_to_be_near_in() {
    let with = |labels: &str| node("n", &format!(r#"{{"labels":{labels}}}"#));
    let (bare, x, y) = (with("{}"), with(r#"{"zone":"x"}"#), with(r#"{"zone":"y"}"#));
    let racked = with(r#"{"zone":"x","rack":"1"}"#);
    let plain = waiting(&json!({}), &[], &[]);
    let drawn = waiting(&json!({}), &[towards(A, "zone")], &[]);
    let kept_away = waiting(&json!({}), &[], &[towards(A, "zone")]);
    for (pod, old, new, expected) in [
        (&plain, &x, &bare, true),
        (&plain, &x, &y, true),
        (&plain, &racked, &x, true),
        (&plain, &bare, &x, false),
        (&plain, &x, &racked, false),
        (&drawn, &bare, &x, true),
        (&drawn, &x, &y, true),
        (&drawn, &x, &racked, false),
        (&kept_away, &x, &bare, true),
        (&kept_away, &x, &y, true),
        (&kept_away, &bare, &x, false),
    ] {
        let wakes = listener().wakes_on_node(Action::UPDATE_NODE_LABEL, pod, Some(old), Some(new));
        assert_eq!(
            wakes, expected,
            "{:?} {:?} {:?}",
            pod.spec.affinity, old.labels, new.labels
        );
    }
}

#[test]
fn a_node_that_vanishes_takes_its_pods_out_of_its_domains() {
    let pod = waiting(&json!({}), &[], &[]);
    let in_zone = node("n", r#"{"labels":{"zone":"x"}}"#);
    assert!(listener().wakes_on_node(Action::DELETE, &pod, Some(&in_zone), None));
    assert!(!listener().wakes_on_node(Action::DELETE, &pod, Some(&node("n", "{}")), None));
}

#[test]
fn labels_of_namespaces_help_pods_in_them_and_pods_that_mean_namespaces_by_them() {
    let namespace = |name: &str, team: &str| Namespace {
        name: name.into(),
        uid: Uid::from(name),
        resource_version: ResourceVersion::new(1),
        labels: [("team", team)].into_iter().collect(),
    };
    let team = json!({"team": "x"});
    let plain = waiting(&json!({}), &[towards(A, "zone")], &[]);
    let by_labels = waiting(&json!({}), &[by_namespaces(towards(A, "zone"), &team)], &[]);
    let of_all = waiting(&json!({}), &[], &[by_namespaces(towards(A, "zone"), &json!({}))]);
    let (x, y) = (namespace("elsewhere", "x"), namespace("elsewhere", "y"));
    let (own_x, own_y) = (namespace("default", "x"), namespace("default", "y"));
    for (pod, old, new, expected) in [
        (&plain, &own_x, &own_y, true),
        (&plain, &own_x, &own_x, false),
        (&plain, &x, &y, false),
        (&by_labels, &x, &y, true),
        (&of_all, &x, &y, false),
    ] {
        let wakes = listener().wakes_on_namespace(pod, Some(old), Some(new));
        assert_eq!(wakes, expected, "{:?} {}", pod.spec.affinity, old.name);
    }
    assert!(listener().wakes_on_namespace(&by_labels, None, Some(&x)));
    assert!(listener().wakes_on_namespace(&by_labels, Some(&x), None));
}

#[test]
fn an_event_without_its_objects_may_mean_anything() {
    let pod = waiting(&json!({}), &[], &[]);
    for (resource, action) in [
        (EventResource::AssignedPod, Action::DELETE),
        (EventResource::Node, Action::ADD),
        (EventResource::Namespace, Action::UPDATE),
    ] {
        assert!(listener().wakes(resource, action, &pod, &EventObjects::None));
    }
}
