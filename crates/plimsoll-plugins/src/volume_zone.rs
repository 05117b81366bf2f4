//! `VolumeZone`: a pod goes to a zone and region that its volumes are labelled with.
//!
//! Nodes are judged by their labels' values, each value once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::{
    Action, ClusterEvent, Code, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource, Extensions,
    Filter, FilterPass, ObjectChange, Plugin, PodsSeen, PreFilter, PreFilterOutcome, QueueingHint, ReasonCode,
    Resolvability, Status,
};
use plimsoll_model::columns::{Columns, NodeSet};
use plimsoll_model::storage::{PersistentVolume, PersistentVolumeClaim, VolumeBindingMode};
use plimsoll_model::{ObjectName, Pod};
use smallvec::{SmallVec, smallvec};

use crate::volume_claims::{claims_named_by, names_claim, no_claim};

#[cfg(test)]
mod tests;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "VolumeZone";

/// What users read.
pub const REASON: &str = "node(s) had no available volume zone";

const CONFLICT: ReasonCode = ReasonCode(0);
/// The pod cannot be judged: what its claims lack.
const LACK: ReasonCode = ReasonCode(1);

const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const KEYS: [&str; 4] = [BETA_ZONE, BETA_REGION, ZONE, REGION];

/// Rejects nodes outside the zones and regions of the pod's volumes.
#[derive(Debug, Clone, Copy)]
pub struct VolumeZone;

/// A label of a volume, and the values that will do.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    key: &'static str,
    values: BTreeSet<CompactString>,
}

struct Places(Vec<Place>);

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new()
        .enqueue(Arc::new(VolumeZone))
        .pre_filter(Arc::new(VolumeZone))
        .filter(Arc::new(VolumeZone))
}

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for VolumeZone {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        match Places::of(cycle) {
            Ok(Places(places)) if places.is_empty() => PreFilterOutcome::Skip,
            Ok(places) => {
                state.insert(places);
                PreFilterOutcome::Continue
            }
            Err(lack) => PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, NAME, lack)),
        }
    }
}

impl Filter for VolumeZone {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        if let Some(places) = state.get::<Places>() {
            places.filter(cycle.columns, pass);
            return Ok(());
        }
        if let Ok(places) = Places::of(cycle) {
            places.filter(cycle.columns, pass);
        } else {
            let all = pass.feasible().clone();
            pass.reject_set(&all, LACK, Resolvability::Unresolvable);
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }

    fn reasons(&self, cycle: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let lack = (code == LACK).then(|| Places::of(cycle).err()).flatten();
        smallvec![lack.map_or(Cow::Borrowed(REASON), Cow::Owned)]
    }
}

impl Places {
    /// Those of the volumes that the pod's claims have; `Err` says why the pod cannot be placed at all.
    fn of(cycle: CycleContext<'_>) -> Result<Self, String> {
        let storage = cycle.columns.storage();
        let mut places = Vec::new();
        for name in claims_named_by(cycle.pod) {
            if name.is_empty() {
                return Err("PersistentVolumeClaim had no name".to_owned());
            }
            let claim = ObjectName::new(cycle.pod.name.namespace.clone(), name.clone());
            let claim = storage.claim(&claim).ok_or_else(|| no_claim(name))?;
            if claim.volume.is_empty() {
                wait_for_volume(claim, cycle.columns)?;
                continue;
            }
            let volume = storage.volume(&claim.volume);
            let volume = volume.ok_or_else(|| format!("persistentvolume {:?} not found", claim.volume))?;
            places.extend(places_of(volume));
        }
        Ok(Self(places))
    }

    fn filter(&self, columns: &Columns, pass: &mut FilterPass<'_>) {
        let mut outside = NodeSet::new();
        for place in &self.0 {
            let mut elsewhere = pass.feasible().clone();
            elsewhere.subtract(&place.nodes(columns));
            outside.union_with(&elsewhere);
        }
        // A cluster in one zone need not label its nodes.
        let mut placed = NodeSet::new();
        for label in KEYS.into_iter().filter_map(|key| columns.label_key(key)) {
            placed.union_with(label.nodes());
        }
        outside.intersect_with(&placed);
        pass.reject_set(&outside, CONFLICT, Resolvability::Unresolvable);
    }
}

impl Place {
    /// The nodes there. A node that does not have the old label may have the new one.
    fn nodes(&self, columns: &Columns) -> NodeSet {
        let values = || self.values.iter().map(CompactString::as_str);
        let with = |key: &str| columns.label_key(key).map(|label| label.nodes_with_any(values()));
        let mut nodes = with(self.key).unwrap_or_default();
        let today = match self.key {
            BETA_ZONE => ZONE,
            BETA_REGION => REGION,
            _ => return nodes,
        };
        let mut by_today = with(today).unwrap_or_default();
        if let Some(old) = columns.label_key(self.key) {
            by_today.subtract(old.nodes());
        }
        nodes.union_with(&by_today);
        nodes
    }
}

/// A claim without a volume is no obstacle only if it gets one once the pod has a node.
fn wait_for_volume(claim: &PersistentVolumeClaim, columns: &Columns) -> Result<(), String> {
    let name = &claim.class;
    if name.is_empty() {
        return Err("PersistentVolumeClaim had no pv name and storageClass name".to_owned());
    }
    let class = columns.storage().class(name);
    let class = class.ok_or_else(|| format!("storageclass.storage.k8s.io {name:?} not found"))?;
    match class.binding_mode {
        Some(VolumeBindingMode::WaitForFirstConsumer) => Ok(()),
        Some(VolumeBindingMode::Immediate) => Err("PersistentVolume had no name".to_owned()),
        None => Err(format!("VolumeBindingMode not set for StorageClass {name:?}")),
    }
}

fn places_of(volume: &PersistentVolume) -> impl Iterator<Item = Place> {
    KEYS.into_iter().filter_map(|key| {
        let values = zones(volume.labels.get(key)?)?;
        Some(Place { key, values })
    })
}

/// The values of a label, joined by `__`; none if one of them is empty, as if the label were not there.
fn zones(label: &str) -> Option<BTreeSet<CompactString>> {
    let zones = label.split("__").map(str::trim);
    zones.map(|zone| (!zone.is_empty()).then(|| zone.into())).collect()
}

impl EnqueueExtensions for VolumeZone {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![
            ClusterEvent::new(EventResource::StorageClass, Action::ADD),
            ClusterEvent::new(EventResource::Node, Action::ADD | Action::UPDATE_NODE_LABEL),
            ClusterEvent::new(EventResource::PersistentVolumeClaim, Action::ADD | Action::UPDATE),
            ClusterEvent::new(EventResource::PersistentVolume, Action::ADD | Action::UPDATE),
        ]
    }

    fn may_help_some_pod(&self, registered: ClusterEvent, _: ClusterEvent, objects: &EventObjects) -> bool {
        match registered.resource {
            EventResource::StorageClass => {
                let class = objects.class().and_then(ObjectChange::after);
                class.is_none_or(|class| class.binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer))
            }
            EventResource::PersistentVolume => objects.volume().is_none_or(is_placed_anew),
            _ => true,
        }
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        event: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = match registered.resource {
            EventResource::PersistentVolumeClaim => {
                let claim = objects.claim().and_then(ObjectChange::after);
                claim.is_none_or(|claim| names_claim(pod, &claim.name))
            }
            // The same for every pod.
            _ => self.may_help_some_pod(registered, event, objects),
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

fn is_placed_anew(change: ObjectChange<'_, PersistentVolume>) -> bool {
    match change {
        ObjectChange::Updated { old, new } => !places_of(old).eq(places_of(new)),
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    }
}
