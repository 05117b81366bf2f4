use std::sync::Arc;

use plimsoll_framework::ClusterEvent;
use plimsoll_model::{Moment, Pod};

use super::changes::UNSCHEDULABLE_POD_ADD;
use super::{SCHEDULE_ATTEMPT_FAILURE, SchedulingQueue, holding};
use crate::record::Record;
use crate::records::Slot;
use crate::stays::Leaving;
use crate::{Place, Stays};

/// A pod that had been tried and went while it waited to be tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedLife {
    /// The pod as it was deleted.
    pub pod: Arc<Pod>,
    /// How often it was tried.
    pub attempts: u32,
    /// When the queue first heard of it.
    pub added: Moment,
    /// Where it has waited since its last attempt.
    pub stays: Stays,
}

/// A pod has come to another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodMove {
    /// Which pod.
    pub pod: Arc<Pod>,
    /// Where to.
    pub to: Place,
    /// What moved it.
    pub cause: ClusterEvent,
}

/// What is kept for those who tell of a pod's way, while somebody wants it.
impl SchedulingQueue {
    /// Whether to keep each move to a place where pods wait for their turn, in [`QueueMetrics::moves`](crate::QueueMetrics).
    pub fn keep_moves(&mut self, on: bool) {
        self.tally.moves = on.then(|| self.tally.moves.take().unwrap_or_default());
    }

    /// Whether to keep where pods wait, and which of them go untried.
    pub fn keep_stays(&mut self, on: bool) {
        self.journal.keep(on);
    }

    /// Takes the pods that have gone since the last call. To be called after each change that is applied.
    pub fn take_ended(&mut self) -> Vec<EndedLife> {
        std::mem::take(&mut self.ended)
    }

    /// A pod is gone.
    pub(super) fn note_end_of_life(&mut self, pod: &Arc<Pod>, now: Moment) {
        let Some(slot) = self.records.find(&pod.uid).filter(|_| self.journal.is_kept()) else {
            return;
        };
        let record = &self.records[slot];
        if let Some(place) = waits_in(record.place())
            && record.attempts > 0
        {
            let leaving = self.leaving(record, place, record.gate, super::GONE, now);
            let arrival = record.arrival;
            self.journal.leave(arrival, leaving);
            let record = &self.records[slot];
            self.ended.push(EndedLife {
                pod: Arc::clone(pod),
                attempts: record.attempts,
                added: record.added,
                stays: self.journal.take(arrival),
            });
        }
    }

    /// The record has come to this place.
    pub(super) fn note_move(&mut self, slot: Slot, to: Option<Place>, cause: ClusterEvent) {
        if let (Some(moves), Some(to)) = (&mut self.tally.moves, waits_in(to)) {
            let pod = Arc::clone(&self.records[slot].pod);
            moves.push(PodMove { pod, to, cause });
        }
    }

    /// The record has left the place that it was in before, where this plugin held it.
    pub(super) fn note_stay(&mut self, slot: Slot, before: Option<Place>, gate: Option<u16>, cause: ClusterEvent) {
        let Some(place) = waits_in(before).filter(|_| self.journal.is_kept()) else {
            return;
        };
        let record = &self.records[slot];
        let leaving = self.leaving(record, place, gate, cause, self.history.now());
        let arrival = record.arrival;
        self.journal.leave(arrival, leaving);
    }

    fn leaving(&self, record: &Record, place: Place, gate: Option<u16>, cause: ClusterEvent, now: Moment) -> Leaving {
        let profile = self.profiles.get(usize::from(record.profile));
        let plugin = |gate: u16| match gate {
            holding::HOLD => Some(holding::HOLDER),
            gate => Some(profile?.pre_enqueue.get(usize::from(gate))?.name()),
        };
        Leaving {
            place,
            gate: gate.filter(|_| place == Place::Gated).and_then(plugin),
            since: record.timestamp,
            cause: match record.attempts {
                0 => UNSCHEDULABLE_POD_ADD,
                _ => SCHEDULE_ATTEMPT_FAILURE,
            },
            leaves_for: cause,
            now,
        }
    }
}

/// The place, if a pod there waits for its turn.
fn waits_in(place: Option<Place>) -> Option<Place> {
    place.filter(|place| !matches!(place, Place::InFlight | Place::Placed))
}
