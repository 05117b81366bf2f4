use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::Pod;
use crate::decode::DecodeError;

/// The JSON of an object, for those who want the whole of it: extenders, whose protocol carries whole pods and nodes.
///
/// It is what the API server sent, byte for byte, less what kube-scheduler does not pass on either: `apiVersion` and
/// `kind`, which client-go's typed objects come without, and `metadata.managedFields`, which its informers drop. Clones
/// share it. All are equal, since it says of an object what its version says: objects that carry it compare as if they did
/// not.
#[derive(Clone)]
pub struct Raw(Arc<RawValue>);

impl Raw {
    /// Cuts those fields out of the JSON of an object.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn of_object(json: &[u8]) -> Result<Self, DecodeError> {
        cut_out(json)
            .map(Self)
            .map_err(|source| DecodeError::of("raw object", source))
    }

    /// The JSON.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.as_str().len())
    }
}

impl PartialEq for Raw {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Raw {}

/// Into JSON, and only there: it goes in as it is.
impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Of which objects the whole JSON is kept beside what the scheduler reads of them. Hardly anybody needs any: a pod is
/// ten times as large so, and a node more than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawPolicy {
    /// Of pods that have no node.
    pub pending_pods: bool,
    /// Of pods that have one.
    pub assigned_pods: bool,
    /// Of nodes.
    pub nodes: bool,
}

impl RawPolicy {
    /// Of no object.
    pub const NOTHING: Self = Self {
        pending_pods: false,
        assigned_pods: false,
        nodes: false,
    };

    /// Whether the JSON of this pod is kept.
    pub fn keeps(self, pod: &Pod) -> bool {
        match pod.node_name() {
            None => self.pending_pods,
            Some(_) => self.assigned_pods,
        }
    }

    /// The part of it that is about pods.
    #[must_use]
    pub fn of_pods(self) -> Self {
        Self { nodes: false, ..self }
    }

    /// The part of it that is about nodes.
    #[must_use]
    pub fn of_nodes(self) -> Self {
        Self {
            nodes: self.nodes,
            ..Self::NOTHING
        }
    }

    /// What either keeps.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            pending_pods: self.pending_pods || other.pending_pods,
            assigned_pods: self.assigned_pods || other.assigned_pods,
            nodes: self.nodes || other.nodes,
        }
    }

    /// Whether everything that `other` keeps is kept.
    pub fn covers(self, other: Self) -> bool {
        self.or(other) == self
    }
}

/// A field of an object that may be cut out, or of whose value a part may be.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    ApiVersion,
    Kind,
    Metadata,
    ManagedFields,
    #[serde(other)]
    Other,
}

/// Where in the text something is.
type Span = std::ops::Range<usize>;

fn cut_out(json: &[u8]) -> Result<Arc<RawValue>, serde_json::Error> {
    let text = std::str::from_utf8(json).map_err(de::Error::custom)?;
    let mut cuts = Cuts {
        text,
        spans: Vec::new(),
    };
    let metadata = cuts.leave_out(text, |field| matches!(field, Field::ApiVersion | Field::Kind))?;
    if let Some(metadata) = metadata {
        cuts.leave_out(metadata, |field| matches!(field, Field::ManagedFields))?;
        cuts.spans.sort_unstable_by_key(|span| span.start);
    }
    let mut kept = String::with_capacity(text.len() - cuts.spans.iter().map(Span::len).sum::<usize>());
    let mut end = 0;
    for span in cuts.spans {
        kept.push_str(text.get(end..span.start).unwrap_or_default());
        end = span.end;
    }
    kept.push_str(text.get(end..).unwrap_or_default());
    // Reads it once more, and so proves that the cuts were right.
    RawValue::from_string(kept).map(Arc::from)
}

/// Spans of a text that are left out of it.
struct Cuts<'a> {
    text: &'a str,
    spans: Vec<Span>,
}

impl<'a> Cuts<'a> {
    /// Cuts fields out of one object of the text. Returns the value of its field `metadata`.
    fn leave_out(
        &mut self,
        object: &'a str,
        is_cut: impl Fn(&Field) -> bool,
    ) -> Result<Option<&'a str>, serde_json::Error> {
        let fields: Fields<'a> = serde_json::from_str(object)?;
        let mut metadata = None;
        let mut kept_any = false;
        let mut before = None;
        for (field, value) in fields.0 {
            let end = self.offset(value) + value.len();
            // A field begins behind the brace, and with a comma behind the one before.
            let begin = before.unwrap_or_else(|| self.offset(object) + 1);
            if is_cut(&field) {
                self.spans.push(begin..end);
            } else if !std::mem::replace(&mut kept_any, true) && before.is_some() {
                self.spans.push(begin..self.behind_comma(begin));
            }
            if matches!(field, Field::Metadata) {
                metadata = Some(value);
            }
            before = Some(end);
        }
        Ok(metadata)
    }

    /// Where in the text a part of it begins.
    fn offset(&self, part: &str) -> usize {
        part.as_ptr().addr() - self.text.as_ptr().addr()
    }

    fn behind_comma(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.find(',').map_or(0, |comma| comma + 1)
    }
}

/// The fields of an object in their order, each with its value as it is written.
struct Fields<'a>(Vec<(Field, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<(Field, &'de str)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((field, value)) = map.next_entry::<Field, &RawValue>()? {
                    fields.push((field, value.get()));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Entries).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing;

    fn raw(json: &str) -> String {
        Raw::of_object(json.as_bytes()).unwrap().as_str().to_owned()
    }

    #[test]
    fn only_what_kube_scheduler_does_not_pass_on_is_cut_out() {
        let cases = [
            ("{}", "{}"),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"kind":"Pod","apiVersion":"v1"}"#, "{}"),
            (r#"{"kind":"Pod","apiVersion":"v1","a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1,"kind":"Pod","b":2,"apiVersion":"v1"}"#, r#"{"a":1,"b":2}"#),
            (r#"{ "kind" : "Pod" , "a" : [ 1 ] }"#, r#"{ "a" : [ 1 ] }"#),
            (
                r#"{"metadata":{"name":"n","managedFields":[{"manager":"m"}],"uid":"u"},"kind":"Pod"}"#,
                r#"{"metadata":{"name":"n","uid":"u"}}"#,
            ),
            (
                r#"{"kind":"Pod","metadata":{"managedFields":null,"name":"n"},"spec":{"kind":"x"}}"#,
                r#"{"metadata":{"name":"n"},"spec":{"kind":"x"}}"#,
            ),
            (r#"{"metadata":{"managedFields":[]}}"#, r#"{"metadata":{}}"#),
            (
                r#"{"metadata":{"a":"}","managedFields":["]"]}}"#,
                r#"{"metadata":{"a":"}"}}"#,
            ),
            (r#"{"k\u0069nd":"Pod","a":"\u00e9ß"}"#, r#"{"a":"\u00e9ß"}"#),
            (
                r#"{"managedFields":1,"status":{"managedFields":2}}"#,
                r#"{"managedFields":1,"status":{"managedFields":2}}"#,
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(raw(json), expected, "{json}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["", "7", "[]", r#"{"a":}"#, r#"{"metadata":7}"#, "{\"a\":1}x"] {
            assert!(Raw::of_object(json.as_bytes()).is_err(), "{json}");
        }
        assert!(Raw::of_object(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn it_goes_into_json_as_it_is_and_makes_no_difference_to_its_object() {
        let raw = Raw::of_object(br#"{"a":1.10, "b":{}}"#).unwrap();
        assert_eq!(serde_json::to_string(&[&raw]).unwrap(), r#"[{"a":1.10, "b":{}}]"#);
        let (plain, other) = (testing::pod("a").build(), Raw::of_object(b"{}").unwrap());
        let with = |raw: &Raw| Pod {
            raw: Some(raw.clone()),
            ..plain.clone()
        };
        assert_eq!(with(&raw), plain);
        assert_eq!(with(&raw), with(&other));
        assert_ne!(
            with(&raw),
            Pod {
                raw: Some(raw.clone()),
                ..testing::pod("b").build()
            }
        );
        let (plain, kept) = (testing::node("n").build(), Some(raw));
        assert_eq!(
            crate::Node {
                raw: kept,
                ..plain.clone()
            },
            plain
        );
    }

    #[test]
    fn a_policy_tells_pods_with_a_node_from_those_without() {
        let (pending, assigned) = (testing::pod("a").build(), testing::pod("a").on("n").build());
        let all = [RawPolicy::NOTHING, PENDING, ASSIGNED, PENDING.or(ASSIGNED)];
        let keeps = all.map(|policy| (policy.keeps(&pending), policy.keeps(&assigned)));
        assert_eq!(keeps, [(false, false), (true, false), (false, true), (true, true)]);
        assert!(PENDING.or(ASSIGNED).covers(PENDING) && !PENDING.covers(ASSIGNED));
        assert!(PENDING.covers(RawPolicy::NOTHING) && !PENDING.covers(PENDING.or(ASSIGNED)));
    }

    const PENDING: RawPolicy = RawPolicy {
        pending_pods: true,
        ..RawPolicy::NOTHING
    };
    const ASSIGNED: RawPolicy = RawPolicy {
        assigned_pods: true,
        ..RawPolicy::NOTHING
    };

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<i64>().prop_map(Value::from),
            "[a,{}\\[\\]\"\\\\é]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::hash_map(key(), inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("metadata".to_owned()),
            Just("kind".to_owned()),
            Just("apiVersion".to_owned()),
            Just("managedFields".to_owned()),
            "[a-c,\"]{1,2}",
        ]
    }

    proptest! {
        #[test]
        fn cutting_text_equals_cutting_values(
            fields in proptest::collection::hash_map(key(), value(), 0..6),
            metadata in proptest::option::of(proptest::collection::hash_map(key(), value(), 0..5)),
            pretty in any::<bool>(),
        ) {
            let mut object: serde_json::Map<String, Value> = fields.into_iter().collect();
            object.remove("metadata");
            if let Some(metadata) = metadata {
                object.insert("metadata".to_owned(), Value::Object(metadata.into_iter().collect()));
            }
            let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) };
            let kept: Value = serde_json::from_str(&raw(&text.unwrap())).unwrap();
            object.remove("kind");
            object.remove("apiVersion");
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            prop_assert_eq!(kept, Value::Object(object));
        }
    }
}
