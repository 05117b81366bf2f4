//! The admission plugins a scheduler relies on: priorities, default tolerations, topology labels, and which claims get a class
//! and may grow.
//!
//! Not here, though a real server has them on: service accounts, limit ranges, quotas, storage protection, and the
//! not-ready taint of new nodes (no node controller would take it off again).

mod claim;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::{
    object::{at, meta_str, metadata_mut, object_at, str_at},
    resource::{RESOURCES, Resource, find},
    status::ApiError,
    store::Store,
};

/// Node labels that a pod is given when it is bound.
const TOPOLOGY_LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const EVICTION_DELAY_SECONDS: i64 = 300;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $group:literal $version:literal $plural:literal;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name() -> &'static Resource {
                static FOUND: LazyLock<&'static Resource> =
                    LazyLock::new(|| find($group, $version, $plural).unwrap_or(&RESOURCES[0]));
                *FOUND
            }
        )*
    };
}

kinds! {
    pods = "" "v1" "pods";
    nodes = "" "v1" "nodes";
    namespaces = "" "v1" "namespaces";
    priority_classes = "scheduling.k8s.io" "v1" "priorityclasses";
    budgets = "policy" "v1" "poddisruptionbudgets";
    runtime_classes = "node.k8s.io" "v1" "runtimeclasses";
    claims = "" "v1" "persistentvolumeclaims";
    storage_classes = "storage.k8s.io" "v1" "storageclasses";
}

/// Admits an object being created, filling in what the plugins fill in.
pub(crate) fn on_create(store: &Store, resource: &Resource, value: &mut Value) -> Result<(), ApiError> {
    match (resource.group, resource.plural) {
        ("", "pods") => {
            set_overhead(store, value)?;
            set_priority(store, value)?;
            add_default_tolerations(value);
            let node = str_at(value, &["spec", "nodeName"]).to_owned();
            add_topology_labels(store, &node, value);
            Ok(())
        }
        ("", "persistentvolumeclaims") => {
            claim::set_class(store, value);
            Ok(())
        }
        ("scheduling.k8s.io", "priorityclasses") => check_single_default(store, resource, value),
        _ => Ok(()),
    }
}

/// Admits an update of a pod: what admission set at creation stays.
pub(crate) fn on_update(resource: &Resource, new: &mut Value, old: &Value) {
    if (resource.group, resource.plural) != ("", "pods") {
        return;
    }
    for field in ["priority", "preemptionPolicy"] {
        if at(new, &["spec", field]).is_none()
            && let Some(value) = at(old, &["spec", field])
        {
            object_at(new, "spec").insert(field.to_owned(), value.clone());
        }
    }
    add_default_tolerations(new);
}

/// Refuses an update that a plugin does not let through; the object is valid.
pub(crate) fn check_update(store: &Store, resource: &Resource, new: &Value, old: &Value) -> Result<(), ApiError> {
    match (resource.group, resource.plural) {
        ("", "persistentvolumeclaims") => claim::check_growth(store, new, old),
        _ => Ok(()),
    }
}

/// The overhead of a pod is its runtime class's, and its own only when both say the same.
fn set_overhead(store: &Store, pod: &mut Value) -> Result<(), ApiError> {
    let name = meta_str(pod, "name").to_owned();
    let rejected = |why: &str| Err(ApiError::forbidden(pods(), &name, &format!("pod rejected: {why}")));
    let own = at(pod, &["spec", "overhead"]).cloned();
    let class = str_at(pod, &["spec", "runtimeClassName"]);
    let defined = if class.is_empty() {
        None
    } else {
        match store.get(runtime_classes(), class) {
            Some(found) => at(found.value(), &["overhead", "podFixed"]).cloned(),
            None => return rejected(&format!("RuntimeClass \"{class}\" not found")),
        }
    };
    match (own, defined) {
        (None, None) => Ok(()),
        (Some(_), None) => rejected("Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        (Some(own), Some(defined)) if own != defined => {
            rejected("Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        }
        (_, Some(defined)) => {
            object_at(pod, "spec").insert("overhead".to_owned(), defined);
            Ok(())
        }
    }
}

struct Priority {
    class: String,
    value: i64,
    preemption: Option<String>,
}

fn priority_of(class: &Value) -> Priority {
    Priority {
        class: meta_str(class, "name").to_owned(),
        value: class["value"].as_i64().unwrap_or(0),
        preemption: class["preemptionPolicy"].as_str().map(str::to_owned),
    }
}

fn default_class(store: &Store) -> Option<Priority> {
    let classes = store.table(priority_classes()).values();
    let defaults = classes
        .filter(|c| c.value()["globalDefault"] == true)
        .map(|c| priority_of(c.value()));
    defaults.min_by_key(|p| p.value)
}

fn set_priority(store: &Store, pod: &mut Value) -> Result<(), ApiError> {
    let name = meta_str(pod, "name").to_owned();
    let class = str_at(pod, &["spec", "priorityClassName"]);
    let priority = if class.is_empty() {
        default_class(store).unwrap_or_else(|| Priority {
            class: String::new(),
            value: 0,
            preemption: Some("PreemptLowerPriority".to_owned()),
        })
    } else {
        let found = store.get(priority_classes(), class).ok_or_else(|| {
            ApiError::forbidden(pods(), &name, &format!("no PriorityClass with name {class} was found"))
        })?;
        priority_of(found.value())
    };
    let spec = object_at(pod, "spec");
    if let Some(asked) = spec.get("priority").and_then(Value::as_i64)
        && asked != priority.value
    {
        return Err(ApiError::forbidden(
            pods(),
            &name,
            &format!(
                "the integer value of priority ({asked}) must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name",
                priority.value
            ),
        ));
    }
    if !priority.class.is_empty() {
        spec.insert("priorityClassName".to_owned(), priority.class.into());
    }
    spec.insert("priority".to_owned(), priority.value.into());
    let Some(policy) = priority.preemption else {
        return Ok(());
    };
    if let Some(asked) = spec.get("preemptionPolicy").and_then(Value::as_str)
        && asked != policy
    {
        return Err(ApiError::forbidden(
            pods(),
            &name,
            &format!(
                "the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
            ),
        ));
    }
    spec.insert("preemptionPolicy".to_owned(), policy.into());
    Ok(())
}

fn check_single_default(store: &Store, resource: &Resource, class: &Value) -> Result<(), ApiError> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    match default_class(store) {
        Some(other) => Err(ApiError::forbidden(
            resource,
            meta_str(class, "name"),
            &format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                other.class
            ),
        )),
        None => Ok(()),
    }
}

fn add_default_tolerations(pod: &mut Value) {
    let tolerations = object_at(pod, "spec").entry("tolerations").or_insert_with(|| json!([]));
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    let missing: Vec<&str> = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        .into_iter()
        .filter(|taint| !tolerations.iter().any(|t| tolerates_no_execute(t, taint)))
        .collect();
    for taint in missing {
        tolerations.push(json!({
            "key": taint,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": EVICTION_DELAY_SECONDS,
        }));
    }
}

fn tolerates_no_execute(toleration: &Value, taint: &str) -> bool {
    let text = |key: &str| toleration[key].as_str().unwrap_or_default();
    matches!(text("effect"), "" | "NoExecute") && (text("key").is_empty() || text("key") == taint)
}

/// Topology labels of a node, if it is there.
fn topology_labels(store: &Store, node: &str) -> Map<String, Value> {
    let Some(node) = store.get(nodes(), node) else {
        return Map::new();
    };
    let labels = at(node.value(), &["metadata", "labels"])
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    labels
        .filter(|(k, _)| TOPOLOGY_LABELS.contains(&k.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

/// Gives a pod the topology labels of the node it is on.
pub(crate) fn add_topology_labels(store: &Store, node: &str, pod: &mut Value) {
    if node.is_empty() {
        return;
    }
    let labels = topology_labels(store, node);
    if labels.is_empty() {
        return;
    }
    let slot = metadata_mut(pod).entry("labels").or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    if let Some(own) = slot.as_object_mut() {
        own.extend(labels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_kinds_are_in_the_table() {
        assert_eq!(pods().plural, "pods");
        assert_eq!(nodes().plural, "nodes");
        assert_eq!(namespaces().plural, "namespaces");
        assert_eq!(priority_classes().plural, "priorityclasses");
        assert_eq!(budgets().plural, "poddisruptionbudgets");
    }

    #[test]
    fn default_tolerations_are_added_once_and_not_when_covered() {
        let mut pod = json!({ "spec": { "tolerations": [{ "key": "node.kubernetes.io/not-ready" }] } });
        add_default_tolerations(&mut pod);
        add_default_tolerations(&mut pod);
        let keys: Vec<_> = pod["spec"]["tolerations"]
            .as_array()
            .expect("list")
            .iter()
            .map(|t| t["key"].clone())
            .collect();
        assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);

        let mut tolerant = json!({ "spec": { "tolerations": [{ "operator": "Exists" }] } });
        add_default_tolerations(&mut tolerant);
        assert_eq!(tolerant["spec"]["tolerations"].as_array().map(Vec::len), Some(1));
    }
}
