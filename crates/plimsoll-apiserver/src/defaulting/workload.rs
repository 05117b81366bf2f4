//! Defaults of the kinds that own pods.

use serde_json::{Map, Value, json};

use super::{child, default, default_text, existing, pod};

pub(super) fn replica_set(object: &mut Map<String, Value>) {
    if let Some(spec) = with_status(object) {
        default(spec, "replicas", 1);
        pod::template(spec);
    }
}

pub(super) fn replication_controller(object: &mut Map<String, Value>) {
    let Some(spec) = with_status(object) else { return };
    default(spec, "replicas", 1);
    pod::template(spec);
    let labels = spec
        .get("template")
        .and_then(|t| t.pointer("/metadata/labels"))
        .cloned();
    if let Some(labels) = labels {
        default(spec, "selector", labels.clone());
        if let Some(metadata) = child(object, "metadata") {
            default(metadata, "labels", labels);
        }
    }
}

pub(super) fn deployment(object: &mut Map<String, Value>) {
    let Some(spec) = with_status(object) else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    if let Some(strategy) = child(spec, "strategy") {
        default_text(strategy, "type", "RollingUpdate");
        rolling_update(
            strategy,
            &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
        );
    }
    pod::template(spec);
}

pub(super) fn daemon_set(object: &mut Map<String, Value>) {
    let Some(spec) = with_status(object) else { return };
    default(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = child(spec, "updateStrategy") {
        default_text(strategy, "type", "RollingUpdate");
        rolling_update(strategy, &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
    }
    pod::template(spec);
}

pub(super) fn stateful_set(object: &mut Map<String, Value>) {
    let Some(spec) = with_status(object) else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default_text(spec, "podManagementPolicy", "OrderedReady");
    if let Some(strategy) = child(spec, "updateStrategy") {
        default_text(strategy, "type", "RollingUpdate");
        rolling_update(strategy, &[("partition", json!(0))]);
    }
    if let Some(policy) = child(spec, "persistentVolumeClaimRetentionPolicy") {
        default_text(policy, "whenDeleted", "Retain");
        default_text(policy, "whenScaled", "Retain");
    }
    pod::template(spec);
}

pub(super) fn job(object: &mut Map<String, Value>) {
    let Some(spec) = with_status(object) else { return };
    let both_absent = ["completions", "parallelism"]
        .into_iter()
        .all(|f| spec.get(f).is_none_or(Value::is_null));
    if both_absent {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    default(spec, "backoffLimit", 6);
    default_text(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    default(spec, "manualSelector", false);
    default(spec, "podReplacementPolicy", "TerminatingOrFailed");
    pod::template(spec);
}

/// The spec, with a status set beside it.
fn with_status(object: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    default(object, "status", json!({}));
    child(object, "spec")
}

fn rolling_update(strategy: &mut Map<String, Value>, defaults: &[(&str, Value)]) {
    if strategy.get("type").is_none_or(|t| t != "RollingUpdate") {
        return;
    }
    default(strategy, "rollingUpdate", json!({}));
    if let Some(rolling) = existing(strategy, "rollingUpdate") {
        for (field, value) in defaults {
            default(rolling, field, value.clone());
        }
    }
}
