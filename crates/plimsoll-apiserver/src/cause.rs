//! One thing that is wrong with an object, as `Status.details.causes` lists it.

use serde_json::{Value, json};

/// What is wrong with a field; the words are those of kube-apiserver's field errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// A field that must be set is not.
    Required,
    /// A value is malformed or not allowed to change.
    Invalid,
    /// A value is not one of a closed set.
    NotSupported,
    /// A value occurs twice where it may occur once.
    Duplicate,
    /// A field may not be set, or not be changed.
    Forbidden,
    /// A value exceeds its length.
    TooLong,
    /// Another field manager owns the field (server-side apply).
    ManagerConflict,
}

impl CauseKind {
    /// The `reason` of the cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::ManagerConflict => "FieldManagerConflict",
        }
    }
}

/// One failed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is wrong.
    pub kind: CauseKind,
    /// Path of the field, such as `spec.containers[0].name`.
    pub field: String,
    /// The text without the field's path.
    pub message: String,
}

impl Cause {
    /// A missing field.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new(CauseKind::Required, field, with_detail("Required value", detail))
    }

    /// A field that may not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new(CauseKind::Forbidden, field, with_detail("Forbidden", detail))
    }

    /// A malformed value.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let head = format!("Invalid value: {value}");
        Self::new(CauseKind::Invalid, field, with_detail(&head, detail))
    }

    /// A value that occurs twice.
    pub fn duplicate(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let head = format!("Duplicate value: {value}");
        Self::new(CauseKind::Duplicate, field, with_detail(&head, detail))
    }

    /// A value outside a closed set.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|s| format!("\"{s}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", quoted.join(", "));
        Self::new(CauseKind::NotSupported, field, message)
    }

    /// A value of more than `limit` bytes.
    pub fn too_long(field: impl Into<String>, limit: usize) -> Self {
        let message = format!("Too long: may not be more than {limit} bytes");
        Self::new(CauseKind::TooLong, field, message)
    }

    /// A field owned by another manager.
    pub fn manager_conflict(field: impl Into<String>, message: String) -> Self {
        Self::new(CauseKind::ManagerConflict, field, message)
    }

    fn new(kind: CauseKind, field: impl Into<String>, message: String) -> Self {
        Self {
            kind,
            field: field.into(),
            message,
        }
    }

    /// The entry of `Status.details.causes`.
    pub fn to_value(&self) -> Value {
        json!({"reason": self.kind.reason(), "message": self.message, "field": self.field})
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.field, self.message)
    }
}

fn with_detail(head: &str, detail: &str) -> String {
    if detail.is_empty() {
        head.to_owned()
    } else {
        format!("{head}: {detail}")
    }
}

/// The tail of an `is invalid` message: one cause bare, several in brackets, repetitions once, as upstream's aggregate
/// prints them.
pub fn join(causes: &[Cause]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in causes {
        let text = cause.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_read_as_upstream_prints_them() {
        let causes = [
            Cause::required("spec.containers", ""),
            Cause::invalid("metadata.name", &json!("A"), "must be lower case"),
            Cause::required("spec.containers", ""),
        ];
        assert_eq!(
            join(&causes),
            "[spec.containers: Required value, metadata.name: Invalid value: \"A\": must be lower case]"
        );
        assert_eq!(join(&causes[..1]), "spec.containers: Required value");
        assert_eq!(
            Cause::not_supported("x", &json!("b"), &["c", "d"]).message,
            "Unsupported value: \"b\": supported values: \"c\", \"d\""
        );
    }
}
