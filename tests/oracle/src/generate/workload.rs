//! Namespaces, and the services and owners from which the selectors of default spread constraints are deduced.

use serde_json::{Value, json};

use super::labels;
use crate::case::Case;
use crate::dice::Dice;

/// Adds namespaces; now and then one is missing.
pub(super) fn add_namespaces(dice: &mut Dice, case: &mut Case) {
    for name in ["default", "team-a", "team-b", "empty", "orphaned"] {
        if dice.percent(if name == "orphaned" { 20 } else { 97 }) {
            case.namespaces.push(json!({
                "metadata": {
                    "name": name, "uid": name, "resourceVersion": "1", "labels": labels::of_namespace(dice, name),
                },
            }));
        }
    }
}

/// Adds services that may select the pod, and the controller that may own it.
pub(super) fn add_workloads(dice: &mut Dice, case: &mut Case) {
    let namespace = case.pod["metadata"]["namespace"].clone();
    if dice.percent(50) {
        for number in 0..dice.between(1, 3) {
            let metadata = metadata(dice, &format!("s{number}"), &namespace);
            let selector = service_selector(dice, case);
            case.services
                .push(json!({ "metadata": metadata, "spec": { "selector": selector } }));
        }
    }
    if dice.percent(40) {
        let metadata = metadata(dice, "owner", &namespace);
        let kind = dice.pick(&["ReplicationController", "ReplicaSet", "StatefulSet", "Job"]);
        let version = match kind {
            "ReplicationController" => "v1",
            "Job" => "batch/v1",
            _ => "apps/v1",
        };
        case.pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": version, "kind": kind, "name": "owner", "uid": "owner", "controller": dice.percent(90),
        }]);
        let selector = labels::pod_selector(dice);
        match kind {
            "ReplicationController" => {
                let selector = service_selector(dice, case);
                case.replication_controllers
                    .push(json!({ "metadata": metadata, "spec": { "selector": selector } }));
            }
            "ReplicaSet" => case
                .replica_sets
                .push(json!({ "metadata": metadata, "spec": { "selector": selector } })),
            "StatefulSet" => case
                .stateful_sets
                .push(json!({ "metadata": metadata, "spec": { "selector": selector } })),
            _ => {}
        }
    }
}

fn metadata(dice: &mut Dice, name: &str, namespace: &Value) -> Value {
    let namespace = if dice.percent(92) {
        namespace.clone()
    } else {
        json!("team-b")
    };
    json!({ "name": name, "uid": name, "resourceVersion": "1", "namespace": namespace })
}

/// Mostly one that selects the pod.
fn service_selector(dice: &mut Dice, case: &Case) -> Value {
    match case.pod["metadata"].get("labels").and_then(Value::as_object) {
        Some(labels) if dice.percent(75) => {
            let chosen = labels.iter().filter(|_| dice.percent(60));
            Value::Object(chosen.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        _ => Value::Object(labels::of_pod(dice)),
    }
}
