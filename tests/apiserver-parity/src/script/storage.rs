//! Storage as a scheduler, the volume controller and CSI drivers use it: what is refused, what is filled in, who binds what.

mod refused;

use serde_json::{Value, json};

use crate::step::{Request, Script};

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/parity/persistentvolumeclaims";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";
const CSI_NODES: &str = "/apis/storage.k8s.io/v1/csinodes";
const CAPACITIES: &str = "/apis/storage.k8s.io/v1/namespaces/parity/csistoragecapacities";
const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(super) fn add(script: &mut Script) {
    refused::add(script);
    bind(script);
    grow(script);
    classes(script);
    csi(script);
    sources(script);
}

fn object(api_version: &str, kind: &str, name: &str, parts: &Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    for (part, value) in parts.as_object().into_iter().flatten() {
        match (object.get_mut(part).and_then(Value::as_object_mut), value.as_object()) {
            (Some(known), Some(fields)) => known.extend(fields.clone()),
            _ => object[part] = value.clone(),
        }
    }
    object
}

fn merged(mut spec: Value, changes: &Value) -> Value {
    for (field, value) in changes.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}

/// A volume of a CSI driver with some fields of its spec changed.
fn volume(name: &str, changes: &Value) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
        "csi": {"driver": "disk.example.com", "volumeHandle": name}});
    object("v1", "PersistentVolume", name, &json!({"spec": merged(spec, changes)}))
}

fn claim(name: &str, changes: &Value) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    object(
        "v1",
        "PersistentVolumeClaim",
        name,
        &json!({"spec": merged(spec, changes)}),
    )
}

fn storage(kind: &str, name: &str, parts: &Value) -> Value {
    object("storage.k8s.io/v1", kind, name, parts)
}

/// A scheduler chooses, the volume controller binds.
fn bind(script: &mut Script) {
    let (volume_path, claim_path) = (format!("{VOLUMES}/parity-bind"), format!("{CLAIMS}/bind"));
    let terms = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]);
    let spec = json!({"storageClassName": "parity-fast", "capacity": {"storage": "2048Mi"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}});
    let mut created = volume("parity-bind", &spec);
    created["status"] = json!({"phase": "Bound"});
    script.send(
        "volume: create",
        Request::post(VOLUMES, created).capture("volume.rv", "/metadata/resourceVersion"),
    );
    script.send(
        "claim: create",
        Request::post(CLAIMS, claim("bind", &json!({"storageClassName": "parity-fast"})))
            .capture("claim.rv", "/metadata/resourceVersion")
            .capture("claim.uid", "/metadata/uid"),
    );
    let claim_ref = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "parity", "name": "bind",
        "uid": "${claim.uid}", "resourceVersion": "1"});
    let chosen = json!({"metadata": {"resourceVersion": "${volume.rv}",
        "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}, "spec": {"claimRef": claim_ref}});
    script.send(
        "volume: choose it",
        Request::merge(&volume_path, chosen.clone()).capture("volume.rv2", "/metadata/resourceVersion"),
    );
    script.send("volume: choose it too late", Request::merge(&volume_path, chosen));
    let selected = json!({"metadata": {"resourceVersion": "${claim.rv}",
        "annotations": {"volume.kubernetes.io/selected-node": "n1"}}});
    script.send("claim: choose a node", Request::merge(&claim_path, selected.clone()));
    script.send("claim: choose a node too late", Request::merge(&claim_path, selected));
    script.send(
        "claim: choose a node at another identity",
        Request::merge(
            &claim_path,
            json!({"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}),
        ),
    );
    script.send(
        "claim: name its volume",
        Request::merge(&claim_path, json!({"spec": {"volumeName": "parity-bind"}})),
    );
    script.send(
        "claim: name another volume",
        Request::merge(&claim_path, json!({"spec": {"volumeName": "other"}})),
    );
    script.send(
        "claim: a status beside its path",
        Request::merge(&claim_path, json!({"status": {"phase": "Bound"}})),
    );
    let bound = json!({"spec": {"volumeName": "nothing"}, "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2048Mi"}}});
    script.send("claim: bound", Request::merge(format!("{claim_path}/status"), bound));
    script.send(
        "volume: bound",
        Request::merge(format!("{volume_path}/status"), json!({"status": {"phase": "Bound"}})),
    );
    script.send(
        "volume: bound again",
        Request::merge(format!("{volume_path}/status"), json!({"status": {"phase": "Bound"}})),
    );
    script.send(
        "volume: another source",
        Request::merge(&volume_path, json!({"spec": {"csi": {"volumeHandle": "other"}}})),
    );
    script.send(
        "volume: another mode",
        Request::merge(&volume_path, json!({"spec": {"volumeMode": "Block"}})),
    );
    script.send(
        "volume: another place",
        Request::merge(&volume_path, json!({"spec": {"nodeAffinity": null}})),
    );
    script.send(
        "volume: let go",
        Request::merge(&volume_path, json!({"spec": {"claimRef": null}})),
    );
    reads(script);
}

fn reads(script: &mut Script) {
    script.send(
        "volume: by name",
        Request::get(format!("{VOLUMES}?fieldSelector=metadata.name%3Dparity-bind")),
    );
    script.send(
        "volume: by phase",
        Request::get(format!("{VOLUMES}?fieldSelector=status.phase%3DBound")),
    );
    script.send(
        "claim: by name and namespace",
        Request::get("/api/v1/persistentvolumeclaims?fieldSelector=metadata.name%3Dbind,metadata.namespace%3Dparity"),
    );
    script.send(
        "claim: metadata alone",
        Request::get(format!("{CLAIMS}?fieldSelector=metadata.name%3Dbind")).accept(METADATA),
    );
    script.send(
        "volume: metadata alone",
        Request::get(format!("{VOLUMES}?fieldSelector=metadata.name%3Dparity-bind")).accept(METADATA),
    );
    script.send("claim: its status", Request::get(format!("{CLAIMS}/bind/status")));
}

fn grow(script: &mut Script) {
    let asked = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    script.send("claim: grow", Request::merge(format!("{CLAIMS}/bind"), asked("3Gi")));
    script.send(
        "claim: shrink",
        Request::merge(format!("{CLAIMS}/bind"), asked("512Mi")),
    );
    script.send(
        "claim: create unbound",
        Request::post(CLAIMS, claim("unbound", &json!({"storageClassName": ""}))),
    );
    script.send(
        "claim: grow unbound",
        Request::merge(format!("{CLAIMS}/unbound"), asked("3Gi")),
    );
    let fast = json!({"provisioner": "disk.example.com", "allowVolumeExpansion": true});
    script.send(
        "class: create one that grows",
        Request::post(CLASSES, storage("StorageClass", "parity-fast", &fast)),
    );
    // The real server's admission learns of classes from a watch.
    script.watch(
        "classes",
        format!("{CLASSES}?watch=true&timeoutSeconds=2&fieldSelector=metadata.name%3Dparity-fast"),
    );
    script.send(
        "claim: grow with its class",
        Request::merge(format!("{CLAIMS}/bind"), asked("3Gi")),
    );
    script.send(
        "class: delete one that grows",
        Request::delete(format!("{CLASSES}/parity-fast")),
    );
}

fn classes(script: &mut Script) {
    let path = format!("{CLASSES}/parity-default");
    let class = json!({
        "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "Disk.Example.com", "volumeBindingMode": "WaitForFirstConsumer", "parameters": {"type": "ssd"},
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}],
    });
    script.send(
        "class: create",
        Request::post(CLASSES, storage("StorageClass", "parity-default", &class)),
    );
    for (what, change) in [
        ("provisioner", json!({"provisioner": "other.example.com"})),
        ("parameters", json!({"parameters": {"type": "hdd"}})),
        ("mode", json!({"volumeBindingMode": "Immediate"})),
        ("topologies", json!({"allowedTopologies": null})),
    ] {
        script.send(format!("class: change its {what}"), Request::merge(&path, change));
    }
    script.watch(
        "default-class",
        format!("{CLASSES}?watch=true&timeoutSeconds=2&fieldSelector=metadata.name%3Dparity-default"),
    );
    script.send(
        "claim: create without a class",
        Request::post(CLAIMS, claim("classless", &json!({}))),
    );
    script.send(
        "claim: create with an empty class",
        Request::post(CLAIMS, claim("empty-class", &json!({"storageClassName": ""}))),
    );
    let mut annotated = claim("annotated", &json!({}));
    annotated["metadata"]["annotations"] = json!({"volume.beta.kubernetes.io/storage-class": "old"});
    script.send("claim: create with an annotation", Request::post(CLAIMS, annotated));
    script.send(
        "claim: change the annotation",
        Request::merge(
            format!("{CLAIMS}/annotated"),
            json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "new"}}}),
        ),
    );
    script.send(
        "claim: move the annotation",
        Request::merge(
            format!("{CLAIMS}/annotated"),
            json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": null}},
                "spec": {"storageClassName": "old"}}),
        ),
    );
    script.send("class: delete", Request::delete(path));
}

fn csi(script: &mut Script) {
    script.send(
        "driver: create",
        Request::post(
            DRIVERS,
            storage(
                "CSIDriver",
                "parity.example.com",
                &json!({"spec": {"storageCapacity": true}}),
            ),
        ),
    );
    let driver = format!("{DRIVERS}/parity.example.com");
    for (what, spec) in [
        ("capacity", json!({"storageCapacity": false})),
        ("attachment", json!({"attachRequired": false})),
        ("life", json!({"volumeLifecycleModes": ["Ephemeral"]})),
    ] {
        script.send(
            format!("driver: change its {what}"),
            Request::merge(&driver, json!({ "spec": spec })),
        );
    }
    let drivers =
        json!([{"name": "parity.example.com", "nodeID": "n", "topologyKeys": ["zone"], "allocatable": {"count": 3}}]);
    let node = storage(
        "CSINode",
        "parity-csi",
        &json!({
        "metadata": {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}},
        "spec": {"drivers": drivers}}),
    );
    script.send("CSI node: create", Request::post(CSI_NODES, node));
    let node = format!("{CSI_NODES}/parity-csi");
    let changed = |drivers: Value| json!({"spec": {"drivers": drivers}});
    script.send(
        "CSI node: another limit",
        Request::merge(&node, changed(json!([{"name": "parity.example.com", "nodeID": "n", "topologyKeys": ["zone"], "allocatable": {"count": 5}}]))),
    );
    script.send(
        "CSI node: another identity",
        Request::merge(
            &node,
            changed(json!([{"name": "parity.example.com", "nodeID": "m", "topologyKeys": ["zone"]}])),
        ),
    );
    script.send("CSI node: no driver", Request::merge(&node, changed(json!([]))));
    capacities(script);
    attachments(script);
    script.send("CSI node: delete", Request::delete(node));
    script.send("driver: delete", Request::delete(driver));
}

fn capacities(script: &mut Script) {
    let parts = json!({"storageClassName": "fast", "capacity": "1024Mi", "maximumVolumeSize": "1000m",
        "nodeTopology": {"matchLabels": {"zone": "a"}}});
    script.send(
        "capacity: create",
        Request::post(CAPACITIES, storage("CSIStorageCapacity", "room", &parts)),
    );
    let path = format!("{CAPACITIES}/room");
    script.send(
        "capacity: less room",
        Request::merge(&path, json!({"capacity": "512Mi"})),
    );
    script.send(
        "capacity: another class",
        Request::merge(&path, json!({"storageClassName": "slow"})),
    );
    script.send(
        "capacity: everywhere",
        Request::merge(&path, json!({"nodeTopology": {"matchLabels": null}})),
    );
    script.send(
        "capacity: update without a version",
        Request::put(
            &path,
            storage("CSIStorageCapacity", "room", &json!({"storageClassName": "fast"})),
        ),
    );
    script.send(
        "capacity: metadata alone",
        Request::get("/apis/storage.k8s.io/v1/csistoragecapacities").accept(METADATA),
    );
    script.send("capacity: delete", Request::delete(path));
}

fn attachments(script: &mut Script) {
    let mut attachment = storage(
        "VolumeAttachment",
        "parity-attachment",
        &json!({"spec": {"attacher": "parity.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "parity-bind"}}}),
    );
    attachment["status"] = json!({"attached": true});
    script.send("attachment: create", Request::post(ATTACHMENTS, attachment));
    let path = format!("{ATTACHMENTS}/parity-attachment");
    script.send(
        "attachment: another node",
        Request::merge(&path, json!({"spec": {"nodeName": "n2"}})),
    );
    script.send(
        "attachment: attached",
        Request::merge(
            format!("{path}/status"),
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "n2"}, "status": {"attached": true}}),
        ),
    );
    script.send(
        "attachment: by node",
        Request::get(format!("{ATTACHMENTS}?fieldSelector=spec.nodeName%3Dn1")),
    );
    script.send("attachment: delete", Request::delete(path));
}

/// What is filled in of sources that have moved to CSI drivers.
fn sources(script: &mut Script) {
    for (name, source) in [
        (
            "azure",
            json!({"azureDisk": {"diskName": "d", "diskURI": "https://a.blob.core.windows.net/c/d.vhd"}}),
        ),
        (
            "iscsi",
            json!({"iscsi": {"targetPortal": "p", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}}),
        ),
        ("rbd", json!({"rbd": {"monitors": ["m"], "image": "i"}})),
        ("gce", json!({"gcePersistentDisk": {"pdName": "d"}})),
        (
            "local",
            json!({"local": {"path": "/disk"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}),
        ),
    ] {
        let mut changes = source;
        changes["csi"] = Value::Null;
        let volume = volume(&format!("parity-{name}"), &changes);
        script.send(format!("volume: create {name}"), Request::post(VOLUMES, volume));
    }
}
