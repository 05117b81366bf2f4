use super::*;
use crate::fixture::Scored;

const NODES: [&str; 4] = ["a1", "a2", "b1", "none"];

/// The nodes that have a pod of app `web`, the constraints, and the scores before and after normalisation.
type Case<'a> = (&'a [&'a str], Vec<Value>, [i64; 4], [i64; 4]);

fn soft(max_skew: i32, key: &str) -> Value {
    hard(max_skew, key, &json!({"whenUnsatisfiable": "ScheduleAnyway"}))
}

fn raw(scored: &Scored) -> [i64; 4] {
    NODES.map(|node| scored.raw(node))
}

fn normalised(scored: &Scored) -> [i64; 4] {
    NODES.map(|node| scored.normalised(node))
}

fn with_hostnames() -> Cluster {
    Cluster::of_nodes([
        (
            "a1",
            r#"{"labels":{"topology.kubernetes.io/zone":"a","kubernetes.io/hostname":"a1"}}"#,
        ),
        (
            "a2",
            r#"{"labels":{"topology.kubernetes.io/zone":"a","kubernetes.io/hostname":"a2"}}"#,
        ),
        (
            "b1",
            r#"{"labels":{"topology.kubernetes.io/zone":"b","kubernetes.io/hostname":"b1"}}"#,
        ),
        ("none", r#"{"labels":{"kubernetes.io/hostname":"none"}}"#),
    ])
}

#[test]
fn domains_with_fewer_pods_score_higher() {
    let cases: [Case<'_>; 6] = [
        // Two zones weigh ln(4) = 1.386 a pod.
        (&["a1", "a2", "a2"], vec![soft(1, "zone")], [4, 4, 0, 0], [0, 0, 100, 0]),
        (
            &["a1", "a2", "b1"],
            vec![soft(1, "zone")],
            [3, 3, 1, 0],
            [33, 33, 100, 0],
        ),
        // A larger skew waters the difference down.
        (
            &["a1", "a2", "b1"],
            vec![soft(5, "zone")],
            [7, 7, 5, 0],
            [71, 71, 100, 0],
        ),
        (&[], vec![soft(1, "zone")], [0, 0, 0, 0], [100, 100, 100, 0]),
        // Nodes without the zone are left out, also of what they are as hosts: 3 hosts weigh ln(5) = 1.609.
        (
            &["a1", "a1", "b1", "none"],
            vec![soft(1, "host"), soft(1, "zone")],
            [6, 3, 3, 0],
            [50, 100, 100, 0],
        ),
        // No node has the label.
        (&["a1"], vec![soft(1, "rack")], [0, 0, 0, 0], [0, 0, 0, 0]),
    ];
    for (placed, constraints, expected, percent) in cases {
        let mut cluster = zones();
        for node in placed {
            cluster.add_pod(node, &app("web"));
        }
        let scored = cluster.score(&made(construct), &spread(&constraints)).unwrap();
        assert_eq!(raw(&scored), expected, "{placed:?} {constraints:?}");
        assert_eq!(normalised(&scored), percent, "{placed:?} {constraints:?}");
    }
}

#[test]
fn policies_decide_whose_pods_count_in_zones_but_not_on_the_node_itself() {
    let mut cluster = with_hostnames();
    cluster.add_pod("a1", &app("web"));
    let pod = |key: &str| {
        let spec =
            json!({"nodeSelector": {"kubernetes.io/hostname": "a2"}, "topologySpreadConstraints": [soft(1, key)]});
        pod_in("default", &json!({"app": "web"}), &spec)
    };
    let zone = cluster
        .score(&made(construct), &pod("topology.kubernetes.io/zone"))
        .unwrap();
    assert_eq!(raw(&zone), [0, 0, 0, 0]);
    // Four hosts weigh ln(6) = 1.79.
    let host = cluster.score(&made(construct), &pod("kubernetes.io/hostname")).unwrap();
    assert_eq!(raw(&host), [2, 0, 0, 0]);
}

#[test]
fn the_default_spread_also_scores_nodes_without_a_zone() {
    let mut cluster = with_hostnames();
    let service = workload(WorkloadKind::Service, "s", &json!({"app": "web"}));
    cluster.columns.set_workload_selector(&service);
    assert!(
        cluster.score(&made(construct), &app("db")).is_none(),
        "it belongs to no workload"
    );
    for node in ["a1", "a2", "none", "none"] {
        cluster.add_pod(node, &app("web"));
    }
    let scored = cluster.score(&made(construct), &app("web")).unwrap();
    // Hosts weigh ln(6) and add 2; zones, of which no zone at all is a third, weigh ln(5) and add 4 where there is one.
    assert_eq!(raw(&scored), [11, 11, 6, 6]);
    assert_eq!(normalised(&scored), [54, 54, 100, 100]);
}

#[test]
fn a_list_of_defaults_leaves_out_nodes_without_the_labels() {
    let args = PluginArgs::PodTopologySpread(PodTopologySpreadArgs {
        defaulting_type: DefaultingType::List,
        default_constraints: vec![DefaultSpreadConstraint {
            max_skew: 1,
            topology_key: "topology.kubernetes.io/zone".to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            ..DefaultSpreadConstraint::default()
        }],
    });
    let mut cluster = with_hostnames();
    let service = workload(WorkloadKind::Service, "s", &json!({"app": "web"}));
    cluster.columns.set_workload_selector(&service);
    let scored = cluster.score(&made_of(construct, &args), &app("web")).unwrap();
    assert_eq!(normalised(&scored), [100, 100, 100, 0]);
}

#[test]
fn a_pod_without_soft_constraints_is_not_scored() {
    assert!(zones().score(&made(construct), &app("web")).is_none());
    let pod = spread(&[hard(1, "zone", &json!({}))]);
    assert!(zones().score(&made(construct), &pod).is_none());
}
