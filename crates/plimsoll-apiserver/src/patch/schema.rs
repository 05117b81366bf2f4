//! How lists and maps of the built-in kinds merge: the patch strategies (strategic merge patch) and the list types
//! (server-side apply) of the API types of Kubernetes 1.36.
//!
//! A field is known by the name of the field that holds it (list entries take their list's name) and its own name;
//! that is enough to tell all built-in fields apart.

use crate::resource::Resource;

/// How a strategic merge patch treats a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListStrategy {
    /// The patch's list takes the place of the old one.
    Replace,
    /// Entries are objects, matched by this field.
    MergeByKey(&'static [&'static str; 1]),
    /// Entries are scalars, and form a set.
    MergeScalars,
}

/// How server-side apply treats a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListType {
    /// One manager owns the list as a whole.
    Atomic,
    /// Entries are objects, matched by these fields.
    Map(&'static [&'static str]),
    /// Entries are scalars, owned one by one.
    Set,
}

fn is_container_list(name: &str) -> bool {
    matches!(name, "containers" | "initContainers" | "ephemeralContainers")
}

/// The strategy of list `field` inside `parent`.
pub(super) fn list_strategy(kind: &Resource, parent: &str, field: &str) -> ListStrategy {
    use ListStrategy::{MergeByKey, MergeScalars, Replace};
    if is_container_list(parent) {
        return match field {
            "ports" => MergeByKey(&["containerPort"]),
            "env" => MergeByKey(&["name"]),
            "volumeMounts" => MergeByKey(&["mountPath"]),
            "volumeDevices" => MergeByKey(&["devicePath"]),
            _ => Replace,
        };
    }
    match (parent, field) {
        ("metadata", "ownerReferences") | ("status", "reservedFor") => MergeByKey(&["uid"]),
        ("metadata", "finalizers") | ("spec", "podCIDRs") => MergeScalars,
        ("spec", "ports") if kind.kind == "Service" => MergeByKey(&["port"]),
        ("spec", "drivers") if kind.kind == "CSINode" => MergeByKey(&["name"]),
        ("spec", "topologySpreadConstraints") => MergeByKey(&["topologyKey"]),
        ("spec", "hostAliases") | ("status", "podIPs" | "hostIPs") => MergeByKey(&["ip"]),
        ("status", "conditions") if kind.group == "resource.k8s.io" => Replace,
        ("status", "conditions" | "addresses") => MergeByKey(&["type"]),
        ("spec", "volumes" | "imagePullSecrets" | "schedulingGates" | "resourceClaims")
        | ("status", "resourceClaimStatuses")
        | ("containerStatuses" | "initContainerStatuses", "allocatedResourcesStatus")
        | ("", "secrets") => MergeByKey(&["name"]),
        ("spec", list) if is_container_list(list) => MergeByKey(&["name"]),
        ("containerStatuses" | "initContainerStatuses", "volumeMounts") => MergeByKey(&["mountPath"]),
        _ => Replace,
    }
}

/// Whether a strategic merge patch replaces map `field` inside `parent` as a whole.
pub(super) fn map_is_replaced(kind: &Resource, parent: &str, field: &str) -> bool {
    kind.kind == "PodDisruptionBudget" && parent == "spec" && field == "selector"
}

/// The list type of list `field` inside `parent`.
pub(super) fn list_type(kind: &Resource, parent: &str, field: &str) -> ListType {
    match (parent, field) {
        (containers, "ports") if is_container_list(containers) => ListType::Map(&["containerPort", "protocol"]),
        ("spec", "ports") if kind.kind == "Service" => ListType::Map(&["port", "protocol"]),
        ("spec", "topologySpreadConstraints") => ListType::Map(&["topologyKey", "whenUnsatisfiable"]),
        (_, "conditions") => ListType::Map(&["type"]),
        ("resources", "claims") => ListType::Map(&["name"]),
        _ => match list_strategy(kind, parent, field) {
            ListStrategy::Replace => ListType::Atomic,
            ListStrategy::MergeByKey(keys) => ListType::Map(keys),
            ListStrategy::MergeScalars => ListType::Set,
        },
    }
}

/// Whether one manager owns a map of this name as a whole.
pub(super) fn map_is_atomic(field: &str) -> bool {
    matches!(
        field,
        "selector"
            | "labelSelector"
            | "namespaceSelector"
            | "nodeSelector"
            | "requiredDuringSchedulingIgnoredDuringExecution"
            | "secretRef"
            | "configMapKeyRef"
            | "secretKeyRef"
            | "fieldRef"
            | "resourceFieldRef"
            | "involvedObject"
            | "claimRef"
            | "targetRef"
    )
}
