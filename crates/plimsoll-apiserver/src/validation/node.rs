//! Nodes: taints, resources, and what may not change once set.

use serde_json::{Value, json};

use super::container::{quantity, undecodable_quantity};
use super::{invalid_each, list, map, name, set, text};
use crate::cause::Cause;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn check(node: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = node.get("spec").unwrap_or(&Value::Null);
    // Upstream reports taints under `metadata`.
    taints(list(spec, "taints"), "metadata.taints", causes);
    let status = node.get("status").unwrap_or(&Value::Null);
    for field in ["capacity", "allocatable"] {
        for (resource, amount) in map(status, field) {
            quantity(resource, amount, &format!("status.{field}.{resource}"), causes);
        }
    }
    if let Some(old) = old {
        let before = old.get("spec").unwrap_or(&Value::Null);
        kept_once_set(spec, before, causes);
    }
}

/// The message of the real decoder when a quantity of the status is none.
pub(super) fn undecodable(status: &Value) -> Option<String> {
    ["capacity", "allocatable"]
        .into_iter()
        .find_map(|field| undecodable_quantity(status, field))
}

fn kept_once_set(spec: &Value, before: &Value, causes: &mut Vec<Cause>) {
    let cidrs = list(before, "podCIDRs");
    if !cidrs.is_empty() && cidrs != list(spec, "podCIDRs") {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        causes.push(Cause::forbidden("spec.podCIDRs", detail));
    }
    let provider = text(before, "providerID");
    if !provider.is_empty() && provider != text(spec, "providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        causes.push(Cause::forbidden("spec.providerID", detail));
    }
}

fn taints(taints: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, taint) in taints.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let key = text(taint, "key");
        invalid_each(&format!("{path}.key"), key, name::qualified(key), causes);
        let value = text(taint, "value");
        let wrong = name::label_value(value);
        if !wrong.is_empty() {
            causes.push(Cause::invalid(format!("{path}.value"), &json!(value), &wrong.join(";")));
        }
        effect(taint, false, &format!("{path}.effect"), causes);
        let repeated = taints[..at]
            .iter()
            .any(|t| text(t, "key") == key && text(t, "effect") == text(taint, "effect"));
        if repeated {
            causes.push(Cause::duplicate(
                &path,
                taint,
                "taints must be unique by key and effect pair",
            ));
        }
    }
}

/// Checks the effect of a taint or toleration.
pub(super) fn effect(holder: &Value, allow_empty: bool, path: &str, causes: &mut Vec<Cause>) {
    match set(holder, "effect").and_then(Value::as_str).unwrap_or("") {
        "" if allow_empty => {}
        "" => causes.push(Cause::required(path, "")),
        known if EFFECTS.contains(&known) => {}
        other => causes.push(Cause::not_supported(path, &json!(other), EFFECTS)),
    }
}
