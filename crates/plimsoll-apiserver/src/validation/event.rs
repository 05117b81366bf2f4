//! Events of both groups: the strict rules hold for `events.k8s.io` only.

use serde_json::{Value, json};

use super::{invalid_each, name, same, set, text};
use crate::cause::Cause;
use crate::resource::Resource;

/// Longest `reportingInstance`, `action` and `reason`.
const SHORT: usize = 128;
/// Longest note.
const NOTE: usize = 1024;

/// The same field in `events.k8s.io` and in core events, and the name that messages use.
struct Names {
    regarding: &'static str,
    controller: &'static str,
    note: &'static str,
}

const NEW: Names = Names {
    regarding: "regarding",
    controller: "reportingController",
    note: "note",
};
const CORE: Names = Names {
    regarding: "involvedObject",
    controller: "reportingComponent",
    note: "message",
};

/// Fields of an event that no update may change, as `events.k8s.io` and as messages name them.
const IMMUTABLE: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

pub(super) fn check(res: &Resource, event: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let is_new = !res.group.is_empty();
    legacy(event, if is_new { &NEW } else { &CORE }, causes);
    if !is_new {
        return;
    }
    if old.is_none_or(|old| old.get("series") != event.get("series")) {
        series(event, causes);
    }
    match old {
        None => strict(event, causes),
        Some(old) => {
            for (field, shown) in IMMUTABLE {
                if !same(event.get(*field), old.get(*field)) {
                    let value = event.get(*field).unwrap_or(&Value::Null);
                    causes.push(Cause::invalid(*shown, value, "field is immutable"));
                }
            }
        }
    }
}

fn legacy(event: &Value, names: &Names, causes: &mut Vec<Cause>) {
    let own = event
        .pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or("");
    let regarding = event.get(names.regarding).unwrap_or(&Value::Null);
    let about = text(regarding, "namespace");
    let is_timed = set(event, "eventTime").is_some();
    let agrees = match (about, is_timed) {
        ("", false) => own == "default",
        ("", true) => matches!(own, "default" | "kube-system"),
        (_, false) => about == own,
        (_, true) => true,
    };
    if !agrees {
        let detail = "does not match event.namespace";
        causes.push(Cause::invalid("involvedObject.namespace", &json!(about), detail));
    }
    if !is_timed {
        return;
    }
    let controller = text(event, names.controller);
    if controller.is_empty() {
        causes.push(Cause::required(names.controller, ""));
    }
    invalid_each(names.controller, controller, name::qualified(controller), causes);
    for field in ["reportingInstance", "action", "reason"] {
        if text(event, field).is_empty() {
            causes.push(Cause::required(field, ""));
        }
        at_most(field, text(event, field), SHORT, causes);
    }
    at_most("message", text(event, names.note), NOTE, causes);
}

fn at_most(field: &str, value: &str, limit: usize, causes: &mut Vec<Cause>) {
    if value.len() > limit {
        let detail = format!("can have at most {limit} characters");
        causes.push(Cause::invalid(field, &json!(""), &detail));
    }
}

fn series(event: &Value, causes: &mut Vec<Cause>) {
    let Some(series) = set(event, "series") else { return };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        causes.push(Cause::invalid("series.count", &json!(""), "should be at least 2"));
    }
    if set(series, "lastObservedTime").is_none() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}

fn strict(event: &Value, causes: &mut Vec<Cause>) {
    if set(event, "eventTime").is_none() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        causes.push(Cause::invalid(
            "type",
            &json!(""),
            &format!("has invalid value: {kind}"),
        ));
    }
    for (field, shown) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
    ] {
        if set(event, field).is_some() {
            causes.push(Cause::invalid(shown, &json!(""), "needs to be unset"));
        }
    }
    if event.get("deprecatedCount").and_then(Value::as_i64).unwrap_or(0) != 0 {
        causes.push(Cause::invalid("count", &json!(""), "needs to be unset"));
    }
    let source = event.get("deprecatedSource").unwrap_or(&Value::Null);
    if !text(source, "component").is_empty() || !text(source, "host").is_empty() {
        causes.push(Cause::invalid("source", &json!(""), "needs to be unset"));
    }
}
