//! RFC 6902 JSON patch, with the liberties of the library kube-apiserver uses: negative array indices count from the
//! end, and `test` for null passes on a missing field.

use serde::Deserialize;
use serde_json::Value;

use super::PatchError;

/// One operation as sent.
#[derive(Debug, Deserialize)]
pub(super) struct Operation {
    op: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    from: Option<String>,
    /// `Some(Null)` when null was sent, `None` when nothing was.
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads the list of operations.
pub(super) fn decode(body: &[u8]) -> Result<Vec<Operation>, PatchError> {
    serde_json::from_slice(body).map_err(|e| PatchError::BadRequest(format!("error decoding patch: {e}")))
}

/// Applies the operations in order; the object is left half-patched on error.
pub(super) fn apply(object: &mut Value, operations: &[Operation]) -> Result<(), String> {
    operations.iter().try_for_each(|operation| apply_one(object, operation))
}

fn apply_one(object: &mut Value, operation: &Operation) -> Result<(), String> {
    let path = operation.path.as_deref().ok_or("operation without path")?;
    let value = || operation.value.clone().ok_or("operation without value");
    let from = || operation.from.as_deref().ok_or("operation without from");
    match operation.op.as_str() {
        "add" => add(object, path, value()?),
        "remove" => remove(object, path).map(drop),
        "replace" => replace(object, path, value()?),
        "move" => {
            let moved = remove(object, from()?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copied = find(object, from()?).cloned().ok_or("copy from a missing path")?;
            add(object, path, copied)
        }
        "test" => test(object, path, operation.value.as_ref().unwrap_or(&Value::Null)),
        other => Err(format!("unexpected kind of operation: {other}")),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let Some((parent, last)) = parent_of(object, path)? else {
        *object = value;
        return Ok(());
    };
    match parent {
        Value::Object(fields) => {
            fields.insert(last, value);
            Ok(())
        }
        Value::Array(items) => {
            let at = if last == "-" {
                items.len()
            } else {
                index(&last, items.len(), true)?
            };
            items.insert(at, value);
            Ok(())
        }
        _ => Err(format!("{path}: parent is neither object nor array")),
    }
}

fn remove(object: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = parent_of(object, path)?.ok_or("cannot remove the whole document")?;
    match parent {
        Value::Object(fields) => fields.remove(&last).ok_or_else(|| missing(path)),
        Value::Array(items) => {
            let at = index(&last, items.len(), false)?;
            Ok(items.remove(at))
        }
        _ => Err(missing(path)),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let Some((parent, last)) = parent_of(object, path)? else {
        *object = value;
        return Ok(());
    };
    let slot = match parent {
        Value::Object(fields) => fields.get_mut(&last),
        Value::Array(items) => {
            let at = index(&last, items.len(), false)?;
            items.get_mut(at)
        }
        _ => None,
    };
    *slot.ok_or_else(|| missing(path))? = value;
    Ok(())
}

fn test(object: &Value, path: &str, expected: &Value) -> Result<(), String> {
    let found = find(object, path).unwrap_or(&Value::Null);
    if found == expected {
        Ok(())
    } else {
        Err(format!("testing value {path} failed"))
    }
}

fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    object.pointer(path)
}

/// The container that holds the last step of `path`, and that step; `None` for the whole document.
fn parent_of<'a>(object: &'a mut Value, path: &str) -> Result<Option<(&'a mut Value, String)>, String> {
    if path.is_empty() {
        return Ok(None);
    }
    let (head, last) = path
        .rsplit_once('/')
        .ok_or_else(|| format!("{path}: not a JSON pointer"))?;
    let parent = object.pointer_mut(head).ok_or_else(|| missing(path))?;
    Ok(Some((parent, last.replace("~1", "/").replace("~0", "~"))))
}

/// An index into an array of `len`; `inserting` allows the place after the last.
fn index(step: &str, len: usize, inserting: bool) -> Result<usize, String> {
    let number: i64 = step.parse().map_err(|_| format!("{step}: not an array index"))?;
    let len = i64::try_from(len).map_err(|e| e.to_string())?;
    let room = if inserting { len + 1 } else { len };
    let at = if number < 0 { number + room } else { number };
    usize::try_from(at)
        .ok()
        .filter(|_| at < room)
        .ok_or_else(|| format!("{step}: index out of range"))
}

fn missing(path: &str) -> String {
    format!("{path}: missing value")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(mut object: Value, patch: &Value) -> Result<Value, String> {
        let operations = decode(patch.to_string().as_bytes()).map_err(|e| e.to_string())?;
        apply(&mut object, &operations)?;
        Ok(object)
    }

    #[test]
    fn each_operation_does_what_the_rfc_says() {
        let object = json!({"a": {"b": [1, 2]}, "x/y": 1});
        for (patch, expected) in [
            (
                json!([{"op": "add", "path": "/a/b/-", "value": 3}]),
                json!({"a": {"b": [1, 2, 3]}, "x/y": 1}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/0", "value": 0}]),
                json!({"a": {"b": [0, 1, 2]}, "x/y": 1}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/-1", "value": 9}]),
                json!({"a": {"b": [1, 2, 9]}, "x/y": 1}),
            ),
            (json!([{"op": "remove", "path": "/x~1y"}]), json!({"a": {"b": [1, 2]}})),
            (
                json!([{"op": "replace", "path": "/a/b/1", "value": null}]),
                json!({"a": {"b": [1, null]}, "x/y": 1}),
            ),
            (
                json!([{"op": "move", "from": "/a/b", "path": "/c"}]),
                json!({"a": {}, "c": [1, 2], "x/y": 1}),
            ),
            (
                json!([{"op": "copy", "from": "/a/b/0", "path": "/c"}]),
                json!({"a": {"b": [1, 2]}, "c": 1, "x/y": 1}),
            ),
            (
                json!([{"op": "test", "path": "/a/b/0", "value": 1}]),
                json!({"a": {"b": [1, 2]}, "x/y": 1}),
            ),
        ] {
            assert_eq!(patched(object.clone(), &patch), Ok(expected), "{patch}");
        }
    }

    #[test]
    fn what_does_not_fit_the_object_is_an_error() {
        let object = json!({"a": {"b": [1]}});
        for patch in [
            json!([{"op": "remove", "path": "/nope"}]),
            json!([{"op": "replace", "path": "/a/nope", "value": 1}]),
            json!([{"op": "add", "path": "/nope/deeper", "value": 1}]),
            json!([{"op": "add", "path": "/a/b/7", "value": 1}]),
            json!([{"op": "test", "path": "/a/b/0", "value": 2}]),
            json!([{"op": "jump", "path": "/a"}]),
            json!([{"op": "add", "path": "/a"}]),
            json!([{"op": "copy", "from": "/zzz", "path": "/a"}]),
            json!([{"op": "add", "value": 1}]),
        ] {
            assert!(patched(object.clone(), &patch).is_err(), "{patch}");
        }
    }

    #[test]
    fn testing_a_missing_field_for_null_passes() {
        let object = json!({"a": 1});
        assert!(patched(object, &json!([{"op": "test", "path": "/b", "value": null}])).is_ok());
    }
}
