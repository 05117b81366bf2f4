//! Nodes and pods as the API server takes them.

use serde_json::{Value, json};

/// A node with so much room.
pub fn node(name: &str, milli_cpu: i64, memory_mib: i64, pods: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": format!("{milli_cpu}m"), "memory": format!("{memory_mib}Mi"), "pods": pods.to_string()},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// A pod that asks for so much.
pub fn pod(name: &str, milli_cpu: i64, memory_mib: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{
            "name": "c", "image": "pause",
            "resources": {"requests": {"cpu": format!("{milli_cpu}m"), "memory": format!("{memory_mib}Mi")}},
        }]},
    })
}

/// The pod with a priority class, and so many seconds between its deletion and its end.
pub fn of_class(mut pod: Value, class: &str, grace: i64) -> Value {
    if !class.is_empty() {
        pod["spec"]["priorityClassName"] = json!(class);
    }
    pod["spec"]["terminationGracePeriodSeconds"] = json!(grace);
    pod
}
