//! Topology spread constraints.

use serde_json::{Map, Value, json};

use super::affinity::TOPOLOGY_KEYS;
use super::labels;
use super::node::{HOSTNAME, ZONE};
use crate::dice::Dice;

/// No two with the same key and the same answer to being unsatisfiable: the API server takes none such.
pub(super) fn constraints(dice: &mut Dice, owner: &Map<String, Value>) -> Vec<Value> {
    let mut constraints: Vec<Value> = Vec::new();
    for _ in 0..dice.between(1, 3) {
        let key = if dice.percent(80) {
            dice.pick(&[ZONE, HOSTNAME])
        } else {
            dice.pick(&TOPOLOGY_KEYS)
        };
        let when = dice.pick(&["DoNotSchedule", "ScheduleAnyway"]);
        if constraints
            .iter()
            .any(|other| other["topologyKey"] == key && other["whenUnsatisfiable"] == when)
        {
            continue;
        }
        let mut constraint = constraint(dice, key, when);
        if dice.percent(95) {
            constraint["labelSelector"] = if dice.percent(50) {
                labels::own_selector(dice, owner)
            } else {
                labels::pod_selector(dice)
            };
            let selects_by_version = constraint["labelSelector"].to_string().contains("version");
            if dice.percent(12) && !selects_by_version {
                constraint["matchLabelKeys"] = json!([dice.pick(&["version", "unheard-of"])]);
            }
        }
        constraints.push(constraint);
    }
    constraints
}

/// A constraint without a selector, as defaults are.
pub(super) fn constraint(dice: &mut Dice, key: &str, when: &str) -> Value {
    let mut constraint = json!({
        "maxSkew": dice.one_of(&[1, 1, 1, 2, 3, 5]),
        "topologyKey": key,
        "whenUnsatisfiable": when,
    });
    if when == "DoNotSchedule" && dice.percent(45) {
        constraint["minDomains"] = json!(dice.between(1, 5));
    }
    if dice.percent(25) {
        constraint["nodeAffinityPolicy"] = json!(dice.pick(&["Honor", "Ignore"]));
    }
    if dice.percent(25) {
        constraint["nodeTaintsPolicy"] = json!(dice.pick(&["Honor", "Ignore"]));
    }
    constraint
}
