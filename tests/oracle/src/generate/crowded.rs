//! Clusters in which a pod finds room only if others go.

use serde_json::{Map, Value, json};

use super::pod::Stage;
use super::{
    Shape, Sums, add_stray, affinity, budget, config, has_storage, labels, node, pod, spread, storage, without_nodes,
};
use crate::case::Case;
use crate::dice::Dice;

/// What pods of a cluster have in common.
#[expect(clippy::struct_excessive_bools, reason = "each goes with any other")]
struct Habits {
    /// How important the pod to place is.
    preemptor: i64,
    /// How important most others are; few levels, so that nodes are often as good as each other.
    lower: Vec<i64>,
    /// Seconds at which others started.
    starts: Vec<usize>,
    /// Pods ask for little and few kinds of things: who has to go hangs on amounts.
    plain: bool,
    /// Pods that are told to go, in a hundred.
    terminating: usize,
    /// All pods but the one to place ask for the same: several have to go, and as many on each node.
    uniform: bool,
    /// Pods are in each other's way for other reasons than what they ask for.
    rivals: bool,
    /// There is enough of everything that pods ask for.
    ample: bool,
}

/// As low as it goes: such pods weigh nothing where priorities are added up.
const LOWEST: i64 = -2_147_483_648;
const LEVELS: [i64; 8] = [-10, 0, 0, 1, 10, 50, 98, 99];
const ROOM: Shape = Shape {
    nodes: 0,
    roomy: true,
    alike: false,
};

/// A cluster with little room and pods of many priorities.
pub(crate) fn crowded(seed: u64, number: u64) -> Case {
    let dice = &mut Dice::new(seed, number);
    let mut habits = habits(dice);
    habits.ample = habits.rivals || (has_storage(number) && dice.percent(75));
    let shape = Shape {
        nodes: dice.one_of(&[1, 2, 3, 3, 4, 4, 5, 6, 8, 10]),
        roomy: true,
        alike: habits.rivals || dice.percent(50),
    };
    let mut case = without_nodes(dice, shape);
    if habits.plain {
        let profile = case.pod["spec"]["schedulerName"].clone();
        case.pod = plain(dice, "pod", Stage::New);
        case.pod["spec"]["schedulerName"] = profile;
        if habits.uniform {
            ask(&mut case.pod, dice.pick(&["400m", "600m", "1"]));
        }
    }
    finish_preemptor(dice, &habits, &mut case, shape);
    config::preempting(dice, &mut case);
    for number in 0..shape.nodes {
        let name = format!("n{number}");
        add_pods(dice, &habits, &mut case, &name, shape);
        add_node(dice, &habits, &mut case, &name);
    }
    if dice.percent(3) {
        add_stray(dice, &mut case, shape);
    }
    case.disruption_budgets = budget::budgets(dice, &case);
    if has_storage(number) {
        storage::furnish(dice, &mut case, storage::Habits::Contended);
    }
    case
}

fn habits(dice: &mut Dice) -> Habits {
    let mut lower: Vec<i64> = (0..dice.between(1, 3)).map(|_| dice.one_of(&LEVELS)).collect();
    if dice.percent(20) {
        lower.truncate(dice.below(2));
        lower.push(LOWEST);
    }
    Habits {
        preemptor: dice.seldom_value(15, &[100], &[0, 1, 10, 99, 2_000_000_000, -5]),
        lower,
        starts: (0..dice.between(1, 4)).map(|_| dice.below(50)).collect(),
        plain: dice.percent(65),
        terminating: dice.one_of(&[0, 10, 15, 70]),
        uniform: dice.percent(25),
        rivals: dice.percent(25),
        ample: false,
    }
}

fn finish_preemptor(dice: &mut Dice, habits: &Habits, case: &mut Case, shape: Shape) {
    set_priority(dice, &mut case.pod, habits.preemptor);
    if habits.rivals {
        rival(dice, &mut case.pod, 60);
    }
    let never = if dice.percent(4) {
        "Never"
    } else {
        "PreemptLowerPriority"
    };
    if dice.percent(20) || never == "Never" {
        case.pod["spec"]["preemptionPolicy"] = json!(never);
    }
    if dice.percent(35) {
        case.pod["status"]["nominatedNodeName"] = json!(format!("n{}", dice.below(shape.nodes + 1)));
    }
}

fn add_pods(dice: &mut Dice, habits: &Habits, case: &mut Case, node: &str, shape: Shape) {
    let fewest = usize::from(habits.rivals);
    let count = if habits.uniform {
        dice.between(2, 7)
    } else {
        dice.one_of(&[0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 14]).max(fewest)
    };
    for number in 0..count {
        let mut pod = any(dice, habits, &format!("{node}-{number}"), Stage::On(node));
        liken(dice, case, &mut pod, shape);
        if habits.rivals {
            rival(dice, &mut pod, 50);
        }
        if dice.percent(95) {
            yield_ports(case, &mut pod);
        }
        let priority = priority(dice, habits, 75);
        set_priority(dice, &mut pod, priority);
        age(dice, habits, &mut pod);
        case.pods.push(pod);
    }
    if dice.percent(20) {
        for number in 0..dice.between(1, 2) {
            let mut pod = any(
                dice,
                habits,
                &format!("{node}-nominated-{number}"),
                Stage::Nominated(node),
            );
            liken(dice, case, &mut pod, shape);
            let priority = priority(dice, habits, 40);
            set_priority(dice, &mut pod, priority);
            case.pods.push(pod);
        }
    }
}

fn any(dice: &mut Dice, habits: &Habits, name: &str, stage: Stage<'_>) -> Value {
    if !habits.plain {
        return pod::pod(dice, name, stage, ROOM);
    }
    let mut pod = plain(dice, name, stage);
    if habits.uniform {
        ask(&mut pod, "200m");
    }
    pod
}

/// Lets a pod ask for so much of the processors and nothing else.
fn ask(pod: &mut Value, cpu: &str) {
    pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": cpu } });
}

/// What counts pods of the new pod's kind has something to count.
fn liken(dice: &mut Dice, case: &Case, pod: &mut Value, shape: Shape) {
    if shape.alike && dice.percent(70) {
        for field in ["namespace", "labels"] {
            pod["metadata"][field] = case.pod["metadata"][field].clone();
        }
    }
}

/// Gives a pod wishes, each so often in a hundred, that others of its kind are in the way of.
fn rival(dice: &mut Dice, pod: &mut Value, chance: usize) {
    let labels = pod["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    if dice.percent(chance) {
        let key = dice.pick(&[node::HOSTNAME, node::HOSTNAME, node::ZONE]);
        let term = json!({ "topologyKey": key, "labelSelector": labels::own_selector(dice, &labels) });
        pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!([term]);
    }
    if dice.percent(chance) {
        let mut constraint = spread::constraint(dice, node::HOSTNAME, "DoNotSchedule");
        constraint["labelSelector"] = labels::own_selector(dice, &labels);
        pod["spec"]["topologySpreadConstraints"] = json!([constraint]);
    }
    if dice.percent(chance) && pod["spec"]["hostNetwork"] != true && host_ports(pod).is_empty() {
        let port = json!({ "containerPort": 80, "hostPort": 8080, "protocol": "TCP" });
        pod["spec"]["containers"][0]["ports"] = json!([port]);
    }
}

/// Takes the ports of a node from a pod that others on it have already, as only nodes without a kubelet would not.
fn yield_ports(case: &Case, pod: &mut Value) {
    let there = case
        .pods
        .iter()
        .filter(|other| other["spec"]["nodeName"] == pod["spec"]["nodeName"]);
    let used: Vec<Value> = there.flat_map(host_ports).collect();
    for containers in ["containers", "initContainers"] {
        for container in pod["spec"][containers].as_array_mut().into_iter().flatten() {
            let taken = |port: &Value| used.iter().any(|other| other["hostPort"] == port["hostPort"]);
            if let Some(ports) = container["ports"].as_array_mut() {
                ports.retain(|port| port["hostPort"].is_null() || !taken(port));
            }
        }
    }
}

fn host_ports(pod: &Value) -> Vec<Value> {
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
    let containers = lists.into_iter().flatten().flatten();
    let ports = containers
        .filter_map(|container| container["ports"].as_array())
        .flatten();
    ports.filter(|port| !port["hostPort"].is_null()).cloned().collect()
}

/// Lower than the preemptor's so often in a hundred; else the same or higher.
fn priority(dice: &mut Dice, habits: &Habits, lower: usize) -> i64 {
    if dice.percent(lower) {
        dice.one_of(&habits.lower)
    } else {
        habits.preemptor + dice.one_of(&[0, 0, 1, 1000, -1])
    }
}

/// None is as good as 0.
fn set_priority(dice: &mut Dice, pod: &mut Value, priority: i64) {
    if priority == 0 && dice.percent(50) {
        if let Some(spec) = pod["spec"].as_object_mut() {
            spec.remove("priority");
        }
    } else {
        pod["spec"]["priority"] = json!(priority);
    }
}

/// When a pod started, and whether it is told to go: by a preemption or for other reasons.
fn age(dice: &mut Dice, habits: &Habits, pod: &mut Value) {
    if dice.percent(88) {
        let second = dice.one_of(&habits.starts);
        pod["status"]["startTime"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    }
    let Some(metadata) = pod["metadata"].as_object_mut() else {
        return;
    };
    if dice.percent(habits.terminating) {
        metadata.insert("deletionTimestamp".to_owned(), json!("2026-01-02T00:00:00Z"));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(30));
    } else {
        metadata.remove("deletionTimestamp");
        metadata.remove("deletionGracePeriodSeconds");
    }
    if dice.percent(35) {
        let reason = dice.seldom(
            20,
            &["PreemptionByScheduler"],
            &["EvictionByEvictionAPI", "DeletionByTaintManager"],
        );
        let status = dice.seldom(12, &["True"], &["False", "Unknown"]);
        let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.push(json!({ "type": "Ready", "status": "True" }));
        conditions.push(json!({ "type": "DisruptionTarget", "status": status, "reason": reason }));
        pod["status"]["conditions"] = json!(conditions);
    }
}

/// A pod with few wishes.
fn plain(dice: &mut Dice, name: &str, stage: Stage<'_>) -> Value {
    let is_new = matches!(stage, Stage::New);
    let labels = if dice.percent(12) {
        Map::new()
    } else {
        labels::of_pod(dice)
    };
    let mut metadata = json!({
        "name": name, "uid": name, "resourceVersion": "1",
        "namespace": dice.seldom(20, &["default"], &["team-a", "team-b"]),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    let mut container = json!({ "name": "c", "image": "example.com/app:1", "resources": resources(dice, is_new) });
    if dice.percent(if is_new { 15 } else { 8 }) {
        let protocol = dice.seldom(20, &["TCP"], &["UDP"]);
        let address = dice.seldom(30, &["0.0.0.0"], &["127.0.0.1", "10.1.2.3"]);
        container["ports"] =
            json!([{ "containerPort": 80, "hostPort": 8080, "protocol": protocol, "hostIP": address }]);
    }
    let mut spec = json!({ "schedulerName": "default-scheduler", "containers": [container] });
    let mut wished = Map::new();
    for (field, chance) in [("podAffinity", 8), ("podAntiAffinity", 15)] {
        if dice.percent(chance) {
            wished.insert(field.to_owned(), affinity::pod_affinity(dice, &labels));
        }
    }
    if !wished.is_empty() {
        spec["affinity"] = Value::Object(wished);
    }
    if dice.percent(if is_new { 20 } else { 3 }) {
        spec["topologySpreadConstraints"] = json!(spread::constraints(dice, &labels));
    }
    if !labels.is_empty() {
        metadata["labels"] = Value::Object(labels);
    }
    let mut status = json!({ "phase": "Pending" });
    match stage {
        Stage::New => {}
        Stage::On(node) => {
            spec["nodeName"] = json!(node);
            status["phase"] = json!(dice.seldom(10, &["Running"], &["Pending", "Succeeded", "Failed"]));
        }
        Stage::Nominated(node) => status["nominatedNodeName"] = json!(node),
    }
    json!({ "metadata": metadata, "spec": spec, "status": status })
}

fn resources(dice: &mut Dice, is_new: bool) -> Value {
    let mut requests = Map::new();
    let mut limits = Map::new();
    if dice.percent(if is_new { 97 } else { 90 }) {
        let cpu = dice.pick(if is_new {
            &["250m", "500m", "1", "1500m", "2"]
        } else {
            &["100m", "200m", "250m", "500m", "1"]
        });
        requests.insert("cpu".to_owned(), json!(cpu));
    }
    if dice.percent(50) {
        let memory = dice.pick(&["64Mi", "128Mi", "256Mi", "512Mi", "1Gi"]);
        requests.insert("memory".to_owned(), json!(memory));
    }
    if dice.percent(12) {
        let count = json!(dice.pick(&["1", "2"]));
        requests.insert("example.com/gpu".to_owned(), count.clone());
        limits.insert("example.com/gpu".to_owned(), count);
    }
    json!({ "requests": requests, "limits": limits })
}

/// A node with about as much as its pods take, and less left than the new one asks for.
fn add_node(dice: &mut Dice, habits: &Habits, case: &mut Case, name: &str) {
    let with_nominated = dice.percent(15);
    let mut taken = Sums::default();
    for pod in &case.pods {
        let finished = ["Succeeded", "Failed"]
            .iter()
            .any(|phase| pod["status"]["phase"] == *phase);
        let nominated = with_nominated && pod["status"]["nominatedNodeName"] == name;
        if (pod["spec"]["nodeName"] == name && !finished) || nominated {
            taken.add(pod);
        }
    }
    let mut node = node::node(dice, name, ROOM);
    node["status"]["allocatable"] = Value::Object(allocatable(dice, habits, &case.pod, &taken));
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
    case.nodes.push(node);
}

fn allocatable(dice: &mut Dice, habits: &Habits, preemptor: &Value, taken: &Sums) -> Map<String, Value> {
    let mut asked = Sums::default();
    asked.add(preemptor);
    asked.amounts.retain(|(_, amount)| *amount > 0);
    let enough = dice.percent(if habits.ample { 90 } else { 2 });
    let scarce = dice.below(asked.amounts.len().max(1));
    let mut list = Map::new();
    let pods = match dice.below(100) {
        0..8 if !enough => taken.pods.max(1),
        8..10 => 0,
        _ => taken.pods + 100,
    };
    list.insert("pods".to_owned(), json!(pods.to_string()));
    for (at, (resource, wanted)) in asked.amounts.iter().enumerate() {
        let there = taken.amounts.iter().find(|(name, _)| name == resource);
        let there = there.map_or(0, |(_, amount)| *amount);
        let left = if !enough && (scarce == at || dice.percent(15)) {
            slack(dice, *wanted)
        } else {
            wanted.saturating_mul(10)
        };
        let amount = if dice.percent(3) {
            // Never enough, whoever goes.
            wanted.saturating_sub(1)
        } else {
            there.saturating_add(left).max(0)
        };
        let text = if resource == "cpu" {
            format!("{amount}m")
        } else {
            amount.to_string()
        };
        list.insert(resource.clone(), json!(text));
    }
    list
}

/// What is left on a node of what somebody wants so much of: rarely enough.
fn slack(dice: &mut Dice, wanted: i64) -> i64 {
    match dice.below(40) {
        0..14 => 0,
        14..20 => wanted.saturating_sub(1).max(0),
        20 => wanted,
        21 | 22 => -(wanted / 2),
        _ => wanted / 10 * dice.one_of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    }
}
