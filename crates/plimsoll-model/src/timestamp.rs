use std::fmt;

use compact_str::CompactString;
use serde::Deserialize;

/// A wall-clock time as the API server writes it: RFC 3339, UTC, whole seconds, so that text order is time order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(CompactString);

impl Timestamp {
    /// Wraps the text the API server gave.
    pub fn new(text: impl Into<CompactString>) -> Self {
        Self(text.into())
    }

    /// The text the API server gave.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
