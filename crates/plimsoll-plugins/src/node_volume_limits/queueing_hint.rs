use plimsoll_framework::{ClusterEvent, EventObjects, EventResource, ObjectChange, QueueingHint};
use plimsoll_model::storage::{CsiDriver, CsiNode, InTreePlugin, PersistentVolumeClaim, csi_volume_inline};
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
        EventResource::CsiNode => objects.csi_node().is_none_or(makes_room),
        EventResource::CsiDriver => objects.csi_driver().is_none_or(insists_no_more),
        EventResource::PersistentVolumeClaim => objects.claim().is_none_or(stands_for_another_volume),
        _ => true,
    }
}

pub(super) fn hint(registered: ClusterEvent, pod: &Pod, objects: &EventObjects) -> Result<QueueingHint, String> {
    let may_help = may_help_some_pod(registered, objects)
        && match registered.resource {
            EventResource::PersistentVolumeClaim => {
                let claim = objects.claim().and_then(ObjectChange::after);
                claim.is_none_or(|claim| uses_claim(pod, claim))
            }
            EventResource::VolumeAttachment => match objects.attachment().and_then(ObjectChange::before) {
                Some(gone) => may_need_what_was_attached(pod, &gone.attacher)?,
                None => true,
            },
            _ => true,
        };
    Ok(QueueingHint::queue_if(may_help))
}

/// A new `CSINode` means a node that is ready for volumes, and a node without one has no limits.
fn makes_room(change: ObjectChange<'_, CsiNode>) -> bool {
    match change {
        ObjectChange::Updated { old, new } => has_more_room(old, new),
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    }
}

/// Whether a driver is new there, or can attach more, or whatever number there is: one without a limit is without one, be it
/// there or not.
fn has_more_room(old: &CsiNode, new: &CsiNode) -> bool {
    let has_driver = |node: &CsiNode, name: &str| node.drivers.iter().any(|driver| driver.name == name);
    let limit = |node: &CsiNode, name: &str| {
        let mut drivers = node.drivers.iter().rev();
        drivers.find_map(|driver| driver.limit.filter(|_| driver.name == name))
    };
    let rises = |name: &str| match (limit(old, name), limit(new, name)) {
        (Some(before), Some(after)) => after > before,
        (before, None) => before.is_some(),
        (None, Some(_)) => false,
    };
    let is_new = |name: &str| has_driver(new, name) && !has_driver(old, name);
    let drivers = old.drivers.iter().chain(&new.drivers);
    drivers
        .into_iter()
        .any(|driver| rises(&driver.name) || is_new(&driver.name))
}

fn insists_no_more(change: ObjectChange<'_, CsiDriver>) -> bool {
    let insists = |driver: &CsiDriver| driver.prevents_scheduling_if_missing;
    change.before().is_none_or(insists) && !change.after().is_some_and(insists)
}

fn stands_for_another_volume(change: ObjectChange<'_, PersistentVolumeClaim>) -> bool {
    match change {
        ObjectChange::Updated { old, new } => {
            old.volume != new.volume || old.class != new.class || old.controller != new.controller
        }
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    }
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
        if volume.claim_name(&pod.name.name).is_some() {
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
