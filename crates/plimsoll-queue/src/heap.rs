use std::cmp::Ordering;
use std::sync::Arc;

use plimsoll_framework::{QueueOrder, QueueSort};

use crate::QueueConfig;
use crate::record::Record;
use crate::records::{Records, Slot};

/// What comes first in a heap. Each ranking ends with the order of arrival and so is total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// By the profile's queue sort.
    QueueSort,
    /// By the end of backoff, then the queue sort.
    BackoffThenQueueSort,
    /// By the end of backoff.
    Backoff,
}

impl Ranking {
    /// Of pods that back off after a rejection: if they are popped early, the best of those whose backoff ends within one
    /// second comes first.
    pub(crate) fn of_backoff(config: &QueueConfig) -> Self {
        if config.pop_from_backoff {
            Self::BackoffThenQueueSort
        } else {
            Self::Backoff
        }
    }
}

/// A binary heap of slots; each record knows its position, so that any of them can be removed or moved.
pub(crate) struct Heap {
    ranking: Ranking,
    sort: Arc<dyn QueueSort>,
    slots: Vec<Slot>,
}

impl Heap {
    pub(crate) fn new(ranking: Ranking, sort: Arc<dyn QueueSort>) -> Self {
        Self {
            ranking,
            sort,
            slots: Vec::new(),
        }
    }

    pub(crate) fn first(&self) -> Option<Slot> {
        self.slots.first().copied()
    }

    /// Whether the record is where it says it is.
    pub(crate) fn holds(&self, records: &Records, slot: Slot) -> bool {
        self.slots.get(records[slot].position as usize) == Some(&slot)
    }

    /// How many records come before one.
    pub(crate) fn ahead_of(&self, records: &Records, slot: Slot) -> usize {
        let position = records[slot].position as usize;
        (0..self.slots.len())
            .filter(|other| self.before(records, *other, position))
            .count()
    }

    pub(crate) fn push(&mut self, records: &mut Records, slot: Slot) {
        let position = self.slots.len();
        self.slots.push(slot);
        self.place(records, position, slot);
        self.rise(records, position);
    }

    pub(crate) fn remove(&mut self, records: &mut Records, slot: Slot) {
        let position = records[slot].position as usize;
        self.slots.swap_remove(position);
        if let Some(moved) = self.slots.get(position).copied() {
            self.place(records, position, moved);
            self.settle(records, moved);
        }
    }

    /// Restores the order after a record's rank has changed.
    pub(crate) fn settle(&mut self, records: &mut Records, slot: Slot) {
        let position = records[slot].position as usize;
        let position = self.rise(records, position);
        self.sink(records, position);
    }

    /// Puts everything in another order.
    pub(crate) fn reorder(&mut self, records: &mut Records, ranking: Ranking, sort: &Arc<dyn QueueSort>) {
        self.ranking = ranking;
        self.sort = Arc::clone(sort);
        for position in (0..self.slots.len() / 2).rev() {
            self.sink(records, position);
        }
    }

    /// Follows a record that got another slot.
    pub(crate) fn renumber(&mut self, records: &Records, slot: Slot) {
        self.slots[records[slot].position as usize] = slot;
    }

    fn rise(&mut self, records: &mut Records, mut position: usize) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !self.before(records, position, parent) {
                break;
            }
            self.swap(records, position, parent);
            position = parent;
        }
        position
    }

    fn sink(&mut self, records: &mut Records, mut position: usize) {
        loop {
            let left = 2 * position + 1;
            if left >= self.slots.len() {
                return;
            }
            let right = left + 1;
            let child = if right < self.slots.len() && self.before(records, right, left) {
                right
            } else {
                left
            };
            if !self.before(records, child, position) {
                return;
            }
            self.swap(records, position, child);
            position = child;
        }
    }

    fn swap(&mut self, records: &mut Records, a: usize, b: usize) {
        self.slots.swap(a, b);
        self.place(records, a, self.slots[a]);
        self.place(records, b, self.slots[b]);
    }

    #[expect(clippy::unused_self, reason = "reads as what it does to the heap")]
    fn place(&self, records: &mut Records, position: usize, slot: Slot) {
        // Slots are 32 bits wide, so positions are.
        records[slot].position = u32::try_from(position).unwrap_or(u32::MAX);
    }

    fn before(&self, records: &Records, a: usize, b: usize) -> bool {
        self.compare(&records[self.slots[a]], &records[self.slots[b]]).is_lt()
    }

    fn compare(&self, a: &Record, b: &Record) -> Ordering {
        match self.ranking {
            Ranking::QueueSort => self.by_queue_sort(a, b),
            Ranking::BackoffThenQueueSort => a.until().cmp(&b.until()).then_with(|| self.by_queue_sort(a, b)),
            Ranking::Backoff => a.until().cmp(&b.until()),
        }
        .then(a.arrival.cmp(&b.arrival))
    }

    fn by_queue_sort(&self, a: &Record, b: &Record) -> Ordering {
        self.sort.compare(
            QueueOrder {
                pod: &a.pod,
                timestamp: a.timestamp,
            },
            QueueOrder {
                pod: &b.pod,
                timestamp: b.timestamp,
            },
        )
    }
}

#[cfg(test)]
impl Heap {
    /// Loses what it holds, as only a bug could.
    pub(crate) fn forget_all(&mut self) {
        self.slots.clear();
    }
}
