//! Objects from templates, checked as strictly as upstream's loader does: no field may be unknown, and the case of a
//! field's first letter does not matter.

use std::sync::Arc;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::template::Template;

/// Fields that hold amounts by name, which may be written as numbers.
const AMOUNTS: [&str; 5] = ["limits", "requests", "capacity", "allocatable", "overhead"];

/// Many objects of one template.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    template: Source,
    read: fn(Value) -> anyhow::Result<Value>,
    count: usize,
}

#[derive(Clone, Debug)]
enum Source {
    /// The same for each.
    Fixed(Value),
    Rendered(Arc<Template>),
}

impl Objects {
    /// Pods; plain ones without a template.
    pub(crate) fn pods(template: Option<&Arc<Template>>, count: usize) -> anyhow::Result<Self> {
        Self::new(template, count, plain_pod, read_pod)
    }

    /// Nodes; plain ones without a template.
    pub(crate) fn nodes(template: Option<&Arc<Template>>, count: usize) -> anyhow::Result<Self> {
        Self::new(template, count, plain_node, read_node)
    }

    /// Volumes.
    pub(crate) fn volumes(template: &Arc<Template>, count: usize) -> anyhow::Result<Self> {
        Self::new(Some(template), count, || Value::Null, known::<PersistentVolume>)
    }

    /// Claims to volumes.
    pub(crate) fn claims(template: &Arc<Template>, count: usize) -> anyhow::Result<Self> {
        Self::new(Some(template), count, || Value::Null, known::<PersistentVolumeClaim>)
    }

    /// Objects of any kind, as they stand in the template.
    pub(crate) fn any(template: &Arc<Template>, count: usize) -> anyhow::Result<Self> {
        Self::new(Some(template), count, || Value::Null, read_any)
    }

    fn new(
        template: Option<&Arc<Template>>,
        count: usize,
        plain: fn() -> Value,
        read: fn(Value) -> anyhow::Result<Value>,
    ) -> anyhow::Result<Self> {
        let template = match template {
            None => Source::Fixed(plain()),
            Some(template) if template.is_fixed() => Source::Fixed(read(parse(template, 0, count)?)?),
            Some(template) => Source::Rendered(Arc::clone(template)),
        };
        Ok(Self { template, read, count })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The one with that index.
    pub(crate) fn object(&self, index: usize) -> anyhow::Result<Value> {
        match &self.template {
            Source::Fixed(object) => Ok(object.clone()),
            Source::Rendered(template) => (self.read)(parse(template, index, self.count)?),
        }
    }
}

fn parse(template: &Template, index: usize, count: usize) -> anyhow::Result<Value> {
    let text = template.render(index, count)?;
    serde_saphyr::from_str(&text).with_context(|| format!("no YAML:\n{text}"))
}

fn plain_pod() -> Value {
    let amounts = json!({ "cpu": "100m", "memory": "500Mi" });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "generateName": "pod-" },
        "spec": { "containers": [{
            "name": "pause",
            "image": "registry.k8s.io/pause:3.10",
            "ports": [{ "containerPort": 80 }],
            "resources": { "limits": amounts, "requests": amounts },
        }] },
    })
}

fn plain_node() -> Value {
    let amounts = json!({ "cpu": "4", "memory": "32Gi", "pods": "110" });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "generateName": "node-" },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}

/// A priority in plain numbers is only taken by API servers without admission of priorities; a class of that value says
/// the same to all.
fn read_pod(object: Value) -> anyhow::Result<Value> {
    let mut pod = known::<Pod>(object)?;
    let spec = pod
        .get_mut("spec")
        .and_then(Value::as_object_mut)
        .context("a pod without a spec")?;
    if spec.get("priorityClassName").is_none()
        && let Some(priority) = spec.remove("priority").and_then(|priority| priority.as_i64())
    {
        spec.insert("priorityClassName".to_owned(), Value::String(priority_class(priority)));
    }
    Ok(pod)
}

/// The name of the class that stands for a priority.
pub(crate) fn priority_class(priority: i64) -> String {
    // A name may hold a sign, but not begin with one.
    format!("priority{priority}")
}

/// The priority for which the pod's class stands, if it is one of ours.
pub(crate) fn priority(pod: &Value) -> Option<i64> {
    pod["spec"]["priorityClassName"]
        .as_str()?
        .strip_prefix("priority")?
        .parse()
        .ok()
}

/// As the API server does for clients that leave `allocatable` out.
fn read_node(object: Value) -> anyhow::Result<Value> {
    let mut node = known::<Node>(object)?;
    if let Some(status) = node.get_mut("status").and_then(Value::as_object_mut)
        && !status.contains_key("allocatable")
        && let Some(capacity) = status.get("capacity").cloned()
    {
        status.insert("allocatable".to_owned(), capacity);
    }
    Ok(node)
}

fn read_any(mut object: Value) -> anyhow::Result<Value> {
    amounts_as_text(&mut object);
    ensure!(
        object["kind"].is_string() && object["apiVersion"].is_string(),
        "an object without a kind: {object}"
    );
    match object["kind"].as_str() {
        Some("Pod") => read_pod(object),
        Some("Node") => read_node(object),
        _ => Ok(object),
    }
}

/// The object with every field spelled as the kind has it; an error when the kind does not have one.
fn known<K: Serialize + DeserializeOwned>(mut object: Value) -> anyhow::Result<Value> {
    amounts_as_text(&mut object);
    loop {
        let typed: K = serde_json::from_value(object.clone())?;
        let Some(lost) = lost(&object, &serde_json::to_value(typed)?) else {
            return Ok(object);
        };
        ensure!(spelled_small(&mut object, &lost), "unknown field {}", lost.join("."));
    }
}

/// The path of a field that the typed object does not have.
fn lost(given: &Value, typed: &Value) -> Option<Vec<String>> {
    let below = |name: String, given: &Value, typed: Option<&Value>| {
        let Some(typed) = typed else {
            return Some(vec![name]);
        };
        let mut path = lost(given, typed)?;
        path.insert(0, name);
        Some(path)
    };
    match given {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .find_map(|(name, value)| below(name.clone(), value, typed.get(name))),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, value)| below(index.to_string(), value, typed.get(index))),
        _ => None,
    }
}

/// Writes the last field of the path with a small first letter; false when it is so already.
fn spelled_small(object: &mut Value, path: &[String]) -> bool {
    let Some((name, parents)) = path.split_last() else {
        return false;
    };
    let mut parent = object;
    for step in parents {
        let next = match parent {
            Value::Object(map) => map.get_mut(step),
            Value::Array(list) => step.parse().ok().and_then(|index: usize| list.get_mut(index)),
            _ => None,
        };
        let Some(next) = next else { return false };
        parent = next;
    }
    let small: String = name
        .char_indices()
        .map(|(at, c)| if at == 0 { c.to_ascii_lowercase() } else { c })
        .collect();
    let Value::Object(map) = parent else { return false };
    if small == *name || map.contains_key(&small) {
        return false;
    }
    match map.remove(name) {
        Some(value) => map.insert(small, value).is_none(),
        None => false,
    }
}

fn amounts_as_text(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::Object(amounts) if AMOUNTS.contains(&name.as_str()) => as_text(amounts),
                    other => amounts_as_text(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(amounts_as_text),
        _ => {}
    }
}

fn as_text(amounts: &mut Map<String, Value>) {
    for amount in amounts.values_mut() {
        if amount.is_number() {
            *amount = Value::String(amount.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(yaml: &str) -> anyhow::Result<Vec<Value>> {
        let template = Arc::new(Template::parse(yaml)?);
        let pods = Objects::pods(Some(&template), 2)?;
        (0..pods.count()).map(|index| pods.object(index)).collect()
    }

    const POD: &str = "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: a\n";

    #[test]
    fn amounts_may_be_numbers_and_indexes_count() {
        let pods = pods(&format!(
            "{POD}    resources:\n      requests: {{ cpu: 9, memory: 0.5, 'a/b-{{{{.Index}}}}': 1 }}\n"
        ));
        let requests = |pod: &Value| pod["spec"]["containers"][0]["resources"]["requests"].clone();
        let pods = pods.unwrap();
        assert_eq!(requests(&pods[0]), json!({ "cpu": "9", "memory": "0.5", "a/b-0": "1" }));
        assert_eq!(requests(&pods[1]), json!({ "cpu": "9", "memory": "0.5", "a/b-1": "1" }));
    }

    #[test]
    fn a_field_with_a_large_first_letter_is_the_field_and_an_unknown_one_an_error() {
        let spread = "  topologySpreadConstraints:\n  - { maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, NodeTaintsPolicy: Honor }\n";
        let pod = &pods(&format!("{POD}{spread}")).unwrap()[0];
        assert_eq!(pod["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"], "Honor");
        let error = pods(&format!("{POD}  nodeSelektor: {{ a: b }}\n"))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "unknown field spec.nodeSelektor");
        let error = pods(&format!("{POD}    Imagine: x\n")).unwrap_err().to_string();
        assert_eq!(error, "unknown field spec.containers.0.imagine");
    }

    #[test]
    fn a_priority_becomes_the_class_of_that_value() {
        let pod = &pods(&format!("{POD}  priority: 10\n")).unwrap()[0];
        assert_eq!(pod["spec"]["priorityClassName"], "priority10");
        assert_eq!(pod["spec"].get("priority"), None);
        assert_eq!(priority(pod), Some(10));
        assert_eq!(priority(&plain_pod()), None);
    }

    #[test]
    fn what_a_node_has_can_be_allocated_unless_it_says_otherwise() {
        let node = |more: &str| {
            let text = format!("kind: Node\napiVersion: v1\nstatus:\n  capacity: {{ cpu: 4 }}\n{more}");
            let template = Arc::new(Template::parse(&text).unwrap());
            Objects::nodes(Some(&template), 1)
                .and_then(|nodes| nodes.object(0))
                .unwrap()
        };
        assert_eq!(node("")["status"]["allocatable"], json!({ "cpu": "4" }));
        assert_eq!(
            node("  allocatable: { cpu: 3 }\n")["status"]["allocatable"],
            json!({ "cpu": "3" })
        );
        let plain = Objects::nodes(None, 1).unwrap().object(0).unwrap();
        assert_eq!(plain["status"]["allocatable"]["pods"], "110");
    }
}
