//! Nodes: skewed zones, missing keys, taints, images, odd label values.

use serde_json::{Map, Value, json};

use super::{Shape, image, quantity};
use crate::dice::Dice;

pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
pub(super) const REGION: &str = "topology.kubernetes.io/region";
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

/// Values of the label `size`: numbers, and what only looks like one.
pub(super) const SIZES: [&str; 11] = [
    "5",
    "10",
    "0",
    "05",
    "abc",
    "",
    "9223372036854775807",
    "9223372036854775808",
    "1_000",
    "5.0",
    "0x10",
];

const TAINT_KEYS: [&str; 5] = [
    "dedicated",
    "flaky",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "level",
];
/// Sorted, as the API server wants them.
const FEATURES: [&str; 3] = [
    "InPlacePodLevelResourcesVerticalScaling",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
];

/// A node without allocatable resources.
pub(super) fn node(dice: &mut Dice, name: &str, shape: Shape) -> Value {
    let mut spec = Map::new();
    if dice.percent(if shape.roomy { 1 } else { 6 }) {
        spec.insert("unschedulable".to_owned(), json!(true));
    }
    let taints = taints(dice, if shape.roomy { 3 } else { 25 });
    if !taints.is_empty() {
        spec.insert("taints".to_owned(), json!(taints));
    }
    let mut status = Map::new();
    let images = image::on_node(dice);
    if !images.is_empty() {
        status.insert("images".to_owned(), json!(images));
    }
    if dice.percent(30) {
        status.insert("declaredFeatures".to_owned(), json!(dice.some(3, &FEATURES)));
    }
    json!({
        "metadata": { "name": name, "uid": name, "resourceVersion": "1", "labels": labels(dice, name) },
        "spec": spec,
        "status": status,
    })
}

fn labels(dice: &mut Dice, name: &str) -> Map<String, Value> {
    let mut labels = Map::new();
    let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), json!(value));
    match dice.below(20) {
        0 => None,
        1 => set(HOSTNAME, "n0"),
        _ => set(HOSTNAME, name),
    };
    if dice.percent(85) {
        // Skewed: most nodes are in the first.
        set(ZONE, dice.pick(&["z1", "z1", "z1", "z2", "z2", "z3", ""]));
    }
    if dice.percent(60) {
        set(REGION, dice.pick(&["r1", "r1", "r2"]));
    }
    if dice.percent(50) {
        set("disk", dice.pick(&["ssd", "hdd", ""]));
    }
    if dice.percent(40) {
        set("size", dice.pick(&SIZES));
    }
    if dice.percent(20) {
        set("rack", dice.pick(&["a", "b"]));
    }
    labels
}

/// No two with the same key and effect: the API server takes none such.
fn taints(dice: &mut Dice, hard: usize) -> Vec<Value> {
    if dice.percent(55) {
        return Vec::new();
    }
    let mut taints: Vec<Value> = Vec::new();
    for _ in 0..dice.between(1, 4) {
        let key = dice.pick(&TAINT_KEYS);
        let effect = dice.seldom(hard, &["PreferNoSchedule"], &["NoSchedule", "NoExecute"]);
        if taints
            .iter()
            .any(|other| other["key"] == key && other["effect"] == effect)
        {
            continue;
        }
        let value = if key == "level" {
            dice.pick(&SIZES)
        } else {
            dice.pick(&["", "a", "b"])
        };
        let mut taint = json!({ "key": key, "effect": effect });
        if !value.is_empty() {
            taint["value"] = json!(value);
        }
        taints.push(taint);
    }
    taints
}

/// What a node has to give: near what is asked of it (`asked` holds the sum for each resource), or anything.
pub(super) fn allocatable(dice: &mut Dice, shape: Shape, pods: i64, asked: &[(String, i64)]) -> Map<String, Value> {
    let mut list = Map::new();
    if shape.roomy && dice.percent(80) {
        for resource in ["pods", "cpu", "memory", "ephemeral-storage"]
            .iter()
            .chain(&quantity::SCALARS)
        {
            list.insert((*resource).to_owned(), json!(quantity::plenty(dice, resource)));
        }
        return list;
    }
    if dice.percent(2) {
        return list;
    }
    let near = |dice: &mut Dice, sum: i64| sum.saturating_add(dice.one_of(&[-1, 0, 0, 1, 100])).max(0);
    let pods = if dice.percent(12) {
        near(dice, pods).to_string()
    } else {
        quantity::allocatable(dice, "pods").to_owned()
    };
    list.insert("pods".to_owned(), json!(pods));
    for resource in ["cpu", "memory", "ephemeral-storage"]
        .into_iter()
        .chain(quantity::SCALARS)
    {
        let sum = asked.iter().find(|(name, _)| name == resource).map(|(_, sum)| *sum);
        let amount = match sum {
            Some(sum) if dice.percent(20) => {
                let amount = near(dice, sum);
                if resource == "cpu" {
                    format!("{amount}m")
                } else {
                    amount.to_string()
                }
            }
            None if quantity::SCALARS.contains(&resource) && dice.percent(85) => continue,
            _ if dice.percent(3) => continue,
            _ => quantity::allocatable(dice, resource).to_owned(),
        };
        list.insert(resource.to_owned(), json!(amount));
    }
    if dice.percent(5) {
        list.insert("attachable-volumes-csi-example".to_owned(), json!("39"));
    }
    list
}
