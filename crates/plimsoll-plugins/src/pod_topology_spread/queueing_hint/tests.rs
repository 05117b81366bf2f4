use plimsoll_config::{DefaultSpreadConstraint, DefaultingType, PluginArgs, PodTopologySpreadArgs};
use plimsoll_model::{LabelSelector, ObjectName, ResourceVersion, Uid};
use serde_json::{Value, json};

use super::super::construct;
use super::*;
use crate::fixture::{Listener, made, made_of, named_pod, node, terminating};

fn listener() -> Listener {
    Listener::of(&made(construct))
}

/// With a default constraint that can keep pods from nodes.
fn with_hard_defaults() -> Listener {
    let zone = DefaultSpreadConstraint {
        max_skew: 1,
        topology_key: "zone".to_owned(),
        when_unsatisfiable: "DoNotSchedule".to_owned(),
        ..DefaultSpreadConstraint::default()
    };
    let args = PodTopologySpreadArgs {
        default_constraints: vec![zone],
        defaulting_type: DefaultingType::List,
    };
    Listener::of(&made_of(construct, &PluginArgs::PodTopologySpread(args)))
}

/// A constraint over the pods of app `web`, with some fields set otherwise.
fn hard(key: &str, fields: &Value) -> Value {
    let mut constraint = json!({
        "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    let fields = fields.as_object().unwrap().clone();
    constraint.as_object_mut().unwrap().extend(fields);
    constraint
}

fn waiting(labels: &Value, constraints: &[Value], fields: &Value) -> Pod {
    let mut spec = json!({"topologySpreadConstraints": constraints});
    let fields = fields.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(fields);
    named_pod("default", &labels.to_string(), &spec.to_string())
}

fn spread(constraints: &[Value]) -> Pod {
    waiting(&json!({"app": "web"}), constraints, &json!({}))
}

fn by_zone() -> Pod {
    spread(&[hard("zone", &json!({}))])
}

fn other_in(namespace: &str, labels: &Value) -> Pod {
    Pod {
        uid: Uid::from("other"),
        ..named_pod(namespace, &labels.to_string(), r#"{"nodeName":"n"}"#)
    }
}

fn app(name: &str) -> Pod {
    other_in("default", &json!({"app": name}))
}

fn labelled(labels: &Value) -> Node {
    node("n", &json!({"labels": labels}).to_string())
}

const LABEL: Action = Action::UPDATE_POD_LABEL;

#[test]
fn pods_that_come_or_go_help_when_a_constraint_counts_them() {
    let soft = hard("zone", &json!({"whenUnsatisfiable": "ScheduleAnyway"}));
    let elsewhere = other_in("elsewhere", &json!({"app": "web"}));
    let mut unplaced = app("web");
    unplaced.node_name = None;
    let mut nominated = unplaced.clone();
    nominated.status.nominated_node_name = Some("n".into());
    for (waiting, other, expected) in [
        (by_zone(), app("web"), true),
        (by_zone(), app("db"), false),
        (by_zone(), elsewhere, false),
        (by_zone(), unplaced, false),
        (by_zone(), nominated, true),
        (spread(&[soft]), app("web"), false),
    ] {
        for (action, old, new) in [(Action::ADD, None, Some(&other)), (Action::DELETE, Some(&other), None)] {
            let wakes = listener().wakes_on_pod(action, &waiting, old, new);
            assert_eq!(wakes, expected, "{action:?} {other:?}");
        }
    }
}

#[test]
fn other_labels_help_when_a_constraint_counts_the_pod_otherwise() {
    let wakes = |old: &Pod, new: &Pod| listener().wakes_on_pod(LABEL, &by_zone(), Some(old), Some(new));
    let web_too = other_in("default", &json!({"app": "web", "tier": "back"}));
    assert!(wakes(&app("web"), &app("db")));
    assert!(wakes(&app("db"), &app("web")));
    assert!(!wakes(&app("web"), &web_too));
    assert!(!wakes(&app("db"), &app("cache")));
}

#[test]
fn a_label_that_a_constraint_takes_over_narrows_what_is_counted() {
    let constraint = || hard("zone", &json!({"matchLabelKeys": ["rev"]}));
    let waiting_as = |app: &str, rev: &str| waiting(&json!({"app": app, "rev": rev}), &[constraint()], &json!({}));
    let other = |rev: &str| other_in("default", &json!({"app": "web", "rev": rev}));
    let pod = waiting_as("web", "1");
    let listener = listener();
    assert!(listener.wakes_on_pod(Action::DELETE, &pod, Some(&other("1")), None));
    assert!(!listener.wakes_on_pod(Action::DELETE, &pod, Some(&other("2")), None));
    // Which pods are counted changes even if it is not one of them itself.
    let (before, after) = (waiting_as("db", "1"), waiting_as("db", "2"));
    assert!(listener.wakes_on_pod(LABEL, &after, Some(&before), Some(&after)));
    let unrelated = |tier: &str| waiting(&json!({"app": "db", "tier": tier}), &[constraint()], &json!({}));
    let (before, after) = (unrelated("front"), unrelated("back"));
    assert!(!listener.wakes_on_pod(LABEL, &after, Some(&before), Some(&after)));
}

#[test]
fn a_toleration_of_its_own_helps_when_taints_decide_which_nodes_count() {
    let action = Action::UPDATE_POD_TOLERATION;
    for (policy, expected) in [("Honor", true), ("Ignore", false)] {
        let constraint = [hard("zone", &json!({"nodeTaintsPolicy": policy}))];
        let before = spread(&constraint);
        let tolerations = json!({"tolerations": [{"operator": "Exists"}]});
        let after = waiting(&json!({"app": "web"}), &constraint, &tolerations);
        let wakes = listener().wakes_on_pod(action, &after, Some(&before), Some(&after));
        assert_eq!(wakes, expected, "{policy}");
    }
}

#[test]
fn a_pod_that_is_told_to_go_no_longer_counts() {
    let going = |pod: &Pod| terminating(pod);
    let wakes =
        |waiting: &Pod, old: &Pod, new: &Pod| listener().wakes_on_pod(Action::UPDATE, waiting, Some(old), Some(new));
    let (web, db) = (app("web"), app("db"));
    assert!(wakes(&by_zone(), &web, &going(&web)));
    assert!(!wakes(&by_zone(), &db, &going(&db)));
    assert!(!wakes(&by_zone(), &going(&web), &going(&web)));
    assert!(!wakes(&by_zone(), &web, &web));
    assert!(!wakes(&by_zone(), &by_zone(), &going(&by_zone())));
    // It may also be told to go while something with an event of its own changes.
    let shrunk = Action::UPDATE_POD_SCALE_DOWN;
    assert!(listener().wakes_on_pod(shrunk, &by_zone(), Some(&web), Some(&going(&web))));
    assert!(!listener().wakes_on_pod(shrunk, &by_zone(), Some(&web), Some(&web)));
}

#[test]
fn no_pod_is_asked_about_when_the_status_of_another_changes() {
    let web = app("web");
    assert!(!listener().may_help_some_pod(Action::UPDATE, &web, &web));
    assert!(listener().may_help_some_pod(Action::UPDATE, &web, &terminating(&web)));
    assert!(listener().may_help_some_pod(Action::UPDATE_POD_LABEL, &web, &app("db")));
}

#[test]
fn nodes_help_when_they_come_to_be_in_other_domains_of_all_constraints() {
    let both = spread(&[hard("zone", &json!({})), hard("host", &json!({}))]);
    let (in_both, moved) = (
        labelled(&json!({"zone": "x", "host": "n"})),
        labelled(&json!({"zone": "y", "host": "n"})),
    );
    let (in_one, bare) = (labelled(&json!({"zone": "x"})), labelled(&json!({})));
    let with_more = labelled(&json!({"zone": "x", "host": "n", "disk": "ssd"}));
    let wakes = |action, old, new| listener().wakes_on_node(action, &both, old, new);
    let label = Action::UPDATE_NODE_LABEL;
    assert!(wakes(Action::ADD, None, Some(&in_both)));
    assert!(!wakes(Action::ADD, None, Some(&in_one)));
    assert!(wakes(Action::DELETE, Some(&in_both), None));
    assert!(!wakes(Action::DELETE, Some(&in_one), None));
    assert!(wakes(label, Some(&in_one), Some(&in_both)));
    assert!(wakes(label, Some(&in_both), Some(&in_one)));
    assert!(wakes(label, Some(&in_both), Some(&moved)));
    assert!(!wakes(label, Some(&in_both), Some(&with_more)));
    assert!(!wakes(label, Some(&bare), Some(&in_one)));
}

#[test]
fn other_taints_of_a_node_in_a_domain_help() {
    let tainted = |labels: &Value| {
        let spec = json!({"taints": [{"key": "k", "effect": "NoSchedule"}]});
        node("n", &json!({"labels": labels, "spec": spec}).to_string())
    };
    let in_zone = json!({"zone": "x"});
    let wakes =
        |old: &Node, new: &Node| listener().wakes_on_node(Action::UPDATE_NODE_TAINT, &by_zone(), Some(old), Some(new));
    assert!(wakes(&tainted(&in_zone), &labelled(&in_zone)));
    assert!(!wakes(&tainted(&json!({})), &labelled(&json!({}))));
    assert!(!wakes(&tainted(&in_zone), &tainted(&in_zone)));
}

#[test]
fn a_node_that_the_pod_may_use_only_now_or_no_longer_counts_otherwise() {
    let needs_ssd = json!({"nodeSelector": {"disk": "ssd"}});
    let pod = |policy: &str| {
        let constraint = [hard("zone", &json!({"nodeAffinityPolicy": policy}))];
        waiting(&json!({"app": "web"}), &constraint, &needs_ssd)
    };
    let (ssd, hdd) = (
        labelled(&json!({"zone": "x", "disk": "ssd"})),
        labelled(&json!({"zone": "x", "disk": "hdd"})),
    );
    for (policy, expected) in [("Honor", true), ("Ignore", false)] {
        for (old, new) in [(&ssd, &hdd), (&hdd, &ssd)] {
            let wakes = listener().wakes_on_node(Action::UPDATE_NODE_LABEL, &pod(policy), Some(old), Some(new));
            assert_eq!(wakes, expected, "{policy} {:?}", new.labels);
        }
    }
}

#[test]
fn default_constraints_may_count_every_pod_of_the_namespace() {
    let plain = waiting(&json!({"app": "web"}), &[], &json!({}));
    let listener = with_hard_defaults();
    let elsewhere = other_in("elsewhere", &json!({"app": "web"}));
    for (other, expected) in [(app("db"), true), (elsewhere, false)] {
        assert_eq!(
            listener.wakes_on_pod(Action::DELETE, &plain, Some(&other), None),
            expected
        );
    }
    assert!(listener.wakes_on_pod(LABEL, &plain, Some(&app("db")), Some(&app("cache"))));
    let renamed = waiting(&json!({"app": "db"}), &[], &json!({}));
    assert!(listener.wakes_on_pod(LABEL, &renamed, Some(&plain), Some(&renamed)));
    assert!(!listener.wakes_on_pod(Action::DELETE, &by_zone(), Some(&app("db")), None));
    assert!(listener.wakes_on_node(Action::ADD, &plain, None, Some(&labelled(&json!({"zone": "x"})))));
    assert!(!listener.wakes_on_node(Action::ADD, &plain, None, Some(&labelled(&json!({})))));
}

#[test]
fn workloads_of_the_namespace_help_pods_that_are_spread_by_default() {
    let workload = |namespace: &str| WorkloadSelector {
        kind: WorkloadKind::ReplicaSet,
        name: ObjectName::new(namespace, "w"),
        uid: Uid::from("w"),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::default()),
    };
    let plain = waiting(&json!({"app": "web"}), &[], &json!({}));
    let (beside, elsewhere) = (workload("default"), workload("elsewhere"));
    let hard = with_hard_defaults();
    assert!(hard.wakes_on_workload(&plain, None, Some(&beside)));
    assert!(hard.wakes_on_workload(&plain, Some(&beside), None));
    assert!(!hard.wakes_on_workload(&plain, None, Some(&elsewhere)));
    assert!(!hard.wakes_on_workload(&by_zone(), None, Some(&beside)));
    // The built-in defaults keep no pod from any node.
    assert!(!listener().wakes_on_workload(&plain, None, Some(&beside)));
}
