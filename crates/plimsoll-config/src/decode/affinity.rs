//! The objects of the core API that configurations hold.

use compact_str::CompactString;
use plimsoll_model::{LabelSelector, NodeAffinity, NodeSelectorTerm, Operator, PreferredTerm, Requirement};

use super::cursor::{Cursor, Object};
use crate::document::{Node, Value};

pub(super) fn node_affinity(mut object: Object<'_>) -> NodeAffinity {
    let required = object.object("requiredDuringSchedulingIgnoredDuringExecution");
    let preferred = object.items("preferredDuringSchedulingIgnoredDuringExecution");
    let affinity = NodeAffinity {
        required: required.map(node_selector),
        preferred: preferred.into_iter().map(preferred_term).collect(),
    };
    object.finish();
    affinity
}

fn node_selector(mut object: Object<'_>) -> Vec<NodeSelectorTerm> {
    let terms = object.items("nodeSelectorTerms");
    let terms = terms
        .into_iter()
        .map(|term| term.object().map(node_selector_term).unwrap_or_default());
    let terms = terms.collect();
    object.finish();
    terms
}

/// A null is a term too, as in Go.
fn preferred_term(cursor: Cursor<'_>) -> PreferredTerm {
    let mut term = PreferredTerm {
        weight: 0,
        preference: NodeSelectorTerm::default(),
    };
    if let Some(mut object) = cursor.object() {
        term.weight = object.int32("weight").unwrap_or_default();
        term.preference = object.object("preference").map(node_selector_term).unwrap_or_default();
        object.finish();
    }
    term
}

fn node_selector_term(mut object: Object<'_>) -> NodeSelectorTerm {
    let term = NodeSelectorTerm {
        match_expressions: requirements(&mut object, "matchExpressions"),
        match_fields: requirements(&mut object, "matchFields"),
    };
    object.finish();
    term
}

pub(super) fn label_selector(mut object: Object<'_>) -> LabelSelector {
    let labels = object.object("matchLabels").map(Object::pairs).unwrap_or_default();
    let selector = LabelSelector {
        match_labels: labels.iter().map(|(key, value)| (*key, value.as_str())).collect(),
        match_expressions: requirements(&mut object, "matchExpressions"),
    };
    object.finish();
    selector
}

fn requirements(object: &mut Object<'_>, field: &'static str) -> Vec<Requirement> {
    object.items(field).into_iter().map(requirement).collect()
}

fn requirement(cursor: Cursor<'_>) -> Requirement {
    let (mut key, mut operator, mut values) = (String::new(), String::new(), Vec::new());
    if let Some(mut object) = cursor.object() {
        key = object.text("key").unwrap_or_default();
        operator = object.text("operator").unwrap_or_default();
        values = object.texts("values");
        object.finish();
    }
    Requirement::new(key, Operator::from(CompactString::from(operator)), values)
}

/// The fields of a node affinity that lead to lists.
const TO_LISTS: [&str; 7] = [
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
    "preference",
    "matchExpressions",
    "matchFields",
    "values",
];

/// The lists of a node affinity that are written empty, by the path that errors have for them.
pub(super) fn empty_lists(affinity: &Node) -> Vec<String> {
    let mut found = Vec::new();
    find_empty(affinity, "", &mut found);
    found
}

fn find_empty(node: &Node, path: &str, found: &mut Vec<String>) {
    match &node.value {
        Value::List(items) if items.is_empty() => found.push(path.to_owned()),
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                find_empty(item, &format!("{path}[{at}]"), found);
            }
        }
        Value::Map(entries) => {
            for entry in entries.iter().filter(|entry| TO_LISTS.contains(&entry.key.as_str())) {
                let below = match entry.key.as_str() {
                    // Errors leave this step out.
                    "preference" => path.to_owned(),
                    key if path.is_empty() => key.to_owned(),
                    key => format!("{path}.{key}"),
                };
                find_empty(&entry.value, &below, found);
            }
        }
        _ => {}
    }
}
