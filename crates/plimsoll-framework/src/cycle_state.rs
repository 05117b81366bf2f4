use std::any::{Any, TypeId};
use std::cell::Cell;
use std::fmt;

use plimsoll_model::Uid;
use plimsoll_model::storage::VolumeReservation;

use crate::{PermitDecision, PermitVerdict, VolumeStage};

/// What plugins remember between the extension points of one cycle, one value per type.
///
/// A cycle holds a handful of entries, so a vector is searched.
#[derive(Default)]
pub struct CycleState {
    entries: Vec<(TypeId, Box<dyn Any + Send>)>,
    permit_verdicts: Vec<PermitVerdict>,
    to_activate: Vec<Uid>,
    reservation: Option<VolumeReservation>,
    /// Filters note theirs too, and only look at the state.
    volume_errors: Cell<[u32; VolumeStage::ALL.len()]>,
}

impl CycleState {
    /// An empty state.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers a value; an earlier one of the same type is replaced.
    pub fn insert<T: Any + Send>(&mut self, value: T) {
        let id = TypeId::of::<T>();
        match self.entries.iter_mut().find(|(entry, _)| *entry == id) {
            Some((_, slot)) => *slot = Box::new(value),
            None => self.entries.push((id, Box::new(value))),
        }
    }

    /// The remembered value of this type.
    pub fn get<T: Any + Send>(&self) -> Option<&T> {
        self.entries
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())
            .and_then(|(_, value)| value.downcast_ref())
    }

    /// The remembered value of this type, to be changed.
    pub fn get_mut<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.entries
            .iter_mut()
            .find(|(id, _)| *id == TypeId::of::<T>())
            .and_then(|(_, value)| value.downcast_mut())
    }

    /// Ends `plugin`'s wait for another pod at Permit, as soon as this cycle is over and however it ends. Does nothing to
    /// a pod that does not wait for this plugin then.
    pub fn allow_waiting(&mut self, pod: Uid, plugin: &'static str) {
        let decision = PermitDecision::Allow;
        self.permit_verdicts.push(PermitVerdict { pod, plugin, decision });
    }

    /// Turns another pod away that waits at Permit, as soon as this cycle is over and however it ends. Does nothing to a
    /// pod that does not wait then.
    pub fn reject_waiting(&mut self, pod: Uid, plugin: &'static str, message: impl Into<String>) {
        let message = message.into();
        let decision = PermitDecision::Reject { message };
        self.permit_verdicts.push(PermitVerdict { pod, plugin, decision });
    }

    /// Takes what plugins have said of waiting pods, in the order in which they said it.
    pub fn take_permit_verdicts(&mut self) -> Vec<PermitVerdict> {
        std::mem::take(&mut self.permit_verdicts)
    }

    /// Asks for another waiting pod to be tried at once, whatever its backoff, if this cycle finds a node: kube-scheduler's
    /// pods to activate. A cycle that fails activates none, or two pods that fail could bring each other back for ever.
    pub fn activate(&mut self, pod: Uid) {
        if !self.to_activate.contains(&pod) {
            self.to_activate.push(pod);
        }
    }

    /// Takes the pods that are to be activated, in the order in which they were asked for.
    pub fn take_pods_to_activate(&mut self) -> Vec<Uid> {
        std::mem::take(&mut self.to_activate)
    }

    /// Holds volumes and claims for the pod: said during [`Reserve::reserve`](crate::Reserve::reserve), once it is over they
    /// are in the columns. They are let go with the pod's claim on the node, however that ends; no plugin need take them back.
    /// What is said again during one cycle adds to it.
    pub fn reserve_volumes(&mut self, reservation: VolumeReservation) {
        match &mut self.reservation {
            Some(before) => {
                before.volumes.extend(reservation.volumes);
                before.provisioned.extend(reservation.provisioned);
            }
            None => self.reservation = Some(reservation),
        }
    }

    /// Takes the volumes that are to be held.
    pub fn take_reservation(&mut self) -> Option<VolumeReservation> {
        self.reservation.take()
    }

    /// Something failed inside with volumes, at this stage: a metric counts it.
    pub fn note_volume_error(&self, stage: VolumeStage) {
        let mut errors = self.volume_errors.get();
        errors[stage as usize] += 1;
        self.volume_errors.set(errors);
    }

    /// Takes how often that has happened, by stage; stages without an error are left out.
    pub fn take_volume_errors(&self) -> impl Iterator<Item = (VolumeStage, u32)> + use<> {
        let errors = self.volume_errors.take();
        let counted = VolumeStage::ALL.into_iter().zip(errors);
        counted.filter(|(_, errors)| *errors > 0)
    }
}

impl fmt::Debug for CycleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CycleState")
            .field("entries", &self.entries.len())
            .field("permit_verdicts", &self.permit_verdicts)
            .field("to_activate", &self.to_activate)
            .field("reservation", &self.reservation)
            .field("volume_errors", &self.volume_errors)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::ObjectName;

    use super::*;

    #[test]
    fn one_value_per_type_and_the_last_one_counts() {
        let mut state = CycleState::new();
        state.insert(1_u32);
        state.insert("text");
        state.insert(2_u32);
        assert_eq!(state.get::<u32>(), Some(&2));
        assert_eq!(state.get::<&str>(), Some(&"text"));
        assert_eq!(state.get::<u64>(), None);
    }

    #[test]
    fn a_pod_to_activate_is_taken_once() {
        let mut state = CycleState::new();
        for uid in ["a", "b", "a"] {
            state.activate(Uid::from(uid));
        }
        assert_eq!(state.take_pods_to_activate(), [Uid::from("a"), Uid::from("b")]);
        assert_eq!(state.take_pods_to_activate(), []);
    }

    #[test]
    fn volumes_to_reserve_add_up_until_they_are_taken() {
        let one = |volume: &str| VolumeReservation {
            volumes: vec![(volume.into(), ObjectName::new("default", volume))],
            provisioned: Vec::new(),
            node: "n1".into(),
        };
        let mut state = CycleState::new();
        assert_eq!(state.take_reservation(), None);
        state.reserve_volumes(one("a"));
        state.reserve_volumes(one("b"));
        let mut both = one("a");
        both.volumes.extend(one("b").volumes);
        assert_eq!(state.take_reservation(), Some(both));
        assert_eq!(state.take_reservation(), None);
    }

    #[test]
    fn volume_errors_are_counted_by_stage_and_taken_once() {
        let state = CycleState::new();
        for stage in [VolumeStage::Bind, VolumeStage::Predicate, VolumeStage::Bind] {
            state.note_volume_error(stage);
        }
        let taken: Vec<_> = state.take_volume_errors().collect();
        assert_eq!(taken, [(VolumeStage::Predicate, 1), (VolumeStage::Bind, 2)]);
        assert_eq!(state.take_volume_errors().count(), 0);
    }
}
