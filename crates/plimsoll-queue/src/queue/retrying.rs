use std::collections::BTreeMap;

use plimsoll_framework::ClusterEvent;
use plimsoll_model::{Moment, Uid};

use super::SchedulingQueue;
use crate::record::State;
use crate::records::Slot;
use crate::worth::Worth;

/// The label of pods whose time has come.
const RETRY_DUE: ClusterEvent = ClusterEvent::labelled("RetryDue");

/// Parked pods that time alone may help, by when and by arrival, each with the attempt that said so.
#[derive(Debug, Default)]
pub(super) struct Retries {
    due: BTreeMap<(Moment, u64), (Uid, u32)>,
}

impl Retries {
    pub(super) fn next(&self) -> Option<Moment> {
        self.due.first_key_value().map(|((due, _), _)| *due)
    }

    /// When the pod of that arrival is tried again for what that attempt said. It costs a look at all of them.
    fn of(&self, (arrival, attempts): (u64, u32)) -> Option<Moment> {
        let mut due = self.due.iter();
        let found = due.find(|((_, of), (_, said))| (*of, *said) == (arrival, attempts));
        found.map(|((due, _), _)| *due)
    }
}

/// Pods that were turned away for something that ends at a known moment, of which no event tells.
impl SchedulingQueue {
    /// Has a pod that was just settled as rejected tried again at `at`, unless something brings it back before. It need not be
    /// parked: one that backs off is tried anyway.
    pub fn retry_at(&mut self, uid: &Uid, at: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        let record = &self.records[slot];
        self.retries
            .due
            .insert((at, record.arrival), (uid.clone(), record.attempts));
    }

    /// Wakes the pods whose time has come, up to so many. What an earlier attempt said counts no more after a later one.
    pub(super) fn retry_due(&mut self, now: Moment, budget: &mut usize) {
        while *budget > 0
            && let Some(((due, arrival), _)) = self.retries.due.first_key_value()
            && *due <= now
        {
            let key = (*due, *arrival);
            *budget -= 1;
            if let Some((uid, attempts)) = self.retries.due.remove(&key) {
                self.retry(&uid, (key.1, attempts), now);
            }
        }
    }

    /// When this pod is tried again though nothing happens, as its last attempt said.
    pub(super) fn retries_at(&self, slot: Slot) -> Option<Moment> {
        let record = &self.records[slot];
        self.is_retried(slot)
            .then(|| self.retries.of((record.arrival, record.attempts)))
            .flatten()
    }

    /// One that is about to be tried anyway, or that time does not help, is not.
    fn is_retried(&self, slot: Slot) -> bool {
        let record = &self.records[slot];
        !record.set_aside && matches!(record.state, State::Parked { .. })
    }

    fn retry(&mut self, uid: &Uid, (arrival, attempts): (u64, u32), now: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        let record = &self.records[slot];
        let same_attempt = record.arrival == arrival && record.attempts == attempts;
        if same_attempt && self.is_retried(slot) {
            self.requeue(slot, Worth::AfterBackoff, RETRY_DUE, now);
        }
    }
}
