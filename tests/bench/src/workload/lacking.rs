//! Why a workload cannot be run here, or not so that both schedulers do the same.

use std::collections::BTreeMap;

use super::operation::Operation;
use super::parameters::Parameters;
use crate::template::Template;

/// The first reason; `None` when there is none.
pub(super) fn lacking(
    gates: &BTreeMap<String, bool>,
    operations: &[Operation],
    parameters: &mut Parameters,
) -> Option<String> {
    let is = |gate: &str, value| gates.get(gate) == Some(&value);
    // Asked for first, so that it counts as known whatever else there is.
    let invented = parameters.takes("numNodeDeclaredFeatures");
    let devices = operations.iter().find_map(|operation| match operation {
        Operation::CreateResourceDriver => Some("createResourceDriver"),
        Operation::CreateResourceClaims => Some("createResourceClaims"),
        Operation::AllocResourceClaims => Some("allocResourceClaims"),
        Operation::CreatePods(pods) => pods.template.as_ref().and_then(|template| about_devices(template)),
        Operation::CreateAny(change) => about_devices(&change.template),
        _ => None,
    });
    if let Some(what) = devices {
        return Some(format!("{what}: Plimsoll has no DynamicResources yet"));
    }
    // The gate of devices as such is on by default, and concerns nobody who has none.
    if let Some((gate, _)) = gates.iter().find(|(gate, on)| **on && gate.starts_with("DRA")) {
        return Some(format!("{gate}: Plimsoll has no DynamicResources yet"));
    }
    if is("SchedulerQueueingHints", false) {
        let reason = "SchedulerQueueingHints cannot be off in 1.36; upstream emulates 1.33 in its own process";
        return Some(reason.to_owned());
    }
    if invented {
        let reason = "declared features of nodes are made up within upstream's own process; a scheduler as released knows none of them";
        return Some(reason.to_owned());
    }
    None
}

/// What in a template is about devices.
fn about_devices(template: &Template) -> Option<&'static str> {
    let words = [
        "resourceClaims",
        "ResourceClaim",
        "ResourceSlice",
        "DeviceClass",
        "DeviceTaintRule",
    ];
    words.into_iter().find(|word| template.mentions(word))
}
