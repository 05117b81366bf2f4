//! Defaults of volumes, claims, classes and what CSI drivers say.

use serde_json::{Map, Value, json};

use super::{child, default, default_text, entries, existing, quantities};

pub(super) fn persistent_volume_claim(object: &mut Map<String, Value>) {
    if let Some(spec) = child(object, "spec") {
        default(spec, "volumeMode", "Filesystem");
        quantities::canonical_requirements(spec, "resources");
    }
    if let Some(status) = child(object, "status") {
        default_text(status, "phase", "Pending");
        quantities::canonical(status, "capacity");
        quantities::canonical(status, "allocatedResources");
    }
}

pub(super) fn persistent_volume(object: &mut Map<String, Value>) {
    if let Some(spec) = child(object, "spec") {
        default_text(spec, "persistentVolumeReclaimPolicy", "Retain");
        default(spec, "volumeMode", "Filesystem");
        quantities::canonical(spec, "capacity");
        source(spec);
    }
    if let Some(status) = child(object, "status") {
        default_text(status, "phase", "Pending");
    }
}

/// The defaults of a volume's source.
fn source(spec: &mut Map<String, Value>) {
    if let Some(host_path) = existing(spec, "hostPath") {
        default(host_path, "type", "");
    }
    if let Some(rbd) = existing(spec, "rbd") {
        default_text(rbd, "pool", "rbd");
        default_text(rbd, "user", "admin");
        default_text(rbd, "keyring", "/etc/ceph/keyring");
    }
    if let Some(iscsi) = existing(spec, "iscsi") {
        default_text(iscsi, "iscsiInterface", "default");
    }
    if let Some(disk) = existing(spec, "azureDisk") {
        default(disk, "cachingMode", "ReadWrite");
        default(disk, "fsType", "ext4");
        default(disk, "readOnly", false);
        default(disk, "kind", "Shared");
    }
}

pub(super) fn csi_driver(object: &mut Map<String, Value>) {
    let Some(spec) = child(object, "spec") else { return };
    default(spec, "attachRequired", true);
    default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default(spec, "volumeLifecycleModes", json!(["Persistent"]));
    for field in ["podInfoOnMount", "requiresRepublish", "seLinuxMount", "storageCapacity"] {
        default(spec, field, false);
    }
}

pub(super) fn storage_class(object: &mut Map<String, Value>) {
    default(object, "reclaimPolicy", "Delete");
    default(object, "volumeBindingMode", "Immediate");
}

/// Nothing is filled in; what must be there is written even when it is empty.
pub(super) fn csi_node(object: &mut Map<String, Value>) {
    let Some(spec) = child(object, "spec") else { return };
    spec.entry("drivers").or_insert(Value::Null);
    for driver in entries(spec, "drivers") {
        default(driver, "nodeID", "");
        driver.entry("topologyKeys").or_insert(Value::Null);
    }
}

pub(super) fn csi_storage_capacity(object: &mut Map<String, Value>) {
    for field in ["capacity", "maximumVolumeSize"] {
        quantities::canonical_one(object, field);
    }
}

pub(super) fn volume_attachment(object: &mut Map<String, Value>) {
    if let Some(spec) = child(object, "spec")
        && let Some(place) = child(spec, "source")
        && let Some(inline) = existing(place, "inlineVolumeSpec")
    {
        quantities::canonical(inline, "capacity");
        source(inline);
    }
    if let Some(status) = child(object, "status") {
        default(status, "attached", false);
    }
}
