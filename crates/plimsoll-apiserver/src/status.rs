//! Failures as the `Status` objects kube-apiserver answers with.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    cause::{self, Cause},
    patch::PatchError,
    resource::Resource,
};

/// A failed request: becomes a `Status` body with the HTTP code of the same number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status code.
    pub code: StatusCode,
    /// Machine-readable reason, such as `Conflict`.
    pub reason: &'static str,
    /// Message for people, worded as kube-apiserver 1.36.
    pub message: String,
    /// The `details` object, if any.
    pub details: Option<Box<Map<String, Value>>>,
    /// Token for going on with a list that expired (`metadata.continue`).
    pub continue_token: Option<String>,
}

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    /// Sets one entry of `details`.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details
            .get_or_insert_default()
            .insert(key.to_owned(), value.into());
        self
    }

    /// Sets the object that `details` names; empty parts are left out.
    #[must_use]
    pub fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                self = self.detail(key, value);
            }
        }
        self
    }

    /// Appends one cause to `details`.
    #[must_use]
    pub fn cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        let mut cause = Map::new();
        for (key, value) in [
            ("reason", reason.to_owned()),
            ("message", message.into()),
            ("field", field.to_owned()),
        ] {
            if !value.is_empty() {
                cause.insert(key.to_owned(), value.into());
            }
        }
        let details = self.details.get_or_insert_default();
        if let Some(causes) = details.entry("causes").or_insert_with(|| json!([])).as_array_mut() {
            causes.push(cause.into());
        }
        self
    }

    /// 404 for an object that is not there.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.group_resource());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource.group, resource.plural, name)
    }

    /// 409 for a name that is taken.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.group_resource());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource.group, resource.plural, name)
    }

    /// 409 for a generated name that is taken even after retries.
    pub fn generate_name_conflict(resource: &Resource, name: &str) -> Self {
        let message = format!(
            "{} \"{name}\" already exists, the server was not able to generate a unique name for the object",
            resource.group_resource()
        );
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message)
            .about(resource.group, resource.plural, name)
            .detail("retryAfterSeconds", 1)
    }

    /// 409 Conflict on `kind` of `group` (a plural name, a kind, or `pods/binding`).
    pub fn conflict(group: &str, kind: &str, name: &str, why: &str) -> Self {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let message = format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(group, kind, name)
    }

    /// 409 for an update made from an older version.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource.group, resource.plural, name, why)
    }

    /// What a refused patch of the named object answers.
    pub fn from_patch(error: &PatchError, resource: &Resource, name: &str) -> Self {
        if *error == PatchError::NotFound {
            return Self::not_found(resource, name);
        }
        let code = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = Self::new(code, error.reason(), error.message());
        match error {
            PatchError::Invalid { group, kind, .. } => answer = answer.about(group, kind, ""),
            PatchError::Unprocessable(_) | PatchError::UnsupportedMediaType(_) => answer = answer.details_present(),
            _ => {}
        }
        for cause in error.causes() {
            answer = answer.cause(cause.kind.reason(), cause.message.as_str(), &cause.field);
        }
        answer
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 404 for a path that leads nowhere.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).details_present()
    }

    /// 500 without a reason: what kube-apiserver makes of an error that is no API error, such as a malformed version.
    pub(crate) fn unexplained(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 403 as admission plugins answer.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let qualified = resource.group_resource();
        let message = if name.is_empty() {
            format!("{qualified} is forbidden: {why}")
        } else {
            format!("{qualified} \"{name}\" is forbidden: {why}")
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(resource.group, resource.plural, name)
    }

    /// 422 with one cause per broken field; `kind` may be qualified by its group.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let message = format!("{qualified} \"{name}\" is invalid: {}", cause::join(causes));
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(group, kind, name);
        for cause in causes {
            error = error.cause(cause.kind.reason(), cause.message.as_str(), &cause.field);
        }
        error
    }

    /// 410 for a resource version that history no longer reaches.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 504 for a resource version not yet reached.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        Self::timeout(&format!("Too large resource version: {asked}, current: {current}"))
            .cause("ResourceVersionTooLarge", "Too large resource version", "")
            .detail("retryAfterSeconds", 1)
    }

    /// 504 with upstream's `Timeout: ` before the text.
    pub fn timeout(message: &str) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {message}"))
    }

    /// 429, with the seconds to wait; 0 leaves them out.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
        if retry_after_seconds == 0 {
            error
        } else {
            error.detail("retryAfterSeconds", retry_after_seconds)
        }
    }

    /// 500.
    pub fn internal(message: &str) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .cause("", message, "")
    }

    /// A failure of any code, for injected faults.
    pub fn with_code(code: StatusCode, message: impl Into<String>) -> Self {
        let reason = match code {
            StatusCode::CONFLICT => "Conflict",
            StatusCode::GONE => "Expired",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
            StatusCode::INTERNAL_SERVER_ERROR => "InternalError",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            StatusCode::GATEWAY_TIMEOUT => "Timeout",
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::NOT_FOUND => "NotFound",
            StatusCode::BAD_REQUEST => "BadRequest",
            _ => "Unknown",
        };
        Self::new(code, reason, message)
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .details_present()
    }

    /// 406.
    pub fn not_acceptable(accepted: &str) -> Self {
        let message = format!("only the following media types are accepted: {accepted}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// 415.
    pub fn unsupported_media_type(supported: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {supported}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    fn details_present(mut self) -> Self {
        self.details.get_or_insert_default();
        self
    }

    /// Seconds for a `Retry-After` header, if the error asks the client to wait.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.details
            .as_ref()?
            .get("retryAfterSeconds")?
            .as_u64()
            .filter(|s| *s > 0)
    }

    /// The `Status` object.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = Value::Object((**details).clone());
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = token.clone().into();
        }
        status
    }
}

/// The body of a request that succeeded without an object of its own.
pub(crate) fn success(code: Option<StatusCode>) -> Value {
    let mut status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" });
    if let Some(code) = code {
        status["code"] = code.as_u16().into();
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::find;

    #[test]
    fn bodies_are_full_status_objects() {
        let pods = find("", "v1", "pods").expect("pods");
        assert_eq!(
            ApiError::not_found(pods, "a").to_status(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "pods \"a\" not found", "reason": "NotFound",
                "details": { "name": "a", "kind": "pods" }, "code": 404,
            })
        );
    }

    #[test]
    fn several_causes_are_listed_in_brackets() {
        let error = ApiError::invalid(
            "",
            "Pod",
            "a",
            &[Cause::required("spec.a", ""), Cause::required("spec.b", "")],
        );
        assert_eq!(
            error.message,
            "Pod \"a\" is invalid: [spec.a: Required value, spec.b: Required value]"
        );
        assert_eq!(
            error.to_status()["details"]["causes"][1]["reason"],
            "FieldValueRequired"
        );
    }

    #[test]
    fn only_a_positive_wait_becomes_a_header() {
        assert_eq!(ApiError::too_many_requests("slow", 10).retry_after_seconds(), Some(10));
        assert_eq!(ApiError::too_many_requests("slow", 0).retry_after_seconds(), None);
    }
}
