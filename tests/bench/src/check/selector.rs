//! Selectors of labels and nodes, read for the judge alone: it must not share its reading with the scheduler.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeSelectorTerm, Pod, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Labels by key.
pub(super) type Labels = BTreeMap<String, String>;

/// Whether a selector takes an object with these labels; none takes nothing.
pub(super) fn selects(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    let Some(selector) = selector else {
        return false;
    };
    let equal = |(key, value): (&String, &String)| labels.get(key) == Some(value);
    selector.match_labels.iter().flatten().all(equal)
        && selector.match_expressions.iter().flatten().all(|expression| {
            let values = expression.values.as_deref().unwrap_or_default();
            holds(&expression.operator, labels.get(&expression.key), values)
        })
}

/// Whether an expression with that operator holds of a value.
fn holds(operator: &str, value: Option<&String>, values: &[String]) -> bool {
    let number = |text: &String| text.parse::<i64>().ok();
    let bound = values.first().and_then(number);
    match operator {
        "In" => value.is_some_and(|value| values.contains(value)),
        "NotIn" => value.is_none_or(|value| !values.contains(value)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => value
            .and_then(number)
            .zip(bound)
            .is_some_and(|(value, bound)| value > bound),
        "Lt" => value
            .and_then(number)
            .zip(bound)
            .is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

/// The labels of a node.
pub(super) fn labels_of(node: &Node) -> &Labels {
    static NONE: Labels = Labels::new();
    node.metadata.labels.as_ref().unwrap_or(&NONE)
}

/// Whether the pod's node selector and required node affinity take the node.
pub(super) fn wants(pod: &Pod, node: &Node) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let labels = labels_of(node);
    let equal = |(key, value): (&String, &String)| labels.get(key) == Some(value);
    let required = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    spec.node_selector.iter().flatten().all(equal)
        && required.is_none_or(|required| required.node_selector_terms.iter().any(|term| takes(term, node)))
}

/// Whether one term takes the node; an empty one takes none.
fn takes(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels = labels_of(node);
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let of_label = expressions.iter().all(|expression| {
        let values = expression.values.as_deref().unwrap_or_default();
        holds(&expression.operator, labels.get(&expression.key), values)
    });
    let of_field = fields.iter().all(|field| {
        let value = Some(&field.key).filter(|key| *key == "metadata.name");
        let value = value.and(node.metadata.name.as_ref());
        holds(&field.operator, value, field.values.as_deref().unwrap_or_default())
    });
    !(expressions.is_empty() && fields.is_empty()) && of_label && of_field
}

/// A taint, or being unschedulable, that keeps the pod from the node.
pub(super) fn repelled_by(pod: &Pod, node: &Node) -> Option<String> {
    let tolerations = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.tolerations.as_deref())
        .unwrap_or_default();
    let tolerated = |taint: &Taint| tolerations.iter().any(|toleration| tolerates(toleration, taint));
    let spec = node.spec.as_ref()?;
    let mut taints: Vec<Taint> = spec.taints.clone().unwrap_or_default();
    if spec.unschedulable == Some(true) {
        taints.push(Taint {
            key: "node.kubernetes.io/unschedulable".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        });
    }
    let hard = taints
        .iter()
        .filter(|taint| ["NoSchedule", "NoExecute"].contains(&taint.effect.as_str()));
    let repelling = hard.into_iter().find(|taint| !tolerated(taint))?;
    Some(format!("{}:{}", repelling.key, repelling.effect))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let effect = text(&toleration.effect);
    let key = text(&toleration.key);
    let of_key = if toleration.operator.as_deref() == Some("Exists") {
        key.is_empty() || key == taint.key
    } else {
        key == taint.key && text(&toleration.value) == text(&taint.value)
    };
    (effect.is_empty() || effect == taint.effect) && of_key
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn node() -> Node {
        let node = json!({
            "metadata": { "name": "n", "labels": { "zone": "a", "size": "7" } },
            "spec": { "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }, { "key": "soft", "effect": "PreferNoSchedule" }] },
        });
        serde_json::from_value(node).unwrap()
    }

    fn pod(spec: &Value) -> Pod {
        let mut spec = spec.clone();
        spec["containers"] = json!([]);
        serde_json::from_value(json!({ "spec": spec })).unwrap()
    }

    #[test]
    fn selectors_of_labels_take_what_their_expressions_say() {
        let labels = Labels::from([("a".to_owned(), "b".to_owned())]);
        let table = [
            (json!({}), true),
            (json!({ "matchLabels": { "a": "b" } }), true),
            (json!({ "matchLabels": { "a": "c" } }), false),
            (
                json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b", "c"] }] }),
                true,
            ),
            (
                json!({ "matchExpressions": [{ "key": "x", "operator": "NotIn", "values": ["b"] }] }),
                true,
            ),
            (
                json!({ "matchExpressions": [{ "key": "x", "operator": "Exists" }] }),
                false,
            ),
            (
                json!({ "matchExpressions": [{ "key": "x", "operator": "DoesNotExist" }] }),
                true,
            ),
        ];
        for (selector, expected) in table {
            let typed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(selects(Some(&typed), &labels), expected, "{selector}");
        }
        assert!(!selects(None, &labels));
    }

    #[test]
    fn node_selectors_and_affinity_are_both_needed_and_one_term_is_enough() {
        let terms = |terms: Value| json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } } } });
        let expression = |key: &str, operator: &str, value: &str| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": [value] }] });
        let name =
            |name: &str| json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [name] }] });
        let table = [
            (json!({}), true),
            (json!({ "nodeSelector": { "zone": "a" } }), true),
            (json!({ "nodeSelector": { "zone": "b" } }), false),
            (
                terms(json!([expression("zone", "In", "b"), expression("size", "Gt", "6")])),
                true,
            ),
            (terms(json!([expression("size", "Lt", "7")])), false),
            (terms(json!([name("n")])), true),
            (terms(json!([name("m")])), false),
            (terms(json!([{}])), false),
        ];
        for (spec, expected) in table {
            assert_eq!(wants(&pod(&spec), &node()), expected, "{spec}");
        }
    }

    #[test]
    fn only_hard_taints_that_are_not_tolerated_repel() {
        let table = [
            (json!({}), Some("k:NoSchedule")),
            (json!({ "tolerations": [{ "operator": "Exists" }] }), None),
            (json!({ "tolerations": [{ "key": "k", "value": "v" }] }), None),
            (
                json!({ "tolerations": [{ "key": "k", "value": "w" }] }),
                Some("k:NoSchedule"),
            ),
            (
                json!({ "tolerations": [{ "key": "k", "operator": "Exists", "effect": "NoExecute" }] }),
                Some("k:NoSchedule"),
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(repelled_by(&pod(&spec), &node()).as_deref(), expected, "{spec}");
        }
        let mut closed = node();
        closed.spec = serde_json::from_value(json!({ "unschedulable": true })).unwrap();
        let repelling = repelled_by(&pod(&json!({})), &closed);
        assert_eq!(
            repelling.as_deref(),
            Some("node.kubernetes.io/unschedulable:NoSchedule")
        );
    }
}
