//! Pod specs at creation.

use serde_json::{Value, json};

use super::{affinity, container, invalid_each, list, map, metadata, name, node, set, text};
use crate::cause::Cause;

const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Checks a pod that is being created.
pub(super) fn check_create(pod: &Value, causes: &mut Vec<Cause>) {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    check_spec(spec, "spec", causes);
    if !list(spec, "ephemeralContainers").is_empty() {
        causes.push(Cause::forbidden("spec.ephemeralContainers", "cannot be set on create"));
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        causes.push(Cause::forbidden("spec.nodeName", detail));
    }
}

/// Checks a pod spec, of a pod or of a template.
pub(super) fn check_spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    volumes(list(spec, "volumes"), &format!("{path}.volumes"), causes);
    container::check_all(spec, path, causes);
    one_of(spec, "restartPolicy", RESTART_POLICIES, path, causes);
    one_of(spec, "dnsPolicy", DNS_POLICIES, path, causes);
    metadata::labels(spec, "nodeSelector", &format!("{path}.nodeSelector"), causes);
    if let Some(affinity) = set(spec, "affinity") {
        affinity::check(affinity, &format!("{path}.affinity"), causes);
    }
    scheduling_gates(
        list(spec, "schedulingGates"),
        &format!("{path}.schedulingGates"),
        causes,
    );
    let constraints = list(spec, "topologySpreadConstraints");
    affinity::check_spread(constraints, &format!("{path}.topologySpreadConstraints"), causes);
    for field in ["nodeName", "priorityClassName", "serviceAccountName"] {
        let given = text(spec, field);
        if !given.is_empty() {
            invalid_each(&format!("{path}.{field}"), given, name::subdomain(given), causes);
        }
    }
    for field in ["hostname", "subdomain"] {
        let given = text(spec, field);
        if !given.is_empty() {
            invalid_each(&format!("{path}.{field}"), given, name::label(given), causes);
        }
    }
    active_deadline(spec, path, causes);
    tolerations(list(spec, "tolerations"), &format!("{path}.tolerations"), causes);
    for (resource, amount) in map(spec, "overhead") {
        container::quantity(resource, amount, &format!("{path}.overhead[{resource}]"), causes);
    }
    let policy = text(spec, "preemptionPolicy");
    if !policy.is_empty() && !matches!(policy, "Never" | "PreemptLowerPriority") {
        let supported = ["PreemptLowerPriority", "Never"];
        causes.push(Cause::not_supported(
            format!("{path}.preemptionPolicy"),
            &json!(policy),
            &supported,
        ));
    }
}

fn one_of(spec: &Value, field: &str, supported: &[&str], path: &str, causes: &mut Vec<Cause>) {
    let given = text(spec, field);
    if !given.is_empty() && !supported.contains(&given) {
        causes.push(Cause::not_supported(
            format!("{path}.{field}"),
            &json!(given),
            supported,
        ));
    }
}

fn volumes(volumes: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, volume) in volumes.iter().enumerate() {
        let path = format!("{path}[{at}].name");
        let given = text(volume, "name");
        if given.is_empty() {
            causes.push(Cause::required(path, ""));
            continue;
        }
        invalid_each(&path, given, name::label(given), causes);
        if volumes[..at].iter().any(|v| text(v, "name") == given) {
            causes.push(Cause::duplicate(path, &json!(given), ""));
        }
    }
}

fn scheduling_gates(gates: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, gate) in gates.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let given = text(gate, "name");
        invalid_each(&path, given, name::qualified(given), causes);
        if gates[..at].iter().any(|g| text(g, "name") == given) {
            causes.push(Cause::duplicate(path, &json!(given), ""));
        }
    }
}

fn active_deadline(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(seconds) = spec.get("activeDeadlineSeconds").and_then(Value::as_i64) else {
        return;
    };
    let most = i64::from(i32::MAX);
    if !(1..=most).contains(&seconds) {
        let detail = format!("must be between 1 and {most}, inclusive");
        causes.push(Cause::invalid(
            format!("{path}.activeDeadlineSeconds"),
            &json!(seconds),
            &detail,
        ));
    }
}

/// Checks tolerations.
pub(super) fn tolerations(tolerations: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, toleration) in tolerations.iter().enumerate() {
        check_toleration(toleration, &format!("{path}[{at}]"), causes);
    }
}

fn check_toleration(toleration: &Value, path: &str, causes: &mut Vec<Cause>) {
    let [key, operator, value] = ["key", "operator", "value"].map(|field| text(toleration, field));
    let of_operator = format!("{path}.operator");
    if !key.is_empty() {
        invalid_each(&format!("{path}.key"), key, name::qualified(key), causes);
    } else if operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        causes.push(Cause::invalid(&of_operator, &json!(operator), detail));
    }
    if set(toleration, "tolerationSeconds").is_some() && text(toleration, "effect") != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.push(Cause::invalid(
            format!("{path}.effect"),
            &json!(text(toleration, "effect")),
            detail,
        ));
    }
    match operator {
        "" | "Equal" => {
            let wrong = name::label_value(value);
            if !wrong.is_empty() {
                causes.push(Cause::invalid(&of_operator, &json!(value), &wrong.join(";")));
            }
        }
        "Exists" if value.is_empty() => {}
        "Exists" => {
            let detail = "value must be empty when `operator` is 'Exists'";
            causes.push(Cause::invalid(&of_operator, &json!(value), detail));
        }
        // Numeric operators are behind a feature gate that is off by default.
        "Lt" | "Gt" => {
            let supported = ["Equal", "Exists", "Lt", "Gt"];
            causes.push(Cause::not_supported(&of_operator, &json!(operator), &supported));
        }
        other => causes.push(Cause::not_supported(&of_operator, &json!(other), &["Equal", "Exists"])),
    }
    node::effect(toleration, true, &format!("{path}.effect"), causes);
}
