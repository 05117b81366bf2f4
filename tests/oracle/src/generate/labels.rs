//! Labels, and selectors over them.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// Keys of labels that pods have, and one that none has.
const POD_KEYS: [&str; 5] = ["app", "tier", "version", "pod-template-hash", "absent"];
const POD_VALUES: [(&str, &[&str]); 4] = [
    ("app", &["web", "db", "cache"]),
    ("tier", &["front", "back", ""]),
    ("version", &["v1", "v2"]),
    ("pod-template-hash", &["5d4c", "77f9"]),
];

fn values_of(key: &str) -> &'static [&'static str] {
    POD_VALUES
        .iter()
        .find(|(name, _)| *name == key)
        .map_or(&["x"], |(_, values)| values)
}

/// Labels of a pod; often none of some keys.
pub(crate) fn of_pod(dice: &mut Dice) -> Map<String, Value> {
    let mut labels = Map::new();
    for (key, values) in POD_VALUES {
        if dice.percent(if key == "app" { 85 } else { 35 }) {
            labels.insert(key.to_owned(), json!(dice.pick(values)));
        }
    }
    labels
}

/// Labels of a namespace.
pub(super) fn of_namespace(dice: &mut Dice, name: &str) -> Map<String, Value> {
    let mut labels = Map::new();
    labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
    if dice.percent(60) {
        labels.insert("team".to_owned(), json!(dice.pick(&["a", "b"])));
    }
    if dice.percent(20) {
        labels.insert("env".to_owned(), json!(dice.pick(&["prod", "test", ""])));
    }
    labels
}

/// A selector over labels of pods. Sometimes empty, which matches everything.
pub(super) fn pod_selector(dice: &mut Dice) -> Value {
    selector(dice, &POD_KEYS, values_of)
}

/// A selector for pods of the owner's kind.
pub(super) fn own_selector(dice: &mut Dice, owner: &Map<String, Value>) -> Value {
    let mut wanted = owner.clone();
    wanted.retain(|key, _| key == "app" || dice.percent(30));
    json!({ "matchLabels": wanted })
}

/// A selector over labels of namespaces.
pub(super) fn namespace_selector(dice: &mut Dice) -> Value {
    selector(dice, &["team", "env", "kubernetes.io/metadata.name"], |key| match key {
        "team" => &["a", "b", "c"],
        "env" => &["prod", "test", ""],
        _ => &["default", "team-a", "team-b", "empty"],
    })
}

fn selector(dice: &mut Dice, keys: &[&str], values: impl Fn(&str) -> &'static [&'static str]) -> Value {
    let mut selector = Map::new();
    if dice.percent(8) {
        return Value::Object(selector);
    }
    if dice.percent(65) {
        let key = keys[if dice.percent(70) { 0 } else { dice.below(keys.len()) }];
        selector.insert("matchLabels".to_owned(), json!({ key: dice.pick(values(key)) }));
    }
    if selector.is_empty() || dice.percent(30) {
        let expressions: Vec<Value> = (0..dice.between(1, 2))
            .map(|_| {
                let key = keys[dice.below(keys.len())];
                expression(dice, key, values(key))
            })
            .collect();
        selector.insert("matchExpressions".to_owned(), json!(expressions));
    }
    Value::Object(selector)
}

fn expression(dice: &mut Dice, key: &str, values: &[&'static str]) -> Value {
    match dice.below(4) {
        0 => json!({ "key": key, "operator": "In", "values": at_least_one(dice, values) }),
        1 => json!({ "key": key, "operator": "NotIn", "values": at_least_one(dice, values) }),
        2 => json!({ "key": key, "operator": "Exists" }),
        _ => json!({ "key": key, "operator": "DoesNotExist" }),
    }
}

fn at_least_one(dice: &mut Dice, values: &[&'static str]) -> Vec<&'static str> {
    let chosen = dice.some(2, values);
    if chosen.is_empty() {
        vec![dice.pick(values)]
    } else {
        chosen
    }
}
