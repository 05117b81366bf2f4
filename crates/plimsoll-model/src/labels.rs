mod faults;

use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

pub use self::faults::{label_key_faults, label_value_faults};

/// Labels of an object, sorted by key; copies share them.
#[derive(Debug, Clone, Eq, Hash, Default)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "copies are equal, and hash alike")]
pub struct Labels(Arc<[(CompactString, CompactString)]>);

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.is_one_with(other) || self.0 == other.0
    }
}

impl Labels {
    /// No labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .binary_search_by(|(own, _)| own.as_str().cmp(key))
            .ok()
            .map(|at| self.0[at].1.as_str())
    }

    /// Whether the key is present, with whatever value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Keys and values in order of the keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether both are copies of the same, so that there is nothing to compare.
    pub fn is_one_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where they are: the same for all copies.
    pub(crate) fn place(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// How many copies there are.
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<CompactString>, V: Into<CompactString>> FromIterator<(K, V)> for Labels {
    /// Of a key that comes twice the last value counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut sorted: Vec<(CompactString, CompactString)> = pairs
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        // Stable sort: of equal keys the last one is the last given.
        sorted.reverse();
        sorted.dedup_by(|later, kept| later.0 == kept.0);
        sorted.reverse();
        Self(sorted.into())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut pairs: Vec<(CompactString, CompactString)> = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((key, value)) = map.next_entry::<CompactString, Option<CompactString>>()? {
                    pairs.push((key, value.unwrap_or_default()));
                }
                Ok(pairs.into_iter().collect())
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

/// Whether the text may be a label key: an optional DNS subdomain and slash, then a name of at most 63 characters.
pub fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Whether the text may be a label value: empty, or a name of at most 63 characters.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(text: &str) -> bool {
    text.len() <= 63 && has_name_letters(text)
}

/// Whether the text would be a name if it is not too long.
fn has_name_letters(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && is_dns_name(text)
}

/// Whether the text would be a DNS subdomain if it is not too long.
fn is_dns_name(text: &str) -> bool {
    text.split('.').all(is_dns_part)
}

fn is_dns_part(part: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_sorted_and_the_last_of_a_key_counts() {
        let labels: Labels = [("b", "1"), ("a", "2"), ("b", "3")].into_iter().collect();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3")]);
        assert_eq!(labels.get("b"), Some("3"));
        assert_eq!(labels.get("c"), None);
    }

    #[test]
    fn null_values_are_empty() {
        let labels: Labels = serde_json::from_str(r#"{"b":null,"a":"x"}"#).unwrap();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [("a", "x"), ("b", "")]);
    }

    #[test]
    fn keys_and_values_follow_the_api_rules() {
        let long = "a".repeat(63);
        let too_long = "a".repeat(64);
        for key in ["a", "A.b_c-d", "example.com/A", "kubernetes.io/hostname", long.as_str()] {
            assert!(is_label_key(key), "{key}");
        }
        for key in [
            "",
            "/a",
            "a/",
            "a/b/c",
            "-a",
            "a-",
            "Example.com/a",
            "a..b/c",
            "a b",
            too_long.as_str(),
        ] {
            assert!(!is_label_key(key), "{key}");
        }
        assert!(is_label_value("") && is_label_value("a.b") && is_label_value(&long));
        for value in ["-5", "a/b", " ", too_long.as_str()] {
            assert!(!is_label_value(value), "{value}");
        }
    }
}
