//! Configurations.

use serde_json::{Value, json};

use crate::dice::Dice;

/// Default plugins that Plimsoll does not have yet: both sides go without.
pub(crate) const NOT_YET: [&str; 3] = ["PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures"];

/// A configuration with one profile.
pub(super) fn config(_dice: &mut Dice) -> Value {
    let disabled: Vec<Value> = NOT_YET.iter().map(|name| json!({ "name": name })).collect();
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{
            "schedulerName": "default-scheduler",
            "plugins": { "multiPoint": { "disabled": disabled } },
        }],
    })
}

/// Whether both sides would still go without the plugins that Plimsoll does not have.
pub(crate) fn goes_without(config: &Value) -> bool {
    let disabled = config["profiles"][0]["plugins"]["multiPoint"]["disabled"].as_array();
    let is_disabled = |name: &&str| disabled.is_some_and(|list| list.iter().any(|entry| entry["name"] == **name));
    NOT_YET.iter().all(is_disabled)
}
