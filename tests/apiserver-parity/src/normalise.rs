//! Replaces what two servers can never agree on by what it means.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Fields whose times the server sets.
const SERVER_TIMES: &[&str] = &[
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastProbeTime",
    "lastPhaseTransitionTime",
];

/// Fields that hold addresses the server hands out.
const ADDRESSES: &[&str] = &["clusterIP", "serverAddress"];

/// What one server has told so far.
#[derive(Debug, Default)]
pub(crate) struct Normaliser {
    /// Captured values by name.
    captured: BTreeMap<&'static str, String>,
    /// The last version seen of each object, by UID.
    versions: BTreeMap<String, u64>,
    /// The highest version seen of any object.
    highest: u64,
}

impl Normaliser {
    pub(crate) fn capture(&mut self, name: &'static str, value: String) {
        self.captured.insert(name, value);
    }

    /// Puts captured values in the place of `${name}`.
    pub(crate) fn expand(&self, text: &str) -> String {
        self.captured.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), value)
        })
    }

    /// Normalises the body of an answer.
    pub(crate) fn answer(&mut self, mut body: Value) -> Value {
        if body.get("items").is_some_and(Value::is_array) || body["kind"] == "Table" {
            self.list_version(&mut body);
        }
        self.value("", &mut body);
        body
    }

    /// Normalises one event of a watch.
    pub(crate) fn event(&mut self, mut event: Value) -> Value {
        if event["type"] == "BOOKMARK" {
            self.list_version(&mut event["object"]);
            // The rest of a bookmark's object is an artefact of its Go type.
            let metadata = event["object"]["metadata"].clone();
            let kind = event["object"]["kind"].clone();
            event["object"] = json!({"kind": kind, "metadata": metadata});
        }
        self.value("", &mut event);
        event
    }

    /// A list's version says how it relates to what has been seen, or that it is a captured one.
    fn list_version(&mut self, list: &mut Value) {
        let Some(version) = list.pointer_mut("/metadata/resourceVersion") else {
            return;
        };
        let Some(number) = version.as_str().and_then(|v| v.parse::<u64>().ok()) else {
            return;
        };
        let page = self
            .captured
            .iter()
            .find(|(name, value)| name.starts_with("page") && **value == number.to_string());
        *version = match page {
            Some((name, _)) => json!(format!("the version ${{{name}}}")),
            None if number >= self.highest => json!("not older than anything seen"),
            None => json!("older than something seen"),
        };
    }

    fn value(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => self.object(name, fields),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(name, item)),
            Value::String(text) => *text = self.text(name, text),
            _ => {}
        }
    }

    fn object(&mut self, name: &str, fields: &mut Map<String, Value>) {
        if name == "metadata" {
            fields.remove("managedFields");
            self.object_version(fields);
        }
        // Go writes some absent values as null.
        fields.retain(|_, value| !value.is_null());
        for (field, value) in fields.iter_mut() {
            match field.as_str() {
                "uid" => self.uid(value),
                "cells" => ages(value),
                "causes" => unique(value),
                "disruptedPods" => times(value),
                "continue" if value != "" => *value = json!("<a continue token>"),
                // The description of a table's column is prose.
                "description" if name == "columnDefinitions" => *value = json!("<prose>"),
                "serverRelativeURL" => *value = json!("<a URL with a hash>"),
                _ => self.value(field, value),
            }
        }
    }

    fn uid(&self, value: &mut Value) {
        let Some(uid) = value.as_str().filter(|u| !u.is_empty()) else {
            return;
        };
        let known = self.captured.iter().find(|(_, captured)| *captured == uid);
        *value = match known {
            Some((name, _)) => json!(format!("the UID ${{{name}}}")),
            None => json!("<a UID>"),
        };
    }

    fn object_version(&mut self, metadata: &mut Map<String, Value>) {
        let uid = metadata.get("uid").and_then(Value::as_str).unwrap_or("").to_owned();
        let Some(version) = metadata.get_mut("resourceVersion") else {
            return;
        };
        let Some(number) = version.as_str().and_then(|v| v.parse::<u64>().ok()) else {
            return;
        };
        self.highest = self.highest.max(number);
        let before = self.versions.insert(uid, number);
        *version = json!(match before {
            None => "the first seen",
            Some(before) if before == number => "unchanged",
            Some(before) if before < number => "higher",
            Some(_) => "lower",
        });
    }

    fn text(&self, name: &str, text: &str) -> String {
        if SERVER_TIMES.contains(&name) && !text.is_empty() {
            return "<a time>".to_owned();
        }
        if ADDRESSES.contains(&name) && !matches!(text, "" | "None") {
            return "<an address>".to_owned();
        }
        if name == "clusterIPs" && text != "None" {
            return "<an address>".to_owned();
        }
        let is_prose = text.contains(' ') || name == "name";
        let lower = text.to_lowercase();
        let is_about_versions = is_prose && (lower.contains("resource version") || lower.contains("resourceversion"));
        let is_named = |value: &str| is_prose && value.len() > 2 && value.parse::<u64>().is_err();
        let mut captured: Vec<_> = self.captured.iter().filter(|(_, value)| is_named(value)).collect();
        captured.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let named = captured.into_iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(value.as_str(), &format!("${{{name}}}"))
        });
        if is_about_versions {
            without_numbers(&named)
        } else {
            named
        }
    }
}

/// Ages in the cells of a table depend on how fast the script was played.
fn ages(cells: &mut Value) {
    for cell in cells.as_array_mut().into_iter().flatten() {
        let is_age = cell
            .as_str()
            .and_then(|c| c.strip_suffix('s'))
            .is_some_and(|n| n.parse::<u32>().is_ok());
        if is_age {
            *cell = json!("<seconds>");
        }
    }
}

/// A map whose values are times that the server sets.
fn times(map: &mut Value) {
    for (_, time) in map.as_object_mut().into_iter().flatten() {
        *time = json!("<a time>");
    }
}

/// The real server checks some fields twice and then lists each cause twice.
fn unique(causes: &mut Value) {
    if let Some(causes) = causes.as_array_mut() {
        let mut seen: Vec<Value> = Vec::new();
        causes.retain(|cause| {
            let is_new = !seen.contains(cause);
            seen.push(cause.clone());
            is_new
        });
    }
}

/// Messages about versions name numbers that no two servers share.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('N') {
            out.push('N');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_become_relations() {
        let mut normaliser = Normaliser::default();
        let pod = |version: &str| json!({"metadata": {"uid": "u", "resourceVersion": version}});
        let mut relation = |version: &str| normaliser.answer(pod(version))["metadata"]["resourceVersion"].clone();
        assert_eq!(relation("5"), "the first seen");
        assert_eq!(relation("5"), "unchanged");
        assert_eq!(relation("7"), "higher");
        assert_eq!(relation("6"), "lower");
        let list = |version: &str| json!({"items": [], "metadata": {"resourceVersion": version}});
        let mut relation = |version: &str| normaliser.answer(list(version))["metadata"]["resourceVersion"].clone();
        assert_eq!(relation("7"), "not older than anything seen");
        assert_eq!(relation("6"), "older than something seen");
    }

    #[test]
    fn captured_values_are_named_in_prose_and_expanded_in_requests() {
        let mut normaliser = Normaliser::default();
        normaliser.capture("pod.uid", "0123-4567".to_owned());
        assert_eq!(normaliser.expand("/x?uid=${pod.uid}"), "/x?uid=0123-4567");
        let answer = normaliser.answer(json!({"message": "no 0123-4567 here", "uid": "0123-4567"}));
        assert_eq!(
            answer,
            json!({"message": "no ${pod.uid} here", "uid": "the UID ${pod.uid}"})
        );
    }
}
