//! What plugins say that a node lacks, each in its words.

use crate::fixture::{Cluster, made, named_pod, pod};
use crate::{
    inter_pod_affinity, node_affinity, node_name, node_ports, node_resources_fit, node_unschedulable,
    pod_topology_spread, taint_toleration,
};

fn zoned(zone: &str) -> String {
    format!(r#"{{"labels":{{"zone":"{zone}"}}}}"#)
}

#[test]
fn short_resources_are_told_with_what_is_needed_and_what_is_free() {
    let sized = r#"{"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"2","x.io/gpu":"2"}}}"#;
    let requests = |requests: &str| {
        pod(&format!(
            r#"{{"containers":[{{"name":"c","resources":{{"requests":{requests}}}}}]}}"#
        ))
    };
    let fit = made(node_resources_fit::construct);
    let mut cluster = Cluster::of_nodes([("n", sized)]);
    cluster.add_pod("n", &requests(r#"{"cpu":"2500m","memory":"6Gi","x.io/gpu":"1"}"#));
    let cases: [(&str, &[&str], u32); 5] = [
        (r#"{"cpu":"2"}"#, &["cpu: needs 2, free 1.5"], 250),
        (r#"{"cpu":"1","memory":"4Gi"}"#, &["memory: needs 4Gi, free 2Gi"], 500),
        (
            r#"{"cpu":"2","x.io/gpu":"2"}"#,
            &["cpu: needs 2, free 1.5", "x.io/gpu: needs 2, free 1"],
            500,
        ),
        (r#"{"cpu":"16"}"#, &["cpu: needs 16, the whole node has 4"], 1_000_906),
        (
            r#"{"y.io/fpga":"1"}"#,
            &["y.io/fpga: needs 1, the whole node has 0"],
            1_001_000,
        ),
    ];
    for (wanted, expected, distance) in cases {
        let (lacking, far) = cluster.lacking(&fit, &requests(wanted), "n");
        assert_eq!(
            (lacking.as_slice(), far),
            (expected.map_strings().as_slice(), distance),
            "{wanted}"
        );
    }
    cluster.add_pod("n", &requests("{}"));
    let (lacking, _) = cluster.lacking(&fit, &requests("{}"), "n");
    assert_eq!(lacking, ["pods: 2 of 2 are there"]);
}

trait MapStrings {
    fn map_strings(&self) -> Vec<String>;
}

impl MapStrings for &[&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

#[test]
fn every_taint_in_the_way_is_named() {
    let taints = r#"{"spec":{"taints":[{"key":"gpu","value":"yes","effect":"NoSchedule"},
        {"key":"old","effect":"NoExecute"},{"key":"soft","effect":"PreferNoSchedule"},
        {"key":"mine","effect":"NoSchedule"}]}}"#;
    let cluster = Cluster::of_nodes([("n", taints)]);
    let waiting = pod(r#"{"tolerations":[{"key":"mine","operator":"Exists"}]}"#);
    let (lacking, _) = cluster.lacking(&made(taint_toleration::construct), &waiting, "n");
    assert_eq!(
        lacking,
        [
            "taint gpu=yes:NoSchedule is not tolerated",
            "taint old:NoExecute is not tolerated"
        ]
    );
}

#[test]
fn labels_that_are_wanted_are_told_with_those_that_are_there() {
    let cluster = Cluster::of_nodes([("n", r#"{"labels":{"disk":"hdd","zone":"a","cores":"4"}}"#)]);
    let affinity = made(node_affinity::construct);
    let selecting = pod(r#"{"nodeSelector":{"disk":"ssd","zone":"a","gpu":"yes"}}"#);
    assert_eq!(
        cluster.lacking(&affinity, &selecting, "n").0,
        [
            "label disk=ssd is wanted, the node has disk=hdd",
            "label gpu=yes is wanted, the node has none"
        ]
    );
    let required = |terms: &str| {
        pod(&format!(
            r#"{{"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":
                {{"nodeSelectorTerms":{terms}}}}}}}}}"#
        ))
    };
    // Of several terms the nearest one is told.
    let terms = r#"[{"matchExpressions":[{"key":"zone","operator":"In","values":["b","c"]},{"key":"x","operator":"Exists"}]},
        {"matchExpressions":[{"key":"cores","operator":"Gt","values":["8"]}]}]"#;
    assert_eq!(
        cluster.lacking(&affinity, &required(terms), "n").0,
        ["label cores > 8 is wanted, the node has cores=4"]
    );
    let terms = r#"[{"matchExpressions":[{"key":"zone","operator":"In","values":["b","c"]},
        {"key":"disk","operator":"NotIn","values":["hdd"]},{"key":"cores","operator":"DoesNotExist"}]}]"#;
    assert_eq!(
        cluster.lacking(&affinity, &required(terms), "n").0,
        [
            "label zone in (b, c) is wanted, the node has zone=a",
            "label disk not in (hdd) is wanted, the node has disk=hdd",
            "label !cores is wanted, the node has cores=4"
        ]
    );
}

#[test]
fn taken_ports_a_named_node_and_a_cordon_are_told() {
    let mut cluster = Cluster::of_nodes([("n", r#"{"spec":{"unschedulable":true}}"#), ("other", "{}")]);
    let ports = |ports: &str| pod(&format!(r#"{{"containers":[{{"name":"c","ports":{ports}}}]}}"#));
    cluster.add_pod(
        "n",
        &ports(r#"[{"containerPort":1,"hostPort":80},{"containerPort":1,"hostPort":53,"protocol":"UDP"}]"#),
    );
    let wanted = ports(
        r#"[{"containerPort":1,"hostPort":80,"hostIP":"10.0.0.1"},{"containerPort":1,"hostPort":53,"protocol":"UDP"},
            {"containerPort":1,"hostPort":81}]"#,
    );
    assert_eq!(
        cluster.lacking(&node_ports::extensions(), &wanted, "n").0,
        ["host port 10.0.0.1:80/TCP is taken", "host port 53/UDP is taken"]
    );
    let named = pod(r#"{"nodeName":"other"}"#);
    let (lacking, _) = cluster.lacking(&node_name::extensions(), &named, "n");
    assert_eq!(lacking, ["the pod names node other"]);
    let (lacking, _) = cluster.lacking(&node_unschedulable::extensions(), &pod("{}"), "n");
    assert_eq!(lacking, ["the node is cordoned"]);
}

#[test]
fn uneven_spread_is_told_with_the_numbers_of_the_domains() {
    let mut cluster = Cluster::of_nodes([("a1", zoned("a").as_str()), ("b1", zoned("b").as_str()), ("x", "{}")]);
    let app = r#"{"app":"web"}"#;
    for _ in 0..2 {
        cluster.add_pod("a1", &named_pod("default", app, "{}"));
    }
    let spread = |more: &str| {
        format!(
            r#"{{"topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
                "labelSelector":{{"matchLabels":{app}}}{more}}}]}}"#
        )
    };
    let plugin = made(pod_topology_spread::construct);
    let waiting = named_pod("default", app, &spread(""));
    assert_eq!(
        cluster.lacking(&plugin, &waiting, "a1").0,
        ["zone=a has 2 matching pods, the fewest of any zone is 0, maxSkew 1"]
    );
    assert_eq!(
        cluster.lacking(&plugin, &waiting, "x").0,
        ["the node has no label zone"]
    );
    let wide = named_pod("default", app, &spread(r#","minDomains":3"#));
    assert_eq!(
        cluster.lacking(&plugin, &wide, "a1").0,
        ["zone=a has 2 matching pods, the fewest of any zone is 0 (1 of minDomains are missing), maxSkew 1"]
    );
}

#[test]
fn pods_that_are_missing_near_a_node_or_in_the_way_are_told() {
    let mut cluster = Cluster::of_nodes([("a1", zoned("a").as_str()), ("b1", zoned("b").as_str()), ("x", "{}")]);
    let rule = |kind: &str, app: &str| {
        format!(
            r#"{{"affinity":{{"{kind}":{{"requiredDuringSchedulingIgnoredDuringExecution":
                [{{"topologyKey":"zone","labelSelector":{{"matchLabels":{{"app":"{app}"}}}}}}]}}}}}}"#
        )
    };
    cluster.add_pod("b1", &named_pod("default", r#"{"app":"db"}"#, "{}"));
    cluster.add_pod(
        "a1",
        &named_pod("default", r#"{"app":"lonely"}"#, &rule("podAntiAffinity", "web")),
    );
    let plugin = made(inter_pod_affinity::construct);
    let near_db = named_pod("default", "{}", &rule("podAffinity", "db"));
    assert_eq!(
        cluster.lacking(&plugin, &near_db, "a1").0,
        ["no pod that it must be near is in zone=a"]
    );
    assert_eq!(
        cluster.lacking(&plugin, &near_db, "x").0,
        ["the node has no label zone"]
    );
    let far_from_db = named_pod("default", "{}", &rule("podAntiAffinity", "db"));
    assert_eq!(
        cluster.lacking(&plugin, &far_from_db, "b1").0,
        ["a pod that it must be away from is in zone=b"]
    );
    let web = named_pod("default", r#"{"app":"web"}"#, "{}");
    assert_eq!(
        cluster.lacking(&plugin, &web, "a1").0,
        ["a pod in zone=a must be away from it"]
    );
}
