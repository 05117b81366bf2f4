//! Node affinity, pod affinity and topology spread.

use serde_json::{Value, json};

use super::metadata::label_selector;
use super::{invalid_each, list, name, set, text};
use crate::cause::Cause;

pub(super) fn check(affinity: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(node) = set(affinity, "nodeAffinity") {
        node_affinity(node, &format!("{path}.nodeAffinity"), causes);
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        if let Some(pod) = set(affinity, field) {
            pod_affinity(pod, &format!("{path}.{field}"), causes);
        }
    }
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn node_affinity(affinity: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(required) = set(affinity, REQUIRED) {
        node_selector(required, &format!("{path}.{REQUIRED}"), causes);
    }
    for (at, preferred) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{at}]");
        weight(preferred, &path, causes);
        let term = preferred.get("preference").unwrap_or(&Value::Null);
        node_term(term, false, &format!("{path}.preference"), causes);
    }
}

/// Checks a node selector of which one term must match.
pub(super) fn node_selector(selector: &Value, path: &str, causes: &mut Vec<Cause>) {
    let path = format!("{path}.nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        causes.push(Cause::required(&path, "must have at least one node selector term"));
    }
    for (at, term) in terms.iter().enumerate() {
        node_term(term, true, &format!("{path}[{at}]"), causes);
    }
}

fn weight(weighted: &Value, path: &str, causes: &mut Vec<Cause>) {
    let weight = weighted.get("weight").and_then(Value::as_i64).unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        causes.push(Cause::invalid(format!("{path}.weight"), &json!(weight), detail));
    }
}

fn node_term(term: &Value, check_values: bool, path: &str, causes: &mut Vec<Cause>) {
    for (at, requirement) in list(term, "matchExpressions").iter().enumerate() {
        node_requirement(
            requirement,
            check_values,
            &format!("{path}.matchExpressions[{at}]"),
            causes,
        );
    }
    for (at, requirement) in list(term, "matchFields").iter().enumerate() {
        field_requirement(requirement, &format!("{path}.matchFields[{at}]"), causes);
    }
}

fn node_requirement(requirement: &Value, check_values: bool, path: &str, causes: &mut Vec<Cause>) {
    let values = list(requirement, "values");
    let of_values = format!("{path}.values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            causes.push(Cause::required(
                of_values,
                "must be specified when `operator` is 'In' or 'NotIn'",
            ));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => causes.push(Cause::forbidden(
            of_values,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if values.len() != 1 => causes.push(Cause::required(
            of_values,
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => invalid_operator(other, path, causes),
    }
    let key = text(requirement, "key");
    invalid_each(&format!("{path}.key"), key, name::qualified(key), causes);
    if check_values {
        for (at, value) in values.iter().filter_map(Value::as_str).enumerate() {
            invalid_each(&format!("{path}.values[{at}]"), value, name::label_value(value), causes);
        }
    }
}

fn invalid_operator(operator: &str, path: &str, causes: &mut Vec<Cause>) {
    let detail = "not a valid selector operator";
    causes.push(Cause::invalid(format!("{path}.operator"), &json!(operator), detail));
}

fn field_requirement(requirement: &Value, path: &str, causes: &mut Vec<Cause>) {
    let values = list(requirement, "values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.len() != 1 => causes.push(Cause::required(
            format!("{path}.values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )),
        "In" | "NotIn" => {}
        other => invalid_operator(other, path, causes),
    }
    match text(requirement, "key") {
        "metadata.name" => {
            for (at, value) in values.iter().filter_map(Value::as_str).enumerate() {
                invalid_each(&format!("{path}.values[{at}]"), value, name::subdomain(value), causes);
            }
        }
        other => causes.push(Cause::invalid(
            format!("{path}.key"),
            &json!(other),
            "not a valid field selector key",
        )),
    }
}

fn pod_affinity(affinity: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (at, term) in list(affinity, REQUIRED).iter().enumerate() {
        pod_term(term, &format!("{path}.{REQUIRED}[{at}]"), causes);
    }
    for (at, preferred) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{at}]");
        weight(preferred, &path, causes);
        let term = preferred.get("podAffinityTerm").unwrap_or(&Value::Null);
        pod_term(term, &format!("{path}.podAffinityTerm"), causes);
    }
}

fn pod_term(term: &Value, path: &str, causes: &mut Vec<Cause>) {
    for field in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = set(term, field) {
            label_selector(selector, &format!("{path}.{field}"), causes);
        }
    }
    for namespace in list(term, "namespaces").iter().filter_map(Value::as_str) {
        invalid_each(&format!("{path}.namespace"), namespace, name::label(namespace), causes);
    }
    let key = text(term, "topologyKey");
    let path = format!("{path}.topologyKey");
    if key.is_empty() {
        causes.push(Cause::required(&path, "can not be empty"));
    }
    invalid_each(&path, key, name::qualified(key), causes);
}

pub(super) fn check_spread(constraints: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, constraint) in constraints.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let skew = constraint.get("maxSkew").and_then(Value::as_i64).unwrap_or(0);
        if skew <= 0 {
            causes.push(Cause::invalid(
                format!("{path}.maxSkew"),
                &json!(skew),
                "must be greater than zero",
            ));
        }
        let key = text(constraint, "topologyKey");
        if key.is_empty() {
            causes.push(Cause::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        let action = text(constraint, "whenUnsatisfiable");
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action) {
            causes.push(Cause::not_supported(
                format!("{path}.whenUnsatisfiable"),
                &json!(action),
                &actions,
            ));
        }
        let repeated = constraints[at + 1..]
            .iter()
            .any(|c| text(c, "topologyKey") == key && text(c, "whenUnsatisfiable") == action);
        if repeated {
            let pair = json!(format!("{{{key}, {action}}}"));
            causes.push(Cause::duplicate(
                format!("{path}.{{topologyKey, whenUnsatisfiable}}"),
                &pair,
                "",
            ));
        }
        if let Some(selector) = set(constraint, "labelSelector") {
            label_selector(selector, &format!("{path}.labelSelector"), causes);
        }
    }
}
