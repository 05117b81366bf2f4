//! Persistent volumes and their claims. Of sources it is checked that there is one, and those of CSI drivers, host paths and
//! local disks.

use plimsoll_model::Quantity;
use serde_json::{Value, json};

use super::metadata::label_selector;
use super::{affinity, container, invalid_each, list, map, name, same, set, storage, text};
use crate::cause::Cause;

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];
const RECLAIM_POLICIES: &[&str] = &["Delete", "Recycle", "Retain"];
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The sources of a volume, in the order in which upstream looks at them.
const SOURCES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(super) fn check_volume(volume: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = volume.get("spec").unwrap_or(&Value::Null);
    access_modes(spec, "", causes);
    capacity(spec, causes);
    one_of(spec, "persistentVolumeReclaimPolicy", RECLAIM_POLICIES, causes);
    if let Some(affinity) = set(spec, "nodeAffinity") {
        node_affinity(affinity, causes);
    }
    sources(spec, causes);
    class_name(spec, "storageClassName", causes);
    one_of(spec, "volumeMode", VOLUME_MODES, causes);
    if let Some(class) = set(spec, "volumeAttributesClassName") {
        if class == "" {
            let detail = "an empty string is disallowed";
            causes.push(Cause::required("spec.volumeAttributesClassName", detail));
        }
        class_name(spec, "volumeAttributesClassName", causes);
        if set(spec, "csi").is_none() {
            let detail = "has to be specified when using volumeAttributesClassName";
            causes.push(Cause::required("spec.csi", detail));
        }
    }
    if let Some(old) = old {
        volume_update(spec, old.get("spec").unwrap_or(&Value::Null), causes);
    }
}

fn access_modes(spec: &Value, missing: &str, causes: &mut Vec<Cause>) {
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        causes.push(Cause::required("spec.accessModes", missing));
    }
    let is_known = |mode: &&Value| mode.as_str().is_some_and(|mode| ACCESS_MODES.contains(&mode));
    for mode in modes.iter().filter(|mode| !is_known(mode)) {
        causes.push(Cause::not_supported("spec.accessModes", mode, ACCESS_MODES));
    }
    let (alone, others): (Vec<&Value>, Vec<&Value>) = modes
        .iter()
        .filter(is_known)
        .partition(|mode| *mode == "ReadWriteOncePod");
    if !alone.is_empty() && !others.is_empty() {
        let detail = "may not use ReadWriteOncePod with other access modes";
        causes.push(Cause::forbidden("spec.accessModes", detail));
    }
}

fn capacity(spec: &Value, causes: &mut Vec<Cause>) {
    let capacity = set(spec, "capacity").unwrap_or(&Value::Null);
    let count = map(spec, "capacity").count();
    if count == 0 {
        causes.push(Cause::required("spec.capacity", ""));
    }
    if count > 1 || capacity.get("storage").is_none() {
        causes.push(Cause::not_supported("spec.capacity", capacity, &["storage"]));
    }
    for (resource, amount) in map(spec, "capacity") {
        let path = format!("spec.capacity[{resource}]");
        if let Some(quantity) = container::parse(amount) {
            if quantity.value() < 0 {
                let detail = "must be a valid resource quantity";
                causes.push(Cause::invalid(&path, &json!(quantity.value()), detail));
            }
            positive(&quantity, &path, causes);
        }
    }
}

fn positive(quantity: &Quantity, path: &str, causes: &mut Vec<Cause>) {
    if *quantity <= Quantity::default() {
        let written = json!(quantity.to_string());
        causes.push(Cause::invalid(path, &written, "must be greater than zero"));
    }
}

fn one_of(spec: &Value, field: &str, supported: &[&str], causes: &mut Vec<Cause>) {
    if let Some(value) = set(spec, field)
        && value.as_str().is_some_and(|value| !supported.contains(&value))
    {
        causes.push(Cause::not_supported(format!("spec.{field}"), value, supported));
    }
}

fn class_name(spec: &Value, field: &str, causes: &mut Vec<Cause>) {
    let class = text(spec, field);
    if !class.is_empty() {
        invalid_each(&format!("spec.{field}"), class, name::subdomain(class), causes);
    }
}

fn node_affinity(affinity: &Value, causes: &mut Vec<Cause>) {
    let path = "spec.nodeAffinity.required";
    match set(affinity, "required") {
        Some(required) => affinity::node_selector(required, path, causes),
        None => causes.push(Cause::required(path, "must specify required node constraints")),
    }
}

fn sources(spec: &Value, causes: &mut Vec<Cause>) {
    let given: Vec<&str> = SOURCES
        .iter()
        .copied()
        .filter(|source| set(spec, source).is_some())
        .collect();
    for (at, source) in given.iter().enumerate() {
        if at > 0 {
            let detail = "may not specify more than 1 volume type";
            causes.push(Cause::forbidden(format!("spec.{source}"), detail));
        } else if let Some(value) = spec.get(*source) {
            check_source(spec, source, value, causes);
        }
    }
    if given.is_empty() {
        causes.push(Cause::required("spec", "must specify a volume type"));
    }
}

fn check_source(spec: &Value, source: &str, value: &Value, causes: &mut Vec<Cause>) {
    match source {
        "hostPath" => path(value, "spec.hostPath.path", causes),
        "local" => {
            path(value, "spec.local.path", causes);
            if set(spec, "nodeAffinity").is_none() {
                let detail = "Local volume requires node affinity";
                causes.push(Cause::required("spec.nodeAffinity", detail));
            }
        }
        "csi" => {
            storage::driver_name(text(value, "driver"), "spec.csi.driver", causes);
            if text(value, "volumeHandle").is_empty() {
                causes.push(Cause::required("spec.csi.volumeHandle", ""));
            }
        }
        _ => {}
    }
}

fn path(source: &Value, field: &str, causes: &mut Vec<Cause>) {
    let path = text(source, "path");
    if path.is_empty() {
        causes.push(Cause::required(field, ""));
    } else if path.split('/').any(|part| part == "..") {
        causes.push(Cause::invalid(field, &json!(path), "must not contain '..'"));
    }
}

fn volume_update(spec: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let is_kept = |source: &&str| same(settled_source(spec, source, old).as_ref(), set(old, source));
    if !SOURCES.iter().all(is_kept) {
        let detail = "spec.persistentvolumesource is immutable after creation";
        causes.push(Cause::forbidden("spec.persistentvolumesource", detail));
    }
    immutable(spec, old, "volumeMode", causes);
    let before = old.get("nodeAffinity");
    if set(old, "nodeAffinity").is_some() && !same(spec.get("nodeAffinity"), before) {
        let affinity = spec.get("nodeAffinity").unwrap_or(&Value::Null);
        let detail = "field is immutable, except for updating from beta label to GA";
        causes.push(Cause::invalid("nodeAffinity", affinity, detail));
    }
    if set(old, "volumeAttributesClassName").is_some() && set(spec, "volumeAttributesClassName").is_none() {
        let detail = "update from non-nil value to nil is forbidden";
        causes.push(Cause::forbidden("spec.volumeAttributesClassName", detail));
    }
}

/// A source as it is compared with the old one: a secret for expansion may be added.
fn settled_source(spec: &Value, source: &str, old: &Value) -> Option<Value> {
    let mut settled = set(spec, source)?.clone();
    let before = old
        .get(source)
        .and_then(|source| set(source, "controllerExpandSecretRef"));
    if source == "csi"
        && before.is_none()
        && let Some(fields) = settled.as_object_mut()
    {
        fields.remove("controllerExpandSecretRef");
    }
    Some(settled)
}

/// Upstream leaves the `spec` out of the field's name.
fn immutable(spec: &Value, old: &Value, field: &str, causes: &mut Vec<Cause>) {
    if !same(spec.get(field), old.get(field)) {
        let value = spec.get(field).unwrap_or(&Value::Null);
        causes.push(Cause::invalid(field, value, "field is immutable"));
    }
}

pub(super) fn check_claim(claim: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = claim.get("spec").unwrap_or(&Value::Null);
    let at_modes = causes.len();
    access_modes(spec, "at least 1 access mode is required", causes);
    if let Some(selector) = set(spec, "selector") {
        let mut wrong = Vec::new();
        label_selector(selector, "spec.selector", &mut wrong);
        // It comes between the missing modes and the wrong ones.
        let at = at_modes + usize::from(list(spec, "accessModes").is_empty());
        causes.splice(at..at, wrong);
    }
    let requested = "spec.resources[storage]";
    match requested_storage(spec) {
        None => causes.push(Cause::required(requested, "")),
        Some(amount) => {
            if let Some(quantity) = container::parse(amount) {
                positive(&quantity, requested, causes);
            }
        }
    }
    class_name(spec, "storageClassName", causes);
    one_of(spec, "volumeMode", VOLUME_MODES, causes);
    class_name(spec, "volumeAttributesClassName", causes);
    if let Some(old) = old {
        claim_update(claim, old, causes);
    }
}

fn requested_storage(spec: &Value) -> Option<&Value> {
    spec.pointer("/resources/requests/storage")
}

fn claim_update(claim: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let (spec, before) = (
        claim.get("spec").unwrap_or(&Value::Null),
        old.get("spec").unwrap_or(&Value::Null),
    );
    let is_upgrade = class_moves_from_annotation(claim, old);
    if !is_upgrade && annotation(claim) != annotation(old) {
        let value = json!(annotation(claim).unwrap_or(""));
        let field = format!("metadata.annotations.{CLASS_ANNOTATION}");
        causes.push(Cause::invalid(field, &value, "field is immutable"));
    }
    if spec_differs(claim, old, is_upgrade) {
        let detail =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        causes.push(Cause::forbidden("spec", detail));
    }
    let size = |value: Option<&Value>| value.and_then(container::parse).unwrap_or_default();
    let capacity = old.pointer("/status/capacity/storage");
    let asked = size(requested_storage(spec));
    if asked < size(requested_storage(before)) && asked <= size(capacity) {
        let detail = "field can not be less than status.capacity";
        causes.push(Cause::forbidden("spec.resources.requests.storage", detail));
    }
    immutable(spec, before, "volumeMode", causes);
}

/// Whether something in the spec changed that may not. A volume may be named once, a class given once, and bound claims may
/// ask for more room and other attributes.
fn spec_differs(claim: &Value, old: &Value, is_upgrade: bool) -> bool {
    let bound = claim.pointer("/status/phase").is_some_and(|phase| phase == "Bound");
    let (new, before) = (&claim["spec"], &old["spec"]);
    let may_change = |field: &str| match field {
        "volumeName" => text(before, field).is_empty(),
        "storageClassName" => {
            let own = set(new, field).and_then(Value::as_str);
            let from_nothing = set(before, field).is_none()
                && own.is_some()
                && annotation(old).is_none_or(|annotated| Some(annotated) == own);
            is_upgrade || from_nothing
        }
        "volumeAttributesClassName" => bound,
        _ => false,
    };
    let fields = [new, before].into_iter().filter_map(Value::as_object);
    let mut fields = fields
        .flat_map(|fields| fields.keys())
        .filter(|field| !may_change(field));
    fields.any(|field| match field.as_str() {
        "resources" if bound => !same(without_storage(new).as_ref(), without_storage(before).as_ref()),
        field => !same(new.get(field), before.get(field)),
    })
}

fn without_storage(spec: &Value) -> Option<Value> {
    let mut resources = spec.get("resources")?.clone();
    if let Some(requests) = resources.get_mut("requests").and_then(Value::as_object_mut) {
        requests.remove("storage");
    }
    Some(resources)
}

fn annotation(claim: &Value) -> Option<&str> {
    let annotations = claim.pointer("/metadata/annotations")?;
    annotations.get(CLASS_ANNOTATION).and_then(Value::as_str)
}

/// Whether the class moves from its annotation to its field.
fn class_moves_from_annotation(claim: &Value, old: &Value) -> bool {
    let Some(annotated) = annotation(old) else { return false };
    set(&old["spec"], "storageClassName").is_none()
        && set(&claim["spec"], "storageClassName").is_some_and(|class| class == annotated)
        && annotation(claim).is_none_or(|own| own == annotated)
}

/// The message of the real decoder when a quantity is none.
pub(super) fn undecodable(object: &Value) -> Option<String> {
    let spec = object.get("spec")?;
    container::undecodable_quantity(spec, "capacity").or_else(|| {
        let resources = spec.get("resources")?;
        ["requests", "limits"]
            .into_iter()
            .find_map(|field| container::undecodable_quantity(resources, field))
    })
}
