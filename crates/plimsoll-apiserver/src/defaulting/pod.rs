//! Defaults of pods and of pod templates.

use serde_json::{Map, Value, json};

use super::{child, default, default_text, entries, existing, omit_empty, quantities};

/// Defaults of a pod: those of a template, and those that pods alone get.
pub(super) fn apply(pod: &mut Map<String, Value>) {
    let Some(spec) = child(pod, "spec") else { return };
    spec_defaults(spec);
    for list in ["containers", "initContainers"] {
        entries(spec, list).for_each(request_the_limits);
    }
    default(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            entries(spec, list).for_each(host_ports);
        }
    }
    default(pod, "status", json!({}));
}

/// Defaults of the pod template of a workload.
pub(super) fn template(workload_spec: &mut Map<String, Value>) {
    if let Some(template) = child(workload_spec, "template") {
        default(template, "metadata", json!({}));
        if let Some(spec) = child(template, "spec") {
            spec_defaults(spec);
        }
    }
}

/// Lists and maps of a pod's spec that are left out when empty.
const OMITTED_WHEN_EMPTY: &[&str] = &[
    "hostAliases",
    "imagePullSecrets",
    "initContainers",
    "nodeSelector",
    "readinessGates",
    "resourceClaims",
    "schedulingGates",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

fn spec_defaults(spec: &mut Map<String, Value>) {
    omit_empty(spec, OMITTED_WHEN_EMPTY);
    default_text(spec, "dnsPolicy", "ClusterFirst");
    default_text(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default_text(spec, "schedulerName", "default-scheduler");
    mirror_service_account(spec);
    quantities::canonical(spec, "overhead");
    quantities::canonical_requirements(spec, "resources");
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        entries(spec, list).for_each(container);
    }
    entries(spec, "volumes").for_each(volume);
}

/// The deprecated name and its successor always hold the same.
fn mirror_service_account(spec: &mut Map<String, Value>) {
    let name = ["serviceAccountName", "serviceAccount"]
        .into_iter()
        .find_map(|field| spec.get(field).filter(|n| n.as_str().is_some_and(|n| !n.is_empty())))
        .cloned();
    if let Some(name) = name {
        spec.insert("serviceAccountName".to_owned(), name.clone());
        spec.insert("serviceAccount".to_owned(), name);
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let policy = if has_latest_tag(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    default_text(container, "imagePullPolicy", policy);
    default_text(container, "terminationMessagePath", "/dev/termination-log");
    default_text(container, "terminationMessagePolicy", "File");
    default(container, "resources", json!({}));
    quantities::canonical_requirements(container, "resources");
    for port in entries(container, "ports") {
        default_text(port, "protocol", "TCP");
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = existing(container, name) {
            probe_defaults(probe);
        }
    }
}

/// An image without tag and digest means `latest`.
fn has_latest_tag(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or("");
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn probe_defaults(probe: &mut Map<String, Value>) {
    let defaults = [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ];
    for (field, value) in defaults {
        if probe.get(field).and_then(Value::as_i64).unwrap_or(0) == 0 {
            probe.insert(field.to_owned(), json!(value));
        }
    }
    if let Some(get) = existing(probe, "httpGet") {
        default_text(get, "path", "/");
        default_text(get, "scheme", "HTTP");
    }
}

fn volume(volume: &mut Map<String, Value>) {
    let has_source = volume.iter().any(|(field, value)| field != "name" && !value.is_null());
    if !has_source {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = existing(volume, source) {
            default(source, "defaultMode", 0o644);
        }
    }
    if let Some(host_path) = existing(volume, "hostPath") {
        default(host_path, "type", "");
    }
}

/// A resource with a limit and no request requests its limit.
fn request_the_limits(container: &mut Map<String, Value>) {
    let Some(resources) = existing(container, "resources") else {
        return;
    };
    let Some(limits) = existing(resources, "limits").cloned() else {
        return;
    };
    if let Some(requests) = child(resources, "requests") {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// On the host's network a container's ports are the host's ports.
fn host_ports(container: &mut Map<String, Value>) {
    for port in entries(container, "ports") {
        if port.get("hostPort").and_then(Value::as_i64).unwrap_or(0) == 0
            && let Some(number) = port.get("containerPort").cloned()
        {
            port.insert("hostPort".to_owned(), number);
        }
    }
}
