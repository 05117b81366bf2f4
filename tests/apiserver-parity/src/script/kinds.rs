//! One object of every kind that a scheduler or its users write, created, read back and deleted.

use serde_json::{Value, json};

use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    for (path, object) in objects() {
        let kind = object["kind"].as_str().unwrap_or("").to_owned();
        let name = object["metadata"]["name"].as_str().unwrap_or("").to_owned();
        script.send(format!("{kind}: create"), Request::post(path, object));
        script.send(
            format!("{kind}: label"),
            Request::merge(format!("{path}/{name}"), json!({"metadata": {"labels": {"a": "b"}}})),
        );
        script.send(format!("{kind}: delete"), Request::delete(format!("{path}/{name}")));
    }
}

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "image:1",
        "resources": {"limits": {"cpu": "1000m"}}}]}})
}

fn objects() -> Vec<(&'static str, Value)> {
    let workload = |kind: &str, extra: Value| {
        let mut object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "kind"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template()}});
        for (field, value) in extra.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        object
    };
    vec![
        (
            "/apis/apps/v1/namespaces/parity/deployments",
            workload("Deployment", json!({})),
        ),
        (
            "/apis/apps/v1/namespaces/parity/statefulsets",
            workload("StatefulSet", json!({"serviceName": "s"})),
        ),
        (
            "/apis/apps/v1/namespaces/parity/daemonsets",
            workload("DaemonSet", json!({})),
        ),
        (
            "/api/v1/namespaces/parity/replicationcontrollers",
            json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "kind"}, "spec": {"template": template()}}),
        ),
        (
            "/api/v1/namespaces/parity/services",
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kind"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}),
        ),
        (
            "/api/v1/namespaces/parity/persistentvolumeclaims",
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "kind"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}),
        ),
        (
            "/api/v1/persistentvolumes",
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "parity-kind"},
                "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1024Mi"}, "hostPath": {"path": "/x"}}}),
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "parity-kind"}, "provisioner": "example.com/p"}),
        ),
        (
            "/apis/storage.k8s.io/v1/csinodes",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "parity-kind"}, "spec": {"drivers": []}}),
        ),
        (
            "/apis/storage.k8s.io/v1/csidrivers",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "parity-kind"}, "spec": {}}),
        ),
        (
            "/apis/storage.k8s.io/v1/namespaces/parity/csistoragecapacities",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": "kind"}, "storageClassName": "fast"}),
        ),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "parity-kind"},
                "spec": {"attacher": "example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}),
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "parity-kind"}, "value": 5}),
        ),
        (
            "/apis/policy/v1/namespaces/parity/poddisruptionbudgets",
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "kind"},
                "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"a": "b"}}}}),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/parity/leases",
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kind"}, "spec": {}}),
        ),
        (
            "/api/v1/namespaces/parity/secrets",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kind"}, "data": {"a": "Yg=="}}),
        ),
        (
            "/api/v1/namespaces/parity/serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "kind"}}),
        ),
        (
            "/apis/resource.k8s.io/v1/deviceclasses",
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "parity-kind"}, "spec": {}}),
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/parity/resourceclaims",
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "kind"}, "spec": {}}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "parity:kind"}, "rules": []}),
        ),
    ]
}
