use plimsoll_model::{LabelSelector, Labels, ObjectName, ResourceVersion, Uid, WorkloadKind, WorkloadSelector};

use super::*;
use crate::fixture::{Cluster, controlled_pod, named_pod};

fn set_selector(cluster: &mut Cluster, kind: WorkloadKind, name: &str, labels: &[(&str, &str)]) {
    cluster.columns.set_workload_selector(&WorkloadSelector {
        kind,
        name: ObjectName::new("default", name),
        uid: Uid::from(name),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::of_labels(labels.iter().copied().collect::<Labels>())),
    });
}

fn scores<const N: usize>(cluster: &Cluster, plugin: &Extensions, pod: &Pod, nodes: [&str; N]) -> [(i64, i64); N] {
    let scores = cluster.score(plugin, pod).unwrap();
    nodes.map(|name| (scores.raw(name), scores.normalised(name)))
}

fn normalised<const N: usize>(cluster: &Cluster, plugin: &Extensions, pod: &Pod, nodes: [&str; N]) -> [i64; N] {
    scores(cluster, plugin, pod, nodes).map(|(_, score)| score)
}

fn web() -> Pod {
    named_pod("default", r#"{"app":"web"}"#, "{}")
}

#[test]
fn without_zones_the_fewest_pods_of_the_workload_score_highest() {
    let mut cluster = Cluster::of_nodes([("a", "{}"), ("b", "{}"), ("c", "{}")]);
    set_selector(&mut cluster, WorkloadKind::Service, "web", &[("app", "web")]);
    let nodes = ["a", "b", "c"];
    assert_eq!(normalised(&cluster, &selector_spread(), &web(), nodes), [100, 100, 100]);
    for node in ["a", "a", "a", "b"] {
        cluster.add_pod(node, &web());
    }
    cluster.add_pod("c", &named_pod("default", r#"{"app":"db"}"#, "{}"));
    cluster.add_pod("c", &named_pod("other", r#"{"app":"web"}"#, "{}"));
    cluster.add_pod("c", &crate::fixture::terminating(&web()));
    assert_eq!(
        scores(&cluster, &selector_spread(), &web(), nodes),
        [(3, 0), (1, 66), (0, 100)]
    );
    let other = named_pod("default", r#"{"app":"none"}"#, "{}");
    assert_eq!(normalised(&cluster, &selector_spread(), &other, nodes), [100, 100, 100]);
}

#[test]
fn a_zone_counts_two_thirds() {
    let zone = |name: &str| format!(r#"{{"labels":{{"topology.kubernetes.io/zone":"{name}"}}}}"#);
    let beta = r#"{"labels":{"failure-domain.beta.kubernetes.io/zone":"x"}}"#;
    let (x, y) = (zone("x"), zone("y"));
    let mut cluster = Cluster::of_nodes([("x1", x.as_str()), ("x2", beta), ("y1", y.as_str()), ("none", "{}")]);
    set_selector(&mut cluster, WorkloadKind::Service, "web", &[("app", "web")]);
    for node in ["x1", "x1", "y1"] {
        cluster.add_pod(node, &web());
    }
    // Zones: x has 2 of at most 2, y 1. Nodes: 2, 0, 1, 0 of at most 2.
    assert_eq!(
        normalised(&cluster, &selector_spread(), &web(), ["x1", "x2", "y1", "none"]),
        [0, 33, 50, 100]
    );
}

#[test]
fn a_zone_is_told_by_its_region_too() {
    let node = |region: &str| {
        format!(r#"{{"labels":{{"topology.kubernetes.io/zone":"1","topology.kubernetes.io/region":"{region}"}}}}"#)
    };
    let (r, s) = (node("r"), node("s"));
    let mut cluster = Cluster::of_nodes([("r1", r.as_str()), ("r2", r.as_str()), ("s1", s.as_str())]);
    set_selector(&mut cluster, WorkloadKind::Service, "web", &[("app", "web")]);
    cluster.add_pod("r1", &web());
    assert_eq!(
        normalised(&cluster, &selector_spread(), &web(), ["r1", "r2", "s1"]),
        [0, 33, 100]
    );
}

#[test]
fn controllers_count_for_one_plugin_and_not_for_the_other() {
    let kinds = [
        (WorkloadKind::ReplicationController, "v1"),
        (WorkloadKind::ReplicaSet, "apps/v1"),
        (WorkloadKind::StatefulSet, "apps/v1"),
    ];
    for (kind, version) in kinds {
        let mut cluster = Cluster::of_nodes([("a", "{}"), ("b", "{}")]);
        set_selector(&mut cluster, kind, "web", &[("app", "web")]);
        let pod = controlled_pod(version, kind.as_str(), "web", r#"{"app":"web"}"#);
        cluster.add_pod("a", &pod);
        let nodes = ["a", "b"];
        assert_eq!(
            normalised(&cluster, &selector_spread(), &pod, nodes),
            [0, 100],
            "{kind}"
        );
        assert_eq!(
            normalised(&cluster, &service_spreading(), &pod, nodes),
            [100, 100],
            "{kind}"
        );
    }
}

#[test]
fn pods_must_belong_to_every_workload_that_the_pod_belongs_to() {
    let mut cluster = Cluster::of_nodes([("a", "{}"), ("b", "{}")]);
    set_selector(&mut cluster, WorkloadKind::Service, "web", &[("app", "web")]);
    set_selector(&mut cluster, WorkloadKind::Service, "front", &[("tier", "front")]);
    cluster.add_pod("a", &web());
    let both = named_pod("default", r#"{"app":"web","tier":"front"}"#, "{}");
    let nodes = ["a", "b"];
    assert_eq!(normalised(&cluster, &selector_spread(), &both, nodes), [100, 100]);
    cluster.add_pod("b", &both);
    assert_eq!(normalised(&cluster, &selector_spread(), &both, nodes), [100, 0]);
}

#[test]
fn pods_with_constraints_of_their_own_are_left_alone() {
    let constraint = r#"{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}"#;
    let pod = named_pod(
        "default",
        r#"{"app":"web"}"#,
        &format!(r#"{{"topologySpreadConstraints":[{constraint}]}}"#),
    );
    let cluster = Cluster::of_nodes([("a", "{}")]);
    assert!(cluster.score(&selector_spread(), &pod).is_none());
}
