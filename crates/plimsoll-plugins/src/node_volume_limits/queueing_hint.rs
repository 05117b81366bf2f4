use plimsoll_framework::{Action, ClusterEvent, EventObjects, EventResource, ObjectChange, QueueingHint};
use plimsoll_model::storage::{CsiNode, CsiNodeDriver, InTreePlugin, PersistentVolumeClaim, csi_volume_inline};
use plimsoll_model::{Pod, VolumeKind};

use super::may_be_attached;
use super::wanted::not_translated;
use crate::placed::is_placed;

/// What is the same for every pod.
pub(super) fn may_help_some_pod(registered: ClusterEvent, objects: &EventObjects) -> bool {
    match registered.resource {
        EventResource::Pod => {
            let gone = objects.pod().and_then(ObjectChange::before);
            gone.is_none_or(|gone| is_placed(gone) && gone.spec.volumes.iter().any(may_be_attached))
        }
        EventResource::CsiNode if registered.action == Action::UPDATE => match objects.csi_node() {
            Some(ObjectChange::Updated { old, new }) => raises_a_limit(old, new),
            _ => true,
        },
        _ => true,
    }
}

pub(super) fn hint(registered: ClusterEvent, pod: &Pod, objects: &EventObjects) -> Result<QueueingHint, String> {
    let may_help = match registered.resource {
        EventResource::PersistentVolumeClaim => {
            let claim = objects.claim().and_then(ObjectChange::after);
            claim.is_none_or(|claim| uses_claim(pod, claim))
        }
        EventResource::VolumeAttachment => match objects.attachment().and_then(ObjectChange::before) {
            Some(gone) => may_need_what_was_attached(pod, &gone.attacher)?,
            None => true,
        },
        _ => may_help_some_pod(registered, objects),
    };
    Ok(QueueingHint::queue_if(may_help))
}

/// A driver that says nothing counts as one that can attach nothing, on either side.
fn raises_a_limit(old: &CsiNode, new: &CsiNode) -> bool {
    let limit = |driver: &CsiNodeDriver| driver.limit.unwrap_or(0);
    let before = |driver: &CsiNodeDriver| old.drivers.iter().rfind(|own| own.name == driver.name).map_or(0, limit);
    new.drivers.iter().any(|driver| limit(driver) > before(driver))
}

fn uses_claim(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let names = |volume: &VolumeKind| {
        volume
            .claim_name(&pod.name.name)
            .is_some_and(|name| name == claim.name.name)
    };
    pod.name.namespace == claim.name.namespace && pod.spec.volumes.iter().any(names)
}

/// `Err` counts as yes.
fn may_need_what_was_attached(pod: &Pod, attacher: &str) -> Result<bool, String> {
    for volume in &pod.spec.volumes {
        if matches!(volume, VolumeKind::PersistentVolumeClaim { .. }) {
            return Ok(true);
        }
        let Some(plugin) = InTreePlugin::of_inline(volume) else {
            continue;
        };
        csi_volume_inline(volume).map_err(|error| not_translated(volume, &error))?;
        if plugin.driver() == attacher {
            return Ok(true);
        }
    }
    Ok(false)
}
