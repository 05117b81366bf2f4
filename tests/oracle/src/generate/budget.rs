//! Disruption budgets: overlapping, used up, of other namespaces, without a selector.

use serde_json::{Map, Value, json};

use super::labels;
use crate::case::Case;
use crate::dice::Dice;

/// Budgets for the pods of a cluster.
pub(super) fn budgets(dice: &mut Dice, case: &Case) -> Vec<Value> {
    if dice.percent(25) {
        return Vec::new();
    }
    (0..dice.one_of(&[1, 1, 2, 2, 3, 5]))
        .map(|number| budget(dice, case, number))
        .collect()
}

fn budget(dice: &mut Dice, case: &Case, number: usize) -> Value {
    let name = format!("budget-{number}");
    let pod = dice.below(case.pods.len().max(1));
    let namespace = match case.pods.get(pod) {
        Some(pod) if dice.percent(75) => pod["metadata"]["namespace"].clone(),
        _ => json!(dice.pick(&["default", "team-a", "empty"])),
    };
    let mut spec = json!({ "maxUnavailable": 1 });
    if let Some(selector) = selector(dice, case) {
        spec["selector"] = selector;
    }
    let mut status = json!({
        "disruptionsAllowed": dice.one_of(&[0, 0, 0, 1, 1, 2, 3, 10]),
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
    });
    if dice.percent(25) && !case.pods.is_empty() {
        let mut disrupted = Map::new();
        for _ in 0..dice.between(1, 3) {
            let pod = &case.pods[dice.below(case.pods.len())];
            if let Some(name) = pod["metadata"]["name"].as_str() {
                disrupted.insert(name.to_owned(), json!("2026-01-01T00:00:00Z"));
            }
        }
        status["disruptedPods"] = Value::Object(disrupted);
    }
    json!({
        "metadata": { "name": name, "uid": name, "resourceVersion": "1", "namespace": namespace },
        "spec": spec,
        "status": status,
    })
}

/// Without one, and with an empty one, a budget is for no pod.
fn selector(dice: &mut Dice, case: &Case) -> Option<Value> {
    match dice.below(100) {
        0..7 => None,
        7..12 => Some(json!({})),
        // From before values were looked at.
        12..15 => {
            Some(json!({ "matchExpressions": [{ "key": "app", "operator": "NotIn", "values": ["no such value!"] }] }))
        }
        15..60 => {
            let pod = dice.below(case.pods.len().max(1));
            let labels = case.pods.get(pod).and_then(|pod| pod["metadata"]["labels"].as_object());
            Some(match labels {
                Some(labels) if labels.contains_key("app") => labels::own_selector(dice, labels),
                _ => json!({ "matchLabels": { "app": "web" } }),
            })
        }
        _ => Some(labels::pod_selector(dice)),
    }
}
