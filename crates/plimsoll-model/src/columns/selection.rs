use compact_str::CompactString;

use super::{Columns, NodeSet};
use crate::selector::{NAME_FIELD, field};
use crate::{Labels, NodeSelectorTerm, Operator, PodSpec, Requirement};

impl Columns {
    /// The nodes that match at least one of the terms. A term that is empty or can't be parsed matches none, and so
    /// does an empty list.
    pub fn match_terms(&self, terms: &[NodeSelectorTerm]) -> NodeSet {
        let mut matching = NodeSet::new();
        for term in terms {
            matching.union_with(&self.match_term(term));
        }
        matching
    }

    /// The nodes that match all of one term.
    pub fn match_term(&self, term: &NodeSelectorTerm) -> NodeSet {
        if term.is_empty() || !term.is_valid() {
            return NodeSet::new();
        }
        let mut matching = self.nodes.clone();
        for requirement in &term.match_expressions {
            self.narrow_by_label(&mut matching, requirement);
        }
        for requirement in &term.match_fields {
            self.narrow_by_field(&mut matching, requirement);
        }
        matching
    }

    /// The nodes that have every one of these labels.
    pub fn match_labels(&self, labels: &Labels) -> NodeSet {
        let mut matching = self.nodes.clone();
        for (key, value) in labels.iter() {
            matching.intersect_with(&self.nodes_with_label(key, value));
        }
        matching
    }

    /// The nodes that a pod's node selector and required node affinity allow.
    pub fn match_required(&self, spec: &PodSpec) -> NodeSet {
        let mut matching = match &spec.node_selector {
            Some(labels) => self.match_labels(labels),
            None => self.nodes.clone(),
        };
        let node_affinity = spec
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.node_affinity.as_ref());
        if let Some(terms) = node_affinity.and_then(|affinity| affinity.required.as_ref()) {
            matching.intersect_with(&self.match_terms(terms));
        }
        matching
    }

    /// The nodes with this value of a label.
    pub fn nodes_with_label(&self, key: &str, value: &str) -> NodeSet {
        let column = self.label_key(key);
        let found = column.and_then(|column| Some(column.nodes_with(column.id_of(value)?)));
        found.unwrap_or_default()
    }

    fn narrow_by_label(&self, matching: &mut NodeSet, requirement: &Requirement) {
        let Some(column) = self.label_key(&requirement.key) else {
            if !requirement.matches_value(None) {
                matching.clear();
            }
            return;
        };
        let texts = requirement.values.iter().map(CompactString::as_str);
        match requirement.operator {
            Operator::Exists => matching.intersect_with(column.nodes()),
            Operator::DoesNotExist => matching.subtract(column.nodes()),
            Operator::In => matching.intersect_with(&column.nodes_with_any(texts)),
            Operator::NotIn => matching.subtract(&column.nodes_with_any(texts)),
            Operator::Gt | Operator::Lt | Operator::Other(_) => {
                matching.intersect_with(&column.nodes_where(|value| requirement.matches_value(Some(value))));
            }
        }
    }

    /// Of all fields only the name differs between nodes.
    fn narrow_by_field(&self, matching: &mut NodeSet, requirement: &Requirement) {
        if requirement.key != NAME_FIELD {
            if !requirement.matches_value(Some(field(&requirement.key, ""))) {
                matching.clear();
            }
            return;
        }
        let named: NodeSet = requirement
            .values
            .iter()
            .filter_map(|name| self.index_of(name))
            .collect();
        match requirement.operator {
            Operator::In => matching.intersect_with(&named),
            _ => matching.subtract(&named),
        }
    }
}
