use std::collections::BTreeMap;

use super::Columns;
use crate::Uid;
use crate::storage::VolumeReservation;

/// What pods of ours hold of storage without the API server knowing yet.
pub(super) type VolumeReservations = BTreeMap<Uid, VolumeReservation>;

impl Columns {
    /// Holds for a pod what it has reserved; what it held before is let go. For the ledger of claims alone.
    pub fn reserve_volumes(&mut self, pod: &Uid, reservation: &VolumeReservation) {
        self.volume_reservations.insert(pod.clone(), reservation.clone());
        self.version += 1;
    }

    /// Lets go of what a pod has reserved; nothing happens if it has nothing. For the ledger of claims alone.
    pub fn unreserve_volumes(&mut self, pod: &Uid) {
        if self.volume_reservations.remove(pod).is_some() {
            self.version += 1;
        }
    }

    /// What each pod has reserved, in the order of UIDs.
    pub fn volume_reservations(&self) -> impl Iterator<Item = (&Uid, &VolumeReservation)> {
        self.volume_reservations.iter()
    }
}
