//! `meta.k8s.io/v1` Tables, the form in which `kubectl get` asks for objects.
//!
//! Cells are those of kube-apiserver 1.36 for the kinds named in `table/`; the other kinds show name and age.

mod age;
mod columns;
mod pod;
mod rows;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::Resource;
use columns::Column;

/// What each row carries beside its cells (`?includeObject=`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// The object's metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

impl IncludeObject {
    /// Reads the query parameter; `None` for an unknown word, which is a 400.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// Renders an object, or a list of objects, as a Table; ages are counted to `now`.
pub fn to_table(res: &Resource, list_or_object: &Value, include: IncludeObject, now: Timestamp) -> Value {
    let (columns, cells) = columns::of(res);
    let is_list = list_or_object.get("items").is_some_and(Value::is_array);
    let objects: &[Value] = match list_or_object.get("items").and_then(Value::as_array) {
        Some(items) => items,
        None => std::slice::from_ref(list_or_object),
    };
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| row(res, object, &cells(object, now), include))
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": table_metadata(list_or_object, is_list),
        "columnDefinitions": columns.iter().copied().map(Column::to_value).collect::<Vec<_>>(),
        "rows": rows,
    })
}

/// A table keeps the list's metadata; a single object lends only its resource version.
fn table_metadata(source: &Value, is_list: bool) -> Value {
    let metadata = source.get("metadata").cloned().unwrap_or_else(|| json!({}));
    if is_list {
        metadata
    } else {
        json!({"resourceVersion": metadata.get("resourceVersion").cloned().unwrap_or_else(|| json!(""))})
    }
}

fn row(res: &Resource, object: &Value, cells: &[Value], include: IncludeObject) -> Value {
    let carried = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": object.get("metadata").cloned().unwrap_or(Value::Null),
        }),
        IncludeObject::Object => whole(res, object),
    };
    let mut row = json!({"cells": cells, "object": carried});
    if let Some(conditions) = pod::row_conditions(res, object) {
        row["conditions"] = conditions;
    }
    row
}

/// Items of a list do not name their kind; a row does.
fn whole(res: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| json!(res.api_version()));
        fields.entry("kind").or_insert_with(|| json!(res.kind));
    }
    object
}

#[cfg(test)]
mod tests;
