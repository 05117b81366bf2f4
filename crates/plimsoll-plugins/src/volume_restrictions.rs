//! `VolumeRestrictions`: in-tree disks that two pods cannot share, and claims that one pod alone may use.
//!
//! The columns know which disk is in use on which node and how often each claim is used, so that no pod is looked at.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::{
    Action, ClusterEvent, Code, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource, Extensions,
    Filter, FilterPass, ObjectChange, Plugin, PreFilter, PreFilterOutcome, QueueingHint, ReasonCode, Resolvability,
    Status,
};
use plimsoll_model::columns::Columns;
use plimsoll_model::storage::AccessModes;
use plimsoll_model::{ObjectName, Pod, VolumeKind};
use smallvec::{SmallVec, smallvec};

use crate::volume_claims::{claims_named_by, names_claim, no_claim};

#[cfg(test)]
mod tests;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "VolumeRestrictions";

/// What users read of a node whose pods have a disk that the pod wants.
pub const DISK_CONFLICT: &str = "node(s) had no available disk";
/// What users read of every node when another pod has a claim that one pod alone may use.
pub const CLAIM_CONFLICT: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

const DISK: ReasonCode = ReasonCode(0);
const CLAIM: ReasonCode = ReasonCode(1);

/// Rejects nodes where a disk is taken, and all nodes while a claim is.
#[derive(Debug, Clone, Copy)]
pub struct VolumeRestrictions;

/// The claims of the pod that one pod alone may use.
///
/// How many of them others use is counted as kube-scheduler counts it: exactly at first, and by name alone, in whatever
/// namespace, for pods that are put on nodes or taken off in a trial.
struct Exclusive {
    names: BTreeSet<CompactString>,
    conflicts: i128,
    uses: u64,
}

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new()
        .enqueue(Arc::new(VolumeRestrictions))
        .pre_filter(Arc::new(VolumeRestrictions))
        .filter(Arc::new(VolumeRestrictions))
}

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for VolumeRestrictions {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        if cycle.pod.spec.volumes.is_empty() {
            return PreFilterOutcome::Skip;
        }
        let exclusive = match Exclusive::of(cycle.pod, cycle.columns) {
            Ok(exclusive) => exclusive,
            Err(claim) => {
                let reason = no_claim(&claim);
                return PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, NAME, reason));
            }
        };
        if exclusive.conflicts == 0 && !cycle.pod.spec.volumes.iter().any(VolumeKind::is_exclusive_disk) {
            return PreFilterOutcome::Skip;
        }
        state.insert(exclusive);
        PreFilterOutcome::Continue
    }
}

impl Exclusive {
    /// `Err` is a claim that is not there.
    fn of(pod: &Pod, columns: &Columns) -> Result<Self, CompactString> {
        let mut names = BTreeSet::new();
        let mut conflicts = 0;
        for name in claims_named_by(pod) {
            let claim = ObjectName::new(pod.name.namespace.clone(), name.clone());
            let found = columns.storage().claim(&claim).ok_or_else(|| name.clone())?;
            let is_exclusive = found.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD);
            if is_exclusive && names.insert(name.clone()) {
                conflicts += i128::from(columns.is_claim_used(&claim));
            }
        }
        let uses = uses(&names, columns);
        Ok(Self { names, conflicts, uses })
    }

    fn is_taken(&self, columns: &Columns) -> bool {
        let come = i128::from(uses(&self.names, columns)) - i128::from(self.uses);
        self.conflicts + come > 0
    }
}

fn uses(names: &BTreeSet<CompactString>, columns: &Columns) -> u64 {
    names.iter().map(|name| columns.uses_of_claims_named(name)).sum()
}

impl Filter for VolumeRestrictions {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let taken = cycle.columns.disk_conflicts(&cycle.pod.spec.volumes);
        pass.reject_set(&taken, DISK, Resolvability::Resolvable);
        if pass.feasible().is_empty() {
            return Ok(());
        }
        let Some(exclusive) = state.get::<Exclusive>() else {
            return Err(format!("cannot read \"PreFilter{NAME}\" from cycleState"));
        };
        if exclusive.is_taken(cycle.columns) {
            let rest = pass.feasible().clone();
            pass.reject_set(&rest, CLAIM, Resolvability::Resolvable);
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let reason = if code == DISK { DISK_CONFLICT } else { CLAIM_CONFLICT };
        smallvec![Cow::Borrowed(reason)]
    }
}

impl EnqueueExtensions for VolumeRestrictions {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![
            ClusterEvent::new(EventResource::Pod, Action::DELETE),
            ClusterEvent::new(EventResource::Node, Action::ADD),
            ClusterEvent::new(EventResource::PersistentVolumeClaim, Action::ADD),
        ]
    }

    fn may_help_some_pod(&self, registered: ClusterEvent, _: ClusterEvent, objects: &EventObjects) -> bool {
        let gone = objects.pod().and_then(ObjectChange::before);
        registered.resource != EventResource::Pod || gone.is_none_or(|gone| gone.spec.volumes.iter().any(is_restricted))
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = match registered.resource {
            EventResource::Pod => {
                let gone = objects.pod().and_then(ObjectChange::before);
                gone.is_none_or(|gone| had_what_is_wanted(gone, pod))
            }
            EventResource::PersistentVolumeClaim => {
                let claim = objects.claim().and_then(ObjectChange::after);
                claim.is_none_or(|claim| names_claim(pod, &claim.name))
            }
            _ => true,
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

/// Whether a pod that has such a volume may keep others out.
fn is_restricted(volume: &VolumeKind) -> bool {
    matches!(volume, VolumeKind::PersistentVolumeClaim { .. }) || volume.is_exclusive_disk()
}

/// Disks are the same whatever the namespace, and claims are not.
fn had_what_is_wanted(gone: &Pod, pod: &Pod) -> bool {
    let has_disk = |wanted: &VolumeKind| gone.spec.volumes.iter().any(|own| own.conflicts_with(wanted));
    let shares_claim = || claims_named_by(gone).any(|claim| claims_named_by(pod).any(|wanted| wanted == claim));
    pod.spec.volumes.iter().any(has_disk) || (gone.name.namespace == pod.name.namespace && shares_claim())
}
