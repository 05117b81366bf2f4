//! The objects of the core API that configurations hold.

use compact_str::CompactString;
use plimsoll_model::{LabelSelector, NodeAffinity, NodeSelectorTerm, Operator, PreferredTerm, Requirement};

use super::cursor::{Cursor, Object};

pub(super) fn node_affinity(mut object: Object<'_>) -> NodeAffinity {
    let required = object.object("requiredDuringSchedulingIgnoredDuringExecution");
    let preferred = object.items("preferredDuringSchedulingIgnoredDuringExecution");
    let affinity = NodeAffinity {
        required: required.map(node_selector),
        preferred: preferred.into_iter().filter_map(preferred_term).collect(),
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

fn preferred_term(cursor: Cursor<'_>) -> Option<PreferredTerm> {
    let mut object = cursor.object()?;
    let term = PreferredTerm {
        weight: object.int32("weight").unwrap_or_default(),
        preference: object.object("preference").map(node_selector_term).unwrap_or_default(),
    };
    object.finish();
    Some(term)
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
    object.items(field).into_iter().filter_map(requirement).collect()
}

fn requirement(cursor: Cursor<'_>) -> Option<Requirement> {
    let mut object = cursor.object()?;
    let key = object.text("key").unwrap_or_default();
    let operator = CompactString::from(object.text("operator").unwrap_or_default());
    let values = object.texts("values");
    object.finish();
    Some(Requirement::new(key, Operator::from(operator), values))
}
