use super::*;
use plimsoll_config::{
    FeatureGates, Gate, ResourceWeight, ScoringStrategy, ScoringStrategyType, UtilizationShapePoint,
};

use crate::fixture::{Cluster, Rejection, made, made_of, made_with, pod, resolvable, unresolvable};

fn node(allocatable: &str) -> String {
    format!(r#"{{"status":{{"allocatable":{allocatable}}}}}"#)
}

fn asking(requests: &str) -> String {
    format!(r#"{{"containers":[{{"name":"c","resources":{{"requests":{requests}}}}}]}}"#)
}

fn verdict(allocatable: &str, running: &[&str], requests: &str) -> Option<Rejection> {
    let mut cluster = Cluster::of_nodes([("a", node(allocatable).as_str())]);
    for requests in running {
        cluster.add_pod("a", &pod(&asking(requests)));
    }
    cluster.filter(&made(construct), &pod(&asking(requests))).of("a")
}

#[test]
fn a_node_must_have_room_for_every_resource() {
    let big = r#"{"cpu":"10","memory":"20","ephemeral-storage":"30","pods":"32","example.com/a":"5"}"#;
    let cases: [(&[&str], &str, Option<Rejection>); 17] = [
        (&[r#"{"cpu":"10","memory":"20"}"#], "{}", None),
        (&[r#"{"cpu":"10","memory":"20"}"#], r#"{"cpu":"0","memory":"0"}"#, None),
        (&[r#"{"cpu":"5","memory":"5"}"#], r#"{"cpu":"5","memory":"15"}"#, None),
        (
            &[r#"{"cpu":"5","memory":"5"}"#],
            r#"{"cpu":"5001m"}"#,
            Some(resolvable(["Insufficient cpu"])),
        ),
        (
            &[r#"{"cpu":"5","memory":"5"}"#],
            r#"{"memory":"16"}"#,
            Some(resolvable(["Insufficient memory"])),
        ),
        (
            &[r#"{"cpu":"5"}"#],
            r#"{"cpu":"10","memory":"20"}"#,
            Some(resolvable(["Insufficient cpu"])),
        ),
        (
            &[r#"{"cpu":"5","memory":"5"}"#],
            r#"{"cpu":"10","memory":"20"}"#,
            Some(resolvable(["Insufficient cpu", "Insufficient memory"])),
        ),
        (&[], r#"{"cpu":"11"}"#, Some(unresolvable(["Insufficient cpu"]))),
        (
            &[r#"{"memory":"1"}"#],
            r#"{"cpu":"11","memory":"20"}"#,
            Some(unresolvable(["Insufficient cpu", "Insufficient memory"])),
        ),
        (
            &[],
            r#"{"ephemeral-storage":"31"}"#,
            Some(unresolvable(["Insufficient ephemeral-storage"])),
        ),
        (
            &[r#"{"ephemeral-storage":"1"}"#],
            r#"{"ephemeral-storage":"30"}"#,
            Some(resolvable(["Insufficient ephemeral-storage"])),
        ),
        (&[r#"{"example.com/a":"3"}"#], r#"{"example.com/a":"2"}"#, None),
        (
            &[r#"{"example.com/a":"3"}"#],
            r#"{"example.com/a":"3"}"#,
            Some(resolvable(["Insufficient example.com/a"])),
        ),
        (
            &[],
            r#"{"example.com/a":"6"}"#,
            Some(unresolvable(["Insufficient example.com/a"])),
        ),
        (
            &[],
            r#"{"example.com/b":"1"}"#,
            Some(unresolvable(["Insufficient example.com/b"])),
        ),
        (&[], r#"{"example.com/b":"0"}"#, None),
        (
            &[],
            r#"{"hugepages-2Mi":"2Mi"}"#,
            Some(unresolvable(["Insufficient hugepages-2Mi"])),
        ),
    ];
    for (running, requests, expected) in cases {
        assert_eq!(verdict(big, running, requests), expected, "{running:?} {requests}");
    }
}

#[test]
fn a_full_node_takes_no_pod_and_says_so_first() {
    let full = r#"{"cpu":"1","memory":"1","pods":"1"}"#;
    assert_eq!(verdict(full, &[], "{}"), None);
    assert_eq!(verdict(full, &["{}"], "{}"), Some(resolvable(["Too many pods"])));
    assert_eq!(
        verdict(full, &["{}"], r#"{"cpu":"2","memory":"1"}"#),
        Some(unresolvable(["Too many pods", "Insufficient cpu"]))
    );
    assert_eq!(
        verdict(r#"{"cpu":"1"}"#, &[], "{}"),
        Some(resolvable(["Too many pods"]))
    );
}

#[test]
fn init_containers_sidecars_overhead_and_pod_level_requests_count() {
    let container = |cpu: u32| format!(r#"{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}"#);
    let sidecar = r#"{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"3"}}}"#;
    let one = container(1);
    let cases = [
        (
            format!(r#"{{"containers":[{one}],"initContainers":[{}]}}"#, container(4)),
            None,
        ),
        (
            format!(r#"{{"containers":[{one}],"initContainers":[{}]}}"#, container(5)),
            Some("Insufficient cpu"),
        ),
        (
            format!(r#"{{"containers":[{one}],"initContainers":[{sidecar}]}}"#),
            None,
        ),
        (
            format!(r#"{{"containers":[{one},{one}],"initContainers":[{sidecar}]}}"#),
            Some("Insufficient cpu"),
        ),
        (
            format!(r#"{{"containers":[{one}],"overhead":{{"cpu":"3001m"}}}}"#),
            Some("Insufficient cpu"),
        ),
        (
            format!(r#"{{"containers":[{one}],"resources":{{"requests":{{"cpu":"5"}}}}}}"#),
            Some("Insufficient cpu"),
        ),
        (
            format!(
                r#"{{"containers":[{}],"resources":{{"requests":{{"cpu":"4"}}}}}}"#,
                container(9)
            ),
            None,
        ),
    ];
    let cluster = Cluster::of_nodes([("a", node(r#"{"cpu":"4","pods":"9"}"#).as_str())]);
    for (spec, reason) in cases {
        let verdicts = cluster.filter(&made(construct), &pod(&spec));
        assert_eq!(verdicts.of("a"), reason.map(|reason| unresolvable([reason])), "{spec}");
    }
}

#[test]
fn more_scalar_resources_than_bits_still_reject() {
    let requests: Vec<_> = (10..40)
        .map(|number| format!(r#""example.com/r{number}":"1""#))
        .collect();
    let rejection = verdict(r#"{"pods":"9"}"#, &[], &format!("{{{}}}", requests.join(","))).unwrap();
    assert_eq!(rejection.reasons.len(), requests.len());
    assert_eq!(rejection.resolvability, Resolvability::Unresolvable);
}

#[test]
fn emptier_nodes_score_higher() {
    let cases: [(&str, &[&str], &str, i64); 9] = [
        // (4000 - 3000) / 4000 and (10000 - 5000) / 10000.
        (
            r#"{"cpu":"4","memory":"10000Mi"}"#,
            &[],
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            37,
        ),
        (
            r#"{"cpu":"6","memory":"10000Mi"}"#,
            &[],
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            50,
        ),
        (
            r#"{"cpu":"4","memory":"1000Mi"}"#,
            &[r#"{"cpu":"1","memory":"0"}"#],
            r#"{"cpu":"1","memory":"0"}"#,
            75,
        ),
        // What is not asked for counts as 100m and 200Mi, for pods that run and for the pod itself.
        (r#"{"cpu":"1","memory":"1000Mi"}"#, &[], "{}", 85),
        (r#"{"cpu":"1","memory":"1000Mi"}"#, &["{}"], "{}", 70),
        // Over the line: 0 for that resource.
        (
            r#"{"cpu":"1","memory":"1000Mi"}"#,
            &[r#"{"cpu":"950m","memory":"0"}"#],
            r#"{"memory":"500Mi"}"#,
            25,
        ),
        // A resource that the node does not have is left out of the mean.
        (r#"{"memory":"1000Mi"}"#, &[], r#"{"cpu":"1","memory":"500Mi"}"#, 50),
        ("{}", &[], r#"{"cpu":"1"}"#, 0),
        // 66.67 and 85.71: each share is truncated before the mean is.
        (r#"{"cpu":"3","memory":"7"}"#, &[], r#"{"cpu":"1","memory":"1"}"#, 75),
    ];
    for (allocatable, running, requests, expected) in cases {
        let mut cluster = Cluster::of_nodes([("a", node(allocatable).as_str())]);
        for requests in running {
            cluster.add_pod("a", &pod(&asking(requests)));
        }
        let scores = cluster.score(&made(construct), &pod(&asking(requests))).unwrap();
        assert_eq!(scores.raw("a"), expected, "{allocatable} {running:?} {requests}");
        assert_eq!(scores.normalised("a"), expected);
    }
}

#[test]
fn pod_level_requests_do_not_count_in_the_score() {
    let cluster = Cluster::of_nodes([("a", node(r#"{"cpu":"1","memory":"1000Mi"}"#).as_str())]);
    let spec = r#"{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"1","memory":"1000Mi"}}}"#;
    assert_eq!(cluster.score(&made(construct), &pod(spec)).unwrap().raw("a"), 85);
}

fn args(strategy: ScoringStrategyType, resources: &[(&str, i64)], shape: Option<&[(i32, i32)]>) -> PluginArgs {
    let points = |shape: &[(i32, i32)]| {
        let points = shape.iter();
        points
            .map(|(utilization, score)| UtilizationShapePoint {
                utilization: *utilization,
                score: *score,
            })
            .collect()
    };
    PluginArgs::NodeResourcesFit(NodeResourcesFitArgs {
        scoring_strategy: Some(ScoringStrategy {
            kind: strategy,
            resources: resources
                .iter()
                .map(|(name, weight)| ResourceWeight::new(*name, *weight))
                .collect(),
            requested_to_capacity_ratio: shape.map(points),
        }),
        ..NodeResourcesFitArgs::default()
    })
}

fn scored(args: &PluginArgs, allocatable: &str, running: &[&str], requests: &str) -> i64 {
    let mut cluster = Cluster::of_nodes([("a", node(allocatable).as_str())]);
    for requests in running {
        cluster.add_pod("a", &pod(&asking(requests)));
    }
    let scores = cluster
        .score(&made_of(construct, args), &pod(&asking(requests)))
        .unwrap();
    assert_eq!(scores.raw("a"), scores.normalised("a"));
    scores.raw("a")
}

#[test]
fn ignored_extended_resources_need_not_be_free() {
    let ignoring = |resources: &[&str], groups: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        PluginArgs::NodeResourcesFit(NodeResourcesFitArgs {
            ignored_resources: owned(resources),
            ignored_resource_groups: owned(groups),
            ..NodeResourcesFitArgs::default()
        })
    };
    let requests = r#"{"example.com/a":"1","example.com/b":"1","other.com/a":"1"}"#;
    let cases: [(&[&str], &[&str], &[&str]); 6] = [
        (&[], &[], &["example.com/a", "example.com/b", "other.com/a"]),
        (&["example.com/a"], &[], &["example.com/b", "other.com/a"]),
        (&[], &["example.com"], &["other.com/a"]),
        (&["example.com/b"], &["other.com"], &["example.com/a"]),
        (
            &["example.com"],
            &["a"],
            &["example.com/a", "example.com/b", "other.com/a"],
        ),
        (&["other.com/a"], &["example.com"], &[]),
    ];
    let cluster = Cluster::of_nodes([("a", node(r#"{"pods":"9"}"#).as_str())]);
    for (resources, groups, lacking) in cases {
        let plugin = made_of(construct, &ignoring(resources, groups));
        let rejection = cluster.filter(&plugin, &pod(&asking(requests))).of("a");
        let reasons: Vec<_> = lacking.iter().map(|name| format!("Insufficient {name}")).collect();
        assert_eq!(
            rejection.map_or_else(Vec::new, |rejection| rejection.reasons),
            reasons,
            "{resources:?} {groups:?}"
        );
    }
    let native = r#"{"hugepages-2Mi":"2Mi","kubernetes.io/x":"1"}"#;
    let plugin = made_of(
        construct,
        &ignoring(&["hugepages-2Mi", "kubernetes.io/x"], &["kubernetes.io"]),
    );
    let rejection = cluster.filter(&plugin, &pod(&asking(native))).of("a");
    assert_eq!(
        rejection,
        Some(unresolvable([
            "Insufficient hugepages-2Mi",
            "Insufficient kubernetes.io/x"
        ])),
        "only extended resources can be ignored"
    );
}

#[test]
fn fuller_nodes_score_higher_when_asked_for() {
    type Case<'a> = (&'a [(&'a str, i64)], &'a str, &'a [&'a str], &'a str, i64);
    let cpu_and_memory: &[(&str, i64)] = &[("cpu", 1), ("memory", 1)];
    let cases: [Case<'_>; 7] = [
        // 3000 / 4000 and 5000 / 10000.
        (
            cpu_and_memory,
            r#"{"cpu":"4","memory":"10000Mi"}"#,
            &[],
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            62,
        ),
        (
            &[("cpu", 1), ("memory", 3)],
            r#"{"cpu":"4","memory":"10000Mi"}"#,
            &[],
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            56,
        ),
        // What is not asked for counts with defaults, and what is over the line as full.
        (cpu_and_memory, r#"{"cpu":"1","memory":"1000Mi"}"#, &["{}"], "{}", 30),
        (cpu_and_memory, r#"{"cpu":"150m","memory":"1000Mi"}"#, &["{}"], "{}", 70),
        // A scalar counts only for pods that ask for it, and only on nodes that have it.
        (
            &[("example.com/a", 2), ("memory", 1)],
            r#"{"memory":"1000Mi","example.com/a":"4"}"#,
            &[r#"{"example.com/a":"1"}"#],
            r#"{"memory":"0","example.com/a":"1"}"#,
            40,
        ),
        (
            &[("example.com/a", 2), ("memory", 1)],
            r#"{"memory":"1000Mi","example.com/a":"4"}"#,
            &[r#"{"example.com/a":"1","memory":"0"}"#],
            r#"{"memory":"500Mi"}"#,
            50,
        ),
        (
            &[("ephemeral-storage", 1), ("pods", 9)],
            r#"{"ephemeral-storage":"10","pods":"10"}"#,
            &[r#"{"ephemeral-storage":"3"}"#],
            r#"{"ephemeral-storage":"4"}"#,
            70,
        ),
    ];
    for (resources, allocatable, running, requests, expected) in cases {
        let args = args(ScoringStrategyType::MostAllocated, resources, None);
        let score = scored(&args, allocatable, running, requests);
        assert_eq!(score, expected, "{resources:?} {allocatable} {running:?} {requests}");
    }
}

#[test]
fn weights_and_other_resources_count_for_emptier_nodes_too() {
    type Case<'a> = (&'a [(&'a str, i64)], &'a str, &'a str, i64);
    let cases: [Case<'_>; 4] = [
        // (25 * 1 + 50 * 3) / 4.
        (
            &[("cpu", 1), ("memory", 3)],
            r#"{"cpu":"4","memory":"10000Mi"}"#,
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            43,
        ),
        (
            &[("example.com/a", 1)],
            r#"{"example.com/a":"8"}"#,
            r#"{"example.com/a":"2"}"#,
            75,
        ),
        (&[("example.com/a", 1)], r#"{"example.com/a":"8"}"#, "{}", 0),
        (&[("ephemeral-storage", 1)], r#"{"ephemeral-storage":"8"}"#, "{}", 100),
    ];
    for (resources, allocatable, requests, expected) in cases {
        let args = args(ScoringStrategyType::LeastAllocated, resources, None);
        assert_eq!(
            scored(&args, allocatable, &[], requests),
            expected,
            "{resources:?} {requests}"
        );
    }
}

#[test]
fn from_the_nineteenth_on_scalar_resources_are_short_together() {
    let one_of_each = |numbers: &mut dyn Iterator<Item = usize>| {
        let each: Vec<_> = numbers
            .map(|number| format!(r#""example.com/r{number:02}":"1""#))
            .collect();
        each.join(",")
    };
    let asked = format!("{{{}}}", one_of_each(&mut (0..21)));
    let cases: [(usize, &[usize]); 3] = [(17, &[17]), (18, &[18, 19, 20]), (20, &[18, 19, 20])];
    for (missing, told) in cases {
        let there = one_of_each(&mut (0..21).filter(|number| *number != missing));
        let rejection = verdict(&format!(r#"{{"pods":"9",{there}}}"#), &[], &asked).unwrap();
        let told: Vec<_> = told
            .iter()
            .map(|number| format!("Insufficient example.com/r{number:02}"))
            .collect();
        assert_eq!(rejection.reasons, told);
    }
}

#[test]
fn a_function_of_the_used_share_can_be_the_score() {
    type Case<'a> = (&'a [(i32, i32)], &'a [(&'a str, i64)], &'a str, &'a str, i64);
    let packing: &[(i32, i32)] = &[(0, 0), (100, 10)];
    let spreading: &[(i32, i32)] = &[(0, 10), (100, 0)];
    let cases: [Case<'_>; 6] = [
        (
            packing,
            &[("cpu", 1), ("memory", 1)],
            r#"{"cpu":"4","memory":"10000Mi"}"#,
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            // (75 + 50) / 2 = 62.5.
            63,
        ),
        (
            spreading,
            &[("cpu", 1), ("memory", 1)],
            r#"{"cpu":"4","memory":"10000Mi"}"#,
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            38,
        ),
        // A resource that scores nothing is left out of the mean.
        (
            spreading,
            &[("cpu", 1), ("memory", 1)],
            r#"{"cpu":"3","memory":"10000Mi"}"#,
            r#"{"cpu":"3","memory":"5000Mi"}"#,
            50,
        ),
        (
            packing,
            &[("example.com/a", 3), ("memory", 5)],
            r#"{"memory":"10","example.com/a":"4"}"#,
            r#"{"memory":"0","example.com/a":"2"}"#,
            50,
        ),
        // More than there is counts as full.
        (packing, &[("cpu", 1)], r#"{"cpu":"1"}"#, r#"{"cpu":"5"}"#, 100),
        (spreading, &[("cpu", 1)], r#"{"cpu":"1"}"#, r#"{"cpu":"5"}"#, 0),
    ];
    for (shape, resources, allocatable, requests, expected) in cases {
        let args = args(ScoringStrategyType::RequestedToCapacityRatio, resources, Some(shape));
        let score = scored(&args, allocatable, &[], requests);
        assert_eq!(score, expected, "{shape:?} {resources:?} {allocatable} {requests}");
    }
}

#[test]
fn scoring_by_no_resources_is_an_error() {
    let plugin = made_of(construct, &args(ScoringStrategyType::LeastAllocated, &[], None));
    let cluster = Cluster::of_nodes([("a", node("{}").as_str())]);
    let pod = pod("{}");
    let cycle = CycleContext {
        pod: &pod,
        columns: &cluster.columns,
        now: plimsoll_model::Moment::ZERO,
    };
    let scored = plugin.score.unwrap().score(cycle, &CycleState::new(), &[], &mut []);
    assert_eq!(scored, Err("resources not found".to_owned()));
}

#[test]
fn pod_level_requests_count_whatever_their_gate_says() {
    let gates = FeatureGates::default().with(Gate::PodLevelResources, false);
    let plugin = made_with(construct, None, &gates).unwrap();
    let cluster = Cluster::of_nodes([("a", node(r#"{"cpu":"4","pods":"9"}"#).as_str())]);
    let pod = pod(r#"{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"5"}}}"#);
    let rejection = Some(unresolvable(["Insufficient cpu"]));
    assert_eq!(cluster.filter(&plugin, &pod).of("a"), rejection);
    assert_eq!(cluster.filter(&made(construct), &pod).of("a"), rejection);
}
