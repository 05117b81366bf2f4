//! Which labels a node lacks, in words.

use plimsoll_framework::CycleContext;
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::{Labels, NodeSelectorTerm, Operator, Requirement};

use super::{NAME_FIELD, required_terms};

/// What is missing for the pod's selector, its required terms and those of its profile. One of several terms will do, so
/// only the nearest of them is told.
pub(super) fn of_node(cycle: CycleContext<'_>, added: Option<&[NodeSelectorTerm]>, node: NodeIndex) -> Vec<String> {
    let columns = cycle.columns;
    let selected = cycle.pod.spec.node_selector.iter().flat_map(Labels::iter);
    let mut lacking: Vec<String> = selected
        .filter(|(key, value)| columns.label(node, key) != Some(*value))
        .map(|(key, value)| format!("label {key}={value} is wanted, {}", there(columns, node, key)))
        .collect();
    for terms in [added, required_terms(cycle.pod)].into_iter().flatten() {
        let each = terms.iter().map(|term| of_term(term, columns, node));
        lacking.extend(each.min_by_key(Vec::len).unwrap_or_default());
    }
    lacking
}

fn of_term(term: &NodeSelectorTerm, columns: &Columns, node: NodeIndex) -> Vec<String> {
    let labels = term.match_expressions.iter();
    let labels = labels.filter(|wanted| !wanted.matches_value(columns.label(node, &wanted.key)));
    let labels = labels.map(|wanted| {
        let there = there(columns, node, &wanted.key);
        format!("label {} is wanted, {there}", in_words(wanted))
    });
    let name = columns.name(node);
    let fields = term.match_fields.iter();
    let fields = fields.filter(|wanted| wanted.key == NAME_FIELD && !wanted.matches_value(Some(name)));
    labels
        .chain(fields.map(|wanted| format!("{} is wanted", in_words(wanted))))
        .collect()
}

fn there(columns: &Columns, node: NodeIndex, key: &str) -> String {
    match columns.label(node, key) {
        Some(value) => format!("the node has {key}={value}"),
        None => "the node has none".to_owned(),
    }
}

fn in_words(wanted: &Requirement) -> String {
    let Requirement { key, operator, values } = wanted;
    let values = values.join(", ");
    match operator {
        Operator::In => format!("{key} in ({values})"),
        Operator::NotIn => format!("{key} not in ({values})"),
        Operator::Exists => key.to_string(),
        Operator::DoesNotExist => format!("!{key}"),
        Operator::Gt => format!("{key} > {values}"),
        Operator::Lt => format!("{key} < {values}"),
        Operator::Other(operator) => format!("{key} {operator} ({values})"),
    }
}
