//! Quantities in canonical form: `1000m` reads back as `1`, `1024Mi` as `1Gi`.

use plimsoll_model::Quantity;
use serde_json::{Map, Value, json};

/// Rewrites each quantity of the resource list under `field`; what does not parse is left for validation.
pub(super) fn canonical(object: &mut Map<String, Value>, field: &str) {
    let list = object.get_mut(field).and_then(Value::as_object_mut);
    for (_, value) in list.into_iter().flatten() {
        rewrite(value);
    }
}

/// Rewrites the quantity under `field`.
pub(super) fn canonical_one(object: &mut Map<String, Value>, field: &str) {
    if let Some(value) = object.get_mut(field) {
        rewrite(value);
    }
}

fn rewrite(value: &mut Value) {
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    if let Ok(quantity) = Quantity::parse(&text) {
        *value = json!(quantity.to_string());
    }
}

/// Rewrites the requests and limits of the resource requirements under `field`.
pub(super) fn canonical_requirements(object: &mut Map<String, Value>, field: &str) {
    if let Some(requirements) = super::existing(object, field) {
        canonical(requirements, "requests");
        canonical(requirements, "limits");
    }
}
