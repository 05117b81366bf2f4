use plimsoll_framework::{
    Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, ObjectChange, QueueingHint,
};
use plimsoll_model::storage::{CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolumeClaim, StorageClass};
use plimsoll_model::{Pod, VolumeKind};

use super::VolumeBinding;
use super::claims::claim_names;

/// Whatever lets volumes be had, reached or made that could not before wakes pods, more than in kube-scheduler: there the end of
/// an attempt that had reserved volumes wakes none, nor does a volume, a driver or what drivers say of a node that goes, and a
/// driver that no longer tells what room it has wakes only pods with in-line volumes, which it does not matter to.
impl EnqueueExtensions for VolumeBinding {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let changed = Action::ADD | Action::UPDATE;
        let events = [
            (EventResource::StorageClass, changed),
            (EventResource::PersistentVolumeClaim, changed),
            (EventResource::PersistentVolume, changed | Action::DELETE),
            (EventResource::Node, Action::ADD | Action::UPDATE_NODE_LABEL),
            (EventResource::CsiNode, changed | Action::DELETE),
            (EventResource::CsiDriver, Action::UPDATE | Action::DELETE),
            (EventResource::CsiStorageCapacity, changed),
            (EventResource::AssignedPod, Action::DELETE),
        ];
        let events = events.into_iter();
        events
            .map(|(resource, action)| ClusterEvent::new(resource, action))
            .collect()
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn may_help_some_pod(&self, _: ClusterEvent, _: ClusterEvent, objects: &EventObjects) -> bool {
        class_may_help(objects.class())
            && node_may_help(objects.csi_node())
            && room_may_help(objects.storage_capacity())
            && end_may_help(objects.pod())
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        event: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = self.may_help_some_pod(registered, event, objects)
            && claim_may_help(objects.claim(), pod)
            && driver_may_help(objects.csi_driver(), pod)
            && (objects.pod().is_none() || has_claims(pod));
        Ok(QueueingHint::queue_if(may_help))
    }
}

/// A new class, or one that makes volumes elsewhere than before.
fn class_may_help(change: Option<ObjectChange<'_, StorageClass>>) -> bool {
    change.is_none_or(|change| match change {
        ObjectChange::Updated { old, new } => old.allowed_topologies != new.allowed_topologies,
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    })
}

/// In-tree volumes are reached from elsewhere once their plugin has moved to CSI.
fn node_may_help(change: Option<ObjectChange<'_, CsiNode>>) -> bool {
    change.is_none_or(|change| match change {
        ObjectChange::Updated { old, new } => old.migrated_plugins != new.migrated_plugins,
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    })
}

/// Room for larger volumes than before.
fn room_may_help(change: Option<ObjectChange<'_, CsiStorageCapacity>>) -> bool {
    let limit = |capacity: &CsiStorageCapacity| capacity.maximum_volume_size.or(capacity.capacity);
    change.is_none_or(|change| match change {
        ObjectChange::Updated { old, new } => limit(new).is_some_and(|new| limit(old).is_none_or(|old| new > old)),
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    })
}

fn claim_may_help(change: Option<ObjectChange<'_, PersistentVolumeClaim>>, pod: &Pod) -> bool {
    let changed = change.and_then(|change| change.after().or_else(|| change.before()).map(|claim| &claim.name));
    changed.is_none_or(|changed| claim_names(pod).any(|(name, _)| name == *changed))
}

/// A driver that no longer tells what room it has.
fn driver_may_help(change: Option<ObjectChange<'_, CsiDriver>>, pod: &Pod) -> bool {
    let (old, tells) = match change {
        None => return true,
        Some(ObjectChange::Updated { old, new }) => (old, new.storage_capacity),
        Some(ObjectChange::Deleted(old)) => (old, false),
        Some(ObjectChange::Added(_)) => return false,
    };
    let inline = |volume: &VolumeKind| matches!(volume, VolumeKind::Csi { driver } if *driver == old.name.name);
    old.storage_capacity && !tells && (has_claims(pod) || pod.spec.volumes.iter().any(inline))
}

/// The end of an attempt that may have reserved volumes. A pod that was on its node for good has its volumes for good.
fn end_may_help(change: Option<ObjectChange<'_, Pod>>) -> bool {
    let gone = change.and_then(ObjectChange::before);
    gone.is_none_or(|gone| has_claims(gone) && gone.status.start_time.is_none())
}

fn has_claims(pod: &Pod) -> bool {
    claim_names(pod).next().is_some()
}
