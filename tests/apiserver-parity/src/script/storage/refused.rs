//! What is refused with 422.

use serde_json::{Value, json};

use super::{ATTACHMENTS, CAPACITIES, CLAIMS, CLASSES, CSI_NODES, DRIVERS, VOLUMES, claim, storage, volume};
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    volumes(script);
    claims(script);
    classes(script);
    csi(script);
}

fn volumes(script: &mut Script) {
    let mut refuse = |name: &str, changes: Value| {
        let volume = volume("parity-refused", &changes);
        script.send(format!("invalid: a volume with {name}"), Request::post(VOLUMES, volume));
    };
    refuse("no access modes", json!({"accessModes": []}));
    refuse("an unknown access mode", json!({"accessModes": ["Sometimes"]}));
    refuse(
        "one pod and many",
        json!({"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]}),
    );
    refuse("no room", json!({"capacity": {"storage": "0"}}));
    refuse("less than no room", json!({"capacity": {"storage": "-1Gi"}}));
    refuse("a size that is none", json!({"capacity": {"storage": "large"}}));
    refuse("an unknown policy", json!({"persistentVolumeReclaimPolicy": "Burn"}));
    refuse("an unknown mode", json!({"volumeMode": "Tape"}));
    refuse("a class of no name", json!({"storageClassName": "Fast_Class"}));
    refuse("no source", json!({"csi": null}));
    refuse(
        "two sources",
        json!({"hostPath": {"path": "/x"}, "nfs": {"server": "s", "path": "/"}}),
    );
    refuse("no driver", json!({"csi": {"volumeHandle": "h"}}));
    refuse("no handle", json!({"csi": {"driver": "disk.example.com"}}));
    refuse(
        "a driver of no name",
        json!({"csi": {"driver": "Disk_Example", "volumeHandle": "h"}}),
    );
    refuse(
        "a path that leads out",
        json!({"csi": null, "hostPath": {"path": "/a/../b"}}),
    );
    refuse(
        "a local disk anywhere",
        json!({"csi": null, "local": {"path": "/disk"}}),
    );
    refuse("an affinity that says nothing", json!({"nodeAffinity": {}}));
    refuse(
        "an affinity without terms",
        json!({"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}),
    );
    let requirement = json!({"key": "zone", "operator": "In"});
    refuse(
        "an affinity without values",
        json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}}),
    );
    refuse("empty attributes", json!({"volumeAttributesClassName": ""}));
}

fn claims(script: &mut Script) {
    let mut refuse = |name: &str, changes: Value| {
        let claim = claim("refused", &changes);
        script.send(format!("invalid: a claim with {name}"), Request::post(CLAIMS, claim));
    };
    refuse("no access modes", json!({"accessModes": null}));
    refuse(
        "one pod and many",
        json!({"accessModes": ["ReadWriteMany", "ReadWriteOncePod"]}),
    );
    refuse(
        "an unknown access mode",
        json!({"accessModes": ["Sometimes", "ReadOnlyMany"]}),
    );
    refuse("no size", json!({"resources": {}}));
    refuse(
        "a size of nothing",
        json!({"resources": {"requests": {"storage": "0"}}}),
    );
    refuse(
        "a size that is none",
        json!({"resources": {"requests": {"storage": "x"}}}),
    );
    refuse("a class of no name", json!({"storageClassName": "Fast_Class"}));
    refuse("an unknown mode", json!({"volumeMode": "Tape"}));
    refuse(
        "a broken selector and no modes",
        json!({"accessModes": [], "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
    );
}

fn classes(script: &mut Script) {
    let mut refuse = |name: &str, mut parts: Value| {
        if parts.get("provisioner").is_none() {
            parts["provisioner"] = json!("disk.example.com");
        }
        let class = storage("StorageClass", "parity-refused", &parts);
        script.send(format!("invalid: a class with {name}"), Request::post(CLASSES, class));
    };
    refuse("no provisioner", json!({"provisioner": ""}));
    refuse("a provisioner of no name", json!({"provisioner": "Disk Example"}));
    refuse("an unknown mode", json!({"volumeBindingMode": "Later"}));
    refuse("an unknown policy", json!({"reclaimPolicy": "Recycle"}));
    let mut topologies = |name: &str, terms: Value| refuse(name, json!({ "allowedTopologies": terms }));
    let zone = |values: Value| json!({"key": "zone", "values": values});
    topologies("no values", json!([{"matchLabelExpressions": [zone(json!([]))]}]));
    topologies(
        "a value twice",
        json!([{"matchLabelExpressions": [zone(json!(["a", "a"]))]}]),
    );
    topologies(
        "a key twice",
        json!([{"matchLabelExpressions": [zone(json!(["a"])), zone(json!(["b"]))]}]),
    );
    topologies(
        "a key of no name",
        json!([{"matchLabelExpressions": [{"key": "a b", "values": ["a"]}]}]),
    );
    topologies(
        "a topology twice",
        json!([{"matchLabelExpressions": [zone(json!(["a", "b"]))]}, {"matchLabelExpressions": [zone(json!(["b", "a"]))]}]),
    );
    topologies("an empty topology", json!([{}]));
}

fn csi(script: &mut Script) {
    let mut driver = |name: &str, spec: Value| {
        let driver = storage("CSIDriver", "parity-refused", &json!({ "spec": spec }));
        script.send(format!("invalid: a driver with {name}"), Request::post(DRIVERS, driver));
    };
    driver("an unknown policy", json!({"fsGroupPolicy": "Some"}));
    driver("an unknown life", json!({"volumeLifecycleModes": ["Eternal"]}));
    driver("a short period", json!({"nodeAllocatableUpdatePeriodSeconds": 5}));
    let mut node = |name: &str, drivers: Value| {
        let node = storage("CSINode", "parity-refused", &json!({"spec": {"drivers": drivers}}));
        script.send(
            format!("invalid: a CSI node with {name}"),
            Request::post(CSI_NODES, node),
        );
    };
    node("a nameless driver", json!([{"nodeID": "n"}]));
    node("a driver that does not know it", json!([{"name": "disk.example.com"}]));
    node(
        "a driver twice",
        json!([{"name": "d.example.com", "nodeID": "n"}, {"name": "d.example.com", "nodeID": "n"}]),
    );
    node(
        "a limit below zero",
        json!([{"name": "d.example.com", "nodeID": "n", "allocatable": {"count": -1}}]),
    );
    node(
        "a topology key twice",
        json!([{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["a", "a"]}]),
    );
    let mut capacity = |name: &str, parts: Value| {
        let capacity = storage("CSIStorageCapacity", "refused", &parts);
        script.send(
            format!("invalid: a capacity with {name}"),
            Request::post(CAPACITIES, capacity),
        );
    };
    capacity("no class", json!({}));
    capacity(
        "less than no room",
        json!({"storageClassName": "fast", "capacity": "-1Gi"}),
    );
    capacity(
        "a broken topology",
        json!({"storageClassName": "fast", "nodeTopology": {"matchLabels": {"a b": "c"}}}),
    );
    let mut attachment = |name: &str, spec: Value| {
        let attachment = storage("VolumeAttachment", "parity-refused", &json!({ "spec": spec }));
        script.send(
            format!("invalid: an attachment with {name}"),
            Request::post(ATTACHMENTS, attachment),
        );
    };
    let source = json!({"persistentVolumeName": "v"});
    attachment("no driver", json!({"nodeName": "n", "source": source}));
    attachment("no node", json!({"attacher": "d.example.com", "source": source}));
    attachment(
        "no source",
        json!({"attacher": "d.example.com", "nodeName": "n", "source": {}}),
    );
    attachment(
        "a nameless volume",
        json!({"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": ""}}),
    );
}
