//! A stored object and the readings of its metadata that the server needs.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{event, resource::Resource};

/// One version of one object, shared by the store, the log and every response.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The version at which it was written.
    pub(crate) rv: u64,
    /// The object in its stored form, `kind` and `apiVersion` included.
    pub(crate) value: Arc<Value>,
    json: OnceLock<Bytes>,
    /// The same object as `events.k8s.io` shows it.
    as_event: OnceLock<Bytes>,
}

pub(crate) type Object = Arc<Stored>;

impl Stored {
    pub(crate) fn new(rv: u64, value: Value) -> Object {
        Arc::new(Self {
            rv,
            value: Arc::new(value),
            json: OnceLock::new(),
            as_event: OnceLock::new(),
        })
    }

    /// The object as a reader of `resource` sees it, serialised once however many readers there are.
    pub(crate) fn json(&self, resource: &Resource) -> Bytes {
        if resource.id == resource.storage_id {
            return self.json.get_or_init(|| to_json(&self.value)).clone();
        }
        self.as_event
            .get_or_init(|| to_json(&event::to_events_v1(&self.value)))
            .clone()
    }

    /// The object as a reader of `resource` sees it.
    pub(crate) fn view(&self, resource: &Resource) -> Arc<Value> {
        if resource.id == resource.storage_id {
            return Arc::clone(&self.value);
        }
        Arc::new(event::to_events_v1(&self.value))
    }

    /// A copy whose `resourceVersion` is `rv`: a deleted object carries the version of its deletion.
    pub(crate) fn restamped(&self, rv: u64) -> Object {
        let mut value = (*self.value).clone();
        set_resource_version(&mut value, rv);
        Self::new(rv, value)
    }
}

/// Length of the `{"kind":…,"apiVersion":…,` that [`to_json`] writes first; list items leave it out.
pub(crate) fn type_prefix_len(resource: &Resource) -> usize {
    r#"{"kind":"","apiVersion":"","#.len() + resource.kind.len() + resource.api_version().len()
}

/// Serialises an object with `kind` and `apiVersion` first, as kube-apiserver does.
pub(crate) fn to_json(value: &Value) -> Bytes {
    let Value::Object(fields) = value else {
        return serde_json::to_vec(value).unwrap_or_default().into();
    };
    let mut out = Vec::with_capacity(1024);
    out.push(b'{');
    for key in ["kind", "apiVersion"] {
        if let Some(field) = fields.get(key) {
            write_field(&mut out, key, field);
        }
    }
    for (key, field) in fields {
        if key != "kind" && key != "apiVersion" {
            write_field(&mut out, key, field);
        }
    }
    out.push(b'}');
    out.into()
}

fn write_field(out: &mut Vec<u8>, key: &str, field: &Value) {
    if out.len() > 1 {
        out.push(b',');
    }
    // Writing JSON values with string keys into memory has no way to fail.
    let _ = serde_json::to_writer(&mut *out, key);
    out.push(b':');
    let _ = serde_json::to_writer(&mut *out, field);
}

/// `metadata`, created when it is missing.
pub(crate) fn metadata_mut(value: &mut Value) -> &mut Map<String, Value> {
    object_at(value, "metadata")
}

/// The object under `key`, created (or put in place of whatever else is there).
#[expect(clippy::expect_used, reason = "the slot is made an object just before")]
pub(crate) fn object_at<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let slot = &mut value[key];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("an object")
}

/// A string in `metadata`; empty when absent.
pub(crate) fn meta_str<'a>(value: &'a Value, key: &str) -> &'a str {
    value
        .get("metadata")
        .and_then(|m| m.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A string at a path of keys; empty when absent.
pub(crate) fn str_at<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// A value at a path of keys; nulls count as absent.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let mut here = value;
    for key in path {
        here = here.get(key)?;
    }
    (!here.is_null()).then_some(here)
}

pub(crate) fn set_resource_version(value: &mut Value, rv: u64) {
    metadata_mut(value).insert("resourceVersion".to_owned(), rv.to_string().into());
}

/// Whether `metadata.finalizers` holds anything.
pub(crate) fn has_finalizers(value: &Value) -> bool {
    at(value, &["metadata", "finalizers"])
        .and_then(Value::as_array)
        .is_some_and(|f| !f.is_empty())
}

/// Whether the object waits to be deleted.
pub(crate) fn is_terminating(value: &Value) -> bool {
    at(value, &["metadata", "deletionTimestamp"]).is_some()
}

/// The key of an object in its table: `namespace/name`, or the bare name outside namespaces. Its order is etcd's.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::find;

    #[test]
    fn the_type_comes_first_and_its_length_is_known() {
        let config_maps = find("", "v1", "configmaps").expect("configmaps");
        let bytes = to_json(&json!({ "apiVersion": "v1", "binaryData": {}, "kind": "ConfigMap", "metadata": {} }));
        assert_eq!(
            &bytes[..],
            br#"{"kind":"ConfigMap","apiVersion":"v1","binaryData":{},"metadata":{}}"#
        );
        assert_eq!(
            &bytes[type_prefix_len(config_maps)..],
            br#""binaryData":{},"metadata":{}}"#
        );
    }

    #[test]
    fn a_restamped_copy_differs_in_its_version_only() {
        let old = Stored::new(3, json!({ "metadata": { "name": "a", "resourceVersion": "3" } }));
        let new = old.restamped(9);
        assert_eq!(
            *new.value,
            json!({ "metadata": { "name": "a", "resourceVersion": "9" } })
        );
        assert_eq!(meta_str(&old.value, "resourceVersion"), "3");
    }
}
