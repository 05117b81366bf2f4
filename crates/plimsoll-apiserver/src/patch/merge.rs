//! RFC 7386 merge patch.

use serde_json::{Map, Value};

/// Merges `patch` into `target`: objects merge, null removes, everything else replaces.
pub(super) fn apply(target: &mut Value, patch: Value) {
    let Value::Object(fields) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(into) = target.as_object_mut() else { return };
    for (name, value) in fields {
        if value.is_null() {
            into.remove(&name);
        } else {
            apply(into.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (mut target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": "b"}), json!({"a": {"c": null}}), json!({"a": {}})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!(["a"]), json!({"a": 1}), json!({"a": 1})),
        ] {
            apply(&mut target, patch);
            assert_eq!(target, expected);
        }
    }
}
