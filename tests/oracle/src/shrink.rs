//! Makes a case smaller while it still shows the same difference.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Fields without which an object would be none that the API server could hold.
const NEEDED: [&str; 37] = [
    "apiVersion",
    "kind",
    "profiles",
    "schedulerName",
    "metadata",
    "name",
    "uid",
    "resourceVersion",
    "namespace",
    "spec",
    "containers",
    "key",
    "operator",
    "values",
    "topologyKey",
    "maxSkew",
    "whenUnsatisfiable",
    "weight",
    "preference",
    "podAffinityTerm",
    "effect",
    "names",
    "containerPort",
    "nodeSelectorTerms",
    "reference",
    "resource",
    "score",
    "provisioner",
    "volumeBindingMode",
    "accessModes",
    "driver",
    "volumeHandle",
    "claimName",
    "attacher",
    "nodeID",
    "drivers",
    "matchLabelExpressions",
];

/// Lists that cannot be empty.
const NEVER_EMPTY: [&str; 4] = ["containers", "nodeSelectorTerms", "values", "profiles"];

/// The smallest case found for which `shows` still holds. Tries at most `budget` cases.
pub(crate) fn shrink<Q: Serialize + DeserializeOwned>(
    case: &Q,
    budget: usize,
    mut shows: impl FnMut(&Q) -> anyhow::Result<bool>,
) -> anyhow::Result<Q> {
    let mut smallest = serde_json::to_value(case)?;
    let mut left = budget;
    loop {
        let mut removed = false;
        let mut cuts = Vec::new();
        collect_cuts(&smallest, &mut Vec::new(), &mut cuts);
        for cut in cuts {
            let mut candidate = smallest.clone();
            if !cut.apply(&mut candidate) {
                continue;
            }
            let Ok(smaller) = serde_json::from_value::<Q>(candidate.clone()) else {
                continue;
            };
            if left == 0 {
                break;
            }
            left -= 1;
            if shows(&smaller)? {
                smallest = candidate;
                removed = true;
            }
        }
        if !removed || left == 0 {
            break;
        }
    }
    Ok(serde_json::from_value(smallest)?)
}

/// A field or an element to leave out.
struct Cut(Vec<Step>);

#[derive(Clone)]
enum Step {
    Field(String),
    Element(usize),
}

impl Cut {
    fn apply(&self, whole: &mut Value) -> bool {
        let Some((last, path)) = self.0.split_last() else {
            return false;
        };
        let mut at = whole;
        for step in path {
            let next = match step {
                Step::Field(name) => at.get_mut(name.as_str()),
                Step::Element(index) => at.get_mut(*index),
            };
            let Some(next) = next else { return false };
            at = next;
        }
        match (last, at) {
            (Step::Field(name), Value::Object(fields)) => fields.remove(name).is_some(),
            (Step::Element(index), Value::Array(elements)) if *index < elements.len() => {
                let keep_one = matches!(path.last(), Some(Step::Field(name)) if NEVER_EMPTY.contains(&name.as_str()));
                if keep_one && elements.len() == 1 {
                    return false;
                }
                elements.remove(*index);
                true
            }
            _ => false,
        }
    }
}

/// Large pieces first, and elements of a list from the last one, so that the others keep their places.
fn collect_cuts(value: &Value, path: &mut Vec<Step>, cuts: &mut Vec<Cut>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                path.push(Step::Field(name.clone()));
                let whole_case = path.len() == 1;
                if !whole_case && !NEEDED.contains(&name.as_str()) {
                    cuts.push(Cut(path.clone()));
                }
                collect_cuts(inner, path, cuts);
                path.pop();
            }
        }
        Value::Array(elements) => {
            for (index, inner) in elements.iter().enumerate().rev() {
                path.push(Step::Element(index));
                cuts.push(Cut(path.clone()));
                collect_cuts(inner, path, cuts);
                path.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case::Case;

    #[test]
    fn what_does_not_matter_is_left_out_and_what_an_object_needs_is_kept() {
        let case = Case {
            nodes: vec![
                json!({"metadata": {"name": "a", "labels": {"x": "1"}}}),
                json!({"metadata": {"name": "b", "labels": {"x": "1", "y": "2"}}, "spec": {"unschedulable": true}}),
            ],
            pod: json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}, {"name": "d"}]}}),
            ..Case::default()
        };
        let shows = |case: &Case| Ok(case.nodes.iter().any(|node| node["metadata"]["labels"]["y"] == "2"));
        let smallest = shrink(&case, 1000, shows).unwrap();
        let expected = Case {
            nodes: vec![json!({"metadata": {"name": "b", "labels": {"y": "2"}}, "spec": {}})],
            pod: json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}),
            ..Case::default()
        };
        assert_eq!(smallest, expected);
    }
}
