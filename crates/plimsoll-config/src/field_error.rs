use std::fmt;

use crate::listing::aggregate;

/// A value that is not allowed, worded as Kubernetes words it.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// Which field, such as `profiles[0].schedulerName`.
    pub field: String,
    /// In which way it is wrong.
    pub kind: FieldErrorKind,
    /// More about it; may be empty.
    pub detail: String,
}

/// In which way a value is wrong. Values are JSON texts.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldErrorKind {
    /// It is missing.
    Required,
    /// It must not be there.
    Forbidden,
    /// It is not allowed.
    Invalid(String),
    /// Another one is the same.
    Duplicate(String),
    /// It is none of a known few.
    NotSupported(String),
}

impl FieldError {
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorKind::Required,
            detail: detail.to_owned(),
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorKind::Forbidden,
            detail: detail.to_owned(),
        }
    }

    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Into<serde_json::Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorKind::Invalid(value.into().to_string()),
            detail: detail.into(),
        }
    }

    /// As [`FieldError::invalid`] with a value that is JSON already, its fields in an order of their own.
    pub(crate) fn invalid_json(field: impl Into<String>, json: String, detail: &str) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorKind::Invalid(json),
            detail: detail.to_owned(),
        }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        Self {
            field: field.into(),
            kind: FieldErrorKind::Duplicate(value.into().to_string()),
            detail: String::new(),
        }
    }

    pub(crate) fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        Self {
            field: field.into(),
            kind: FieldErrorKind::NotSupported(serde_json::Value::from(value).to_string()),
            detail: format!("supported values: {}", supported.join(", ")),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.field)?;
        match &self.kind {
            FieldErrorKind::Required => f.write_str("Required value")?,
            FieldErrorKind::Forbidden => f.write_str("Forbidden")?,
            FieldErrorKind::Invalid(value) => write!(f, "Invalid value: {value}")?,
            FieldErrorKind::Duplicate(value) => write!(f, "Duplicate value: {value}")?,
            FieldErrorKind::NotSupported(value) => write!(f, "Unsupported value: {value}")?,
        }
        if self.detail.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.detail)
    }
}

impl std::error::Error for FieldError {}

/// Several values that are not allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldErrors(pub Vec<FieldError>);

impl FieldErrors {
    /// Fails if there are any.
    pub(crate) fn none_of(errors: Vec<FieldError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&aggregate(self.0.iter()))
    }
}

impl std::error::Error for FieldErrors {}
