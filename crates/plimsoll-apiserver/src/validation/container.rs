//! Containers: names, images, ports and resources.

use std::collections::BTreeSet;

use plimsoll_model::Quantity;
use serde_json::{Value, json};

use super::{invalid_each, list, map, name, text};
use crate::cause::Cause;

const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];

/// Checks the containers of one pod, main and init.
pub(super) fn check_all(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let containers = list(spec, "containers");
    if containers.is_empty() {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for (field, list) in [
        ("containers", containers),
        ("initContainers", list(spec, "initContainers")),
    ] {
        for (at, container) in list.iter().enumerate() {
            let path = format!("{path}.{field}[{at}]");
            check(container, &path, causes);
            let given = text(container, "name");
            if !names.insert(given) {
                causes.push(Cause::duplicate(format!("{path}.name"), &json!(given), ""));
            }
        }
    }
    host_ports_are_unique(containers, &format!("{path}.containers"), causes);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        host_ports_match(containers, &format!("{path}.containers"), causes);
    }
}

fn check(container: &Value, path: &str, causes: &mut Vec<Cause>) {
    match text(container, "name") {
        "" => causes.push(Cause::required(format!("{path}.name"), "")),
        given => invalid_each(&format!("{path}.name"), given, name::label(given), causes),
    }
    if text(container, "image").is_empty() {
        causes.push(Cause::required(format!("{path}.image"), ""));
    }
    let policy = text(container, "imagePullPolicy");
    if !policy.is_empty() && !PULL_POLICIES.contains(&policy) {
        causes.push(Cause::not_supported(
            format!("{path}.imagePullPolicy"),
            &json!(policy),
            PULL_POLICIES,
        ));
    }
    for (at, port) in list(container, "ports").iter().enumerate() {
        check_port(port, &format!("{path}.ports[{at}]"), causes);
    }
    let resources = container.get("resources").unwrap_or(&Value::Null);
    check_resources(resources, &format!("{path}.resources"), causes);
}

fn check_port(port: &Value, path: &str, causes: &mut Vec<Cause>) {
    let number = |field: &str| port.get(field).and_then(Value::as_i64).unwrap_or(0);
    let mut in_range = |field: &str| {
        if !(1..=65535).contains(&number(field)) {
            let detail = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(format!("{path}.{field}"), &json!(number(field)), detail));
        }
    };
    if number("containerPort") != 0 {
        in_range("containerPort");
    }
    if number("hostPort") != 0 {
        in_range("hostPort");
    }
    if number("containerPort") == 0 {
        causes.push(Cause::required(format!("{path}.containerPort"), ""));
    }
    let protocol = text(port, "protocol");
    if !protocol.is_empty() && !PROTOCOLS.contains(&protocol) {
        causes.push(Cause::not_supported(
            format!("{path}.protocol"),
            &json!(protocol),
            PROTOCOLS,
        ));
    }
}

fn host_ports_are_unique(containers: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (at, container) in containers.iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let host_port = port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
            let key = format!("{}/{}/{host_port}", text(port, "protocol"), text(port, "hostIP"));
            if host_port != 0 && !seen.insert(key.clone()) {
                let field = format!("{path}[{at}].ports[{index}].hostPort");
                causes.push(Cause::duplicate(field, &json!(key), ""));
            }
        }
    }
}

fn host_ports_match(containers: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, container) in containers.iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let host_port = port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
            if host_port != 0 && Some(host_port) != port.get("containerPort").and_then(Value::as_i64) {
                let field = format!("{path}[{at}].ports[{index}].hostPort");
                let detail = "must match `containerPort` when `hostNetwork` is true";
                causes.push(Cause::invalid(field, &json!(host_port), detail));
            }
        }
    }
}

/// Checks resource requests and limits: known names, quantities, requests within limits.
pub(super) fn check_resources(resources: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (resource, amount) in map(resources, "limits") {
        let field = format!("{path}.limits[{resource}]");
        resource_name(resource, &field, causes);
        quantity(resource, amount, &field, causes);
    }
    for (resource, amount) in map(resources, "requests") {
        let field = format!("{path}.requests[{resource}]");
        resource_name(resource, &field, causes);
        let Some(request) = quantity(resource, amount, &field, causes) else {
            continue;
        };
        let limit = resources.get("limits").and_then(|l| l.get(resource)).and_then(parse);
        check_against_limit(resource, &request, limit.as_ref(), path, causes);
    }
}

fn check_against_limit(
    resource: &str,
    request: &Quantity,
    limit: Option<&Quantity>,
    path: &str,
    causes: &mut Vec<Cause>,
) {
    let overcommit = is_native(resource) && !resource.starts_with("hugepages-");
    let requests = format!("{path}.requests");
    match limit {
        Some(limit) if request != limit && !overcommit => {
            let detail = format!("must be equal to {resource} limit of {limit}");
            causes.push(Cause::invalid(requests, &json!(request.to_string()), &detail));
        }
        Some(limit) if request > limit => {
            let detail = format!("must be less than or equal to {resource} limit of {limit}");
            causes.push(Cause::invalid(requests, &json!(request.to_string()), &detail));
        }
        None if !overcommit => {
            let detail = "Limit must be set for non overcommitable resources";
            causes.push(Cause::required(format!("{path}.limits"), detail));
        }
        _ => {}
    }
}

/// Whether a resource is Kubernetes' own rather than an extended one.
fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

fn resource_name(resource: &str, path: &str, causes: &mut Vec<Cause>) {
    let wrong = name::qualified(resource);
    let is_bare = !resource.contains('/');
    let is_standard = matches!(resource, "cpu" | "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
    if !wrong.is_empty() {
        invalid_each(path, resource, wrong, causes);
    } else if is_bare && !is_standard {
        let value = json!(resource);
        causes.push(Cause::invalid(
            path,
            &value,
            "must be a standard resource type or fully qualified",
        ));
        causes.push(Cause::invalid(
            path,
            &value,
            "must be a standard resource for containers",
        ));
    }
}

/// The message of the real decoder when a container list is no list or a quantity none.
pub(super) fn undecodable(spec: &Value) -> Option<String> {
    if let Some(wrong) = undecodable_quantity(spec, "overhead") {
        return Some(wrong);
    }
    for field in ["containers", "initContainers"] {
        let containers = spec.get(field).filter(|c| !c.is_null());
        if let Some(given) = containers.filter(|c| !c.is_array()) {
            let given = json_type(given);
            return Some(format!(
                "json: cannot unmarshal {given} into Go struct field PodSpec.spec.{field} of type []v1.Container"
            ));
        }
        for container in list(spec, field) {
            let resources = container.get("resources").unwrap_or(&Value::Null);
            let wrong = ["requests", "limits"]
                .into_iter()
                .find_map(|f| undecodable_quantity(resources, f));
            if wrong.is_some() {
                return wrong;
            }
        }
    }
    None
}

/// What the real decoder calls a value's type.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Object(_) => "object",
        Value::Array(_) | Value::Null => "array",
    }
}

/// The message of the real decoder when the resource list under `field` holds something that is no quantity.
pub(super) fn undecodable_quantity(holder: &Value, field: &str) -> Option<String> {
    let wrong = map(holder, field).any(|(_, amount)| parse(amount).is_none());
    wrong.then(|| NOT_A_QUANTITY.to_owned())
}

/// A quantity, if it is one.
pub(super) fn parse(amount: &Value) -> Option<Quantity> {
    match amount {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// Checks one quantity and returns it when it can be read.
pub(super) fn quantity(resource: &str, amount: &Value, path: &str, causes: &mut Vec<Cause>) -> Option<Quantity> {
    let Some(quantity) = parse(amount) else {
        causes.push(Cause::invalid(path, amount, NOT_A_QUANTITY));
        return None;
    };
    let written = json!(quantity.to_string());
    if quantity < Quantity::default() {
        causes.push(Cause::invalid(path, &written, "must be greater than or equal to 0"));
    }
    let whole = resource == "pods" || !is_native(resource) || resource.starts_with("hugepages-");
    if whole && quantity.milli_value() % 1000 != 0 {
        causes.push(Cause::invalid(path, &written, "must be an integer"));
    }
    Some(quantity)
}
