use std::sync::Arc;

use plimsoll_framework::ClusterEvent;
use plimsoll_model::{Moment, Pod, Uid};

use super::SchedulingQueue;
use crate::groups::GroupId;
use crate::record::State;
use crate::records::Slot;
use crate::{Move, Place};

/// The label of pods that an audit missed.
const AUDIT_REPAIR: ClusterEvent = ClusterEvent::labelled("AuditRepair");

/// What an audit asks, and how it mends what it finds. Nothing here is ever needed as long as the queue is right.
impl SchedulingQueue {
    /// Every pod that the queue knows, its place, and when it is looked at next, as [`Self::pods`] tells.
    pub fn audit(&self) -> Vec<(Uid, Place, Moment)> {
        self.pods()
            .map(|(uid, place, look)| (uid.clone(), place, look))
            .collect()
    }

    /// The moves of a pod that are still remembered, oldest first, also when it is not here any more.
    pub fn history_of(&self, uid: &Uid) -> Vec<Move> {
        self.history.of(self.records.hash_of(uid))
    }

    /// Takes in a pod that has no node and is not known here, or that is in no container though it should be; says whether
    /// it was so. A pod in flight is left to those who own it. Doing it again changes nothing.
    pub fn repair(&mut self, pod: &Arc<Pod>, now: Moment) -> bool {
        self.history.turn_to(now);
        let Some(profile) = self.profile_number(pod).filter(|_| pod.node_name().is_none()) else {
            return false;
        };
        match self.records.find(&pod.uid) {
            None => self.enqueue(pod, profile, AUDIT_REPAIR, now),
            Some(slot) if self.is_held(slot) => return false,
            Some(slot) if matches!(self.records[slot].state, State::InFlight { .. }) => {
                self.waiting_pod_updated(slot, pod, pod, profile, now);
            }
            Some(slot) => self.put_back(slot, now),
        }
        true
    }

    /// Lets go of a pod that is not pending any more; says whether it was here. One in flight is forgotten when it is
    /// settled.
    pub fn forget_stale(&mut self, uid: &Uid, now: Moment) -> bool {
        self.history.turn_to(now);
        let unmatched = self.unmatched.remove(uid).is_some();
        let known = self.records.find(uid);
        let known = known.filter(|slot| self.records[*slot].place().is_some());
        if let Some(slot) = known {
            self.forget(slot);
        }
        unmatched || known.is_some()
    }

    /// Whether the pod is where its record says, so that somebody comes to it.
    fn is_held(&self, slot: Slot) -> bool {
        let record = &self.records[slot];
        let is_due = |due| self.deadlines.get(&(due, record.arrival)) == Some(&slot);
        match record.state {
            State::Nowhere | State::InFlight { gone: true, .. } => false,
            State::InFlight { gone: false, .. } => true,
            State::Active => self.active.holds(&self.records, slot),
            State::Backoff { .. } => self.backoff.holds(&self.records, slot),
            State::ErrorBackoff { .. } => self.error_backoff.holds(&self.records, slot),
            State::Parked { due } => is_due(due) && (record.set_aside || self.groups.holds(&self.records, slot)),
            State::Placed { due } => is_due(due),
        }
    }

    /// Makes a pod active that is not where its record says.
    fn put_back(&mut self, slot: Slot, now: Moment) {
        if self.groups.holds(&self.records, slot) {
            self.groups.remove(&mut self.records, slot);
        }
        let record = &mut self.records[slot];
        let before = (record.place(), record.gate);
        if let State::Parked { due } | State::Placed { due } = record.state {
            self.deadlines.remove(&(due, record.arrival));
        }
        record.state = State::Nowhere;
        record.group = GroupId::NONE;
        record.set_aside = false;
        self.recount(slot, before, AUDIT_REPAIR);
        self.enter_active(slot, AUDIT_REPAIR, now);
    }
}
