use std::borrow::Borrow;
use std::fmt;

use compact_str::CompactString;

/// The identity of an object over its whole life; a new object of the same name has another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(CompactString);

impl Uid {
    /// Wraps the text the API server gave.
    pub fn new(text: impl Into<CompactString>) -> Self {
        Self(text.into())
    }

    /// The text the API server gave.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Borrow<str> for Uid {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Uid {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Namespace and name; shown as `namespace/name`, or the name alone for cluster-wide kinds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// Empty for cluster-wide kinds.
    pub namespace: CompactString,
    /// Unique among the living objects of its kind in the namespace.
    pub name: CompactString,
}

impl ObjectName {
    /// A name in a namespace.
    pub fn new(namespace: impl Into<CompactString>, name: impl Into<CompactString>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_their_namespace_when_they_have_one() {
        assert_eq!(ObjectName::new("default", "a").to_string(), "default/a");
        assert_eq!(ObjectName::new("", "n1").to_string(), "n1");
    }
}
