//! Pods: quality of service, conditions, and what their subresources may write.

mod label_keys;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    clock::rfc3339_seconds,
    object::{at, object_at},
    strategy::Part,
};

const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// Sets the status of a pod being created: pending, its quality of service, and gated when it has gates; completes the
/// selectors that speak of its own labels.
pub(crate) fn prepare_for_create(pod: &mut Value, now: Timestamp) {
    pod["status"] = json!({ "phase": "Pending", "qosClass": qos_class(pod) });
    label_keys::merge_into_selectors(pod);
    if has_gates(pod) {
        let message = "Scheduling is blocked due to non-empty scheduling gates";
        set_condition(pod, now, "PodScheduled", "False", "SchedulingGated", message);
    }
}

/// Whether a scheduling gate holds the pod back.
pub(crate) fn has_gates(pod: &Value) -> bool {
    at(pod, &["spec", "schedulingGates"])
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty())
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["containers", "initContainers"]
        .into_iter()
        .filter_map(|field| at(pod, &["spec", field]).and_then(Value::as_array))
        .flatten()
}

/// The quality-of-service class, from `cpu` and `memory` of all containers or, when set, of the pod itself.
pub(crate) fn qos_class(pod: &Value) -> &'static str {
    let spec_resources = at(pod, &["spec", "resources"]);
    let of_pod = spec_resources.filter(|r| at(r, &["requests"]).is_some() || at(r, &["limits"]).is_some());
    let resources: Vec<&Value> = match of_pod {
        Some(resources) => vec![resources],
        None => containers(pod)
            .map(|c| c.get("resources").unwrap_or(&Value::Null))
            .collect(),
    };
    let amounts = |resources: &Value, of: &str| -> Map<String, Value> {
        let amounts = at(resources, &[of]).and_then(Value::as_object).into_iter().flatten();
        amounts
            .filter(|(k, v)| COMPUTE.contains(&k.as_str()) && !is_zero(v))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    let mut best_effort = true;
    let mut guaranteed = !resources.is_empty();
    for resources in resources {
        let (requests, limits) = (amounts(resources, "requests"), amounts(resources, "limits"));
        best_effort &= requests.is_empty() && limits.is_empty();
        guaranteed &= limits.len() == COMPUTE.len() && requests.iter().all(|(k, v)| limits.get(k) == Some(v));
    }
    if best_effort {
        "BestEffort"
    } else if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Whether a quantity is written as zero, in any of the usual spellings.
fn is_zero(quantity: &Value) -> bool {
    match quantity {
        Value::String(text) => {
            text.starts_with('0')
                && text
                    .trim_end_matches(char::is_alphabetic)
                    .bytes()
                    .all(|b| b == b'0' || b == b'.')
        }
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => true,
    }
}

/// Adds a condition or updates it in place; the transition time moves only when the status changes.
pub(crate) fn set_condition(pod: &mut Value, now: Timestamp, kind: &str, status: &str, reason: &str, message: &str) {
    let mut condition = json!({
        "type": kind,
        "status": status,
        "lastProbeTime": null,
        "lastTransitionTime": rfc3339_seconds(now),
    });
    for (key, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            condition[key] = text.into();
        }
    }
    let conditions = object_at(pod, "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|c| c["type"] == kind) {
        Some(old) => {
            if old["status"] == status {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
}

/// The status of a pod's condition; empty when it has none of that type.
pub(crate) fn condition_status<'a>(pod: &'a Value, kind: &str) -> &'a str {
    let conditions = at(pod, &["status", "conditions"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let found = conditions
        .filter(|c| c["type"] == kind)
        .find_map(|c| c["status"].as_str());
    found.unwrap_or_default()
}

/// Keeps the old pod but for the one thing that a subresource writes.
pub(crate) fn keep_all_but(part: Part, new: &mut Value, old: &Value) {
    let asked = std::mem::replace(new, old.clone());
    if let Some(version) = at(&asked, &["metadata", "resourceVersion"]) {
        new["metadata"]["resourceVersion"] = version.clone();
    }
    if part == Part::EphemeralContainers {
        if let Some(ephemeral) = at(&asked, &["spec", "ephemeralContainers"]) {
            object_at(new, "spec").insert("ephemeralContainers".to_owned(), ephemeral.clone());
        }
        return;
    }
    for list in ["containers", "initContainers"] {
        let Some(theirs) = at(&asked, &["spec", list]).and_then(Value::as_array) else {
            continue;
        };
        let Some(ours) = new["spec"].get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        for (ours, theirs) in ours.iter_mut().zip(theirs) {
            for field in ["resources", "resizePolicy"] {
                if let Some(value) = theirs.get(field) {
                    ours[field] = value.clone();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_of_service_follows_requests_and_limits() {
        let pod = |containers: Value| json!({ "spec": { "containers": containers } });
        for (containers, class) in [
            (json!([{}]), "BestEffort"),
            (
                json!([{ "resources": { "requests": { "example.com/x": "1" } } }]),
                "BestEffort",
            ),
            (json!([{ "resources": { "requests": { "cpu": "0" } } }]), "BestEffort"),
            (json!([{ "resources": { "requests": { "cpu": "1" } } }]), "Burstable"),
            (
                json!([{ "resources": { "requests": { "cpu": "1", "memory": "1Gi" }, "limits": { "cpu": "1", "memory": "1Gi" } } }]),
                "Guaranteed",
            ),
            (
                json!([{ "resources": { "limits": { "cpu": "1", "memory": "1Gi" } } }, {}]),
                "Burstable",
            ),
        ] {
            assert_eq!(qos_class(&pod(containers.clone())), class, "{containers}");
        }
    }

    #[test]
    fn a_condition_keeps_its_transition_time_until_its_status_changes() {
        let time = |s: i64| Timestamp::from_second(s).expect("in range");
        let mut pod = json!({});
        set_condition(&mut pod, time(10), "PodScheduled", "False", "Unschedulable", "a");
        set_condition(&mut pod, time(20), "PodScheduled", "False", "Unschedulable", "b");
        assert_eq!(
            pod["status"]["conditions"][0]["lastTransitionTime"],
            "1970-01-01T00:00:10Z"
        );
        assert_eq!(pod["status"]["conditions"][0]["message"], "b");
        set_condition(&mut pod, time(30), "PodScheduled", "True", "", "");
        assert_eq!(
            pod["status"]["conditions"][0]["lastTransitionTime"],
            "1970-01-01T00:00:30Z"
        );
        assert_eq!(condition_status(&pod, "PodScheduled"), "True");
        assert_eq!(pod["status"]["conditions"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn gated_pods_say_so_from_the_start() {
        let mut pod = json!({ "spec": { "containers": [], "schedulingGates": [{ "name": "g" }] } });
        prepare_for_create(&mut pod, Timestamp::UNIX_EPOCH);
        assert_eq!(pod["status"]["conditions"][0]["reason"], "SchedulingGated");
    }
}
