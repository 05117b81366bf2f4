//! Objects of the core API that configurations hold.

use serde_json::{Value, json};

use super::args::spread_constraint;
use super::{int32, list, object, one_of, reference, text};

pub(super) fn definitions() -> Vec<(&'static str, Value)> {
    let selector = object(
        &[("nodeSelectorTerms", list(&reference("NodeSelectorTerm")))],
        &["nodeSelectorTerms"],
    );
    let preferred = [("weight", int32()), ("preference", reference("NodeSelectorTerm"))];
    let affinity = [
        ("requiredDuringSchedulingIgnoredDuringExecution", selector),
        (
            "preferredDuringSchedulingIgnoredDuringExecution",
            list(&object(&preferred, &["weight", "preference"])),
        ),
    ];
    let node_operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
    let term = [
        ("matchExpressions", list(&requirement(&node_operators))),
        ("matchFields", list(&requirement(&["In", "NotIn"]))),
    ];
    let labels = [
        (
            "matchLabels",
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ),
        (
            "matchExpressions",
            list(&requirement(&["In", "NotIn", "Exists", "DoesNotExist"])),
        ),
    ];
    vec![
        ("NodeAffinity", object(&affinity, &[])),
        ("NodeSelectorTerm", object(&term, &[])),
        ("LabelSelector", object(&labels, &[])),
        ("TopologySpreadConstraint", spread_constraint()),
    ]
}

fn requirement(operators: &[&str]) -> Value {
    let fields = [
        ("key", text()),
        ("operator", one_of(operators)),
        ("values", list(&text())),
    ];
    object(&fields, &["key", "operator"])
}
