//! `metadata` of every kind.

use serde_json::{Value, json};

use super::{invalid_each, list, map, name, same, set, text};
use crate::cause::Cause;
use crate::resource::Resource;

/// Annotations may hold 256 KiB in all.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Fields that no update may change.
const IMMUTABLE: &[&str] = &[
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

type NameRule = fn(&str) -> Vec<String>;

/// The rule for names of a kind.
fn name_rule(res: &Resource) -> NameRule {
    match (res.group, res.kind) {
        ("", "Namespace") => name::label,
        ("", "Service") => name::label_1035,
        ("rbac.authorization.k8s.io", _) => name::path_segment,
        _ => name::subdomain,
    }
}

/// Checks the metadata of an object that is being created; the name has been generated already.
pub(super) fn check(res: &Resource, obj: &Value, causes: &mut Vec<Cause>) {
    let metadata = obj.get("metadata").unwrap_or(&Value::Null);
    let rule = name_rule(res);
    let prefix = text(metadata, "generateName");
    if !prefix.is_empty() {
        // The dash before the generated part is not the end of the name.
        let masked = prefix.strip_suffix('-').map(|head| format!("{head}a"));
        invalid_each(
            "metadata.generateName",
            prefix,
            rule(masked.as_deref().unwrap_or(prefix)),
            causes,
        );
    }
    match text(metadata, "name") {
        "" => causes.push(Cause::required("metadata.name", "name or generateName is required")),
        given => invalid_each("metadata.name", given, rule(given), causes),
    }
    let namespace = text(metadata, "namespace");
    if !res.namespaced && !namespace.is_empty() {
        causes.push(Cause::forbidden("metadata.namespace", "not allowed on this type"));
    } else if res.namespaced {
        invalid_each("metadata.namespace", namespace, name::label(namespace), causes);
    }
    common(metadata, causes);
    for finalizer in list(metadata, "finalizers").iter().filter_map(Value::as_str) {
        invalid_each("metadata.finalizers", finalizer, name::qualified(finalizer), causes);
    }
}

/// Checks the metadata of an update.
pub(super) fn check_update(obj: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let metadata = obj.get("metadata").unwrap_or(&Value::Null);
    let before = old.get("metadata").unwrap_or(&Value::Null);
    if set(before, "deletionTimestamp").is_some() {
        no_new_finalizers(metadata, before, causes);
    }
    for field in IMMUTABLE {
        if !same(metadata.get(*field), before.get(*field)) {
            let value = metadata.get(*field).unwrap_or(&Value::Null);
            causes.push(Cause::invalid(format!("metadata.{field}"), value, "field is immutable"));
        }
    }
    common(metadata, causes);
}

fn no_new_finalizers(metadata: &Value, before: &Value, causes: &mut Vec<Cause>) {
    let old = list(before, "finalizers");
    let mut added: Vec<&str> = list(metadata, "finalizers")
        .iter()
        .filter(|f| !old.contains(f))
        .filter_map(Value::as_str)
        .collect();
    added.sort_unstable();
    if !added.is_empty() {
        let written: Vec<String> = added.iter().map(|f| format!("\"{f}\"")).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            written.join(", ")
        );
        causes.push(Cause::forbidden("metadata.finalizers", &detail));
    }
}

fn common(metadata: &Value, causes: &mut Vec<Cause>) {
    labels(metadata, "labels", "metadata.labels", causes);
    let mut size = 0;
    for (key, value) in map(metadata, "annotations") {
        // Case does not matter in the keys of annotations.
        invalid_each(
            "metadata.annotations",
            key,
            name::qualified(&key.to_lowercase()),
            causes,
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT));
    }
    for (at, owner) in list(metadata, "ownerReferences").iter().enumerate() {
        owner_reference(owner, &format!("metadata.ownerReferences[{at}]"), causes);
    }
}

fn owner_reference(owner: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (field, detail) in [
        ("apiVersion", "version must not be empty"),
        ("kind", "must not be empty"),
        ("name", "must not be empty"),
        ("uid", "must not be empty"),
    ] {
        if text(owner, field).is_empty() {
            causes.push(Cause::invalid(format!("{path}.{field}"), &json!(""), detail));
        }
    }
}

/// Checks the labels (or node selector) under `field`.
pub(super) fn labels(object: &Value, field: &str, path: &str, causes: &mut Vec<Cause>) {
    for (key, value) in map(object, field) {
        invalid_each(path, key, name::qualified(key), causes);
        let value = value.as_str().unwrap_or("");
        invalid_each(path, value, name::label_value(value), causes);
    }
}

/// Checks a label selector.
pub(super) fn label_selector(selector: &Value, path: &str, causes: &mut Vec<Cause>) {
    labels(selector, "matchLabels", &format!("{path}.matchLabels"), causes);
    for (at, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        let values = list(requirement, "values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => causes.push(Cause::required(
                format!("{path}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => causes.push(Cause::forbidden(
                format!("{path}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => causes.push(Cause::invalid(
                format!("{path}.operator"),
                &json!(other),
                "not a valid selector operator",
            )),
        }
        let key = text(requirement, "key");
        invalid_each(&format!("{path}.key"), key, name::qualified(key), causes);
        for (at, value) in values.iter().filter_map(Value::as_str).enumerate() {
            invalid_each(&format!("{path}.values[{at}]"), value, name::label_value(value), causes);
        }
    }
}
