//! Minimal server-side apply: ownership per manager, conflicts, removal of what a manager no longer applies.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::{self, FieldSet, Path};
use super::schema::{self, ListType};
use super::{PatchError, decode_yaml};
use crate::cause::Cause;
use crate::resource::Resource;

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    manager: String,
    operation: String,
    api_version: String,
    subresource: Option<String>,
    time: Option<Value>,
    fields: FieldSet,
}

impl Entry {
    fn from_value(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        Self {
            manager: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            subresource: Some(text("subresource")).filter(|s| !s.is_empty()),
            time: value.get("time").cloned(),
            fields: FieldSet::from_value(value.get("fieldsV1").unwrap_or(&Value::Null)),
        }
    }

    fn to_value(&self) -> Value {
        let mut entry = json!({
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_value(),
        });
        if let Some(subresource) = &self.subresource {
            entry["subresource"] = json!(subresource);
        }
        if let Some(time) = &self.time {
            entry["time"] = time.clone();
        }
        entry
    }

    fn is(&self, manager: &str, operation: &str, subresource: Option<&str>) -> bool {
        self.manager == manager && self.operation == operation && self.subresource.as_deref() == subresource
    }

    /// The manager as conflict messages name it.
    fn display(&self) -> String {
        let mut parts = vec![format!("{:?}", self.manager)];
        if let Some(subresource) = &self.subresource {
            parts.push(format!("with subresource {subresource:?}"));
        }
        if self.operation == "Update" {
            parts.push(format!("using {}", self.api_version));
        }
        parts.join(" ")
    }
}

/// Applies a whole configuration on behalf of `manager`.
pub(super) fn server_side_apply(
    kind: &Resource,
    current: Option<&Value>,
    body: &[u8],
    manager: &str,
    force: bool,
) -> Result<Value, PatchError> {
    let applied = decode_yaml(body)?;
    check_version(kind, &applied)?;
    let applied_fields = FieldSet::of(kind, &applied);
    let Some(live) = current else {
        let mut created = applied;
        write_entries(&mut created, &[new_entry(kind, manager, applied_fields)]);
        return Ok(created);
    };
    let mut entries = read_entries(live);
    let conflicts = conflicts(&entries, live, &applied, &applied_fields, manager);
    if !conflicts.is_empty() {
        if !force {
            return Err(conflict_error(&conflicts));
        }
        take_over(&mut entries, &conflicts);
    }
    let owned_before = entries
        .iter()
        .find(|e| e.is(manager, "Apply", None))
        .map(|e| e.fields.clone())
        .unwrap_or_default();
    let mut merged = live.clone();
    merge_value(kind, "", "", &mut merged, &applied);
    remove_abandoned(&mut merged, &entries, &owned_before, &applied_fields, manager);
    own_applied(kind, &mut entries, manager, applied_fields, merged != *live);
    write_entries(&mut merged, &entries);
    Ok(merged)
}

fn check_version(kind: &Resource, applied: &Value) -> Result<(), PatchError> {
    let version = applied.get("apiVersion").and_then(Value::as_str).unwrap_or("");
    if version != kind.api_version() {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(PatchError::BadRequest(format!(
            "invalid object type: {group}/{version}, Kind={}",
            kind.kind
        )));
    }
    if applied.pointer("/metadata/managedFields").is_some_and(|m| !m.is_null()) {
        return Err(PatchError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

fn new_entry(kind: &Resource, manager: &str, fields: FieldSet) -> Entry {
    Entry {
        manager: manager.to_owned(),
        operation: "Apply".to_owned(),
        api_version: kind.api_version(),
        subresource: None,
        time: None,
        fields,
    }
}

/// Fields that another manager owns and whose value the apply would change.
fn conflicts(
    entries: &[Entry],
    live: &Value,
    applied: &Value,
    applied_fields: &FieldSet,
    manager: &str,
) -> Vec<(Entry, Path)> {
    let mut found = Vec::new();
    for entry in entries.iter().filter(|e| !e.is(manager, "Apply", None)) {
        for path in entry.fields.0.intersection(&applied_fields.0) {
            let is_field = path.last().is_some_and(|step| step.starts_with("f:"));
            if is_field && fields::resolve(live, path) != fields::resolve(applied, path) {
                found.push((entry.clone(), path.clone()));
            }
        }
    }
    found
}

fn conflict_error(conflicts: &[(Entry, Path)]) -> PatchError {
    let causes = conflicts
        .iter()
        .map(|(entry, path)| {
            Cause::manager_conflict(fields::display(path), format!("conflict with {}", entry.display()))
        })
        .collect();
    let message = if let [(entry, path)] = conflicts {
        format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            entry.display(),
            fields::display(path)
        )
    } else {
        let mut lines: Vec<String> = Vec::new();
        for (entry, path) in conflicts {
            let head = format!("conflicts with {}:", entry.display());
            if !lines.contains(&head) {
                lines.push(head);
            }
            lines.push(format!("- {}", fields::display(path)));
        }
        format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
    };
    PatchError::Conflict { message, causes }
}

fn take_over(entries: &mut [Entry], conflicts: &[(Entry, Path)]) {
    for (loser, path) in conflicts {
        for entry in entries
            .iter_mut()
            .filter(|e| **e == *loser || e.fields.0.contains(path))
        {
            entry.fields.0.remove(path);
        }
    }
}

/// Removes what the manager applied before, does not apply any more, and nobody else owns.
fn remove_abandoned(merged: &mut Value, entries: &[Entry], before: &FieldSet, applied: &FieldSet, manager: &str) {
    for path in before.0.difference(&applied.0) {
        let others = || entries.iter().filter(|e| !e.is(manager, "Apply", None));
        let owned_by_others = others().any(|e| e.fields.0.iter().any(|other| other.starts_with(path)));
        if !owned_by_others {
            fields::remove(merged, path);
        }
    }
}

fn own_applied(kind: &Resource, entries: &mut Vec<Entry>, manager: &str, applied: FieldSet, changed: bool) {
    match entries.iter_mut().find(|e| e.is(manager, "Apply", None)) {
        Some(entry) => {
            if changed || entry.fields != applied {
                entry.time = None;
            }
            entry.fields = applied;
        }
        None => entries.insert(0, new_entry(kind, manager, applied)),
    }
    entries.retain(|e| !e.fields.0.is_empty());
}

fn merge_value(kind: &Resource, parent: &str, name: &str, live: &mut Value, applied: &Value) {
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) if !schema::map_is_atomic(name) => {
            for (inner, value) in applied {
                match live.get_mut(inner) {
                    Some(below) => merge_value(kind, name, inner, below, value),
                    None => {
                        live.insert(inner.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(live), Value::Array(applied)) => {
            let list_type = schema::list_type(kind, parent, name);
            if list_type == ListType::Atomic {
                live.clone_from(applied);
            } else {
                merge_entries(kind, name, list_type, live, applied);
            }
        }
        (live, applied) => *live = applied.clone(),
    }
}

fn merge_entries(kind: &Resource, name: &str, list_type: ListType, live: &mut Vec<Value>, applied: &[Value]) {
    for entry in applied {
        let step = fields::entry_step(list_type, entry);
        let old = live.iter_mut().find(|item| fields::entry_step(list_type, item) == step);
        match old {
            Some(old) => merge_value(kind, "", name, old, entry),
            None => live.push(entry.clone()),
        }
    }
}

fn read_entries(object: &Value) -> Vec<Entry> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().map(Entry::from_value).collect()
}

fn write_entries(object: &mut Value, entries: &[Entry]) {
    let written: Vec<Value> = entries.iter().map(Entry::to_value).collect();
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        if written.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), Value::Array(written));
        }
    }
}

/// Gives every `managedFields` entry that has no time yet the time `now`, in whole seconds: this module reads no clock.
pub fn stamp_managed_fields(object: &mut Value, now: Timestamp) {
    let entries = object
        .pointer_mut("/metadata/managedFields")
        .and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        if entry.get("time").is_none_or(Value::is_null) {
            entry["time"] = json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
    }
}

/// Moves ownership for an ordinary write (create, update, or a patch that is no apply): what `new` sets to another
/// value than `old` now belongs to `manager`, what it no longer has belongs to nobody.
///
/// Costs a walk over both objects; a server that does not call it keeps ownership for applies alone.
pub fn record_update(kind: &Resource, old: Option<&Value>, new: &mut Value, manager: &str, subresource: Option<&str>) {
    let had = old.map(|o| FieldSet::of(kind, o)).unwrap_or_default();
    let has = FieldSet::of(kind, new);
    let changed: Vec<&Path> = has
        .0
        .iter()
        .filter(|path| {
            !had.0.contains(*path) || old.and_then(|o| fields::resolve(o, path)) != fields::resolve(new, path)
        })
        .filter(|path| path.last().is_some_and(|s| s.starts_with("f:")) || !had.0.contains(*path))
        .collect();
    let mut entries = old.map(read_entries).unwrap_or_default();
    for entry in &mut entries {
        let mine = entry.is(manager, "Update", subresource);
        entry
            .fields
            .0
            .retain(|path| has.0.contains(path) && (mine || !changed.contains(&path)));
    }
    if !changed.is_empty() {
        let owned = changed.into_iter().cloned();
        match entries.iter_mut().find(|e| e.is(manager, "Update", subresource)) {
            Some(entry) => {
                entry.fields.0.extend(owned);
                entry.time = None;
            }
            None => entries.push(Entry {
                operation: "Update".to_owned(),
                subresource: subresource.map(str::to_owned),
                ..new_entry(kind, manager, FieldSet(owned.collect()))
            }),
        }
    }
    entries.retain(|e| !e.fields.0.is_empty());
    write_entries(new, &entries);
}
