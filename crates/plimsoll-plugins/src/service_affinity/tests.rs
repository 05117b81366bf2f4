use plimsoll_config::FeatureGates;
use plimsoll_framework::Action;
use plimsoll_model::{LabelSelector, Labels, ObjectName, ResourceVersion, Uid, WorkloadKind, WorkloadSelector};

use super::*;
use crate::fixture::{Cluster, Listener, made_of, made_with, named_pod, node, resolvable};

fn args(together: &[&str], apart: &[(&str, i32)]) -> PluginArgs {
    PluginArgs::ServiceAffinity(ServiceAffinityArgs {
        affinity_labels: together.iter().map(|label| (*label).to_owned()).collect(),
        anti_affinity_labels_preference: apart
            .iter()
            .map(|(label, weight)| WeightedLabel::new(*label, *weight))
            .collect(),
    })
}

/// Two zones of two racks, and a node without labels. A service `web` selects `app=web`.
fn cluster() -> Cluster {
    let mut cluster = Cluster::of_nodes([
        ("x1", r#"{"labels":{"zone":"x","rack":"1"}}"#),
        ("x2", r#"{"labels":{"zone":"x","rack":"2"}}"#),
        ("y1", r#"{"labels":{"zone":"y","rack":"3"}}"#),
        ("y2", r#"{"labels":{"zone":"y","rack":"4"}}"#),
        ("bare", "{}"),
    ]);
    set_service(&mut cluster, "web", &[("app", "web")]);
    cluster
}

fn set_service(cluster: &mut Cluster, name: &str, labels: &[(&str, &str)]) {
    cluster.columns.set_workload_selector(&WorkloadSelector {
        kind: WorkloadKind::Service,
        name: ObjectName::new("default", name),
        uid: Uid::from(name),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::of_labels(labels.iter().copied().collect::<Labels>())),
    });
}

fn web(spec: &str) -> Pod {
    named_pod("default", r#"{"app":"web"}"#, spec)
}

fn passing(cluster: &Cluster, plugin: &Extensions, pod: &Pod) -> Vec<&'static str> {
    let verdicts = cluster.filter(plugin, pod);
    let mut passing = Vec::new();
    for name in ["x1", "x2", "y1", "y2", "bare"] {
        match verdicts.of(name) {
            None => passing.push(name),
            Some(rejection) => assert_eq!(rejection, resolvable(["node(s) didn't match service affinity"])),
        }
    }
    passing
}

#[test]
fn pods_of_a_service_follow_the_first_to_its_zone() {
    let plugin = made_of(construct, &args(&["zone"], &[]));
    let mut cluster = cluster();
    let everywhere = ["x1", "x2", "y1", "y2", "bare"];
    assert_eq!(
        passing(&cluster, &plugin, &web("{}")),
        everywhere,
        "the first goes anywhere"
    );
    cluster.add_pod("y1", &web("{}"));
    assert_eq!(passing(&cluster, &plugin, &web("{}")), ["y1", "y2"]);
    let other = named_pod("default", r#"{"app":"db"}"#, "{}");
    assert_eq!(passing(&cluster, &plugin, &other), everywhere, "of no service");
    let elsewhere = named_pod("other", r#"{"app":"web"}"#, "{}");
    assert_eq!(
        passing(&cluster, &plugin, &elsewhere),
        everywhere,
        "of another namespace"
    );
}

#[test]
fn a_node_selector_of_the_pod_decides_for_its_labels() {
    let plugin = made_of(construct, &args(&["zone", "rack"], &[]));
    let mut cluster = cluster();
    cluster.add_pod("y1", &web("{}"));
    let cases: [(&str, &[&str]); 4] = [
        ("{}", &["y1"]),
        (r#"{"nodeSelector":{"zone":"x"}}"#, &[]),
        (r#"{"nodeSelector":{"zone":"x","rack":"2"}}"#, &["x2"]),
        (r#"{"nodeSelector":{"rack":"4"}}"#, &["y2"]),
    ];
    for (spec, expected) in cases {
        assert_eq!(passing(&cluster, &plugin, &web(spec)), expected, "{spec}");
    }
}

#[test]
fn pods_on_nodes_without_the_label_say_nothing() {
    let plugin = made_of(construct, &args(&["zone"], &[]));
    let mut cluster = cluster();
    cluster.add_pod("bare", &web("{}"));
    assert_eq!(passing(&cluster, &plugin, &web("{}")).len(), 5);
    cluster.add_pod("x1", &web("{}"));
    assert_eq!(passing(&cluster, &plugin, &web("{}")), ["x1", "x2"]);
}

#[test]
fn of_a_service_that_is_in_several_zones_the_fullest_counts_and_then_the_first() {
    let plugin = made_of(construct, &args(&["zone"], &[]));
    let mut cluster = cluster();
    cluster.add_pod("y1", &web("{}"));
    cluster.add_pod("x1", &web("{}"));
    assert_eq!(passing(&cluster, &plugin, &web("{}")), ["x1", "x2"]);
    cluster.add_pod("y2", &web("{}"));
    assert_eq!(passing(&cluster, &plugin, &web("{}")), ["y1", "y2"]);
}

#[test]
fn of_a_service_that_is_spread_already_some_node_has_all_the_values_that_count() {
    let plugin = made_of(construct, &args(&["zone", "rack"], &[]));
    let mut cluster = cluster();
    // Most are in zone x, though no rack has as many as the one in zone y.
    for node in ["x1", "x1", "x2", "x2", "y1", "y1", "y1"] {
        cluster.add_pod(node, &web("{}"));
    }
    assert_eq!(passing(&cluster, &plugin, &web("{}")), ["x1"]);
    let rack_first = made_of(construct, &args(&["rack", "zone"], &[]));
    assert_eq!(passing(&cluster, &rack_first, &web("{}")), ["y1"]);
}

#[test]
fn the_first_service_by_name_is_the_pods_service() {
    let plugin = made_of(construct, &args(&["zone"], &[]));
    let mut cluster = cluster();
    set_service(&mut cluster, "all", &[("tier", "front")]);
    let front = named_pod("default", r#"{"tier":"front"}"#, "{}");
    cluster.add_pod("x1", &front);
    cluster.add_pod("y1", &web("{}"));
    let both = named_pod("default", r#"{"app":"web","tier":"front"}"#, "{}");
    assert_eq!(passing(&cluster, &plugin, &both), ["x1", "x2"]);
}

fn scores(cluster: &Cluster, plugin: &Extensions, pod: &Pod) -> [i64; 5] {
    let scores = cluster.score(plugin, pod).unwrap();
    ["x1", "x2", "y1", "y2", "bare"].map(|name| scores.normalised(name))
}

#[test]
fn fewer_pods_of_the_service_in_a_domain_score_higher() {
    let plugin = made_of(construct, &args(&[], &[("zone", 1)]));
    let mut cluster = cluster();
    assert_eq!(
        scores(&cluster, &plugin, &web("{}")),
        [100, 100, 100, 100, 0],
        "no pods yet, but a node without the label gets nothing"
    );
    for node in ["x1", "x1", "x2", "y1"] {
        cluster.add_pod(node, &web("{}"));
    }
    // Three of four are in the other zone, and one of four.
    assert_eq!(scores(&cluster, &plugin, &web("{}")), [25, 25, 75, 75, 0]);
    cluster.add_pod("bare", &web("{}"));
    assert_eq!(scores(&cluster, &plugin, &web("{}")), [40, 40, 80, 80, 0]);
    let other = named_pod("default", r#"{"app":"db"}"#, "{}");
    assert_eq!(scores(&cluster, &plugin, &other), [100, 100, 100, 100, 0]);
}

#[test]
fn labels_count_by_their_weights() {
    let plugin = made_of(construct, &args(&[], &[("rack", 3), ("zone", 1)]));
    let mut cluster = cluster();
    for node in ["x1", "x1", "x2", "y1"] {
        cluster.add_pod(node, &web("{}"));
    }
    // Racks 50, 75, 75, 100 and zones 25, 25, 75, 75.
    assert_eq!(scores(&cluster, &plugin, &web("{}")), [43, 62, 75, 93, 0]);
}

#[test]
fn pods_that_terminate_hold_a_service_where_it_is_but_are_not_spread_from() {
    let dying = crate::fixture::terminating(&web("{}"));
    let mut cluster = cluster();
    cluster.add_pod("x1", &dying);
    let together = made_of(construct, &args(&["zone"], &[]));
    assert_eq!(passing(&cluster, &together, &web("{}")), ["x1", "x2"]);
    let apart = made_of(construct, &args(&[], &[("zone", 1)]));
    assert_eq!(scores(&cluster, &apart, &web("{}")), [100, 100, 100, 100, 0]);
}

#[test]
fn a_label_must_weigh_something() {
    let refused = made_with(construct, Some(&args(&[], &[("rack", 0)])), &FeatureGates::default());
    assert_eq!(refused.unwrap_err(), "label \"rack\" should have a positive weight");
}

#[test]
fn pods_that_may_be_of_its_service_bring_a_pod_back() {
    let listener = Listener::of(&made_of(construct, &args(&["zone"], &[])));
    let other = |namespace: &str, labels: &str| Pod {
        uid: Uid::from("other"),
        ..named_pod(namespace, labels, r#"{"nodeName":"x1"}"#)
    };
    let waiting = web("{}");
    let cases = [
        (other("default", r#"{"app":"web","tier":"back"}"#), true),
        (other("default", r#"{"app":"db"}"#), false),
        (other("default", "{}"), false),
        (other("elsewhere", r#"{"app":"web"}"#), false),
    ];
    for (pod, expected) in &cases {
        for (action, old, new) in [(Action::ADD, None, Some(pod)), (Action::DELETE, Some(pod), None)] {
            assert_eq!(
                listener.wakes_on_pod(action, &waiting, old, new),
                *expected,
                "{:?}",
                pod.labels
            );
        }
    }
    let (web, db) = (&cases[0].0, &cases[1].0);
    let label = Action::UPDATE_POD_LABEL;
    assert!(listener.wakes_on_pod(label, &waiting, Some(web), Some(db)));
    assert!(listener.wakes_on_pod(label, &waiting, Some(db), Some(web)));
    assert!(!listener.wakes_on_pod(label, &waiting, Some(db), Some(db)));
    assert!(listener.wakes_on_pod(label, &waiting, Some(&waiting), Some(&waiting)));
}

#[test]
fn nodes_that_are_new_or_vanish_or_change_a_label_of_the_profile_bring_pods_back() {
    let listener = Listener::of(&made_of(construct, &args(&["zone"], &[])));
    let x = node("n", r#"{"labels":{"zone":"x","rack":"1"}}"#);
    let y = node("n", r#"{"labels":{"zone":"y","rack":"1"}}"#);
    let other_rack = node("n", r#"{"labels":{"zone":"x","rack":"2"}}"#);
    let wakes = |action, old, new| listener.wakes_on_node(action, &web("{}"), old, new);
    assert!(wakes(Action::ADD, None, Some(&x)));
    assert!(wakes(Action::DELETE, Some(&x), None));
    assert!(wakes(Action::UPDATE_NODE_LABEL, Some(&x), Some(&y)));
    assert!(!wakes(Action::UPDATE_NODE_LABEL, Some(&x), Some(&other_rack)));
}

#[test]
fn services_that_select_a_pod_bring_it_back() {
    let listener = Listener::of(&made_of(construct, &args(&["zone"], &[])));
    let service = |namespace: &str, label: (&str, &str)| WorkloadSelector {
        kind: WorkloadKind::Service,
        name: ObjectName::new(namespace, "s"),
        uid: Uid::from("s"),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::of_labels([label].into_iter().collect::<Labels>())),
    };
    let web_service = service("default", ("app", "web"));
    let db_service = service("default", ("app", "db"));
    let elsewhere = service("elsewhere", ("app", "web"));
    let wakes = |old, new| listener.wakes_on_workload(&web("{}"), old, new);
    assert!(wakes(None, Some(&web_service)));
    assert!(wakes(Some(&web_service), None));
    assert!(wakes(Some(&web_service), Some(&db_service)));
    assert!(!wakes(None, Some(&db_service)));
    assert!(!wakes(None, Some(&elsewhere)));
    // Without a label to keep together by, the plugin turns nobody away.
    let apart = Listener::of(&made_of(construct, &args(&[], &[("rack", 1)])));
    assert!(!apart.wakes_on_workload(&web("{}"), None, Some(&web_service)));
}
