use compact_str::CompactString;
use serde::Deserialize;

use crate::decode::or_default;
use crate::{Labels, is_label_key, is_label_value};

/// The only node field that a node selector may name.
pub(crate) const NAME_FIELD: &str = "metadata.name";

/// How a requirement compares a label with its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "CompactString")]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer larger than the value.
    Gt,
    /// The label is an integer smaller than the value.
    Lt,
    /// Anything else: the requirement is invalid.
    Other(CompactString),
}

impl From<CompactString> for Operator {
    fn from(text: CompactString) -> Self {
        match text.as_str() {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            _ => Self::Other(text),
        }
    }
}

/// A condition on one label (or node field).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub struct Requirement {
    /// The label's key.
    #[serde(default, deserialize_with = "or_default")]
    pub key: CompactString,
    /// How to compare.
    #[serde(default = "no_operator")]
    pub operator: Operator,
    /// What to compare with.
    #[serde(default, deserialize_with = "or_default")]
    pub values: Vec<CompactString>,
}

/// A condition on one label of a pod or a namespace; `Gt` and `Lt` are invalid here.
pub type LabelRequirement = Requirement;

fn no_operator() -> Operator {
    Operator::Other(CompactString::default())
}

impl Requirement {
    /// A requirement.
    pub fn new<V: Into<CompactString>>(
        key: impl Into<CompactString>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self {
            key: key.into(),
            operator,
            values: values.into_iter().map(Into::into).collect(),
        }
    }

    /// Whether kube-scheduler can parse it: key and values are label text, and there are as many values as the operator
    /// wants. `Gt` and `Lt` want one integer which is also label text, so a negative one is invalid.
    pub fn is_valid(&self) -> bool {
        let count_fits = match self.operator {
            Operator::In | Operator::NotIn => !self.values.is_empty(),
            Operator::Exists | Operator::DoesNotExist => self.values.is_empty(),
            Operator::Gt | Operator::Lt => self.number().is_some(),
            Operator::Other(_) => false,
        };
        count_fits && is_label_key(&self.key) && self.values.iter().all(|value| is_label_value(value))
    }

    /// The one integer of `Gt` and `Lt`.
    pub fn number(&self) -> Option<i64> {
        match self.values.as_slice() {
            [only] => only.parse().ok(),
            _ => None,
        }
    }

    /// Whether a label with this value, or its absence, meets the (valid) requirement.
    pub fn matches_value(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::In => value.is_some_and(|value| self.has_value(value)),
            Operator::NotIn => value.is_none_or(|value| !self.has_value(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => self.with_number(value, |label, number| label > number),
            Operator::Lt => self.with_number(value, |label, number| label < number),
            Operator::Other(_) => false,
        }
    }

    fn has_value(&self, value: &str) -> bool {
        self.values.iter().any(|own| own == value)
    }

    fn with_number(&self, value: Option<&str>, compare: impl Fn(i64, i64) -> bool) -> bool {
        let label = value.and_then(|value| value.parse().ok());
        label
            .zip(self.number())
            .is_some_and(|(label, number)| compare(label, number))
    }
}

/// One alternative of a node selector: all its requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// Conditions on labels.
    #[serde(default, deserialize_with = "or_default")]
    pub match_expressions: Vec<Requirement>,
    /// Conditions on fields; only `metadata.name`, with `In` or `NotIn` and one value.
    #[serde(default, deserialize_with = "or_default")]
    pub match_fields: Vec<Requirement>,
}

impl NodeSelectorTerm {
    /// Whether it says nothing, which matches no node.
    pub fn is_empty(&self) -> bool {
        self.match_expressions.is_empty() && self.match_fields.is_empty()
    }

    /// Whether all of it can be parsed; a term that can't be matches no node.
    pub fn is_valid(&self) -> bool {
        self.match_expressions.iter().all(Requirement::is_valid) && self.match_fields.iter().all(field_is_valid)
    }

    /// Whether a node of this name and with these labels matches.
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        !self.is_empty()
            && self.is_valid()
            && self
                .match_expressions
                .iter()
                .all(|wanted| wanted.matches_value(labels.get(&wanted.key)))
            && self
                .match_fields
                .iter()
                .all(|wanted| wanted.matches_value(Some(field(&wanted.key, name))))
    }
}

fn field_is_valid(requirement: &Requirement) -> bool {
    matches!(requirement.operator, Operator::In | Operator::NotIn) && requirement.values.len() == 1
}

/// A field of a node as selectors see it: those that don't exist are empty.
pub(crate) fn field<'a>(key: &str, name: &'a str) -> &'a str {
    if key == NAME_FIELD { name } else { "" }
}

/// Selects objects by their labels. As a field, no selector at all matches nothing; an empty one matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must be present with these values.
    #[serde(default, deserialize_with = "or_default")]
    pub match_labels: Labels,
    /// Further conditions that must all hold.
    #[serde(default, deserialize_with = "or_default")]
    pub match_expressions: Vec<LabelRequirement>,
}

impl LabelSelector {
    /// A selector of objects with these labels.
    pub fn of_labels(match_labels: Labels) -> Self {
        Self {
            match_labels,
            match_expressions: Vec::new(),
        }
    }

    /// Whether it has no condition and so matches everything.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether all of it can be parsed.
    pub fn is_valid(&self) -> bool {
        self.match_labels
            .iter()
            .all(|(key, value)| is_label_key(key) && is_label_value(value))
            && self
                .match_expressions
                .iter()
                .all(|wanted| !matches!(wanted.operator, Operator::Gt | Operator::Lt) && wanted.is_valid())
    }

    /// Whether an object with these labels is selected. An invalid selector selects nothing.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.is_valid() && self.holds_for(labels)
    }

    /// As [`LabelSelector::matches`] for a selector that is known to be valid: validity is costlier than matching.
    pub(crate) fn holds_for(&self, labels: &Labels) -> bool {
        self.match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && self
                .match_expressions
                .iter()
                .all(|wanted| wanted.matches_value(labels.get(&wanted.key)))
    }
}

mod parse_error;
#[cfg(test)]
mod tests;

pub use parse_error::ParseSelectorError;
