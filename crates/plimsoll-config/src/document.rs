//! A YAML or JSON text as a tree in which every value knows where it stands.
//!
//! What a scalar means follows kube-scheduler's own reader (YAML 1.1 with its booleans, octal numbers and merge keys).
//! Hostile texts end in an error: length, depth and the number of values, aliases counted each time, are bounded.

mod build;
mod scalar;
#[cfg(test)]
mod tests;

use crate::Position;

pub(crate) use build::parse;
pub(crate) use scalar::would_be_read_as_text;

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// What a place holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// Above the largest signed number.
    UInt(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a map, where it stands, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
    /// Whether an earlier entry of the map has the same key. The last one counts.
    pub(crate) repeated: bool,
}

impl Node {
    /// The value of a key, if this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The items, if this is a list.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().rfind(|entry| entry.key == key),
            _ => None,
        }
    }

    /// What JSON calls the kind of value.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => "number",
            Value::Text(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "object",
        }
    }

    /// The value without places. What JSON has no number for becomes null.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::UInt(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Json::Object(pairs.collect())
            }
        }
    }

    /// Where the value of a path such as `profiles[0].plugins.score` stands, or what is nearest above it.
    pub(crate) fn locate(&self, path: &str) -> Position {
        let mut node = self;
        let mut at = self.at;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let below = match (&node.value, step.strip_suffix(']')) {
                (Value::List(items), Some(index)) => {
                    let item = index.parse().ok().and_then(|index: usize| items.get(index));
                    item.map(|item| (item.at, item))
                }
                (Value::Map(_), None) => node.entry(step).map(|entry| (entry.at, &entry.value)),
                _ => None,
            };
            let Some((place, below)) = below else { break };
            (at, node) = (place, below);
        }
        at
    }
}
