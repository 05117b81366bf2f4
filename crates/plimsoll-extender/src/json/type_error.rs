use super::Kind;

/// A value of another kind than the Go type it is for. The text is Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("json: cannot unmarshal {value} into Go {place} of type {go_type}")]
pub(crate) struct TypeError {
    value: String,
    place: Place,
    go_type: &'static str,
}

/// Where in a reply a value stands, as Go names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In no field.
    Top,
    /// The innermost struct and the path of fields to it.
    Field(&'static str),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Top => f.write_str("value"),
            Self::Field(path) => write!(f, "struct field {path}"),
        }
    }
}

impl TypeError {
    pub(crate) fn kind(kind: Kind, place: Place, go_type: &'static str) -> Self {
        Self {
            value: kind.as_str().to_owned(),
            place,
            go_type,
        }
    }

    /// Of a number that the type does not hold.
    pub(crate) fn number(text: &str, place: Place, go_type: &'static str) -> Self {
        Self {
            value: format!("number {text}"),
            place,
            go_type,
        }
    }
}
