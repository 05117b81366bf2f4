//! What kube-apiserver 1.36 refuses with 422, for the kinds a scheduler and its users write, in its words.
//!
//! Metadata of every kind is checked; specs are checked for pods and pod templates, nodes, volumes and claims and the kinds
//! of `storage.k8s.io`, priority classes, leases and workload selectors. What is not checked is admitted: `docs/embedded-api-server.md` says so.

mod affinity;
mod container;
mod event;
mod metadata;
mod name;
mod node;
mod pod;
mod pod_update;
mod storage;
mod volume;

use serde_json::{Map, Value, json};

use crate::cause::Cause;
use crate::resource::Resource;

/// Highest value of a priority class that users may make.
const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;

/// Checks an object that is to be stored; `old` is what it replaces.
///
/// # Errors
/// One cause per broken field.
pub fn validate(res: &Resource, obj: &Value, old: Option<&Value>) -> Result<(), Vec<Cause>> {
    let mut causes = Vec::new();
    match old {
        None => metadata::check(res, obj, &mut causes),
        Some(old) => metadata::check_update(obj, old, &mut causes),
    }
    match (res.group, res.kind) {
        ("", "Pod") => match old {
            None => pod::check_create(obj, &mut causes),
            Some(old) => pod_update::check(obj, old, &mut causes),
        },
        ("", "Node") => node::check(obj, old, &mut causes),
        ("", "PersistentVolume") => volume::check_volume(obj, old, &mut causes),
        ("", "PersistentVolumeClaim") => volume::check_claim(obj, old, &mut causes),
        ("storage.k8s.io", kind) => storage::check(kind, obj, old, &mut causes),
        ("" | "events.k8s.io", "Event") => event::check(res, obj, old, &mut causes),
        ("", "ReplicationController") | ("apps" | "batch", _) => workload(res, obj, old, &mut causes),
        ("scheduling.k8s.io", "PriorityClass") => priority_class(obj, old, &mut causes),
        ("coordination.k8s.io", "Lease") => lease(obj, &mut causes),
        _ => {}
    }
    if causes.is_empty() { Ok(()) } else { Err(causes) }
}

/// Checks an update of the `status` subresource.
///
/// # Errors
/// One cause per broken field.
pub fn validate_status(res: &Resource, obj: &Value, old: &Value) -> Result<(), Vec<Cause>> {
    let mut causes = Vec::new();
    metadata::check_update(obj, old, &mut causes);
    match (res.group, res.kind) {
        ("", "Pod") => pod_update::check_status(obj, old, &mut causes),
        ("", "Node") => node::check(obj, Some(old), &mut causes),
        _ => {}
    }
    if causes.is_empty() { Ok(()) } else { Err(causes) }
}

/// What is wrong with an object as a body: quantities that are none and fields of another type, for which the real
/// server's decoder refuses the whole request with 400. Only what scheduling turns on is looked at.
pub fn undecodable(res: &Resource, obj: &Value) -> Option<String> {
    let wrong = match (res.group, res.kind) {
        ("", "Pod") => container::undecodable(obj.get("spec")?),
        ("", "Node") => node::undecodable(obj.get("status")?),
        ("", "PersistentVolume" | "PersistentVolumeClaim") => volume::undecodable(obj),
        _ => None,
    }?;
    let (kind, version) = (res.kind, res.api_version());
    Some(format!(
        "{kind} in version \"{version}\" cannot be handled as a {kind}: {wrong}"
    ))
}

/// The string under `field`, empty when there is none.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or("")
}

/// The list under `field`, empty when there is none.
fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The map under `field`, empty when there is none.
fn map<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    object
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

/// A field that is set to something other than null.
fn set<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|v| !v.is_null())
}

/// Equal, with absent, null and empty containers all the same, as upstream's semantic equality has it.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    fn is_nothing(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }
    let a = a.filter(|v| !is_nothing(v));
    let b = b.filter(|v| !is_nothing(v));
    a == b
}

fn workload(res: &Resource, obj: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = obj.get("spec").unwrap_or(&Value::Null);
    let template = spec.get("template").unwrap_or(&Value::Null);
    if res.kind == "CronJob" {
        return;
    }
    if let Some(replicas) = spec.get("replicas").filter(|r| r.as_i64().is_some_and(|r| r < 0)) {
        causes.push(Cause::invalid(
            "spec.replicas",
            replicas,
            "must be greater than or equal to 0",
        ));
    }
    if res.group == "apps" {
        if set(spec, "selector").is_none() {
            causes.push(Cause::required("spec.selector", ""));
        } else if !selects_its_template(spec, template) {
            let labels = template.pointer("/metadata/labels").cloned().unwrap_or(Value::Null);
            let detail = "`selector` does not match template `labels`";
            causes.push(Cause::invalid("spec.template.metadata.labels", &labels, detail));
        }
        if let Some(old) = old
            && !same(spec.get("selector"), old.pointer("/spec/selector"))
        {
            let selector = spec.get("selector").unwrap_or(&Value::Null);
            causes.push(Cause::invalid("spec.selector", selector, "field is immutable"));
        }
    }
    if let Some(pod_spec) = set(template, "spec") {
        pod::check_spec(pod_spec, "spec.template.spec", causes);
    }
}

fn selects_its_template(spec: &Value, template: &Value) -> bool {
    let selector = spec.get("selector").unwrap_or(&Value::Null);
    map(selector, "matchLabels")
        .all(|(key, value)| template.pointer("/metadata/labels").and_then(|labels| labels.get(key)) == Some(value))
}

fn priority_class(obj: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let value = obj.get("value").and_then(Value::as_i64).unwrap_or(0);
    let name = obj.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("");
    if old.is_none() && !name.starts_with("system-") && value > HIGHEST_USER_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        causes.push(Cause::forbidden("value", &detail));
    }
    let policy = obj.get("preemptionPolicy").unwrap_or(&Value::Null);
    if policy
        .as_str()
        .is_some_and(|p| !matches!(p, "Never" | "PreemptLowerPriority"))
    {
        causes.push(Cause::not_supported(
            "preemptionPolicy",
            policy,
            &["Never", "PreemptLowerPriority"],
        ));
    }
    let Some(old) = old else { return };
    if old.get("value").and_then(Value::as_i64).unwrap_or(0) != value {
        causes.push(Cause::forbidden("value", "may not be changed in an update."));
    }
    if !same(obj.get("preemptionPolicy"), old.get("preemptionPolicy")) {
        causes.push(Cause::invalid("preemptionPolicy", policy, "field is immutable"));
    }
}

fn lease(obj: &Value, causes: &mut Vec<Cause>) {
    let spec = obj.get("spec").unwrap_or(&Value::Null);
    let at_most = |field: &str, limit: i64| spec.get(field).filter(|v| v.as_i64().is_some_and(|v| v <= limit));
    if let Some(seconds) = at_most("leaseDurationSeconds", 0) {
        causes.push(Cause::invalid(
            "spec.leaseDurationSeconds",
            seconds,
            "must be greater than 0",
        ));
    }
    if let Some(count) = at_most("leaseTransitions", -1) {
        causes.push(Cause::invalid(
            "spec.leaseTransitions",
            count,
            "must be greater than or equal to 0",
        ));
    }
    if !text(spec, "preferredHolder").is_empty() && text(spec, "strategy").is_empty() {
        let detail = "may only be specified if `strategy` is defined";
        causes.push(Cause::forbidden("spec.preferredHolder", detail));
    }
}

/// One `Invalid` cause per message.
fn invalid_each(field: &str, value: &str, messages: Vec<String>, causes: &mut Vec<Cause>) {
    causes.extend(messages.into_iter().map(|m| Cause::invalid(field, &json!(value), &m)));
}

#[cfg(test)]
mod tests;
