//! What `matchLabelKeys` and `mismatchLabelKeys` of affinity terms and spread constraints mean for the pod at hand.

use serde_json::{Value, json};

use crate::object::at;

/// Adds the pod's own values of those labels to the selectors, as kube-apiserver does when a pod is created: schedulers
/// read the selectors. Terms without a selector match nothing, and stay so.
pub(super) fn merge_into_selectors(pod: &mut Value) {
    let Some(labels) = at(pod, &["metadata", "labels"]).cloned() else {
        return;
    };
    let Some(spec) = pod.get_mut("spec") else { return };
    for affinity in ["podAffinity", "podAntiAffinity"] {
        for_each(spec, &["affinity", affinity, PREFERRED], |wish| {
            if let Some(term) = wish.get_mut("podAffinityTerm") {
                merge(term, &labels);
            }
        });
        for_each(spec, &["affinity", affinity, REQUIRED], |term| merge(term, &labels));
    }
    for_each(spec, &["topologySpreadConstraints"], |constraint| {
        merge(constraint, &labels);
    });
}

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

fn for_each(spec: &mut Value, path: &[&str], change: impl FnMut(&mut Value)) {
    let list = path.iter().try_fold(spec, |value, field| value.get_mut(field));
    list.and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .for_each(change);
}

fn merge(term: &mut Value, labels: &Value) {
    let wanted: Vec<Value> = [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")]
        .into_iter()
        .flat_map(|(field, operator)| {
            let keys = term.get(field).and_then(Value::as_array).into_iter().flatten();
            keys.filter_map(move |key| {
                let value = labels.get(key.as_str()?)?;
                Some(json!({ "key": key, "operator": operator, "values": [value] }))
            })
        })
        .collect();
    let selector = term.get_mut("labelSelector").and_then(Value::as_object_mut);
    if let Some(selector) = selector
        && !wanted.is_empty()
        && let Some(expressions) = selector
            .entry("matchExpressions")
            .or_insert_with(|| json!([]))
            .as_array_mut()
    {
        expressions.extend(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pods_own_values_of_the_keys_join_the_selectors() {
        let term = json!({
            "topologyKey": "zone",
            "labelSelector": {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]},
            "matchLabelKeys": ["hash", "absent"],
            "mismatchLabelKeys": ["tenant"],
        });
        let constraint = json!({"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["hash"]});
        let nothing = json!({"topologyKey": "zone", "matchLabelKeys": ["hash"]});
        let mut pod = json!({
            "metadata": {"labels": {"hash": "1", "tenant": "t"}},
            "spec": {
                "affinity": {
                    "podAffinity": {REQUIRED: [term]},
                    "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term}]},
                },
                "topologySpreadConstraints": [constraint, nothing],
            },
        });
        merge_into_selectors(&mut pod);
        let hash = json!({"key": "hash", "operator": "In", "values": ["1"]});
        let merged = json!([
            {"key": "x", "operator": "Exists"},
            hash,
            {"key": "tenant", "operator": "NotIn", "values": ["t"]},
        ]);
        let affinity = &pod["spec"]["affinity"];
        let required = &affinity["podAffinity"][REQUIRED][0];
        assert_eq!(required["labelSelector"]["matchExpressions"], merged);
        assert_eq!(&affinity["podAntiAffinity"][PREFERRED][0]["podAffinityTerm"], required);
        let constraints = &pod["spec"]["topologySpreadConstraints"];
        assert_eq!(constraints[0]["labelSelector"], json!({"matchExpressions": [hash]}));
        assert_eq!(constraints[1], nothing);
    }
}
