//! States made up so that exactly one promise is broken, and their like in which none is.

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use super::*;

fn node(name: &str, zone: &str) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "zone": zone } },
        "status": { "allocatable": { "cpu": "4", "memory": "32Gi", "pods": "110" } },
    })
}

#[expect(clippy::needless_pass_by_value, reason = "written at the place of the call")]
fn pod(name: &str, on: &str, labels: Value, spec: Value) -> Value {
    let mut pod = json!({
        "metadata": { "namespace": "default", "name": name, "uid": name, "labels": labels },
        "spec": spec,
    });
    pod["spec"]["nodeName"] = json!(on);
    if pod["spec"].get("containers").is_none() {
        pod["spec"]["containers"] = json!([{ "name": "a", "resources": { "requests": { "cpu": "1" } } }]);
    }
    pod
}

fn cluster(nodes: Vec<Value>, pods: Vec<Value>) -> Cluster {
    Cluster {
        nodes: nodes
            .into_iter()
            .map(|node| serde_json::from_value::<Node>(node).unwrap())
            .collect(),
        pods: pods
            .into_iter()
            .map(|pod| serde_json::from_value::<Pod>(pod).unwrap())
            .collect(),
        namespaces: vec![
            serde_json::from_value(json!({ "metadata": { "name": "default", "labels": { "team": "a" } } })).unwrap(),
        ],
        ..Cluster::default()
    }
}

fn told(cluster: &Cluster) -> Vec<String> {
    let judged = judge_cluster(cluster, true, &[], None).unwrap();
    assert_eq!(judged.violations, judged.told.len());
    judged.told
}

fn nodes() -> Vec<Value> {
    vec![node("n0", "a"), node("n1", "a"), node("n2", "b")]
}

/// Exactly these are broken, each known by a part of what is told.
fn assert_told(cluster: &Cluster, expected: &[&str]) {
    let told = told(cluster);
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{told} does not say {expected}");
    }
}

#[test]
fn a_node_that_gave_away_more_than_it_has_and_one_that_is_not_there_are_told() {
    let pods = |count: usize, on: &str| {
        (0..count)
            .map(|i| pod(&format!("p{i}"), on, json!({}), json!({})))
            .collect()
    };
    assert_told(&cluster(nodes(), pods(4, "n0")), &[]);
    assert_told(
        &cluster(nodes(), pods(5, "n0")),
        &["n0 has given away 5000 of 4000 thousandths of cpu"],
    );
    assert_told(&cluster(nodes(), pods(1, "gone")), &["there is no node gone"]);
    // Whoever is done takes nothing.
    let mut done: Vec<Value> = pods(5, "n0");
    done[0]["status"] = json!({ "phase": "Succeeded" });
    assert_told(&cluster(nodes(), done), &[]);
}

#[test]
fn a_resource_that_the_node_does_not_have_is_too_much() {
    let gpu = json!({ "containers": [{ "name": "a", "resources": { "requests": { "example.com/gpu": "1" } } }] });
    assert_told(
        &cluster(nodes(), vec![pod("p", "n0", json!({}), gpu)]),
        &["of example.com/gpu"],
    );
}

#[test]
fn pods_are_only_where_they_select_want_and_tolerate() {
    let mut tainted = nodes();
    tainted[0]["spec"] = json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] });
    let on = |spec: Value| cluster(tainted.clone(), vec![pod("p", "n0", json!({}), spec)]);
    let tolerating = json!([{ "key": "k", "operator": "Exists" }]);
    assert_told(&on(json!({})), &["taint k:NoSchedule"]);
    assert_told(&on(json!({ "tolerations": tolerating })), &[]);
    assert_told(
        &on(json!({ "tolerations": tolerating, "nodeSelector": { "zone": "b" } })),
        &["node selector or affinity"],
    );
    assert_told(
        &on(json!({ "tolerations": tolerating, "nodeSelector": { "zone": "a" } })),
        &[],
    );
}

#[test]
fn a_port_of_a_node_is_one_pods_unless_addresses_differ() {
    let with = |name: &str, on: &str, address: Option<&str>| {
        let container = json!({ "name": "a", "ports": [{ "containerPort": 80, "hostPort": 80, "hostIP": address }] });
        pod(name, on, json!({}), json!({ "containers": [container] }))
    };
    let two = |one: Option<&str>, other: Option<&str>, on: &str| {
        cluster(nodes(), vec![with("p", "n0", one), with("q", on, other)])
    };
    assert_told(&two(None, None, "n0"), &["both have port 80/TCP of n0"]);
    assert_told(&two(None, None, "n1"), &[]);
    assert_told(&two(Some("10.0.0.1"), Some("10.0.0.2"), "n0"), &[]);
    assert_told(&two(Some("10.0.0.1"), None, "n0"), &["both have port"]);
}

fn term(anti: bool, topology: &str, more: Value) -> Value {
    let mut term = json!({ "labelSelector": { "matchLabels": { "color": "green" } }, "topologyKey": topology });
    if let (Some(term), Value::Object(more)) = (term.as_object_mut(), more) {
        term.extend(more);
    }
    let kind = if anti { "podAntiAffinity" } else { "podAffinity" };
    json!({ "affinity": { kind: { "requiredDuringSchedulingIgnoredDuringExecution": [term] } } })
}

fn green() -> Value {
    json!({ "color": "green" })
}

#[test]
fn pods_that_keep_away_from_each_other_share_no_domain() {
    let away = |topology: &str| term(true, topology, json!({}));
    let apart = |topology: &str, on: &str| {
        cluster(
            nodes(),
            vec![
                pod("p", "n0", green(), away(topology)),
                pod("q", on, green(), json!({})),
            ],
        )
    };
    assert_told(&apart("kubernetes.io/hostname", "n1"), &[]);
    assert_told(
        &apart("kubernetes.io/hostname", "n0"),
        &["p on n0 is in one kubernetes.io/hostname with 1 pods"],
    );
    assert_told(&apart("zone", "n1"), &["p on n0 is in one zone with 1 pods"]);
    assert_told(&apart("zone", "n2"), &[]);
    // Both say it: both are told.
    let both = vec![
        pod("p", "n0", green(), away("zone")),
        pod("q", "n1", green(), away("zone")),
    ];
    assert_told(&cluster(nodes(), both), &["p on n0", "q on n1"]);
}

#[test]
fn namespaces_of_terms_are_listed_or_selected() {
    let with = |more: Value| {
        cluster(
            nodes(),
            vec![
                pod("p", "n0", green(), term(true, "zone", more)),
                pod("q", "n1", green(), json!({})),
            ],
        )
    };
    assert_told(&with(json!({ "namespaces": ["elsewhere"] })), &[]);
    assert_told(
        &with(json!({ "namespaces": ["elsewhere", "default"] })),
        &["in one zone"],
    );
    assert_told(
        &with(json!({ "namespaceSelector": { "matchLabels": { "team": "a" } } })),
        &["in one zone"],
    );
    assert_told(
        &with(json!({ "namespaceSelector": { "matchLabels": { "team": "b" } } })),
        &[],
    );
}

#[test]
fn pods_that_must_be_together_are_and_the_first_of_its_kind_may_be_alone() {
    let together = || term(false, "zone", json!({}));
    let other = |on: &str, labels: Value| {
        cluster(
            nodes(),
            vec![pod("p", "n0", json!({}), together()), pod("q", on, labels, json!({}))],
        )
    };
    assert_told(&other("n1", green()), &[]);
    assert_told(&other("n2", green()), &["p on n0 is in no zone with any pod"]);
    assert_told(&other("n1", json!({})), &["p on n0 is in no zone with any pod"]);
    assert_told(&cluster(nodes(), vec![pod("p", "n0", green(), together())]), &[]);
    let mut without = nodes();
    without[0]["metadata"]["labels"] = json!({});
    assert_told(
        &cluster(without, vec![pod("p", "n0", green(), together())]),
        &["which has no zone"],
    );
}

fn spreading(more: Value) -> Value {
    let mut constraint = json!({
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": { "matchLabels": { "color": "green" } },
    });
    if let (Some(constraint), Value::Object(more)) = (constraint.as_object_mut(), more) {
        constraint.extend(more);
    }
    json!({ "topologySpreadConstraints": [constraint] })
}

#[test]
fn no_domain_gets_further_ahead_than_the_constraint_allows() {
    let on = |places: &[&str], more: Value| {
        let spread = |(index, on): (usize, &&str)| pod(&format!("p{index}"), on, green(), spreading(more.clone()));
        cluster(nodes(), places.iter().enumerate().map(spread).collect())
    };
    assert_told(&on(&["n0", "n1", "n2"], json!({})), &[]);
    assert_told(
        &on(&["n0", "n1"], json!({})),
        &["zone a has 2 pods like default/p0, another 0: more than 1 apart"],
    );
    assert_told(&on(&["n0", "n1"], json!({ "maxSkew": 2 })), &[]);
    assert_told(
        &on(&["n0", "n1"], json!({ "whenUnsatisfiable": "ScheduleAnyway" })),
        &[],
    );
    // Too few domains count as one that is empty.
    assert_told(
        &on(&["n0", "n0", "n2", "n2"], json!({ "minDomains": 3 })),
        &["zone a has 2", "zone b has 2"],
    );
}

#[test]
fn nodes_that_are_not_to_be_used_are_no_domain_to_spread_over_if_the_constraint_says_so() {
    let mut tainted = nodes();
    tainted[2]["spec"] = json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] });
    let two = |more: Value| {
        let pods = ["n0", "n1"].map(|on| pod(on, on, green(), spreading(more.clone())));
        cluster(tainted.clone(), pods.into())
    };
    assert_told(&two(json!({})), &["zone a has 2"]);
    assert_told(&two(json!({ "nodeTaintsPolicy": "Honor" })), &[]);
}

#[test]
fn a_constraint_that_not_all_counted_pods_have_cannot_be_judged() {
    let pods = vec![
        pod("p", "n0", green(), spreading(json!({}))),
        pod("q", "n0", green(), json!({})),
        pod("r", "n1", green(), json!({})),
    ];
    let judged = judge_cluster(&cluster(nodes(), pods), true, &[], None).unwrap();
    assert_eq!(judged.violations, 0);
    assert!(judged.unjudged[0].starts_with("default/p"), "{:?}", judged.unjudged);
}

#[test]
fn nodes_take_as_many_volumes_as_their_driver_says_and_claims_for_one_pod_have_one() {
    let state = |limit: i32, mode: &str, claims: [&str; 2]| {
        let with = |(name, claim): (&str, &str)| {
            pod(
                name,
                "n0",
                json!({}),
                json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }] }),
            )
        };
        let mut cluster = cluster(nodes(), ["p", "q"].into_iter().zip(claims).map(with).collect());
        for name in ["c0", "c1"] {
            let claim = json!({ "metadata": { "namespace": "default", "name": name }, "spec": { "volumeName": name, "accessModes": [mode] } });
            cluster.claims.push(serde_json::from_value(claim).unwrap());
            let volume =
                json!({ "metadata": { "name": name }, "spec": { "csi": { "driver": "d", "volumeHandle": name } } });
            cluster.volumes.push(serde_json::from_value(volume).unwrap());
        }
        let csi_node = json!({ "metadata": { "name": "n0" }, "spec": { "drivers": [{ "name": "d", "nodeID": "n0", "allocatable": { "count": limit } }] } });
        cluster.csi_nodes.push(serde_json::from_value(csi_node).unwrap());
        cluster
    };
    assert_told(&state(2, "ReadWriteOnce", ["c0", "c1"]), &[]);
    assert_told(
        &state(1, "ReadWriteOnce", ["c0", "c1"]),
        &["n0 has 2 volumes of d, and takes 1"],
    );
    // One volume of two pods is attached once.
    assert_told(&state(1, "ReadWriteOnce", ["c0", "c0"]), &[]);
    assert_told(&state(2, "ReadWriteOncePod", ["c0", "c1"]), &[]);
    assert_told(
        &state(2, "ReadWriteOncePod", ["c0", "c0"]),
        &["default/c0 is one pod's alone"],
    );
}

#[test]
fn what_need_not_hold_at_the_end_is_not_judged_where_things_change() {
    let mut tainted = nodes();
    tainted[0]["spec"] = json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] });
    let state = cluster(tainted, vec![pod("p", "n0", json!({}), json!({}))]);
    let judged = judge_cluster(&state, false, &[], None).unwrap();
    assert_eq!((judged.violations, judged.unjudged.len()), (0, 1));
    assert_eq!(judge_cluster(&state, true, &[], None).unwrap().violations, 1);
}

#[test]
fn quality_tells_how_full_it_was_when_the_first_pod_was_refused() {
    let pods = (0..6)
        .map(|i| pod(&format!("p{i}"), ["n0", "n1"][i % 2], json!({}), json!({})))
        .collect();
    let keys: Vec<String> = (0..6).map(|i| format!("default/p{i}")).collect();
    let order: Vec<(&str, &str)> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| (key.as_str(), ["n0", "n1"][i % 2]))
        .collect();
    let judged = judge_cluster(&cluster(nodes(), pods), true, &order, Some(3)).unwrap();
    let quality = judged.quality;
    assert_eq!((quality.nodes_used, quality.placed_at_first_refusal), (2, Some(3)));
    assert!((quality.utilisation_at_first_refusal["cpu"] - 0.25).abs() < 1e-9);
    let cpu = quality.filled["cpu"];
    assert!((cpu.mean - 0.5).abs() < 1e-9 && cpu.deviation > 0.3, "{cpu:?}");
}

#[test]
fn who_takes_the_emptiest_node_regrets_nothing_and_who_piles_up_does() {
    let regret = |places: [&str; 3]| {
        let pods = places
            .iter()
            .enumerate()
            .map(|(i, on)| pod(&format!("p{i}"), on, json!({}), json!({})))
            .collect();
        let keys = ["default/p0", "default/p1", "default/p2"];
        let order: Vec<(&str, &str)> = keys.into_iter().zip(places).collect();
        judge_cluster(&cluster(nodes(), pods), true, &order, None)
            .unwrap()
            .quality
            .regret
            .unwrap()
    };
    let spread = regret(["n0", "n1", "n2"]);
    assert_eq!((spread.mean, spread.most, spread.of), (0.0, 0.0, 3));
    let piled = regret(["n0", "n0", "n0"]);
    assert!(piled.mean > 5.0 && piled.most > piled.mean, "{piled:?}");
    // Of pods that say something of others there is nothing to be said.
    let picky = vec![pod("p0", "n0", green(), term(true, "zone", json!({})))];
    let judged = judge_cluster(&cluster(nodes(), picky), true, &[("default/p0", "n0")], None).unwrap();
    assert_eq!(judged.quality.regret, None);
}
