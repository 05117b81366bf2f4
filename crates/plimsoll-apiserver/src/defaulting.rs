//! The defaults that clients read back: what kube-apiserver 1.36 fills in for the kinds a scheduler and its users
//! write. Quantities are brought into their canonical form, as a round trip through the real server's types does.

mod pod;
mod quantities;
mod storage;
mod workload;

use serde_json::{Map, Value, json};

use crate::resource::Resource;

/// Fills in the defaults of one object, in place.
pub fn apply(res: &Resource, object: &mut Value) {
    let Some(object) = object.as_object_mut() else { return };
    if let Some(metadata) = existing(object, "metadata") {
        omit_empty(metadata, &["annotations", "finalizers", "labels", "ownerReferences"]);
    }
    match (res.group, res.kind) {
        ("", "Pod") => pod::apply(object),
        ("", "Node") => node(object),
        ("", "Namespace") => namespace(object),
        ("", "Service") => service(object),
        ("", "PersistentVolumeClaim") => storage::persistent_volume_claim(object),
        ("", "PersistentVolume") => storage::persistent_volume(object),
        ("", "ConfigMap") => omit_empty(object, &["binaryData", "data"]),
        ("", "Secret") => default(object, "type", "Opaque"),
        ("" | "events.k8s.io", "Event") => event(res, object),
        ("", "ReplicationController") => workload::replication_controller(object),
        ("apps", "Deployment") => workload::deployment(object),
        ("apps", "ReplicaSet") => workload::replica_set(object),
        ("apps", "StatefulSet") => workload::stateful_set(object),
        ("apps", "DaemonSet") => workload::daemon_set(object),
        ("batch", "Job") => workload::job(object),
        ("scheduling.k8s.io", "PriorityClass") => default(object, "preemptionPolicy", "PreemptLowerPriority"),
        ("storage.k8s.io", "StorageClass") => storage::storage_class(object),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(object),
        ("storage.k8s.io", "CSINode") => storage::csi_node(object),
        ("storage.k8s.io", "CSIStorageCapacity") => storage::csi_storage_capacity(object),
        ("storage.k8s.io", "VolumeAttachment") => storage::volume_attachment(object),
        ("node.k8s.io", "RuntimeClass") => {
            if let Some(overhead) = existing(object, "overhead") {
                quantities::canonical(overhead, "podFixed");
            }
        }
        ("resource.k8s.io", "ResourceClaim") => {
            if let Some(spec) = child(object, "spec") {
                default(spec, "devices", json!({}));
            }
        }
        _ => {}
    }
}

/// The status of a new object of a kind: the counters that are written even when they are zero.
pub fn zero_status(res: &Resource) -> Value {
    match res.kind {
        "PodDisruptionBudget" => {
            json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0})
        }
        "ReplicaSet" | "ReplicationController" => json!({"replicas": 0}),
        "StatefulSet" => json!({"replicas": 0, "availableReplicas": 0}),
        "DaemonSet" => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0
        }),
        "Service" => json!({"loadBalancer": {}}),
        "VolumeAttachment" => json!({"attached": false}),
        _ => json!({}),
    }
}

/// Removes fields that hold an empty list or map.
fn omit_empty(object: &mut Map<String, Value>, fields: &[&str]) {
    for field in fields {
        let is_empty = object.get(*field).is_some_and(|value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        });
        if is_empty {
            object.remove(*field);
        }
    }
}

/// Sets a field that is absent or null.
fn default(object: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.to_owned(), value.into());
    }
}

/// Sets a string field that is absent, null or empty.
fn default_text(object: &mut Map<String, Value>, field: &str, value: &str) {
    if object.get(field).is_none_or(|v| v.is_null() || v == "") {
        object.insert(field.to_owned(), json!(value));
    }
}

/// The object under `field`; `None` when it is something else, created when it is absent.
fn child<'a>(object: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    default(object, field, json!({}));
    existing(object, field)
}

/// The object under `field`, if there is one.
fn existing<'a>(object: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(field).and_then(Value::as_object_mut)
}

/// The objects in the list under `field`.
fn entries<'a>(
    object: &'a mut Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    let list = object.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Fields of a node's `nodeInfo` that are written even when empty.
const NODE_INFO: &[&str] = &[
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

fn node(object: &mut Map<String, Value>) {
    default(object, "spec", json!({}));
    let Some(status) = child(object, "status") else { return };
    quantities::canonical(status, "capacity");
    quantities::canonical(status, "allocatable");
    default(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
    if let Some(info) = child(status, "nodeInfo") {
        for field in NODE_INFO {
            default(info, field, "");
        }
    }
    if let Some(capacity) = status.get("capacity").filter(|c| c.is_object()).cloned() {
        default(status, "allocatable", capacity);
    }
}

fn namespace(object: &mut Map<String, Value>) {
    if let Some(metadata) = child(object, "metadata")
        && let Some(name) = metadata.get("name").cloned()
        && let Some(labels) = child(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
    default(object, "spec", json!({}));
    if let Some(status) = child(object, "status") {
        default_text(status, "phase", "Active");
    }
}

fn service(object: &mut Map<String, Value>) {
    let Some(spec) = child(object, "spec") else { return };
    default_text(spec, "sessionAffinity", "None");
    default_text(spec, "type", "ClusterIP");
    for port in entries(spec, "ports") {
        default_text(port, "protocol", "TCP");
        if let Some(number) = port.get("port").cloned() {
            default(port, "targetPort", number);
        }
    }
    let kind = spec.get("type").cloned().unwrap_or_default();
    if kind != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "NodePort" || kind == "LoadBalancer" {
        default_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn event(res: &Resource, object: &mut Map<String, Value>) {
    if res.group.is_empty() {
        default(object, "source", json!({}));
        for field in ["reportingComponent", "reportingInstance"] {
            default(object, field, "");
        }
    } else {
        default(object, "deprecatedSource", json!({}));
    }
}

#[cfg(test)]
mod tests;
