//! Claims of volumes: the class of those that ask for none, and which may grow.

use plimsoll_model::Quantity;
use serde_json::Value;

use super::{claims, storage_classes};
use crate::{
    object::{at, meta_str, object_at, str_at},
    status::ApiError,
    store::Store,
};

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Annotations that make a class the default one.
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// The class of a claim, if it asks for one; an empty one counts.
fn class(claim: &Value) -> Option<&str> {
    let annotated = at(claim, &["metadata", "annotations", CLASS]).and_then(Value::as_str);
    annotated.or_else(|| at(claim, &["spec", "storageClassName"]).and_then(Value::as_str))
}

/// A claim without a class gets the default one: the newest of several.
pub(super) fn set_class(store: &Store, claim: &mut Value) {
    if class(claim).is_some() {
        return;
    }
    let is_default = |class: &Value| {
        let annotation = |name: &&str| str_at(class, &["metadata", "annotations", name]) == "true";
        DEFAULT.iter().any(annotation)
    };
    let mut newest: Option<&Value> = None;
    // In order of their names, of which the first counts.
    for class in store.table(storage_classes()).values().map(|class| &**class.value()) {
        let created = |class: &Value| meta_str(class, "creationTimestamp").to_owned();
        if is_default(class) && newest.is_none_or(|newest| created(class) > created(newest)) {
            newest = Some(class);
        }
    }
    if let Some(newest) = newest {
        let name = meta_str(newest, "name").to_owned();
        object_at(claim, "spec").insert("storageClassName".to_owned(), name.into());
    }
}

/// Only a bound claim may grow, and only if its class allows it.
pub(super) fn check_growth(store: &Store, claim: &Value, old: &Value) -> Result<(), ApiError> {
    let size = |claim: &Value| {
        let asked = str_at(claim, &["spec", "resources", "requests", "storage"]);
        Quantity::parse(asked).unwrap_or_default()
    };
    if size(claim) <= size(old) {
        return Ok(());
    }
    let refused = |why: &str| Err(ApiError::forbidden(claims(), meta_str(claim, "name"), why));
    if str_at(old, &["status", "phase"]) != "Bound" {
        return refused("Only bound persistent volume claims can be expanded");
    }
    let name = class(claim).filter(|name| !name.is_empty() && class(old) == Some(name));
    let class = name.and_then(|name| store.get(storage_classes(), name));
    if class.is_some_and(|class| class.value()["allowVolumeExpansion"] == true) {
        return Ok(());
    }
    refused(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    )
}
