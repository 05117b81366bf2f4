//! The cells of every kind but pods.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;

/// The string at `pointer`, empty when there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// The integer at `pointer`.
pub(super) fn number(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}

/// The list at `pointer`, empty when there is none.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn or<'a>(value: &'a str, instead: &'a str) -> &'a str {
    if value.is_empty() { instead } else { value }
}

fn name(object: &Value) -> Value {
    json!(text(object, "/metadata/name"))
}

pub(super) fn other(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), age::cell(object, now)]
}

pub(super) fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    let entries = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_object)
            .map_or(0, serde_json::Map::len)
    };
    let count = entries("data") + entries("binaryData");
    vec![name(object), json!(count), age::cell(object, now)]
}

pub(super) fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(text(object, "/status/phase")),
        age::cell(object, now),
    ]
}

pub(super) fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(text(object, "/spec/holderIdentity")),
        age::cell(object, now),
    ]
}

pub(super) fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let address = |kind: &str| {
        let found = items(object, "/status/addresses")
            .iter()
            .find(|a| text(a, "/type") == kind);
        json!(found.map_or("<none>", |a| text(a, "/address")))
    };
    let info = |field: &str| text(object, &format!("/status/nodeInfo/{field}"));
    let mut kernel = or(info("kernelVersion"), "<unknown>").to_owned();
    if !info("architecture").is_empty() {
        kernel = format!("{kernel} ({})", info("architecture"));
    }
    vec![
        name(object),
        json!(node_status(object)),
        json!(node_roles(object)),
        age::cell(object, now),
        json!(info("kubeletVersion")),
        address("InternalIP"),
        address("ExternalIP"),
        json!(or(info("osImage"), "<unknown>")),
        json!(kernel),
        json!(or(info("containerRuntimeVersion"), "<unknown>")),
    ]
}

fn node_status(node: &Value) -> String {
    let ready = items(node, "/status/conditions")
        .iter()
        .find(|c| text(c, "/type") == "Ready");
    let status = match ready.map(|c| text(c, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        format!("{status},SchedulingDisabled")
    } else {
        status.to_owned()
    }
}

fn node_roles(node: &Value) -> String {
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let roles: BTreeSet<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    let roles = roles.into_iter().collect::<Vec<_>>().join(",");
    or(&roles, "<none>").to_owned()
}

pub(super) fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    // One object is read under both groups' field names: core v1 and events.k8s.io.
    let either = |old: &str, new: &str| {
        let old_text = text(object, old);
        if old_text.is_empty() {
            text(object, new)
        } else {
            old_text
        }
        .to_owned()
    };
    let at = |old: &str, new: &str| {
        let pointer = if text(object, old).is_empty() { new } else { old };
        (!text(object, pointer).is_empty()).then(|| age::since(object, pointer, now))
    };
    let event_time = || at("/eventTime", "/eventTime").unwrap_or_else(|| "<unknown>".to_owned());
    let first = at("/firstTimestamp", "/deprecatedFirstTimestamp").unwrap_or_else(event_time);
    let series = at("/series/lastObservedTime", "/series/lastObservedTime");
    let last = series
        .or_else(|| at("/lastTimestamp", "/deprecatedLastTimestamp"))
        .unwrap_or_else(|| first.clone());
    let count = number(object, "/series/count")
        .or_else(|| number(object, "/count"))
        .or_else(|| number(object, "/deprecatedCount"))
        .filter(|count| *count != 0)
        .unwrap_or(1);
    let kind = either("/involvedObject/kind", "/regarding/kind").to_lowercase();
    let target = match either("/involvedObject/name", "/regarding/name").as_str() {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        json!(last),
        json!(text(object, "/type")),
        json!(text(object, "/reason")),
        json!(target),
        json!(either("/involvedObject/fieldPath", "/regarding/fieldPath")),
        json!(event_source(object)),
        json!(either("/message", "/note").trim()),
        json!(first),
        json!(count),
        name(object),
    ]
}

fn event_source(event: &Value) -> String {
    let first_of = |pointers: [&str; 3]| {
        let found = pointers.into_iter().map(|p| text(event, p)).find(|t| !t.is_empty());
        found.unwrap_or("").to_owned()
    };
    let component = first_of([
        "/source/component",
        "/deprecatedSource/component",
        "/reportingComponent",
    ]);
    let component = or(&component, text(event, "/reportingController")).to_owned();
    let host = first_of(["/source/host", "/deprecatedSource/host", "/reportingInstance"]);
    if host.is_empty() {
        component
    } else {
        format!("{component}, {host}")
    }
}

pub(super) fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let ports: Vec<String> = items(object, "/spec/ports").iter().map(service_port).collect();
    let ports = ports.join(",");
    vec![
        name(object),
        json!(text(object, "/spec/type")),
        json!(or(text(object, "/spec/clusterIPs/0"), "<none>")),
        json!(external_address(object)),
        json!(or(&ports, "<none>")),
        age::cell(object, now),
        json!(pairs(object.pointer("/spec/selector"), "<none>")),
    ]
}

fn service_port(port: &Value) -> String {
    let number_of = |field| number(port, field).unwrap_or(0);
    let protocol = text(port, "/protocol");
    match number_of("/nodePort") {
        0 => format!("{}/{protocol}", number_of("/port")),
        node_port => format!("{}:{node_port}/{protocol}", number_of("/port")),
    }
}

fn external_address(service: &Value) -> String {
    let listed: Vec<&str> = items(service, "/spec/externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let ingress: BTreeSet<&str> = items(service, "/status/loadBalancer/ingress")
        .iter()
        .map(|i| or(text(i, "/ip"), text(i, "/hostname")))
        .filter(|a| !a.is_empty())
        .collect();
    match text(service, "/spec/type") {
        "ClusterIP" | "NodePort" => or(&listed.join(","), "<none>").to_owned(),
        "LoadBalancer" => {
            let all: Vec<&str> = ingress.into_iter().chain(listed).collect();
            or(&all.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// `key=value` pairs in key order.
fn pairs(map: Option<&Value>, when_empty: &str) -> String {
    let pairs: Vec<String> = map
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
        .collect();
    or(&pairs.join(","), when_empty).to_owned()
}

/// A label selector as `kubectl` writes it.
fn label_selector(selector: Option<&Value>, when_empty: &str) -> String {
    let Some(selector) = selector else {
        return when_empty.to_owned();
    };
    let mut parts: Vec<(String, String)> = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or(""))))
        .collect();
    for expression in items(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let mut values: Vec<&str> = items(expression, "/values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let written = match text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), written));
    }
    parts.sort();
    let written: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    or(&written.join(","), when_empty).to_owned()
}

fn joined(object: &Value, field: &str) -> Value {
    let values: Vec<&str> = items(object, "/spec/template/spec/containers")
        .iter()
        .map(|c| text(c, field))
        .collect();
    json!(values.join(","))
}

pub(super) fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let count = |pointer| number(object, pointer).unwrap_or(0);
    vec![
        name(object),
        json!(format!(
            "{}/{}",
            count("/status/readyReplicas"),
            count("/spec/replicas")
        )),
        json!(count("/status/updatedReplicas")),
        json!(count("/status/availableReplicas")),
        age::cell(object, now),
        joined(object, "/name"),
        joined(object, "/image"),
        json!(label_selector(object.pointer("/spec/selector"), "")),
    ]
}

pub(super) fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let count = |pointer| json!(number(object, pointer).unwrap_or(0));
    vec![
        name(object),
        count("/spec/replicas"),
        count("/status/replicas"),
        count("/status/readyReplicas"),
        age::cell(object, now),
        joined(object, "/name"),
        joined(object, "/image"),
        json!(label_selector(object.pointer("/spec/selector"), "<none>")),
    ]
}
