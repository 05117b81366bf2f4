//! Why a patch was refused, and what the client is told.

use crate::cause::{self, Cause};

/// A refused patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// 400: the body cannot be read, or is not a patch of the announced type.
    BadRequest(String),
    /// 404: there is no object; the caller knows the resource and name for the message.
    NotFound,
    /// 409: other managers own fields that the apply sets to other values.
    Conflict {
        /// The whole message.
        message: String,
        /// One cause per field.
        causes: Vec<Cause>,
    },
    /// 413: too many operations.
    TooLarge(String),
    /// 415: unknown patch type.
    UnsupportedMediaType(String),
    /// 422: the patch does not fit the object. The detail is for logs: the real server does not tell it either.
    Unprocessable(String),
    /// 422 with field causes.
    Invalid {
        /// Group of `kind`.
        group: &'static str,
        /// The kind that is invalid (`PatchOptions`), or nothing.
        kind: &'static str,
        /// What is wrong.
        causes: Vec<Cause>,
    },
    /// 500: what the real server answers to a strategic merge patch whose list entries lack the merge key.
    Internal(String),
}

impl PatchError {
    /// HTTP status code.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::NotFound => 404,
            Self::Conflict { .. } => 409,
            Self::TooLarge(_) => 413,
            Self::UnsupportedMediaType(_) => 415,
            Self::Unprocessable(_) | Self::Invalid { .. } => 422,
            Self::Internal(_) => 500,
        }
    }

    /// `Status.reason`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::NotFound => "NotFound",
            Self::Conflict { .. } => "Conflict",
            Self::TooLarge(_) => "RequestEntityTooLarge",
            Self::UnsupportedMediaType(_) => "UnsupportedMediaType",
            Self::Unprocessable(_) | Self::Invalid { .. } => "Invalid",
            Self::Internal(_) => "",
        }
    }

    /// `Status.message`.
    pub fn message(&self) -> String {
        match self {
            Self::BadRequest(text)
            | Self::TooLarge(text)
            | Self::UnsupportedMediaType(text)
            | Self::Internal(text)
            | Self::Conflict { message: text, .. } => text.clone(),
            Self::NotFound => "the object to patch does not exist".to_owned(),
            Self::Unprocessable(_) => "the server rejected our request due to an error in our request".to_owned(),
            Self::Invalid { group, kind, causes } => {
                let separator = if group.is_empty() { "" } else { "." };
                format!("{kind}{separator}{group} \"\" is invalid: {}", cause::join(causes))
            }
        }
    }

    /// `Status.details.causes`.
    pub fn causes(&self) -> &[Cause] {
        match self {
            Self::Conflict { causes, .. } | Self::Invalid { causes, .. } => causes,
            _ => &[],
        }
    }
}

impl std::fmt::Display for PatchError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unprocessable(detail) => write!(out, "{}: {detail}", self.message()),
            _ => out.write_str(&self.message()),
        }
    }
}

impl std::error::Error for PatchError {}
