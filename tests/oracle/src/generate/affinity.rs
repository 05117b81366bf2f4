//! Node selectors and affinity of pods.

use serde_json::{Map, Value, json};

use super::node::{HOSTNAME, REGION, SIZES, ZONE};
use super::{Shape, labels};
use crate::dice::Dice;

/// Keys by which pods are near each other, and one that no node has.
pub(super) const TOPOLOGY_KEYS: [&str; 6] = [ZONE, HOSTNAME, REGION, "disk", "rack", "nowhere"];

/// Labels that a node must have.
pub(super) fn node_selector(dice: &mut Dice) -> Value {
    let mut selector = Map::new();
    for _ in 0..dice.between(1, 2) {
        let key = node_key(dice);
        selector.insert(key.to_owned(), json!(dice.pick(values_of(key))));
    }
    Value::Object(selector)
}

fn node_key(dice: &mut Dice) -> &'static str {
    dice.pick(&[ZONE, "disk", "size", HOSTNAME, "absent"])
}

fn values_of(key: &str) -> &'static [&'static str] {
    match key {
        ZONE => &["z1", "z2", "z3", "z9", ""],
        "disk" => &["ssd", "hdd", ""],
        "size" => &SIZES,
        HOSTNAME => &["n0", "n1", "n2", "n9"],
        _ => &["x", ""],
    }
}

/// How odd a term may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terms {
    /// Of a pod, required: values are label values.
    Required,
    /// Of a pod, preferred: the API server only warns about values that are not.
    Preferred,
    /// Of a configuration: they must be well-formed altogether.
    Strict,
}

/// Node affinity with required or preferred terms, or both.
pub(super) fn node_affinity(dice: &mut Dice, shape: Shape) -> Value {
    let required = if shape.roomy { 20 } else { 60 };
    affinity_of(dice, shape.nodes, required, Terms::Required, Terms::Preferred)
}

/// Node affinity that a configuration adds to each pod's.
pub(super) fn added(dice: &mut Dice, nodes: usize) -> Value {
    affinity_of(dice, nodes, 40, Terms::Strict, Terms::Strict)
}

fn affinity_of(dice: &mut Dice, nodes: usize, chance: usize, required: Terms, preferred: Terms) -> Value {
    let mut affinity = Map::new();
    if dice.percent(chance) {
        let terms: Vec<Value> = (0..dice.between(1, 3)).map(|_| term(dice, nodes, required)).collect();
        affinity.insert(
            "requiredDuringSchedulingIgnoredDuringExecution".to_owned(),
            json!({ "nodeSelectorTerms": terms }),
        );
    }
    if dice.percent(60) {
        let terms: Vec<Value> = (0..dice.between(1, 3))
            .map(|_| json!({ "weight": weight(dice), "preference": term(dice, nodes, preferred) }))
            .collect();
        affinity.insert(
            "preferredDuringSchedulingIgnoredDuringExecution".to_owned(),
            json!(terms),
        );
    }
    Value::Object(affinity)
}

/// Terms of which a node must meet one to reach a volume.
pub(super) fn terms_of_volume(dice: &mut Dice, nodes: usize) -> Vec<Value> {
    (0..dice.between(1, 3))
        .map(|_| term(dice, nodes, Terms::Required))
        .collect()
}

pub(super) fn weight(dice: &mut Dice) -> usize {
    if dice.percent(30) {
        dice.one_of(&[1, 100])
    } else {
        dice.between(1, 100)
    }
}

fn term(dice: &mut Dice, nodes: usize, terms: Terms) -> Value {
    let mut term = Map::new();
    if dice.percent(3) {
        return Value::Object(term);
    }
    if dice.percent(25) {
        let fields: Vec<Value> = (0..dice.between(1, 2)).map(|_| name_field(dice, nodes)).collect();
        term.insert("matchFields".to_owned(), json!(fields));
    }
    if term.is_empty() || dice.percent(40) {
        let expressions: Vec<Value> = (0..dice.between(1, 2)).map(|_| expression(dice, terms)).collect();
        term.insert("matchExpressions".to_owned(), json!(expressions));
    }
    Value::Object(term)
}

/// Exactly one value: the API server takes no other.
fn name_field(dice: &mut Dice, nodes: usize) -> Value {
    let operator = dice.seldom(20, &["In"], &["NotIn"]);
    // One more than there are.
    let name = format!("n{}", dice.below(nodes + 1));
    json!({ "key": "metadata.name", "operator": operator, "values": [name] })
}

fn expression(dice: &mut Dice, terms: Terms) -> Value {
    let key = node_key(dice);
    let values = values_of(key);
    match dice.below(6) {
        0 => json!({ "key": key, "operator": "In", "values": [dice.pick(values), dice.pick(values)] }),
        1 => json!({ "key": key, "operator": "NotIn", "values": [dice.pick(values)] }),
        2 => json!({ "key": key, "operator": "Exists" }),
        3 => json!({ "key": key, "operator": "DoesNotExist" }),
        number => {
            let operator = if number == 4 { "Gt" } else { "Lt" };
            let value = match terms {
                Terms::Preferred if dice.percent(4) => "-5",
                Terms::Required | Terms::Preferred => dice.seldom(12, &["4", "5", "9", "0"], &SIZES),
                Terms::Strict => dice.pick(&["4", "5", "9", "0"]),
            };
            json!({ "key": "size", "operator": operator, "values": [value] })
        }
    }
}

/// Affinity or anti-affinity to pods.
pub(super) fn pod_affinity(dice: &mut Dice, owner: &Map<String, Value>) -> Value {
    let mut affinity = Map::new();
    if dice.percent(55) {
        let terms: Vec<Value> = (0..dice.between(1, 2)).map(|_| pod_term(dice, owner)).collect();
        affinity.insert(
            "requiredDuringSchedulingIgnoredDuringExecution".to_owned(),
            json!(terms),
        );
    }
    if dice.percent(60) {
        let terms: Vec<Value> = (0..dice.between(1, 2))
            .map(|_| json!({ "weight": weight(dice), "podAffinityTerm": pod_term(dice, owner) }))
            .collect();
        affinity.insert(
            "preferredDuringSchedulingIgnoredDuringExecution".to_owned(),
            json!(terms),
        );
    }
    Value::Object(affinity)
}

fn pod_term(dice: &mut Dice, owner: &Map<String, Value>) -> Value {
    let key = if dice.percent(75) {
        dice.pick(&[ZONE, HOSTNAME])
    } else {
        dice.pick(&TOPOLOGY_KEYS)
    };
    let mut term = json!({ "topologyKey": key });
    if dice.percent(95) {
        term["labelSelector"] = if dice.percent(35) {
            labels::own_selector(dice, owner)
        } else {
            labels::pod_selector(dice)
        };
        match_label_keys(dice, &mut term, owner);
    }
    if dice.percent(25) {
        term["namespaces"] = json!([dice.pick(&["default", "team-a", "team-b", "empty", "gone"])]);
    }
    if dice.percent(25) {
        term["namespaceSelector"] = labels::namespace_selector(dice);
    }
    term
}

/// As the API server stores them: merged into the selector already. It takes no key that the selector has besides.
fn match_label_keys(dice: &mut Dice, term: &mut Value, owner: &Map<String, Value>) {
    if term["labelSelector"].to_string().contains("version") {
        return;
    }
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let Some(value) = owner.get("version").filter(|_| dice.percent(6)) else {
            continue;
        };
        let requirement = json!({ "key": "version", "operator": operator, "values": [value] });
        term[field] = json!(["version"]);
        match &mut term["labelSelector"]["matchExpressions"] {
            Value::Array(expressions) => expressions.push(requirement),
            absent => *absent = json!([requirement]),
        }
        break;
    }
}
