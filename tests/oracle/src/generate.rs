//! Random clusters, biased to edges. Every object is one that a real API server could hold.

use plimsoll_model::{Footprint, decode_pod};
use serde_json::{Value, json};

use crate::case::Case;
use crate::dice::Dice;

mod affinity;
mod budget;
mod config;
mod crowded;
mod image;
mod labels;
mod node;
mod pod;
mod quantity;
mod spread;
mod storage;
mod workload;

pub(crate) use crowded::crowded;
pub(crate) use labels::of_pod as pod_labels;
use pod::Stage;
pub(crate) use pod::toleration;
pub(crate) use quantity::request;
use storage::Habits;
pub(crate) use storage::{
    any_attachment, any_capacity, any_claim, any_class, any_csi_node, any_driver, any_volume, claims_of, give_volumes,
    topologies,
};

/// What kind of cluster it is.
#[derive(Debug, Clone, Copy)]
struct Shape {
    nodes: usize,
    /// Most nodes take most pods, so that there is something to rank.
    roomy: bool,
    /// Most pods are of the new pod's kind: what counts them has something to count.
    alike: bool,
}

/// The case with this number among those of a seed; the same each time.
pub(crate) fn case(seed: u64, number: u64) -> Case {
    let mut dice = Dice::new(seed, number);
    let dice = &mut dice;
    let shape = Shape {
        nodes: dice.one_of(&[1, 2, 3, 4, 5, 5, 6, 8, 12]),
        roomy: dice.percent(60) || has_storage(number),
        alike: dice.percent(40),
    };
    let mut case = without_nodes(dice, shape);
    for number in 0..shape.nodes {
        let name = format!("n{number}");
        add_pods(dice, &mut case, &name, shape);
        add_node(dice, &mut case, &name, shape);
    }
    if dice.percent(3) {
        add_stray(dice, &mut case, shape);
    }
    if dice.percent(5) {
        case.pod["status"]["nominatedNodeName"] = json!(format!("n{}", dice.below(shape.nodes + 1)));
    }
    if has_storage(number) {
        storage::furnish(dice, &mut case, Habits::Any);
    }
    case
}

/// Whether volumes have a part in the case with this number: in one of three.
pub(crate) fn has_storage(number: u64) -> bool {
    number.is_multiple_of(3)
}

/// A configuration, a pod to place, and what is listed for it.
fn without_nodes(dice: &mut Dice, shape: Shape) -> Case {
    let feature_gates = config::feature_gates(dice);
    let mut case = Case {
        config: config::config(dice, shape.nodes),
        pod: pod::pod(dice, "pod", Stage::New, shape),
        feature_gates,
        ..Case::default()
    };
    if case.feature_gates.contains_key("TaintTolerationComparisonOperators") {
        pod::compare_taints(dice, &mut case.pod);
    }
    if dice.percent(12) {
        config::add_profiles(dice, &mut case, shape.nodes);
    }
    workload::add_namespaces(dice, &mut case);
    workload::add_workloads(dice, &mut case);
    case
}

/// What kind of cluster a change is in: few nodes, which are not there themselves.
const OF_CHANGES: Shape = Shape {
    nodes: 2,
    roomy: false,
    alike: true,
};

/// A case for a change: nothing but the pod that waits, its configuration and what is listed for it.
pub(crate) fn surroundings(dice: &mut Dice) -> Case {
    without_nodes(dice, OF_CHANGES)
}

/// A pod on a node, nominated to one, or neither.
pub(crate) fn any_pod(dice: &mut Dice) -> Value {
    let stage = match dice.below(10) {
        0..7 => Stage::On("n0"),
        7 | 8 => Stage::Nominated("n0"),
        _ => Stage::New,
    };
    pod::pod(dice, "other", stage, OF_CHANGES)
}

/// A node that has about what the pod asks for.
pub(crate) fn any_node(dice: &mut Dice, pod: &Value) -> Value {
    let mut node = node::node(dice, "n0", OF_CHANGES);
    node["status"]["allocatable"] = node_sized(dice, pod);
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
    node
}

/// What a node may have to give to the pod: about what it asks for, or anything.
pub(crate) fn node_sized(dice: &mut Dice, pod: &Value) -> Value {
    let mut asked = Sums::default();
    asked.add(pod);
    Value::Object(node::allocatable(dice, OF_CHANGES, asked.pods, &asked.amounts))
}

/// A large cluster of nodes that differ little, with few pods on them.
pub(crate) fn large(dice: &mut Dice, nodes: usize) -> Case {
    let shape = Shape {
        nodes,
        roomy: dice.percent(85),
        alike: dice.percent(40),
    };
    let mut case = without_nodes(dice, shape);
    for number in 0..nodes {
        let name = format!("n{number}");
        if dice.percent(25) {
            case.pods
                .push(pod::pod(dice, &format!("{name}-0"), Stage::On(&name), shape));
        }
        add_node(dice, &mut case, &name, shape);
    }
    case
}

/// One more pod to place, in a cluster of so many nodes.
pub(crate) fn another(dice: &mut Dice, name: &str, nodes: usize) -> Value {
    let shape = Shape {
        nodes,
        roomy: true,
        alike: false,
    };
    pod::pod(dice, name, Stage::New, shape)
}

/// As after a node was deleted and before its pods were.
fn add_stray(dice: &mut Dice, case: &mut Case, shape: Shape) {
    case.pods.push(pod::pod(dice, "stray", Stage::On("gone"), shape));
}

fn add_pods(dice: &mut Dice, case: &mut Case, node: &str, shape: Shape) {
    for number in 0..dice.one_of(&[0, 0, 1, 1, 2, 3, 5]) {
        let name = format!("{node}-{number}");
        let mut pod = pod::pod(dice, &name, Stage::On(node), shape);
        if shape.alike && dice.percent(70) {
            for field in ["namespace", "labels"] {
                pod["metadata"][field] = case.pod["metadata"][field].clone();
            }
        }
        case.pods.push(pod);
    }
    if dice.percent(7) {
        let name = format!("{node}-nominated");
        case.pods.push(pod::pod(dice, &name, Stage::Nominated(node), shape));
    }
}

fn add_node(dice: &mut Dice, case: &mut Case, name: &str, shape: Shape) {
    let on_node = case.pods.iter().filter(|pod| {
        pod["spec"]["nodeName"] == name || (pod["status"]["nominatedNodeName"] == name && dice.percent(50))
    });
    let mut asked = Sums::default();
    for pod in on_node.chain([&case.pod]) {
        asked.add(pod);
    }
    let mut node = node::node(dice, name, shape);
    node["status"]["allocatable"] = Value::Object(node::allocatable(dice, shape, asked.pods, &asked.amounts));
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
    case.nodes.push(node);
}

/// What pods ask for together. Only the bias hangs on it, so our own reading of them will do.
#[derive(Default)]
struct Sums {
    pods: i64,
    amounts: Vec<(String, i64)>,
}

impl Sums {
    fn add(&mut self, pod: &Value) {
        let Ok(pod) = decode_pod(pod.to_string().as_bytes()) else {
            return;
        };
        self.pods += 1;
        let requests = Footprint::of(&pod).requests;
        let native = [
            ("cpu", requests.milli_cpu),
            ("memory", requests.memory),
            ("ephemeral-storage", requests.ephemeral_storage),
        ];
        let scalars = requests.scalars.iter().map(|(name, amount)| (name.as_ref(), *amount));
        for (name, amount) in native.into_iter().chain(scalars) {
            match self.amounts.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum = sum.saturating_add(amount),
                None => self.amounts.push((name.to_owned(), amount)),
            }
        }
    }
}
