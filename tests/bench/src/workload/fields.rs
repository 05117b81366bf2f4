//! The fields of a map in a workload file: found whatever their case, as Go's decoders do, and none is overlooked.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// What is left to be taken of one map.
#[derive(Debug)]
pub(crate) struct Fields {
    at: String,
    /// By name in lower case, with the name as it is written.
    left: BTreeMap<String, (String, Value)>,
}

impl Fields {
    /// Those of a map; `at` says where it is.
    pub(crate) fn of(at: &str, value: Value) -> anyhow::Result<Self> {
        let Value::Object(map) = value else {
            bail!("{at} must be a map");
        };
        let mut left = BTreeMap::new();
        for (name, value) in map {
            let twice = left.insert(name.to_ascii_lowercase(), (name, value));
            ensure!(twice.is_none(), "{at} has a field twice");
        }
        Ok(Self {
            at: at.to_owned(),
            left,
        })
    }

    /// Where the map is.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    /// A field's value; null is as good as none.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        let (_, value) = self.left.remove(&name.to_ascii_lowercase())?;
        Some(value).filter(|value| !value.is_null())
    }

    fn read<T>(&mut self, name: &str, what: &str, read: impl Fn(Value) -> Option<T>) -> anyhow::Result<Option<T>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let shown = value.to_string();
        let read = read(value).with_context(|| format!("{}: {name} must be {what}, not {shown}", self.at))?;
        Ok(Some(read))
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str) -> anyhow::Result<Option<String>> {
        self.read(name, "a text", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    /// A text that must be there.
    pub(crate) fn required(&mut self, name: &str) -> anyhow::Result<String> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.with_context(|| format!("{}: {name} must be set", self.at))
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&mut self, name: &str) -> anyhow::Result<Option<usize>> {
        self.read(name, "a whole number, at least 0", |value| {
            usize::try_from(value.as_u64()?).ok()
        })
    }

    /// True or false.
    pub(crate) fn flag(&mut self, name: &str) -> anyhow::Result<Option<bool>> {
        self.read(name, "true or false", |value| value.as_bool())
    }

    /// A list; empty when there is none.
    pub(crate) fn list(&mut self, name: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.read(name, "a list", |value| match value {
            Value::Array(list) => Some(list),
            _ => None,
        })?;
        Ok(list.unwrap_or_default())
    }

    /// A list of texts; empty when there is none.
    pub(crate) fn texts(&mut self, name: &str) -> anyhow::Result<Vec<String>> {
        let at = self.at.clone();
        let text = |value: Value| value.as_str().map(str::to_owned);
        let list = self.list(name)?.into_iter().map(text).collect::<Option<_>>();
        list.with_context(|| format!("{at}: {name} must be a list of texts"))
    }

    /// A map whose names mean themselves; empty when there is none.
    pub(crate) fn map<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> anyhow::Result<BTreeMap<String, T>> {
        let map = self.read(name, "a map of such values", |value| {
            let entries = value.as_object()?.iter();
            entries.map(|(key, value)| Some((key.clone(), read(value)?))).collect()
        })?;
        Ok(map.unwrap_or_default())
    }

    /// A map of texts; empty when there is none.
    pub(crate) fn text_map(&mut self, name: &str) -> anyhow::Result<BTreeMap<String, String>> {
        self.map(name, |value| value.as_str().map(str::to_owned))
    }

    /// An error when a field was not taken: nobody knows what it means.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let unknown: Vec<String> = self.left.into_values().map(|(name, _)| name).collect();
        ensure!(unknown.is_empty(), "{}: unknown field {}", self.at, unknown.join(", "));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_found_whatever_their_case_and_none_may_be_left() {
        let map = json!({ "CountParam": "$a", "count": 3, "Labels": ["x"], "nothing": null, "more": 1 });
        let mut fields = Fields::of("op 1", map).unwrap();
        assert_eq!(fields.text("countParam").unwrap().as_deref(), Some("$a"));
        assert_eq!(fields.count("count").unwrap(), Some(3));
        assert_eq!(fields.texts("labels").unwrap(), ["x"]);
        assert_eq!(fields.text("nothing").unwrap(), None);
        let left = fields.finish().unwrap_err().to_string();
        assert_eq!(left, "op 1: unknown field more");
    }

    #[test]
    fn a_field_of_another_type_says_where_it_is() {
        let fields = |value| Fields::of("op 2", json!({ "count": value })).unwrap();
        for value in [json!(-1), json!("7"), json!(1.5), json!(true)] {
            let error = fields(value).count("count").unwrap_err().to_string();
            assert!(error.starts_with("op 2: count must be a whole number"), "{error}");
        }
        assert!(Fields::of("op 3", json!([])).is_err());
        assert!(Fields::of("op 4", json!({ "a": 1, "A": 2 })).is_err());
        assert!(fields(json!(1)).required("name").is_err());
    }
}
