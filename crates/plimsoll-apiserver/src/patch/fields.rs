//! Sets of field paths, as `metadata.managedFields[].fieldsV1` writes them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::schema::{self, ListType};
use crate::resource::Resource;

/// Steps from the root to a field: `f:name` for a field, `k:{…}` for the list entry with these keys, `v:…` for a
/// member of a set.
pub(super) type Path = Vec<String>;

/// A set of fields, in the order of their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet(pub(super) BTreeSet<Path>);

impl FieldSet {
    /// Every field that the object sets, without its identity and what the server alone writes.
    pub(super) fn of(kind: &Resource, object: &Value) -> Self {
        let mut set = Self::default();
        let Some(fields) = object.as_object() else { return set };
        let mut path = Path::new();
        for (name, value) in fields {
            if !matches!(name.as_str(), "apiVersion" | "kind") {
                set.collect(kind, "", name, value, &mut path);
            }
        }
        set.0.retain(|path| !is_server_owned(path));
        set
    }

    fn collect(&mut self, kind: &Resource, parent: &str, name: &str, value: &Value, path: &mut Path) {
        path.push(format!("f:{name}"));
        match value {
            Value::Object(fields) if !fields.is_empty() && !schema::map_is_atomic(name) => {
                for (inner, value) in fields {
                    self.collect(kind, name, inner, value, path);
                }
            }
            Value::Array(items) if !items.is_empty() => self.collect_list(kind, parent, name, items, path),
            _ => {
                self.0.insert(path.clone());
            }
        }
        path.pop();
    }

    fn collect_list(&mut self, kind: &Resource, parent: &str, name: &str, items: &[Value], path: &mut Path) {
        let list_type = schema::list_type(kind, parent, name);
        if list_type == ListType::Atomic {
            self.0.insert(path.clone());
            return;
        }
        for item in items {
            path.push(entry_step(list_type, item));
            self.0.insert(path.clone());
            if let (ListType::Map(_), Some(fields)) = (list_type, item.as_object()) {
                for (inner, value) in fields {
                    self.collect(kind, name, inner, value, path);
                }
            }
            path.pop();
        }
    }

    /// Reads `fieldsV1`.
    pub(super) fn from_value(fields: &Value) -> Self {
        let mut set = Self::default();
        read(fields, &mut Path::new(), &mut set.0);
        set
    }

    /// Writes `fieldsV1`.
    pub(super) fn to_value(&self) -> Value {
        let mut root = Map::new();
        for path in &self.0 {
            insert(&mut root, path);
        }
        Value::Object(root)
    }
}

fn read(node: &Value, path: &mut Path, into: &mut BTreeSet<Path>) {
    let Some(steps) = node.as_object() else { return };
    if steps.is_empty() && !path.is_empty() {
        into.insert(path.clone());
    }
    for (step, below) in steps {
        if step == "." {
            into.insert(path.clone());
        } else {
            path.push(step.clone());
            read(below, path, into);
            path.pop();
        }
    }
}

fn insert(node: &mut Map<String, Value>, path: &[String]) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    let below = node.entry(step.clone()).or_insert_with(|| Value::Object(Map::new()));
    let Some(below) = below.as_object_mut() else { return };
    if rest.is_empty() {
        return;
    }
    // A list entry that is owned itself and has owned fields says so with a dot.
    if (step.starts_with("k:") || step.starts_with("v:")) && !below.contains_key(".") {
        below.insert(".".to_owned(), Value::Object(Map::new()));
    }
    insert(below, rest);
}

/// The step that leads to an entry of a list.
pub(super) fn entry_step(list_type: ListType, item: &Value) -> String {
    match list_type {
        ListType::Map(keys) => {
            let named: Map<String, Value> = keys
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), item.get(key).cloned().or_else(|| default_key(key))?)))
                .collect();
            format!("k:{}", Value::Object(named))
        }
        ListType::Set | ListType::Atomic => format!("v:{item}"),
    }
}

fn default_key(key: &str) -> Option<Value> {
    (key == "protocol").then(|| Value::from("TCP"))
}

/// The value at a path.
pub(super) fn resolve<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |at, step| {
        if let Some(name) = step.strip_prefix("f:") {
            at.get(name)
        } else {
            at.as_array()?.iter().find(|item| is_entry(step, item))
        }
    })
}

/// Removes what is at a path, and the containers that this leaves empty.
pub(super) fn remove(root: &mut Value, path: &[String]) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    match root {
        Value::Object(fields) => {
            let Some(name) = step.strip_prefix("f:") else { return };
            let emptied = fields.get_mut(name).is_some_and(|below| {
                remove(below, rest);
                rest.is_empty() || is_empty(below)
            });
            if emptied {
                fields.remove(name);
            }
        }
        Value::Array(items) if rest.is_empty() => items.retain(|item| !is_entry(step, item)),
        Value::Array(items) => {
            if let Some(item) = items.iter_mut().find(|item| is_entry(step, item)) {
                remove(item, rest);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn is_entry(step: &str, item: &Value) -> bool {
    if let Some(keys) = step.strip_prefix("k:") {
        let Ok(Value::Object(keys)) = serde_json::from_str(keys) else {
            return false;
        };
        keys.iter().all(|(key, value)| {
            item.get(key) == Some(value) || (item.get(key).is_none() && default_key(key).as_ref() == Some(value))
        })
    } else {
        step.strip_prefix("v:")
            .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|v| v == *item))
    }
}

fn is_server_owned(path: &[String]) -> bool {
    const SERVER_OWNED: &[&str] = &[
        "f:name",
        "f:namespace",
        "f:uid",
        "f:resourceVersion",
        "f:generation",
        "f:creationTimestamp",
        "f:deletionTimestamp",
        "f:deletionGracePeriodSeconds",
        "f:managedFields",
        "f:selfLink",
    ];
    matches!(path, [metadata, field, ..] if metadata == "f:metadata" && SERVER_OWNED.contains(&field.as_str()))
}

/// A path as conflict messages print it: `.spec.containers[name="a"].image`.
pub(super) fn display(path: &[String]) -> String {
    path.iter().map(|step| display_step(step)).collect()
}

fn display_step(step: &str) -> String {
    if let Some(name) = step.strip_prefix("f:") {
        return format!(".{name}");
    }
    match step.strip_prefix("k:").map(serde_json::from_str) {
        Some(Ok(Value::Object(keys))) => {
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        _ => format!("[={}]", step.trim_start_matches("v:")),
    }
}
