use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::fast::FixedState;

/// The identity of an object over its whole life; a new object of the same name has another one.
///
/// Pods are kept by it in every actor, so a copy shares the text, and to look one up reads neither copy: the hash is worked
/// out once, and copies of one UID are known as such by where their text is.
#[derive(Clone)]
pub struct Uid {
    hash: u64,
    text: Arc<str>,
}

impl Uid {
    /// Wraps the text the API server gave.
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self {
            hash: FixedState::default().hash_one(text),
            text: text.into(),
        }
    }

    /// The text the API server gave.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl AsRef<str> for Uid {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Uid {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl Eq for Uid {}

impl Hash for Uid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialOrd for Uid {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Uid {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uid").field(&self.as_str()).finish()
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
    fn uids_are_what_their_texts_are_however_they_were_made() {
        use std::collections::HashSet;
        let first = Uid::from("0f8fad5b-d9cb-469f-a165-70867728950e");
        let again = Uid::new(String::from("0f8fad5b-d9cb-469f-a165-70867728950e"));
        let other = Uid::from("0f8fad5b-d9cb-469f-a165-70867728950f");
        assert_eq!(first, again);
        assert_eq!(first, first.clone());
        assert_ne!(first, other);
        assert!(first < other);
        let known = HashSet::from([first.clone()]);
        assert!(known.contains(&again) && !known.contains(&other));
        assert_eq!(
            format!("{first:?} {first}"),
            format!("Uid({:?}) {first}", first.as_str())
        );
    }

    #[test]
    fn names_show_their_namespace_when_they_have_one() {
        assert_eq!(ObjectName::new("default", "a").to_string(), "default/a");
        assert_eq!(ObjectName::new("", "n1").to_string(), "n1");
    }
}
