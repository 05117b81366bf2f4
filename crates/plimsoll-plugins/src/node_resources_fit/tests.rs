use super::*;
use crate::fixture::{Cluster, Rejection, pod, resolvable, unresolvable};

const MIB: i64 = 1024 * 1024;

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
    cluster.filter(&extensions(), &pod(&asking(requests))).of("a")
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
        let verdicts = cluster.filter(&extensions(), &pod(&spec));
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
        let scores = cluster.score(&extensions(), &pod(&asking(requests))).unwrap();
        assert_eq!(scores.raw("a"), expected, "{allocatable} {running:?} {requests}");
        assert_eq!(scores.normalised("a"), expected);
    }
}

#[test]
fn pod_level_requests_do_not_count_in_the_score() {
    let cluster = Cluster::of_nodes([("a", node(r#"{"cpu":"1","memory":"1000Mi"}"#).as_str())]);
    let spec = r#"{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"1","memory":"1000Mi"}}}"#;
    assert_eq!(cluster.score(&extensions(), &pod(spec)).unwrap().raw("a"), 85);
}

#[test]
fn products_wrap_as_in_kube_scheduler() {
    let huge = i64::MAX / 50;
    let wrapped = huge.wrapping_mul(100) / huge;
    assert_eq!(least_allocated([(0, huge), (0, 0)]), wrapped);
    assert_eq!(least_allocated([(0, MIB), (0, 0)]), 100);
}
