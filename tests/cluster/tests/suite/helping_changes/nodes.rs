//! Nodes that may not be used, and pods that may not be tried.

use super::*;

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

#[test]
fn a_node_that_opens_to_a_pod_takes_it() -> anyhow::Result<()> {
    play(|| {
        let cordoned = |help_is, unrelated, help| Case {
            help_is,
            plugin: "NodeUnschedulable",
            nodes: vec![node("n1").unschedulable()],
            placed: Vec::new(),
            waiting: pod(WAITING),
            unrelated,
            help,
            beyond_the_original: false,
        };
        let tainted = |help_is, unrelated, help| Case {
            plugin: "TaintToleration",
            nodes: vec![node("n1").taint("dedicated", "batch", "NoSchedule")],
            ..cordoned(help_is, unrelated, help)
        };
        let choosy = |help_is, unrelated, help| Case {
            plugin: "NodeAffinity",
            nodes: vec![node("n1")],
            waiting: pod(WAITING).node_selector("disk", "ssd"),
            ..cordoned(help_is, unrelated, help)
        };
        let another_taint = json!({ "spec": { "taints": [
            { "key": "dedicated", "value": "batch", "effect": "NoSchedule" },
            { "key": "broken", "value": "fan", "effect": "NoSchedule" },
        ] } });
        let labelled = |disk: &str| Change::Node("n1", label("disk", disk));
        vec![
            cordoned(
                "the node is uncordoned",
                labelled("ssd"),
                Change::Node("n1", json!({ "spec": { "unschedulable": null } })),
            ),
            cordoned(
                "the pod comes to tolerate cordoned nodes",
                Change::Pod(WAITING, label("a", "b")),
                Change::Tolerate(WAITING, (UNSCHEDULABLE, "")),
            ),
            tainted(
                "the taint goes",
                Change::Node("n1", another_taint),
                Change::Node("n1", json!({ "spec": { "taints": null } })),
            ),
            tainted(
                "the pod comes to tolerate the taint",
                labelled("ssd"),
                Change::Tolerate(WAITING, ("dedicated", "batch")),
            ),
            choosy("the node gets the label", labelled("hdd"), labelled("ssd")),
            choosy(
                "a node with the label comes",
                Change::AddNode(node("n2").label("disk", "hdd")),
                Change::AddNode(node("n3").label("disk", "ssd")),
            ),
        ]
    })
}

#[test]
fn a_pod_whose_last_gate_goes_is_tried() -> anyhow::Result<()> {
    play(|| {
        let gates = |names: &[&str]| {
            let gates: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            Change::Pod(WAITING, json!({ "spec": { "schedulingGates": gates } }))
        };
        vec![Case {
            help_is: "the last gate goes",
            plugin: "SchedulingGates",
            nodes: vec![node("n1")],
            placed: Vec::new(),
            waiting: pod(WAITING).gate("example.com/one").gate("example.com/two"),
            unrelated: gates(&["example.com/two"]),
            help: gates(&[]),
            beyond_the_original: false,
        }]
    })
}
