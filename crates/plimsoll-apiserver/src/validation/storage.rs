//! The kinds of `storage.k8s.io`.

use serde_json::{Value, json};

use super::metadata::label_selector;
use super::{container, invalid_each, list, name, same, set, text};
use crate::cause::Cause;

/// Longest name of a CSI driver.
const DRIVER_NAME: usize = 63;
/// Longest name that a driver may have for a node.
const NODE_ID: usize = 256;

pub(super) fn check(kind: &str, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    match kind {
        "StorageClass" => class(object, old, causes),
        "CSIDriver" => driver(object, old, causes),
        "CSINode" => csi_node(object, old, causes),
        "CSIStorageCapacity" => capacity(object, old, causes),
        "VolumeAttachment" => attachment(object, old, causes),
        _ => {}
    }
}

/// Checks the name of a CSI driver.
pub(super) fn driver_name(driver: &str, path: &str, causes: &mut Vec<Cause>) {
    if driver.is_empty() {
        causes.push(Cause::required(path, ""));
        return;
    }
    if driver.len() > DRIVER_NAME {
        causes.push(Cause::too_long(path, DRIVER_NAME));
    }
    invalid_each(path, driver, name::subdomain(&driver.to_lowercase()), causes);
}

/// An immutable field is told with its new value.
fn kept(object: &Value, old: &Value, field: &str, path: &str, causes: &mut Vec<Cause>) {
    if !same(object.get(field), old.get(field)) {
        let value = object.get(field).unwrap_or(&Value::Null);
        causes.push(Cause::invalid(path, value, "field is immutable"));
    }
}

fn one_of(object: &Value, field: &str, path: &str, supported: &[&str], causes: &mut Vec<Cause>) {
    if let Some(value) = set(object, field)
        && value.as_str().is_some_and(|value| !supported.contains(&value))
    {
        causes.push(Cause::not_supported(path, value, supported));
    }
}

fn class(class: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    match text(class, "provisioner").to_lowercase().as_str() {
        "" => causes.push(Cause::required("provisioner", "")),
        provisioner => invalid_each("provisioner", provisioner, name::qualified(provisioner), causes),
    }
    one_of(class, "reclaimPolicy", "reclaimPolicy", &["Delete", "Retain"], causes);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(class, "volumeBindingMode", "volumeBindingMode", &modes, causes);
    topologies(list(class, "allowedTopologies"), causes);
    if let Some(old) = old {
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            kept(class, old, field, field, causes);
        }
    }
}

fn topologies(terms: &[Value], causes: &mut Vec<Cause>) {
    for (at, term) in terms.iter().enumerate() {
        let path = format!("allowedTopologies[{at}].matchLabelExpressions");
        let expressions = list(term, "matchLabelExpressions");
        for (index, expression) in expressions.iter().enumerate() {
            let keys = expressions[..index].iter().map(|earlier| text(earlier, "key"));
            topology(expression, keys, &format!("{path}[{index}]"), causes);
        }
        // Upstream compares a term with as many empty ones as there are terms, and then with those before it.
        let empty = if expressions.is_empty() { terms.len() } else { 0 };
        let before = terms[..at]
            .iter()
            .filter(|earlier| selects_the_same(earlier, term))
            .count();
        for _ in 0..empty + before {
            causes.push(Cause::duplicate(&path, &json!(""), ""));
        }
    }
}

fn topology<'a>(
    expression: &'a Value,
    mut earlier: impl Iterator<Item = &'a str>,
    path: &str,
    causes: &mut Vec<Cause>,
) {
    let values = list(expression, "values");
    if values.is_empty() {
        causes.push(Cause::required(format!("{path}.values"), ""));
    }
    for (at, value) in values.iter().enumerate() {
        if values[..at].contains(value) {
            causes.push(Cause::duplicate(format!("{path}.values[{at}]"), value, ""));
        }
    }
    let key = text(expression, "key");
    let path = format!("{path}.key");
    invalid_each(&path, key, name::qualified(key), causes);
    if earlier.any(|earlier| earlier == key) {
        causes.push(Cause::duplicate(path, &json!(key), ""));
    }
}

/// Whether two terms have the same keys with the same values, in whatever order.
fn selects_the_same(a: &Value, b: &Value) -> bool {
    fn sorted(term: &Value) -> Vec<(&str, Vec<&str>)> {
        let expressions = list(term, "matchLabelExpressions").iter();
        let mut sorted: Vec<(&str, Vec<&str>)> = expressions
            .map(|expression| {
                let values = list(expression, "values").iter().filter_map(Value::as_str);
                let mut values: Vec<&str> = values.collect();
                values.sort_unstable();
                values.dedup();
                (text(expression, "key"), values)
            })
            .collect();
        sorted.sort_unstable();
        sorted
    }
    sorted(a) == sorted(b)
}

fn driver(driver: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = driver.get("spec").unwrap_or(&Value::Null);
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    one_of(spec, "fsGroupPolicy", "spec.fsGroupPolicy", &policies, causes);
    for mode in list(spec, "volumeLifecycleModes") {
        let modes = ["Persistent", "Ephemeral"];
        if mode.as_str().is_some_and(|mode| !modes.contains(&mode)) {
            causes.push(Cause::not_supported("spec.volumeLifecycleModes", mode, &modes));
        }
    }
    let period = "nodeAllocatableUpdatePeriodSeconds";
    if let Some(seconds) = spec
        .get(period)
        .filter(|value| value.as_i64().is_some_and(|value| value < 10))
    {
        let detail = "must be greater than or equal to 10 seconds";
        causes.push(Cause::invalid(format!("spec.{period}"), seconds, detail));
    }
    if let Some(old) = old {
        let before = old.get("spec").unwrap_or(&Value::Null);
        // Upstream has the name a little wrong.
        kept(spec, before, "attachRequired", "spec.attachedRequired", causes);
        kept(
            spec,
            before,
            "volumeLifecycleModes",
            "spec.volumeLifecycleModes",
            causes,
        );
    }
}

fn csi_node(node: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let drivers = drivers_of(node);
    for (at, driver) in drivers.iter().enumerate() {
        let path = format!("spec.drivers[{at}]");
        let given = text(driver, "name");
        driver_name(given, &format!("{path}.name"), causes);
        node_id(text(driver, "nodeID"), &format!("{path}.nodeID"), causes);
        let count = driver.pointer("/allocatable/count");
        if let Some(count) = count.filter(|count| count.as_i64().is_some_and(|count| count < 0)) {
            let detail = "must be greater than or equal to 0";
            causes.push(Cause::invalid(format!("{path}.allocatable.count"), count, detail));
        }
        if drivers[..at].iter().any(|earlier| text(earlier, "name") == given) {
            causes.push(Cause::duplicate(format!("{path}.name"), &json!(given), ""));
        }
        topology_keys(list(driver, "topologyKeys"), &path, causes);
    }
    let before = old.map(drivers_of).unwrap_or_default();
    for driver in before {
        for now in drivers.iter().filter(|now| text(now, "name") == text(driver, "name")) {
            if !["nodeID", "topologyKeys"]
                .iter()
                .all(|field| same(now.get(field), driver.get(field)))
            {
                causes.push(Cause::invalid("spec.drivers", now, "field is immutable"));
            }
        }
    }
}

fn drivers_of(node: &Value) -> &[Value] {
    node.get("spec").map(|spec| list(spec, "drivers")).unwrap_or_default()
}

fn node_id(id: &str, path: &str, causes: &mut Vec<Cause>) {
    if id.is_empty() {
        causes.push(Cause::required(path, ""));
    }
    if id.len() > NODE_ID {
        let detail = format!("must be {NODE_ID} characters or less");
        causes.push(Cause::invalid(path, &json!(id), &detail));
    }
}

fn topology_keys(keys: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, key) in keys.iter().enumerate() {
        let text = key.as_str().unwrap_or("");
        if text.is_empty() {
            causes.push(Cause::required(path, ""));
        }
        if keys[..at].contains(key) {
            causes.push(Cause::duplicate(path, key, ""));
        }
        invalid_each(path, text, name::qualified(text), causes);
    }
}

fn capacity(capacity: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if let Some(topology) = set(capacity, "nodeTopology") {
        label_selector(topology, "nodeTopology", causes);
    }
    let class = text(capacity, "storageClassName");
    invalid_each("storageClassName", class, name::subdomain(class), causes);
    if let Some(room) = set(capacity, "capacity").and_then(container::parse)
        && room < plimsoll_model::Quantity::default()
    {
        let written = json!(room.to_string());
        causes.push(Cause::invalid(
            "capacity",
            &written,
            "must be greater than or equal to 0",
        ));
    }
    if let Some(old) = old {
        for field in ["nodeTopology", "storageClassName"] {
            kept(capacity, old, field, field, causes);
        }
    }
}

fn attachment(attachment: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = attachment.get("spec").unwrap_or(&Value::Null);
    driver_name(text(spec, "attacher"), "spec.attacher", causes);
    let source = spec.get("source").unwrap_or(&Value::Null);
    let volume = set(source, "persistentVolumeName");
    match (set(source, "inlineVolumeSpec"), volume) {
        (None, None) => causes.push(Cause::required("spec.source", ONE_SOURCE)),
        (Some(_), Some(_)) => causes.push(Cause::forbidden("spec.source", ONE_SOURCE)),
        (None, Some(volume)) if volume == "" => {
            let detail = "must specify non empty persistentVolumeName";
            causes.push(Cause::required("spec.source.persistentVolumeName", detail));
        }
        _ => {}
    }
    let node = text(spec, "nodeName");
    invalid_each("spec.nodeName", node, name::subdomain(node), causes);
    if let Some(volume) = volume.and_then(Value::as_str) {
        let path = "spec.source.persistentVolumeName";
        invalid_each(path, volume, name::subdomain(volume), causes);
    }
    if let Some(old) = old {
        kept(attachment, old, "spec", "spec", causes);
    }
}

const ONE_SOURCE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
