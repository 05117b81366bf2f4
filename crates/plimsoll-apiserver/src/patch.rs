//! The four patch types of kube-apiserver 1.36, over JSON values.
//!
//! Server-side apply is minimal: ownership of fields is kept per manager in `metadata.managedFields` and conflicts are
//! found between apply managers (and update managers when [`record_update`] is called for ordinary writes), but there
//! is no version conversion and no union handling. `docs/embedded-api-server.md` lists what differs.

mod apply;
mod error;
mod fields;
mod json;
mod merge;
mod schema;
mod strategic;

use serde_json::Value;

pub use apply::{record_update, stamp_managed_fields};
pub use error::PatchError;

use crate::cause::Cause;
use crate::resource::Resource;

/// `Content-Type` of an RFC 6902 JSON patch.
pub const JSON_PATCH: &str = "application/json-patch+json";
/// `Content-Type` of an RFC 7386 merge patch.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// `Content-Type` of a strategic merge patch.
pub const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
/// `Content-Type` of a server-side apply.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Operations that one JSON patch may hold.
const MAX_JSON_PATCH_OPERATIONS: usize = 10_000;

/// Applies a patch body to the current object (`None`: there is none, which only server-side apply accepts) and
/// returns the patched object. Names, versions and validity of the result are the caller's to check.
///
/// # Errors
/// As the real server: 400 for a body that cannot be read, 404 for a patch of nothing, 409 for apply conflicts, 415 for
/// an unknown content type, 422 for a patch that does not fit the object.
pub fn apply(
    kind: &Resource,
    content_type: &str,
    current: Option<&Value>,
    patch_body: &[u8],
    field_manager: Option<&str>,
    force: bool,
) -> Result<Value, PatchError> {
    let media_type = content_type.split(';').next().unwrap_or("").trim();
    if media_type == APPLY_PATCH {
        let manager = field_manager.filter(|m| !m.is_empty()).ok_or_else(missing_manager)?;
        return apply::server_side_apply(kind, current, patch_body, manager, force);
    }
    if force {
        return Err(options_error(Cause::forbidden(
            "force",
            "may not be specified for non-apply patch",
        )));
    }
    let patcher = match media_type {
        JSON_PATCH => json_patch,
        MERGE_PATCH => merge_patch,
        STRATEGIC_MERGE_PATCH => strategic::apply,
        _ => return Err(unsupported_media_type()),
    };
    patcher(kind, current.ok_or(PatchError::NotFound)?, patch_body)
}

fn json_patch(_: &Resource, current: &Value, body: &[u8]) -> Result<Value, PatchError> {
    let operations = json::decode(body)?;
    if operations.len() > MAX_JSON_PATCH_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_JSON_PATCH_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut object = current.clone();
    json::apply(&mut object, &operations).map_err(PatchError::Unprocessable)?;
    Ok(object)
}

fn merge_patch(_: &Resource, current: &Value, body: &[u8]) -> Result<Value, PatchError> {
    let patch = decode_object(body)?;
    let mut object = current.clone();
    merge::apply(&mut object, Value::Object(patch));
    Ok(object)
}

/// A patch body that must be a JSON object.
fn decode_object(body: &[u8]) -> Result<serde_json::Map<String, Value>, PatchError> {
    serde_json::from_slice(body).map_err(|e| PatchError::BadRequest(format!("error decoding patch: {e}")))
}

/// An apply body: YAML, of which JSON is a part.
fn decode_yaml(body: &[u8]) -> Result<Value, PatchError> {
    let unreadable = |e: String| PatchError::BadRequest(format!("error decoding YAML: {e}"));
    let from_yaml = || {
        let text = std::str::from_utf8(body).map_err(|e| unreadable(e.to_string()))?;
        serde_saphyr::from_str(text).map_err(|e| unreadable(e.to_string()))
    };
    let value: Value = serde_json::from_slice(body).or_else(|_| from_yaml())?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(unreadable("not an object".to_owned()))
    }
}

fn unsupported_media_type() -> PatchError {
    // The router of the real server refuses the type before its handler would list the ones it knows.
    PatchError::UnsupportedMediaType("415: Unsupported Media Type".to_owned())
}

fn missing_manager() -> PatchError {
    options_error(Cause::required("fieldManager", "is required for apply patch"))
}

fn options_error(cause: Cause) -> PatchError {
    PatchError::Invalid {
        group: "meta.k8s.io",
        kind: "PatchOptions",
        causes: vec![cause],
    }
}

#[cfg(test)]
mod tests;
