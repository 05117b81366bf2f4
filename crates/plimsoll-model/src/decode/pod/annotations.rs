use std::fmt;

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::trace_parent::{TRACE_PARENT_ANNOTATIONS, TraceParent};

/// A pod's annotations may be large, and but for the trace that it belongs to nobody reads them: neither keys nor values are
/// copied.
#[derive(Default)]
pub(super) struct WireAnnotations {
    pub(super) trace_parent: Option<Box<TraceParent>>,
}

/// The position of a key in [`TRACE_PARENT_ANNOTATIONS`], if it is one of them.
struct Key(Option<usize>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an annotation")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(Key(TRACE_PARENT_ANNOTATIONS.iter().position(|known| *known == name)))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

impl<'de> Deserialize<'de> for WireAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = WireAnnotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireAnnotations, A::Error> {
                let mut found = [None; TRACE_PARENT_ANNOTATIONS.len()];
                while let Some(Key(position)) = map.next_key()? {
                    match position {
                        None => drop(map.next_value::<IgnoredAny>()?),
                        Some(position) => {
                            let text = map.next_value::<Option<CompactString>>()?;
                            found[position] = text.and_then(|text| TraceParent::parse(&text));
                        }
                    }
                }
                let trace_parent = found.into_iter().flatten().next().map(Box::new);
                Ok(WireAnnotations { trace_parent })
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}
