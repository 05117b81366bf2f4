//! What an update may change in a pod.

use serde_json::{Value, json};

use super::{invalid_each, list, map, name, pod, same, set, text};
use crate::cause::Cause;

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),\
                         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks an update of the pod itself (its status has its own subresource).
pub(super) fn check(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let null = Value::Null;
    let spec = new.get("spec").unwrap_or(&null);
    let before = old.get("spec").unwrap_or(&null);
    if same(Some(spec), Some(before)) {
        return;
    }
    for field in ["containers", "initContainers"] {
        if !containers(list(spec, field), list(before, field), &format!("spec.{field}"), causes) {
            return;
        }
    }
    active_deadline(spec, before, causes);
    tolerations(list(spec, "tolerations"), list(before, "tolerations"), causes);
    scheduling_gates(list(spec, "schedulingGates"), list(before, "schedulingGates"), causes);
    let mut rest = without_updatable(spec, before);
    if !list(before, "schedulingGates").is_empty() {
        gated_additions(&mut rest, before, causes);
    }
    if let Some(field) = first_difference(&rest, before) {
        let detail = format!("pod updates may not change fields other than {UPDATABLE}\n{field} differs");
        causes.push(Cause::forbidden("spec", &detail));
    }
}

/// Checks an update of the status: a nomination is a node's name, and may not be set once the pod is bound.
pub(super) fn check_status(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let nominated = |pod: &Value| {
        pod.pointer("/status/nominatedNodeName")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let node = nominated(new);
    if !node.is_empty() && node != nominated(old) {
        invalid_each("status.nominatedNodeName", &node, name::subdomain(&node), causes);
    }
    let bound = old
        .pointer("/spec/nodeName")
        .and_then(Value::as_str)
        .is_some_and(|n| !n.is_empty());
    if bound && !node.is_empty() && node != nominated(old) {
        let detail = "may not be set on pods that are already bound to a node";
        causes.push(Cause::forbidden("status.nominatedNodeName", detail));
    }
}

/// Images may change, the number of containers may not: false stops the whole check, as upstream does.
fn containers(new: &[Value], old: &[Value], path: &str, causes: &mut Vec<Cause>) -> bool {
    if new.len() != old.len() {
        causes.push(Cause::forbidden(path, "pod updates may not add or remove containers"));
        return false;
    }
    for (at, container) in new.iter().enumerate() {
        let image = text(container, "image");
        let field = format!("{path}[{at}].image");
        if image.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if image.trim() != image {
            let detail = "must not have leading or trailing whitespace";
            causes.push(Cause::invalid(field, &json!(image), detail));
        }
    }
    true
}

fn active_deadline(spec: &Value, before: &Value, causes: &mut Vec<Cause>) {
    let seconds = |spec: &Value| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    let path = "spec.activeDeadlineSeconds";
    match (seconds(spec), seconds(before)) {
        (Some(new), Some(old)) if new > old => {
            let detail = "must be less than or equal to previous value";
            causes.push(Cause::invalid(path, &json!(new), detail));
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            causes.push(Cause::invalid(path, &Value::Null, detail));
        }
        _ => {}
    }
}

fn tolerations(new: &[Value], old: &[Value], causes: &mut Vec<Cause>) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = new.iter().map(without_seconds).collect();
    if old.iter().any(|t| !kept.contains(&without_seconds(t))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", detail));
        return;
    }
    pod::tolerations(new, "spec.tolerations", causes);
}

fn scheduling_gates(new: &[Value], old: &[Value], causes: &mut Vec<Cause>) {
    for (at, gate) in new.iter().enumerate() {
        let name = text(gate, "name");
        if !old.iter().any(|g| text(g, "name") == name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            causes.push(Cause::forbidden(format!("spec.schedulingGates[{at}].name"), &detail));
        }
    }
}

/// The new spec with everything that may change, or has been checked, put back to what it was.
fn without_updatable(spec: &Value, before: &Value) -> Value {
    let mut rest = spec.clone();
    for field in ["containers", "initContainers"] {
        let olds = list(before, field);
        let news = rest.get_mut(field).and_then(Value::as_array_mut);
        for (new, old) in news.into_iter().flatten().zip(olds) {
            put_back(new, old, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        put_back(&mut rest, before, field);
    }
    let grace = |spec: &Value| spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(before).is_some_and(|g| g < 0) && grace(&rest) == Some(1) {
        put_back(&mut rest, before, "terminationGracePeriodSeconds");
    }
    rest
}

fn put_back(new: &mut Value, old: &Value, field: &str) {
    let Some(fields) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// A gated pod may be narrowed: node selectors may gain keys, node affinity may gain requirements.
fn gated_additions(rest: &mut Value, before: &Value, causes: &mut Vec<Cause>) {
    let lost = map(before, "nodeSelector")
        .any(|(key, value)| rest.pointer("/nodeSelector").and_then(|s| s.get(key)) != Some(value));
    if lost {
        let selector = rest.get("nodeSelector").cloned().unwrap_or(Value::Null);
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        causes.push(Cause::invalid("spec.nodeSelector", &selector, detail));
    }
    put_back(rest, before, "nodeSelector");
    let only_node_affinity =
        |affinity: &Value| set(affinity, "podAffinity").is_none() && set(affinity, "podAntiAffinity").is_none();
    if set(before, "affinity").is_none() && set(rest, "affinity").is_some_and(only_node_affinity) {
        put_back(rest, before, "affinity");
    } else if let (Some(affinity), Some(old)) = (rest.get_mut("affinity"), before.get("affinity")) {
        put_back(affinity, old, "nodeAffinity");
    }
}

/// The first field in which the two specs differ.
fn first_difference(new: &Value, old: &Value) -> Option<String> {
    let names = [new, old]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|o| o.keys());
    names
        .into_iter()
        .find(|name| !same(new.get(*name), old.get(*name)))
        .cloned()
}
