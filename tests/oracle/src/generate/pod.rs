//! Pods: requests of every kind, ports, tolerations, affinity, what resizes and restarts leave in the status.

use serde_json::{Map, Value, json};

use super::{Shape, affinity, image, labels, quantity, spread};
use crate::dice::Dice;

/// Where a pod is in its life.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage<'a> {
    /// It is the one to place.
    New,
    /// On a node.
    On(&'a str),
    /// Waits for room on a node.
    Nominated(&'a str),
}

const NAMESPACES: [&str; 8] = [
    "default", "default", "default", "default", "team-a", "team-a", "team-b", "orphaned",
];
const TOLERATED_KEYS: [&str; 5] = [
    "dedicated",
    "flaky",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "level",
];

/// A pod in a cluster of this shape.
pub(super) fn pod(dice: &mut Dice, name: &str, stage: Stage<'_>, shape: Shape) -> Value {
    let labels = labels::of_pod(dice);
    let mut metadata = json!({
        "name": name, "uid": name, "resourceVersion": "1", "namespace": dice.pick(&NAMESPACES),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    let mut spec = spec(dice, &labels, stage, shape);
    if !labels.is_empty() {
        metadata["labels"] = Value::Object(labels);
    }
    let mut status = json!({ "phase": "Pending" });
    match stage {
        Stage::New => {}
        Stage::On(node) => {
            spec.insert("nodeName".to_owned(), json!(node));
            status["phase"] = json!(dice.seldom(15, &["Running"], &["Pending", "Succeeded", "Failed"]));
            if dice.percent(12) {
                metadata["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
                metadata["deletionGracePeriodSeconds"] = json!(30);
            }
            if dice.percent(12) {
                resizing(dice, &spec, &mut status);
            }
        }
        Stage::Nominated(node) => status["nominatedNodeName"] = json!(node),
    }
    json!({ "metadata": metadata, "spec": spec, "status": status })
}

fn spec(dice: &mut Dice, labels: &Map<String, Value>, stage: Stage<'_>, shape: Shape) -> Map<String, Value> {
    let is_new = matches!(stage, Stage::New);
    let mut spec = Map::new();
    let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
    set("schedulerName", json!("default-scheduler"));
    if dice.percent(70) {
        set("priority", json!(dice.one_of(&[0, 0, 0, 10, 10, -1, 1000])));
    }
    let host_network = dice.percent(5);
    let containers = containers(dice, host_network);
    let init_containers = if dice.percent(25) {
        init_containers(dice)
    } else {
        Vec::new()
    };
    if dice.percent(8)
        && let Some(resources) = pod_level(dice, &containers, &init_containers)
    {
        set("resources", resources);
    }
    set("containers", json!(containers));
    if !init_containers.is_empty() {
        set("initContainers", json!(init_containers));
    }
    if host_network {
        set("hostNetwork", json!(true));
        if dice.percent(40) {
            set("hostUsers", json!(false));
        }
    }
    if dice.percent(10) {
        set("overhead", requests(dice, &["cpu", "memory"], 90));
    }
    if dice.percent(if is_new { 55 } else { 5 }) {
        set("tolerations", json!(tolerations(dice)));
    }
    if is_new && dice.percent(if shape.roomy { 4 } else { 20 }) {
        set("nodeSelector", affinity::node_selector(dice));
    }
    if is_new && dice.percent(6) {
        let reference = image::in_pod(dice);
        set(
            "volumes",
            json!([{ "name": "v", "image": { "reference": reference } }, { "name": "e", "emptyDir": {} }]),
        );
    }
    let wished = affinity_of(dice, labels, is_new, shape);
    if !wished.is_empty() {
        set("affinity", Value::Object(wished));
    }
    if dice.percent(if is_new { 35 } else { 5 }) {
        set("topologySpreadConstraints", json!(spread::constraints(dice, labels)));
    }
    spec
}

fn affinity_of(dice: &mut Dice, labels: &Map<String, Value>, is_new: bool, shape: Shape) -> Map<String, Value> {
    let mut wished = Map::new();
    if is_new && dice.percent(40) {
        wished.insert("nodeAffinity".to_owned(), affinity::node_affinity(dice, shape));
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        if dice.percent(if is_new { 25 } else { 15 }) {
            wished.insert(field.to_owned(), affinity::pod_affinity(dice, labels));
        }
    }
    wished
}

fn containers(dice: &mut Dice, host_network: bool) -> Vec<Value> {
    let count = dice.one_of(&[1, 1, 1, 2, 3]);
    let mut taken = Vec::new();
    (0..count)
        .map(|number| {
            let mut container = container(dice, &format!("c{number}"));
            let ports = ports(dice, host_network, &mut taken);
            if !ports.is_empty() {
                container["ports"] = json!(ports);
            }
            if dice.percent(4) {
                container["restartPolicy"] = json!("Never");
                container["restartPolicyRules"] = json!([
                    { "action": dice.pick(&["Restart", "RestartAllContainers"]), "exitCodes": { "operator": "In", "values": [42] } }
                ]);
            }
            container
        })
        .collect()
}

/// Some start and end, some are sidecars; ports of the first kind are not taken for good.
fn init_containers(dice: &mut Dice) -> Vec<Value> {
    (0..dice.between(1, 3))
        .map(|number| {
            let mut container = container(dice, &format!("i{number}"));
            if dice.percent(45) {
                container["restartPolicy"] = json!("Always");
            }
            if dice.percent(10) {
                container["ports"] = json!([{ "containerPort": 9, "hostPort": 8080, "protocol": "TCP" }]);
            }
            container
        })
        .collect()
}

fn container(dice: &mut Dice, name: &str) -> Value {
    let mut container = json!({ "name": name, "image": image::in_pod(dice) });
    let resources = resources(dice);
    if resources.as_object().is_some_and(|map| !map.is_empty()) {
        container["resources"] = resources;
    }
    container
}

fn resources(dice: &mut Dice) -> Value {
    if dice.percent(15) {
        return json!({});
    }
    let mut wanted = requests(dice, &["cpu", "memory"], 75);
    if dice.percent(15) {
        wanted["ephemeral-storage"] = json!(quantity::request(dice, "ephemeral-storage"));
    }
    let mut limits = Map::new();
    if dice.percent(25) {
        let resource = dice.pick(&quantity::SCALARS);
        let amount = json!(quantity::request(dice, resource));
        // Huge pages come only with cpu or memory, and scalar resources are never overcommitted.
        if wanted.get("cpu").is_none() {
            wanted["cpu"] = json!("100m");
        }
        wanted[resource] = amount.clone();
        limits.insert(resource.to_owned(), amount);
    }
    let mut resources = json!({ "requests": wanted });
    if !limits.is_empty() {
        resources["limits"] = Value::Object(limits);
    }
    resources
}

fn requests(dice: &mut Dice, resources: &[&str], chance: usize) -> Value {
    let mut list = Map::new();
    for resource in resources {
        if dice.percent(chance) {
            list.insert((*resource).to_owned(), json!(quantity::request(dice, resource)));
        }
    }
    Value::Object(list)
}

/// Requests of the pod as a whole: never less than its containers together.
fn pod_level(dice: &mut Dice, containers: &[Value], init_containers: &[Value]) -> Option<Value> {
    let sum = |resource: &str| -> Option<i64> {
        let mut sum = 0_i64;
        for container in containers.iter().chain(init_containers) {
            if let Some(text) = container["resources"]["requests"][resource].as_str() {
                let quantity = plimsoll_model::Quantity::parse(text).ok()?;
                let amount = if resource == "cpu" {
                    quantity.milli_value()
                } else {
                    quantity.value()
                };
                sum = sum.checked_add(amount)?;
            }
        }
        sum.checked_add(1 << 40)?;
        Some(sum)
    };
    let (cpu, memory) = (sum("cpu")?, sum("memory")?);
    let mut list = Map::new();
    if dice.percent(80) {
        list.insert("cpu".to_owned(), json!(format!("{}m", cpu + dice.one_of(&[0, 1, 500]))));
    }
    if list.is_empty() || dice.percent(60) {
        list.insert(
            "memory".to_owned(),
            json!((memory + dice.one_of(&[0, 1, 1 << 28])).to_string()),
        );
    }
    Some(json!({ "requests": list }))
}

/// No two the same: the API server takes none such.
fn ports(dice: &mut Dice, host_network: bool, taken: &mut Vec<(u16, &'static str, &'static str)>) -> Vec<Value> {
    if !dice.percent(if host_network { 70 } else { 12 }) {
        return Vec::new();
    }
    let mut ports = Vec::new();
    for _ in 0..dice.between(1, 2) {
        let port = dice.one_of(&[8080, 8080, 8081, 53]);
        let protocol = dice.seldom(30, &["TCP"], &["UDP", "SCTP"]);
        let address = dice.pick(&["", "", "0.0.0.0", "127.0.0.1", "10.1.2.3", "::", "::1"]);
        if taken.contains(&(port, protocol, address)) {
            continue;
        }
        taken.push((port, protocol, address));
        let inside = if host_network { port } else { 80 };
        let mut entry = json!({ "containerPort": inside, "hostPort": port, "protocol": protocol });
        if !address.is_empty() {
            entry["hostIP"] = json!(address);
        }
        ports.push(entry);
    }
    // In the node's network every port would be one of the node.
    if !host_network && dice.percent(20) {
        ports.push(json!({ "containerPort": 9090, "protocol": "TCP" }));
    }
    ports
}

fn tolerations(dice: &mut Dice) -> Vec<Value> {
    (0..dice.between(1, 4)).map(|_| toleration(dice)).collect()
}

/// An empty key or no value go with `Exists` alone: the API server takes none other.
pub(crate) fn toleration(dice: &mut Dice) -> Value {
    let mut toleration = Map::new();
    let mut set = |key: &str, value: Value| toleration.insert(key.to_owned(), value);
    let effect = dice.seldom(30, &["PreferNoSchedule", "NoSchedule"], &["NoExecute", ""]);
    if !effect.is_empty() {
        set("effect", json!(effect));
    }
    if dice.percent(10) {
        set("operator", json!("Exists"));
        return Value::Object(toleration);
    }
    let key = dice.pick(&TOLERATED_KEYS);
    set("key", json!(key));
    if dice.percent(40) {
        set("operator", json!("Exists"));
    } else {
        if dice.percent(50) {
            set("operator", json!("Equal"));
        }
        let value = if key == "level" {
            dice.pick(&super::node::SIZES)
        } else {
            dice.pick(&["", "a", "b"])
        };
        if !value.is_empty() {
            set("value", json!(value));
        }
    }
    Value::Object(toleration)
}

/// Adds tolerations that compare numbers, which the API server takes only behind a gate.
pub(super) fn compare_taints(dice: &mut Dice, pod: &mut Value) {
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for _ in 0..dice.between(1, 2) {
        let mut toleration = json!({
            "key": "level", "operator": dice.pick(&["Gt", "Lt"]), "value": dice.pick(&["4", "5", "10", "0", "-1"]),
        });
        if dice.percent(60) {
            toleration["effect"] = json!(dice.pick(&["PreferNoSchedule", "NoSchedule"]));
        }
        tolerations.push(toleration);
    }
    pod["spec"]["tolerations"] = json!(tolerations);
}

/// What the kubelet has allocated and put into effect, which may be less or more than what is wanted now.
fn resizing(dice: &mut Dice, spec: &Map<String, Value>, status: &mut Value) {
    for (field, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
    ] {
        let Some(Value::Array(containers)) = spec.get(containers) else {
            continue;
        };
        let mut statuses = Vec::new();
        for container in containers {
            let mut entry = json!({ "name": container["name"], "image": "i", "ready": true, "restartCount": 0 });
            if dice.percent(80) {
                entry["resources"] = json!({ "requests": requests(dice, &["cpu", "memory"], 80) });
            }
            if dice.percent(80) {
                entry["allocatedResources"] = requests(dice, &["cpu", "memory"], 80);
            }
            statuses.push(entry);
        }
        status[field] = json!(statuses);
    }
    if spec.contains_key("resources") && dice.percent(60) {
        status["resources"] = json!({ "requests": requests(dice, &["cpu", "memory"], 80) });
        status["allocatedResources"] = requests(dice, &["cpu", "memory"], 80);
    }
    if dice.percent(50) {
        let reason = dice.pick(&["Infeasible", "Deferred"]);
        status["conditions"] = json!([{ "type": "PodResizePending", "status": "True", "reason": reason }]);
    }
}
