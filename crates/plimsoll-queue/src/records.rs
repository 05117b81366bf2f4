use std::hash::BuildHasher;
use std::ops::{Index, IndexMut};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use plimsoll_model::Uid;

use crate::record::Record;

/// Index of a record; valid until the next removal of any record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(u32);

/// All records, densely, and an index of their UIDs that holds no second copy of them.
#[derive(Debug, Default)]
pub(crate) struct Records {
    dense: Vec<Record>,
    by_uid: HashTable<Slot>,
    hasher: FixedState,
}

impl Records {
    /// Tells pods apart where their UIDs would take too much room.
    pub(crate) fn hash_of(&self, uid: &Uid) -> u64 {
        self.hasher.hash_one(uid)
    }

    pub(crate) fn find(&self, uid: &Uid) -> Option<Slot> {
        let dense = &self.dense;
        self.by_uid
            .find(self.hasher.hash_one(uid), |slot| dense[slot.0 as usize].pod.uid == *uid)
            .copied()
    }

    /// Adds a record whose UID is not there yet.
    pub(crate) fn insert(&mut self, record: Record) -> Slot {
        // A pod object is never so small that four thousand million of them fit a machine.
        let slot = Slot(u32::try_from(self.dense.len()).unwrap_or(u32::MAX));
        let hash = self.hasher.hash_one(&record.pod.uid);
        self.dense.push(record);
        let (dense, hasher) = (&self.dense, &self.hasher);
        self.by_uid
            .insert_unique(hash, slot, |slot| hasher.hash_one(&dense[slot.0 as usize].pod.uid));
        slot
    }

    /// Removes a record. When that gives another record this slot, returns the slot that one had.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<Slot> {
        let hash = self.hasher.hash_one(&self[slot].pod.uid);
        if let Ok(entry) = self.by_uid.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
        self.dense.swap_remove(slot.0 as usize);
        let moved = self.dense.get(slot.0 as usize)?;
        let from = Slot(u32::try_from(self.dense.len()).unwrap_or(u32::MAX));
        let hash = self.hasher.hash_one(&moved.pod.uid);
        if let Some(entry) = self.by_uid.find_mut(hash, |other| *other == from) {
            *entry = slot;
        }
        Some(from)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.dense.iter()
    }
}

impl Index<Slot> for Records {
    type Output = Record;

    fn index(&self, slot: Slot) -> &Record {
        &self.dense[slot.0 as usize]
    }
}

impl IndexMut<Slot> for Records {
    fn index_mut(&mut self, slot: Slot) -> &mut Record {
        &mut self.dense[slot.0 as usize]
    }
}
