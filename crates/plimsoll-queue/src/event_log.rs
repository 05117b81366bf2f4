use std::collections::{BTreeMap, VecDeque};

use plimsoll_framework::{ClusterEvent, EventObjects};
use plimsoll_model::Seq;
use plimsoll_model::guard::{Guard, holds};

use crate::record::Record;
use crate::worth::Happening;

/// More events than this are not kept for attempts under way: a pod popped before the oldest is tried again.
const CAPACITY: usize = 100_000;

/// Who an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Every waiting pod.
    Everyone,
    /// Pods of at most this priority: those that room held for another pod can help.
    PriorityAtMost(i32),
    /// One pod, by its arrival number: an update of its own, or a forced activation.
    One(u64),
    /// Every pod but the one with this arrival number: that a claim of its own came apart does not help it.
    Others(u64),
}

/// An event with all that decides whether it is worth a retry.
#[derive(Debug, Clone)]
pub(crate) struct Occurrence {
    pub(crate) event: ClusterEvent,
    pub(crate) objects: EventObjects,
    pub(crate) audience: Audience,
    /// Its place in the order of changes; nothing for an event of the scheduler's own.
    pub(crate) seq: Option<Seq>,
}

impl Occurrence {
    pub(crate) fn happening(&self) -> Happening<'_> {
        Happening {
            event: self.event,
            objects: &self.objects,
        }
    }

    /// Whether it speaks to the pod.
    pub(crate) fn concerns(&self, record: &Record) -> bool {
        match self.audience {
            Audience::Everyone => true,
            Audience::PriorityAtMost(priority) => record.pod.priority() <= priority,
            Audience::One(arrival) => record.arrival == arrival,
            Audience::Others(arrival) => record.arrival != arrival,
        }
    }

    /// Whether an attempt judged with columns at `judged_at` may not know of it. An event of our own carries no
    /// number, so it may. So may an update of the pod itself: the attempt judged the object that it was given.
    pub(crate) fn unknown_at(&self, judged_at: Seq) -> bool {
        matches!(self.audience, Audience::One(_)) || self.seq.is_none_or(|seq| seq > judged_at)
    }
}

/// The events since the oldest pop that is not settled, so that none falls between a judgement and its settlement.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<Occurrence>,
    /// Number of the first event kept.
    first: u64,
    /// How many pods in flight were popped at which number.
    pops: BTreeMap<u64, u32>,
}

impl EventLog {
    /// Records a pop; its mark reads all that follows.
    pub(crate) fn begin(&mut self) -> u64 {
        let mark = self.first + self.events.len() as u64;
        *self.pops.entry(mark).or_insert(0) += 1;
        mark
    }

    /// Forgets a pop, and the events that only it could still need.
    pub(crate) fn end(&mut self, mark: u64) {
        if let Some(count) = self.pops.get_mut(&mark) {
            *count -= 1;
            if *count == 0 {
                self.pops.remove(&mark);
            }
        }
        let oldest = self
            .pops
            .first_key_value()
            .map_or(self.first + self.events.len() as u64, |(mark, _)| *mark);
        while self.first < oldest && self.events.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// Keeps an event as long as an attempt under way may have to know it.
    pub(crate) fn record(&mut self, occurrence: Occurrence) {
        if self.pops.is_empty() || !holds(Guard::InFlightEvents) {
            return;
        }
        if self.events.len() == CAPACITY {
            self.events.pop_front();
            self.first += 1;
        }
        self.events.push_back(occurrence);
    }

    /// The events since a mark; nothing when some of them are no longer kept.
    pub(crate) fn since(&self, mark: u64) -> Option<impl Iterator<Item = &Occurrence>> {
        let skipped = usize::try_from(mark.checked_sub(self.first)?).ok()?;
        Some(self.events.range(skipped.min(self.events.len())..))
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = ClusterEvent> + '_ {
        self.events.iter().map(|occurrence| occurrence.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(seq: u64) -> Occurrence {
        Occurrence {
            event: ClusterEvent::labelled("test"),
            objects: EventObjects::None,
            audience: Audience::Everyone,
            seq: Some(Seq::new(seq)),
        }
    }

    fn numbers(log: &EventLog, mark: u64) -> Option<Vec<u64>> {
        log.since(mark)
            .map(|events| events.filter_map(|event| event.seq).map(Seq::as_u64).collect())
    }

    #[test]
    fn a_mark_reads_what_came_after_it_until_it_ends() {
        let mut log = EventLog::default();
        log.record(occurrence(1));
        let early = log.begin();
        log.record(occurrence(2));
        let late = log.begin();
        log.record(occurrence(3));
        assert_eq!(numbers(&log, early), Some(vec![2, 3]));
        assert_eq!(numbers(&log, late), Some(vec![3]));
        log.end(early);
        assert_eq!(log.events().count(), 1);
        assert_eq!(numbers(&log, late), Some(vec![3]));
        log.end(late);
        assert_eq!(log.events().count(), 0);
    }

    #[test]
    fn a_pop_older_than_the_log_is_told_so() {
        let mut log = EventLog::default();
        let mark = log.begin();
        for seq in 0..=CAPACITY as u64 {
            log.record(occurrence(seq));
        }
        assert_eq!(numbers(&log, mark), None);
        assert_eq!(log.events().count(), CAPACITY);
        log.end(mark);
        assert_eq!(log.events().count(), 0);
    }
}
