use serde_json::{Value, json};

use super::{HintCase, elements, how_many};
use crate::dice::Dice;
use crate::generate::{any_node, node_sized};

/// Labels by which nodes are chosen and pods spread.
const KEYS: [&str; 7] = [
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/region",
    "disk",
    "size",
    "rack",
    "odd",
];

/// A node that is new, gone or altered.
pub(super) fn change(dice: &mut Dice, case: &mut HintCase) {
    let mut old = any_node(dice, &case.cluster.pod);
    if dice.percent(40) {
        alter(dice, &mut old, &case.cluster.pod);
    }
    match dice.below(10) {
        0 | 1 => case.new_node = Some(old),
        2 => case.old_node = Some(old),
        _ => {
            let mut new = old.clone();
            new["metadata"]["resourceVersion"] = json!("2");
            for _ in 0..how_many(dice) {
                alter(dice, &mut new, &case.cluster.pod);
            }
            case.old_node = Some(old);
            case.new_node = Some(new);
        }
    }
}

fn alter(dice: &mut Dice, node: &mut Value, waiting: &Value) {
    match dice.below(14) {
        0..4 => label(dice, node),
        4..7 => allocatable(dice, node, waiting),
        7 | 8 => taints(dice, node),
        9 => {
            let unschedulable = node["spec"]["unschedulable"] == json!(true);
            node["spec"]["unschedulable"] = json!(!unschedulable);
        }
        10 => conditions(dice, node),
        11 => node["metadata"]["annotations"] = json!({ "note": dice.pick(&["a", "b", ""]) }),
        12 => features(dice, node),
        _ => node["status"]["images"] = json!([{ "names": ["other:latest"], "sizeBytes": 5 }]),
    }
}

fn label(dice: &mut Dice, node: &mut Value) {
    let key = dice.pick(&KEYS);
    if dice.percent(30) {
        if let Some(labels) = node["metadata"]["labels"].as_object_mut() {
            labels.remove(key);
        }
        return;
    }
    let values: &[&str] = match key {
        "size" => &["3", "4", "5", "6", "abc", "10"],
        "disk" => &["ssd", "hdd", ""],
        "kubernetes.io/hostname" => &["n0", "n1", "n2"],
        "topology.kubernetes.io/region" => &["r1", "r2"],
        _ => &["z1", "z2", "z3", "a", ""],
    };
    node["metadata"]["labels"][key] = json!(dice.pick(values));
}

/// Grows, shrinks, comes, goes, or is only written otherwise.
fn allocatable(dice: &mut Dice, node: &mut Value, waiting: &Value) {
    match dice.below(8) {
        0 => node["status"]["allocatable"]["pods"] = json!(dice.pick(&["0", "1", "10", "110", "111"])),
        1 => {
            if let Some(list) = node["status"]["allocatable"].as_object_mut() {
                let names: Vec<String> = list.keys().cloned().collect();
                if !names.is_empty() {
                    list.remove(&names[dice.below(names.len())]);
                }
            }
        }
        2 => node["status"]["allocatable"]["cpu"] = json!(dice.pick(&["1", "1000m", "2", "2000m", "0"])),
        3 => node["status"]["allocatable"]["memory"] = json!(dice.pick(&["1Gi", "1024Mi", "64Gi", "0"])),
        4 => node["status"]["allocatable"]["example.com/gpu"] = json!(dice.pick(&["0", "1", "8"])),
        _ => node["status"]["allocatable"] = node_sized(dice, waiting),
    }
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
}

fn taints(dice: &mut Dice, node: &mut Value) {
    let mut all = elements(node, "/spec/taints").to_vec();
    match dice.below(5) {
        0 => all.clear(),
        1 if all.len() > 1 => all.reverse(),
        2 if !all.is_empty() => {
            let at = dice.below(all.len());
            all.remove(at);
        }
        _ => {
            let taint = json!({
                "key": dice.pick(&["dedicated", "flaky", "new"]), "value": dice.pick(&["a", "b"]),
                "effect": dice.pick(&["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            });
            let same = |other: &Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
            all.retain(|other| !same(other));
            all.push(taint);
        }
    }
    node["spec"]["taints"] = json!(all);
}

/// Heartbeats are none; conditions may stand twice.
fn conditions(dice: &mut Dice, node: &mut Value) {
    let mut all = Vec::new();
    for _ in 0..dice.below(4) {
        all.push(json!({
            "type": dice.pick(&["Ready", "MemoryPressure", "DiskPressure"]), "status": dice.pick(&["True", "False", "Unknown"]),
            "lastHeartbeatTime": dice.pick(&["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"]), "reason": dice.pick(&["a", "b"]),
        }));
    }
    node["status"]["conditions"] = json!(all);
}

/// Sorted, as the API server wants them.
fn features(dice: &mut Dice, node: &mut Value) {
    let all = [
        "InPlacePodLevelResourcesVerticalScaling",
        "RestartAllContainersOnContainerExits",
    ];
    node["status"]["declaredFeatures"] = json!(dice.some(2, &all));
}
