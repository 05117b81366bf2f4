//! Selectors, as Kubernetes parses them.

use compact_str::CompactString;
use plimsoll_model::{
    LabelSelector, NodeAffinity, NodeSelectorTerm, Operator, Requirement, label_key_faults, label_value_faults,
};
use serde_json::{Value, json};

use super::below;
use crate::FieldError;

const NODE_OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const LABEL_OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
const FIELD_OPERATORS: [&str; 2] = ["In", "NotIn"];

pub(super) fn node_affinity(path: &str, affinity: &NodeAffinity, errors: &mut Vec<FieldError>) {
    let required = below(path, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    for (at, term) in affinity.required.iter().flatten().enumerate() {
        node_selector_term(&format!("{required}[{at}]"), term, errors);
    }
    let preferred = below(path, "preferredDuringSchedulingIgnoredDuringExecution");
    for (at, term) in affinity.preferred.iter().enumerate() {
        // Void terms are not looked at.
        if term.weight != 0 {
            node_selector_term(&format!("{preferred}[{at}]"), &term.preference, errors);
        }
    }
}

fn node_selector_term(path: &str, term: &NodeSelectorTerm, errors: &mut Vec<FieldError>) {
    for (at, requirement) in term.match_expressions.iter().enumerate() {
        label_requirement(
            &format!("{path}.matchExpressions[{at}]"),
            requirement,
            &NODE_OPERATORS,
            errors,
        );
    }
    for (at, requirement) in term.match_fields.iter().enumerate() {
        let path = format!("{path}.matchFields[{at}]");
        let operator = operator_name(&requirement.operator);
        if !FIELD_OPERATORS.contains(&operator) {
            errors.push(FieldError::not_supported(
                below(&path, "operator"),
                operator,
                &FIELD_OPERATORS,
            ));
        } else if requirement.values.len() != 1 {
            let shown = shown_values(requirement);
            errors.push(FieldError::invalid(
                below(&path, "values"),
                shown,
                "must have one element",
            ));
        }
    }
}

pub(super) fn label_selector(path: &str, selector: &LabelSelector, errors: &mut Vec<FieldError>) {
    let labels = below(path, "matchLabels");
    for (key, value) in selector.match_labels.iter() {
        errors.extend(key_fault(&labels, key));
        errors.extend(value_fault(&format!("{labels}[{key}]"), value));
    }
    for (at, requirement) in selector.match_expressions.iter().enumerate() {
        label_requirement(
            &format!("{path}.matchExpressions[{at}]"),
            requirement,
            &LABEL_OPERATORS,
            errors,
        );
    }
}

fn label_requirement(path: &str, requirement: &Requirement, operators: &[&str], errors: &mut Vec<FieldError>) {
    let operator = operator_name(&requirement.operator);
    if !operators.contains(&operator) {
        errors.push(FieldError::not_supported(below(path, "operator"), operator, operators));
        return;
    }
    errors.extend(key_fault(&below(path, "key"), &requirement.key));
    let values = below(path, "values");
    count_fault(&values, requirement, errors);
    for (at, value) in requirement.values.iter().enumerate() {
        errors.extend(value_fault(&format!("{values}[{at}][{}]", requirement.key), value));
    }
}

fn count_fault(path: &str, requirement: &Requirement, errors: &mut Vec<FieldError>) {
    let count = requirement.values.len();
    let detail = match requirement.operator {
        Operator::In | Operator::NotIn if count == 0 => "for 'in', 'notin' operators, values set can't be empty",
        Operator::Exists | Operator::DoesNotExist if count != 0 => {
            "values set must be empty for exists and does not exist"
        }
        Operator::Gt | Operator::Lt if count != 1 => "for 'Gt', 'Lt' operators, exactly one value is required",
        _ => "",
    };
    if !detail.is_empty() {
        errors.push(FieldError::invalid(path, shown_values(requirement), detail));
    }
    if matches!(requirement.operator, Operator::Gt | Operator::Lt) {
        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
        let junk = requirement
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.parse::<i64>().is_err());
        errors.extend(junk.map(|(at, value)| FieldError::invalid(format!("{path}[{at}]"), value.as_str(), detail)));
    }
}

fn key_fault(path: &str, key: &str) -> Option<FieldError> {
    let faults = label_key_faults(key);
    (!faults.is_empty()).then(|| FieldError::invalid(path, key, faults.join("; ")))
}

fn value_fault(path: &str, value: &str) -> Option<FieldError> {
    let faults = label_value_faults(value);
    (!faults.is_empty()).then(|| FieldError::invalid(path, value, faults.join("; ")))
}

/// Go shows a list without values as null.
fn shown_values(requirement: &Requirement) -> Value {
    if requirement.values.is_empty() {
        return Value::Null;
    }
    let values: Vec<&str> = requirement.values.iter().map(CompactString::as_str).collect();
    json!(values)
}

pub(crate) fn operator_name(operator: &Operator) -> &str {
    match operator {
        Operator::In => "In",
        Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::Gt => "Gt",
        Operator::Lt => "Lt",
        Operator::Other(text) => text,
    }
}
