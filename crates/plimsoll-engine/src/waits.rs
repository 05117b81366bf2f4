use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use plimsoll_model::storage::StorageObject;
use plimsoll_model::{Delta, ObjectName, Pod, Uid, VolumeKind};

use crate::ClaimId;

/// What a claim may wait for before its pod can be bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Concern {
    /// Its own pod.
    Pod(Uid),
    /// A claim of the pod, or a volume that is made over to one.
    VolumeClaim(ObjectName),
    /// A volume that is reserved for it.
    Volume(CompactString),
    /// Its node, or what CSI drivers say of that.
    Node(CompactString),
}

/// Which claims wait for which objects, so that a change costs a look at those that it concerns, however many wait.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    claims: BTreeMap<Concern, BTreeSet<ClaimId>>,
    concerns: BTreeMap<ClaimId, Vec<Concern>>,
}

impl Waits {
    /// The claim waits; what it waits for stays the same until it is removed.
    pub(crate) fn insert<'a>(
        &mut self,
        id: ClaimId,
        pod: &Pod,
        node: &CompactString,
        volumes: impl Iterator<Item = &'a CompactString>,
    ) {
        let Self { claims, concerns } = self;
        let concerns = concerns.entry(id).or_insert_with(|| {
            let own = [Concern::Pod(pod.uid.clone()), Concern::Node(node.clone())];
            let claims = volume_claims(pod).map(Concern::VolumeClaim);
            let volumes = volumes.cloned().map(Concern::Volume);
            own.into_iter().chain(claims).chain(volumes).collect()
        });
        for concern in concerns {
            claims.entry(concern.clone()).or_default().insert(id);
        }
    }

    /// The claim waits no longer.
    pub(crate) fn remove(&mut self, id: ClaimId) {
        for concern in self.concerns.remove(&id).into_iter().flatten() {
            if let Some(claims) = self.claims.get_mut(&concern) {
                claims.remove(&id);
                if claims.is_empty() {
                    self.claims.remove(&concern);
                }
            }
        }
    }

    /// Every claim that waits.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> Vec<ClaimId> {
        self.concerns.keys().copied().collect()
    }

    /// The claims that this change concerns, the oldest first.
    pub(crate) fn concerned(&self, delta: &Delta) -> BTreeSet<ClaimId> {
        if self.claims.is_empty() {
            return BTreeSet::new();
        }
        let concerns = concerns_of(delta);
        let claims = concerns.iter().filter_map(|concern| self.claims.get(concern));
        claims.flatten().copied().collect()
    }
}

/// The claims that a pod names, those that are made for it among them.
fn volume_claims(pod: &Pod) -> impl Iterator<Item = ObjectName> {
    let ObjectName { namespace, name } = &pod.name;
    pod.spec.volumes.iter().filter_map(move |volume| match volume {
        VolumeKind::PersistentVolumeClaim { claim } => Some(ObjectName::new(namespace.clone(), claim.clone())),
        VolumeKind::Ephemeral { volume } => Some(ObjectName::new(namespace.clone(), format!("{name}-{volume}"))),
        _ => None,
    })
}

fn concerns_of(delta: &Delta) -> Vec<Concern> {
    match delta {
        Delta::PodUpdated { new, .. } => vec![Concern::Pod(new.uid.clone())],
        Delta::NodeAdded(node) | Delta::NodeDeleted(node) | Delta::NodeUpdated { new: node, .. } => {
            vec![Concern::Node(node.name.clone())]
        }
        Delta::StorageChanged { old, new } => old.iter().chain(new).flat_map(concerns_of_object).collect(),
        _ => Vec::new(),
    }
}

fn concerns_of_object(object: &StorageObject) -> Vec<Concern> {
    match object {
        StorageObject::PersistentVolumeClaim(claim) => vec![Concern::VolumeClaim(claim.name.clone())],
        StorageObject::PersistentVolume(volume) => {
            let claim = volume
                .claim
                .iter()
                .map(|claim| Concern::VolumeClaim(claim.name.clone()));
            claim.chain([Concern::Volume(volume.name.name.clone())]).collect()
        }
        StorageObject::CsiNode(node) => vec![Concern::Node(node.name.name.clone())],
        StorageObject::StorageClass(_)
        | StorageObject::CsiDriver(_)
        | StorageObject::CsiStorageCapacity(_)
        | StorageObject::VolumeAttachment(_) => Vec::new(),
    }
}
