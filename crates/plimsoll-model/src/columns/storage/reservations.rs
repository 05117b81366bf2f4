use std::collections::BTreeMap;

use compact_str::CompactString;

use super::super::{Columns, Map};
use crate::storage::{ClaimReference, VolumeReservation};
use crate::{ObjectName, Uid};

/// What pods of ours hold of storage without the API server knowing yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Reservations {
    by_pod: BTreeMap<Uid, VolumeReservation>,
    /// Pods that share a claim may hold the same volume.
    volumes: Map<CompactString, BTreeMap<Uid, ClaimReference>>,
    provisioned: Map<ObjectName, BTreeMap<Uid, CompactString>>,
}

impl Reservations {
    pub(super) fn claim_of(&self, volume: &str) -> Option<&ClaimReference> {
        self.volumes.get(volume)?.values().next()
    }

    pub(super) fn node_of(&self, claim: &ObjectName) -> Option<&CompactString> {
        self.provisioned.get(claim)?.values().next()
    }

    fn take(&mut self, pod: &Uid) -> Option<VolumeReservation> {
        let reservation = self.by_pod.remove(pod)?;
        for (volume, _) in &reservation.volumes {
            leave(&mut self.volumes, volume, pod);
        }
        for claim in &reservation.provisioned {
            leave(&mut self.provisioned, claim, pod);
        }
        Some(reservation)
    }
}

fn leave<K: std::hash::Hash + Eq, V>(holders: &mut Map<K, BTreeMap<Uid, V>>, key: &K, pod: &Uid) {
    if let Some(pods) = holders.get_mut(key) {
        pods.remove(pod);
        if pods.is_empty() {
            holders.remove(key);
        }
    }
}

impl Columns {
    /// Holds for a pod what it has reserved; what it held before is let go. For the ledger of claims alone.
    pub fn reserve_volumes(&mut self, pod: &Uid, reservation: &VolumeReservation) {
        self.unreserve_volumes(pod);
        let storage = &mut self.storage;
        for (volume, claim) in &reservation.volumes {
            let reference = ClaimReference {
                name: claim.clone(),
                uid: storage.claims.get(claim).map(|claim| claim.uid.clone()),
            };
            let holders = storage.reservations.volumes.entry(volume.clone()).or_default();
            holders.insert(pod.clone(), reference);
            storage.file_volume(volume);
        }
        for claim in &reservation.provisioned {
            let holders = storage.reservations.provisioned.entry(claim.clone()).or_default();
            holders.insert(pod.clone(), reservation.node.clone());
        }
        if !reservation.is_empty() {
            storage.reservations.by_pod.insert(pod.clone(), reservation.clone());
            self.version += 1;
        }
    }

    /// Whether a pod other than this one holds a volume for a claim, or the making of one.
    pub fn is_reserved_by_another(&self, pod: &Uid, claim: &ObjectName) -> bool {
        let reservations = &self.storage.reservations;
        let volumes = self.storage.volumes.of_claim(claim);
        let volumes = volumes.filter_map(|volume| reservations.volumes.get(&volume.object.name.name));
        let to_be_made = reservations.provisioned.get(claim).into_iter();
        volumes
            .flat_map(BTreeMap::keys)
            .chain(to_be_made.flat_map(BTreeMap::keys))
            .any(|holder| holder != pod)
    }

    /// What pods hold, in the order of their UIDs.
    pub fn volume_reservations(&self) -> impl Iterator<Item = (&Uid, &VolumeReservation)> {
        self.storage.reservations.by_pod.iter()
    }

    /// Lets go of what a pod has reserved; nothing happens if it has nothing. For the ledger of claims alone.
    pub fn unreserve_volumes(&mut self, pod: &Uid) {
        let Some(reservation) = self.storage.reservations.take(pod) else {
            return;
        };
        for (volume, _) in &reservation.volumes {
            self.storage.file_volume(volume);
        }
        self.version += 1;
    }
}
