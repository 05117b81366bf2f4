use std::collections::{BTreeMap, BTreeSet};

use plimsoll_framework::ClusterEvent;
use plimsoll_model::{Moment, Uid};

use super::SchedulingQueue;
use crate::record::{Record, State};
use crate::worth::Worth;

/// The label of pods whose time has come.
const RETRY_DUE: ClusterEvent = ClusterEvent::labelled("RetryDue");

/// Parked pods that time alone may help, by when and by arrival, each with the attempt that said so.
#[derive(Debug, Default)]
pub(super) struct Retries {
    due: BTreeMap<(Moment, u64), (Uid, u32)>,
    /// The same by arrival and attempt, so that a page that tells them looks at no others.
    of_attempts: BTreeSet<(u64, u32, Moment)>,
}

impl Retries {
    pub(super) fn next(&self) -> Option<Moment> {
        self.due.first_key_value().map(|((due, _), _)| *due)
    }

    fn add(&mut self, at: Moment, arrival: u64, (uid, attempts): (Uid, u32)) {
        self.take(at, arrival);
        self.due.insert((at, arrival), (uid, attempts));
        self.of_attempts.insert((arrival, attempts, at));
    }

    fn take(&mut self, at: Moment, arrival: u64) -> Option<(Uid, u32)> {
        let (uid, attempts) = self.due.remove(&(at, arrival))?;
        self.of_attempts.remove(&(arrival, attempts, at));
        Some((uid, attempts))
    }

    /// When the pod of that arrival is tried again for what that attempt said.
    fn of(&self, arrival: u64, attempts: u32) -> Option<Moment> {
        let from = (arrival, attempts, Moment::ZERO);
        let first = self.of_attempts.range(from..).next();
        first
            .filter(|(of, said, _)| (*of, *said) == (arrival, attempts))
            .map(|(.., at)| *at)
    }
}

/// Pods that were turned away for something that ends at a known moment, of which no event tells.
impl SchedulingQueue {
    /// Has a pod that was just settled as rejected tried again at `at`, unless something brings it back before. It need not be
    /// parked: one that backs off is tried anyway.
    pub fn retry_at(&mut self, uid: &Uid, at: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        let record = &self.records[slot];
        self.retries.add(at, record.arrival, (uid.clone(), record.attempts));
    }

    /// Wakes the pods whose time has come, up to so many. What an earlier attempt said counts no more after a later one.
    pub(super) fn retry_due(&mut self, now: Moment, budget: &mut usize) {
        while *budget > 0
            && let Some(((due, arrival), _)) = self.retries.due.first_key_value()
            && *due <= now
        {
            let (due, arrival) = (*due, *arrival);
            *budget -= 1;
            if let Some((uid, attempts)) = self.retries.take(due, arrival) {
                self.retry(&uid, (arrival, attempts), now);
            }
        }
    }

    /// When this pod is tried again though nothing happens, as its last attempt said.
    pub(super) fn retries_at(&self, record: &Record) -> Option<Moment> {
        Self::is_retried(record)
            .then(|| self.retries.of(record.arrival, record.attempts))
            .flatten()
    }

    /// One that is about to be tried anyway, or that time does not help, is not.
    fn is_retried(record: &Record) -> bool {
        !record.set_aside && matches!(record.state, State::Parked { .. })
    }

    fn retry(&mut self, uid: &Uid, (arrival, attempts): (u64, u32), now: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        let record = &self.records[slot];
        let same_attempt = record.arrival == arrival && record.attempts == attempts;
        if same_attempt && Self::is_retried(record) {
            self.requeue(slot, Worth::AfterBackoff, RETRY_DUE, now);
        }
    }
}
