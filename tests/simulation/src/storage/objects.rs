use serde_json::{Value, json};

/// The CSI driver of the simulated cluster.
pub const DRIVER: &str = "csi.example.com";
/// The provisioner that makes nothing.
pub const LOCAL_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// The class of volumes that are there, each on one node; bound when a pod comes.
pub const LOCAL: &str = "local";
/// The class of volumes that are made where a pod goes.
pub const DYNAMIC: &str = "dynamic";
/// The class of volumes that are made at once.
pub const IMMEDIATE: &str = "immediate";

/// The three classes.
pub fn classes() -> [Value; 3] {
    let class = |name: &str, provisioner: &str, mode: &str| {
        json!({
            "metadata": { "name": name }, "provisioner": provisioner, "volumeBindingMode": mode,
            "reclaimPolicy": "Delete",
        })
    };
    [
        class(LOCAL, LOCAL_PROVISIONER, "WaitForFirstConsumer"),
        class(DYNAMIC, DRIVER, "WaitForFirstConsumer"),
        class(IMMEDIATE, DRIVER, "Immediate"),
    ]
}

/// A claim of one of the classes.
pub fn claim(name: &str, class: &str, access_mode: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "storageClassName": class, "accessModes": [access_mode], "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": "1Gi" } },
        },
    })
}

/// A volume on one node, free for a claim.
pub fn local_volume(name: &str, node: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "storageClassName": LOCAL, "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "capacity": { "storage": "2Gi" }, "persistentVolumeReclaimPolicy": "Delete",
            "local": { "path": "/mnt/volume" },
            "nodeAffinity": reached_from("kubernetes.io/hostname", node),
        },
    })
}

/// A volume that was made for a claim, in one zone.
pub(super) fn made_volume(name: &str, zone: &str, claim: &Value) -> Value {
    let text = |pointer: &str| claim.pointer(pointer).cloned().unwrap_or_default();
    json!({
        "metadata": { "name": name, "annotations": { "pv.kubernetes.io/provisioned-by": DRIVER } },
        "spec": {
            "storageClassName": text("/spec/storageClassName"), "accessModes": text("/spec/accessModes"),
            "volumeMode": "Filesystem", "capacity": { "storage": "1Gi" }, "persistentVolumeReclaimPolicy": "Delete",
            "csi": { "driver": DRIVER, "volumeHandle": name },
            "nodeAffinity": reached_from("zone", zone),
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": text("/metadata/namespace"),
                "name": text("/metadata/name"), "uid": text("/metadata/uid"),
            },
        },
    })
}

fn reached_from(label: &str, value: &str) -> Value {
    json!({ "required": { "nodeSelectorTerms": [
        { "matchExpressions": [{ "key": label, "operator": "In", "values": [value] }] },
    ] } })
}

/// What the driver says of a node: so many volumes at most.
pub fn csi_node(node: &str, count: u64) -> Value {
    json!({
        "metadata": { "name": node },
        "spec": { "drivers": [{
            "name": DRIVER, "nodeID": node, "topologyKeys": ["zone"], "allocatable": { "count": count },
        }] },
    })
}

/// The driver itself, which tells how much room there is for volumes of its classes or does not.
pub fn csi_driver(tells_capacity: bool) -> Value {
    json!({
        "metadata": { "name": DRIVER },
        "spec": { "attachRequired": true, "storageCapacity": tells_capacity },
    })
}

/// How much room the driver says there is in a zone for volumes that are made where a pod goes.
pub(super) fn capacity(zone: &str, amount: &str) -> Value {
    json!({
        "metadata": { "name": format!("room-in-{zone}"), "namespace": "default" },
        "storageClassName": DYNAMIC, "nodeTopology": { "matchLabels": { "zone": zone } }, "capacity": amount,
    })
}
