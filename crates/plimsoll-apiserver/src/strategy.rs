//! What kube-apiserver's registry strategies do to each kind on create and update: which half of an object a request
//! may write, and when its generation rises.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    clock::rfc3339_seconds,
    defaulting,
    object::{at, metadata_mut, object_at},
    pod,
    resource::{Generation, Resource},
};

/// Which half of an object a request writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object itself: everything but the status.
    Main,
    /// The `status` subresource.
    Status,
    /// A pod's `ephemeralcontainers`.
    EphemeralContainers,
    /// A pod's `resize`.
    Resize,
    /// A namespace's `finalize`: its `spec.finalizers`.
    Finalize,
}

impl Part {
    pub(crate) fn of(subresource: &str) -> Option<Self> {
        Some(match subresource {
            "" => Self::Main,
            "status" => Self::Status,
            "ephemeralcontainers" => Self::EphemeralContainers,
            "resize" => Self::Resize,
            "finalize" => Self::Finalize,
            _ => return None,
        })
    }
}

/// Fields outside `spec` that count as one for the generation of kinds that have them at top level.
fn same_spec(resource: &Resource, new: &Value, old: &Value) -> bool {
    if resource.plural == "priorityclasses" {
        return true;
    }
    new.get("spec") == old.get("spec")
}

/// Resets what a client may not set when it creates an object.
pub(crate) fn prepare_for_create(resource: &Resource, value: &mut Value, now: Timestamp) {
    match (resource.group, resource.plural) {
        // Kubelets register nodes together with their status.
        ("", "nodes") => {}
        ("", "pods") => pod::prepare_for_create(value, now),
        ("", "namespaces") => {
            value["status"] = json!({ "phase": "Active" });
            let finalizers = object_at(value, "spec")
                .entry("finalizers")
                .or_insert_with(|| json!([]));
            if let Some(finalizers) = finalizers.as_array_mut()
                && !finalizers.iter().any(|f| f == "kubernetes")
            {
                finalizers.push("kubernetes".into());
            }
        }
        ("", "persistentvolumes") => {
            value["status"] = json!({ "phase": "Pending", "lastPhaseTransitionTime": rfc3339_seconds(now) });
        }
        ("", "persistentvolumeclaims") => value["status"] = json!({ "phase": "Pending" }),
        _ if resource.has_status() => {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("status".to_owned(), defaulting::zero_status(resource));
            }
        }
        _ => {}
    }
    let metadata = metadata_mut(value);
    match resource.generation {
        Generation::Created | Generation::Spec => metadata.insert("generation".to_owned(), 1.into()),
        Generation::None | Generation::SpecFromZero => metadata.remove("generation"),
    };
}

/// Puts back what a request to this part may not change, and raises the generation when the spec changed.
pub(crate) fn prepare_for_update(resource: &Resource, part: Part, new: &mut Value, old: &Value, now: Timestamp) {
    keep_metadata(new, old, "generation");
    match part {
        Part::Main if resource.has_status() => keep(new, old, "status"),
        Part::Main => {}
        Part::Status => prepare_status(resource, new, old, now),
        Part::Finalize => {
            let finalizers = at(new, &["spec", "finalizers"]).cloned().unwrap_or_else(|| json!([]));
            *new = old.clone();
            object_at(new, "spec").insert("finalizers".to_owned(), finalizers);
        }
        Part::EphemeralContainers | Part::Resize => pod::keep_all_but(part, new, old),
    }
    let bumps = matches!(resource.generation, Generation::Spec | Generation::SpecFromZero);
    if bumps && part != Part::Status && !same_spec(resource, new, old) {
        bump_generation(new);
    }
}

fn prepare_status(resource: &Resource, new: &mut Value, old: &Value, now: Timestamp) {
    if let (Some(new_fields), Some(old_fields)) = (new.as_object_mut(), old.as_object()) {
        let status = new_fields.remove("status");
        new_fields.retain(|name, _| name == "metadata");
        new_fields.extend(
            old_fields
                .iter()
                .filter(|(name, _)| *name != "metadata" && *name != "status")
                .map(|(name, field)| (name.clone(), field.clone())),
        );
        new_fields.extend(status.map(|s| ("status".to_owned(), s)));
    }
    match (resource.group, resource.plural) {
        ("", "pods") => {
            keep_metadata(new, old, "ownerReferences");
            if at(new, &["status", "qosClass"]).is_none()
                && let Some(class) = at(old, &["status", "qosClass"])
            {
                object_at(new, "status").insert("qosClass".to_owned(), class.clone());
            }
        }
        ("", "persistentvolumes") => note_phase(new, old, now),
        ("apps" | "batch", _) => keep_metadata(new, old, "labels"),
        ("resource.k8s.io" | "scheduling.k8s.io" | "storage.k8s.io", _) => {
            for name in [
                "labels",
                "annotations",
                "finalizers",
                "ownerReferences",
                "managedFields",
            ] {
                keep_metadata(new, old, name);
            }
        }
        _ => {}
    }
}

/// When a volume came into its phase, unless the client says.
fn note_phase(new: &mut Value, old: &Value, now: Timestamp) {
    const SINCE: &str = "lastPhaseTransitionTime";
    let since = |value: &Value| at(value, &["status", SINCE]).filter(|since| !since.is_null()).cloned();
    let (given, before) = (since(new), since(old));
    let settled = if at(new, &["status", "phase"]) == at(old, &["status", "phase"]) {
        given.or(before)
    } else if given.is_none() || given == before {
        Some(rfc3339_seconds(now).into())
    } else {
        given
    };
    if let Some(settled) = settled {
        object_at(new, "status").insert(SINCE.to_owned(), settled);
    }
}

/// Raises a generation that is set.
pub(crate) fn bump_generation(value: &mut Value) {
    let metadata = metadata_mut(value);
    let generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
    metadata.insert("generation".to_owned(), (generation + 1).into());
}

fn keep(new: &mut Value, old: &Value, field: &str) {
    if let Some(fields) = new.as_object_mut() {
        restore(fields, old.get(field), field);
    }
}

/// Gives a field of the metadata the old object's value, or none.
pub(crate) fn keep_metadata(new: &mut Value, old: &Value, field: &str) {
    restore(metadata_mut(new), at(old, &["metadata", field]), field);
}

fn restore(fields: &mut serde_json::Map<String, Value>, old: Option<&Value>, field: &str) {
    match old {
        Some(old) => fields.insert(field.to_owned(), old.clone()),
        None => fields.remove(field),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::find;

    #[test]
    fn each_part_writes_its_own_half() {
        let sets = find("apps", "v1", "replicasets").expect("replicasets");
        let old = json!({ "metadata": { "generation": 4 }, "spec": { "replicas": 1 }, "status": { "replicas": 1 } });
        let asked = json!({ "metadata": { "generation": 9 }, "spec": { "replicas": 2 }, "status": { "replicas": 2 } });

        let mut main = asked.clone();
        prepare_for_update(sets, Part::Main, &mut main, &old, Timestamp::UNIX_EPOCH);
        assert_eq!(
            main,
            json!({ "metadata": { "generation": 5 }, "spec": { "replicas": 2 }, "status": { "replicas": 1 } })
        );

        let mut status = asked;
        prepare_for_update(sets, Part::Status, &mut status, &old, Timestamp::UNIX_EPOCH);
        assert_eq!(
            status,
            json!({ "metadata": { "generation": 4 }, "spec": { "replicas": 1 }, "status": { "replicas": 2 } })
        );
    }

    #[test]
    fn status_sent_at_creation_is_kept_for_nodes_only() {
        let mut node = json!({ "status": { "allocatable": {} } });
        prepare_for_create(
            find("", "v1", "nodes").expect("nodes"),
            &mut node,
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(node["status"], json!({ "allocatable": {} }));

        let mut budget = json!({ "status": { "disruptionsAllowed": 3 } });
        prepare_for_create(
            find("policy", "v1", "poddisruptionbudgets").expect("budgets"),
            &mut budget,
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(budget["status"]["disruptionsAllowed"], 0);
        assert_eq!(budget["metadata"]["generation"], 1);
    }

    #[test]
    fn a_volume_tells_since_when_it_has_its_phase() {
        let volumes = find("", "v1", "persistentvolumes").expect("volumes");
        let at = |seconds| Timestamp::from_second(seconds).expect("a time");
        let mut created = json!({ "status": { "phase": "Bound" } });
        prepare_for_create(volumes, &mut created, at(0));
        let since = |status: &Value| status["lastPhaseTransitionTime"].clone();
        assert_eq!(since(&created["status"]), "1970-01-01T00:00:00Z");
        let updated = |status: Value| {
            let mut new = json!({ "status": status });
            prepare_for_update(volumes, Part::Status, &mut new, &created, at(60));
            since(&new["status"])
        };
        assert_eq!(updated(json!({ "phase": "Bound" })), "1970-01-01T00:01:00Z");
        assert_eq!(updated(json!({ "phase": "Pending" })), "1970-01-01T00:00:00Z");
        let own = json!({ "phase": "Bound", "lastPhaseTransitionTime": "1970-01-01T00:00:30Z" });
        assert_eq!(updated(own), "1970-01-01T00:00:30Z");
    }
}
