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
    /// The object in its stored form, `kind` and `apiVersion` included; read from its text when somebody asks for it, where
    /// only that was kept.
    value: OnceLock<Arc<Value>>,
    /// What selectors look at of an object that is kept as text.
    summary: Option<Box<Value>>,
    json: OnceLock<Bytes>,
    /// The same object as `events.k8s.io` shows it.
    as_event: OnceLock<Bytes>,
}

pub(crate) type Object = Arc<Stored>;

impl Stored {
    pub(crate) fn new(rv: u64, value: Value) -> Object {
        Arc::new(Self {
            rv,
            value: OnceLock::from(Arc::new(value)),
            summary: None,
            json: OnceLock::new(),
            as_event: OnceLock::new(),
        })
    }

    /// The same, kept as text: a tenth of the memory, for objects that are listed and hardly ever looked into.
    pub(crate) fn as_text(rv: u64, value: &Value) -> Object {
        Arc::new(Self {
            rv,
            value: OnceLock::new(),
            summary: Some(Box::new(summary(value))),
            json: OnceLock::from(to_json(value)),
            as_event: OnceLock::new(),
        })
    }

    /// The object in its stored form, `kind` and `apiVersion` included.
    pub(crate) fn value(&self) -> &Arc<Value> {
        // What was written as JSON can be read.
        let read = || Arc::new(self.json.get().map_or(Value::Null, |json| from_json(json)));
        self.value.get_or_init(read)
    }

    /// As much of the object as selectors look at.
    pub(crate) fn selectable(&self) -> &Value {
        match &self.summary {
            Some(summary) => summary,
            None => self.value(),
        }
    }

    /// The object as a reader of `resource` sees it, serialised once however many readers there are.
    pub(crate) fn json(&self, resource: &Resource) -> Bytes {
        if resource.id == resource.storage_id {
            return self.json.get_or_init(|| to_json(self.value())).clone();
        }
        self.as_event
            .get_or_init(|| to_json(&event::to_events_v1(self.value())))
            .clone()
    }

    /// The object as a reader of `resource` sees it.
    pub(crate) fn view(&self, resource: &Resource) -> Arc<Value> {
        if resource.id == resource.storage_id {
            return Arc::clone(self.value());
        }
        Arc::new(event::to_events_v1(self.value()))
    }

    /// A copy whose `resourceVersion` is `rv`: a deleted object carries the version of its deletion.
    pub(crate) fn restamped(&self, rv: u64) -> Object {
        let mut value = (**self.value()).clone();
        set_resource_version(&mut value, rv);
        Self::new(rv, value)
    }
}

fn from_json(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

/// Labels, and what is no list or object in `metadata`, `spec` and `status`, where all fields of selectors are.
fn summary(value: &Value) -> Value {
    let plain = |(name, field): (&String, &Value)| {
        let kept = name == "labels" || name == "podIPs" || !(field.is_object() || field.is_array());
        kept.then(|| (name.clone(), field.clone()))
    };
    let part = |name: &str| {
        let fields: Map<String, Value> = value.get(name)?.as_object()?.iter().filter_map(plain).collect();
        Some((name.to_owned(), Value::Object(fields)))
    };
    Value::Object(["metadata", "spec", "status"].into_iter().filter_map(part).collect())
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
    use crate::{resource::find, selector::Selector};

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
            **new.value(),
            json!({ "metadata": { "name": "a", "resourceVersion": "9" } })
        );
        assert_eq!(meta_str(old.value(), "resourceVersion"), "3");
    }

    #[test]
    fn an_object_that_is_kept_as_text_reads_and_is_selected_like_any_other() {
        let pods = find("", "v1", "pods").expect("pods");
        let value = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "a", "namespace": "n", "labels": { "app": "web" }, "managedFields": [{ "manager": "m" }] },
            "spec": { "nodeName": "w", "hostNetwork": true, "containers": [{ "name": "c" }] },
            "status": { "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }] },
        });
        let (text, plain) = (Stored::as_text(4, &value), Stored::new(4, value));
        for (labels, fields) in [
            ("app=web", "spec.nodeName=w,status.phase=Running"),
            ("app=other", ""),
            ("", "status.phase!=Running"),
            ("", "spec.hostNetwork=true,metadata.namespace=n"),
            ("", "status.podIP=10.0.0.1"),
            ("", "status.podIPs=10.0.0.1"),
        ] {
            let selector = Selector::parse(pods, labels, fields).expect("a selector");
            assert_eq!(
                selector.matches(text.selectable()),
                selector.matches(plain.value()),
                "{labels} {fields}"
            );
        }
        assert!(text.value.get().is_none(), "a selector has read all of it");
        assert_eq!(text.json(pods), plain.json(pods));
        assert_eq!(text.value(), plain.value());
    }
}
