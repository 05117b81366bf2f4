use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use plimsoll_framework::ClusterEvent;
use plimsoll_model::Moment;
use smallvec::SmallVec;

use crate::alike::Likeness;
use crate::plugin_sets::PluginSetId;
use crate::record::Record;
use crate::records::{Records, Slot};
use crate::worth::Worth;

/// What decides, without a look at a pod, whether a sort of events can help it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Band {
    pub(crate) profile: u16,
    pub(crate) rejected_by: PluginSetId,
    pub(crate) gate: Option<u16>,
}

impl Band {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            profile: record.profile,
            rejected_by: record.rejected_by,
            gate: record.gate,
        }
    }
}

/// The number of a group while it has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupId(u32);

impl GroupId {
    /// Of a record that is in no group.
    pub(crate) const NONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a group is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    /// At this position among the groups of the band with this number.
    Band { band: u32, position: u32 },
    /// Its members are on their way out.
    Woken,
    /// It has no members, and its number is free.
    Nowhere,
}

#[derive(Debug)]
struct Group {
    hash: u64,
    home: Home,
    members: SmallVec<[Slot; 2]>,
}

/// Why the members of a group are to leave, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wake {
    pub(crate) worth: Worth,
    pub(crate) event: ClusterEvent,
    pub(crate) since: Moment,
}

/// The parked pods by what events can do for them: an event costs one look at each [`Band`], and one hint for each group of
/// alike pods in those bands that it can help. Beyond the pods that it wakes, it costs none of them anything.
///
/// A pod that is alone in its group costs some hundred bytes here, one of many alike some ten.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    all: Vec<Group>,
    free: Vec<GroupId>,
    by_pod: HashTable<GroupId>,
    /// Every band that ever had a group; there are a handful, since plugins are.
    bands: Vec<(Band, Vec<GroupId>)>,
    band_numbers: BTreeMap<Band, u32>,
    /// Groups that an event has woken and whose members have not all left, those of high priority first.
    woken: BTreeMap<(Reverse<i32>, u64), (GroupId, Wake)>,
    wakes: u64,
    hasher: FixedState,
}

impl Groups {
    /// Takes in a record that is in no group, among those that are like it, with the same labels or whatever their labels.
    pub(crate) fn insert(&mut self, records: &mut Records, slot: Slot, with_labels: bool) {
        let band = self.band_number(Band::of(&records[slot]));
        let pod = Likeness::of(&records[slot].pod, with_labels);
        let hash = self.hasher.hash_one((band, with_labels, pod));
        let (groups, dense) = (&self.all, &*records);
        let found = self.by_pod.find(hash, |id| {
            let group = &groups[id.index()];
            group.hash == hash
                && matches!(group.home, Home::Band { band: own, .. } if own == band)
                && group
                    .members
                    .first()
                    .is_some_and(|first| Likeness::of(&dense[*first].pod, with_labels) == pod)
        });
        let id = found.copied().unwrap_or_else(|| self.found(hash, band));
        let members = &mut self.all[id.index()].members;
        let record = &mut records[slot];
        record.group = id;
        record.position = number(members.len());
        members.push(slot);
    }

    fn band_number(&mut self, band: Band) -> u32 {
        if let Some(at) = self.band_numbers.get(&band) {
            return *at;
        }
        let at = number(self.bands.len());
        self.bands.push((band, Vec::new()));
        self.band_numbers.insert(band, at);
        at
    }

    /// A new group without members.
    fn found(&mut self, hash: u64, band: u32) -> GroupId {
        let siblings = &mut self.bands[band as usize].1;
        let position = number(siblings.len());
        let group = Group {
            hash,
            home: Home::Band { band, position },
            members: SmallVec::new(),
        };
        let id = if let Some(id) = self.free.pop() {
            self.all[id.index()] = group;
            id
        } else {
            let id = GroupId(number(self.all.len()));
            self.all.push(group);
            id
        };
        siblings.push(id);
        let groups = &self.all;
        self.by_pod.insert_unique(hash, id, |id| groups[id.index()].hash);
        id
    }

    /// Lets go of a record, if it is in a group.
    pub(crate) fn remove(&mut self, records: &mut Records, slot: Slot) {
        let record = &mut records[slot];
        let id = std::mem::replace(&mut record.group, GroupId::NONE);
        if id == GroupId::NONE {
            return;
        }
        let position = record.position as usize;
        let group = &mut self.all[id.index()];
        group.members.swap_remove(position);
        if let Some(moved) = group.members.get(position) {
            records[*moved].position = number(position);
        }
        if group.members.is_empty() && matches!(group.home, Home::Band { .. }) {
            self.unlist(id);
            self.set_free(id);
        }
    }

    /// Takes a group out of its band, so that nobody joins it and no event looks at it.
    fn unlist(&mut self, id: GroupId) {
        let Home::Band { band, position } = self.all[id.index()].home else {
            return;
        };
        let siblings = &mut self.bands[band as usize].1;
        siblings.swap_remove(position as usize);
        if let Some(moved) = siblings.get(position as usize) {
            self.all[moved.index()].home = Home::Band { band, position };
        }
        if let Ok(entry) = self.by_pod.find_entry(self.all[id.index()].hash, |other| *other == id) {
            entry.remove();
        }
    }

    fn set_free(&mut self, id: GroupId) {
        let group = &mut self.all[id.index()];
        group.home = Home::Nowhere;
        group.members = SmallVec::new();
        self.free.push(id);
    }

    /// Follows a record that got another slot.
    pub(crate) fn renumber(&mut self, records: &Records, slot: Slot) {
        let record = &records[slot];
        if record.group != GroupId::NONE {
            self.all[record.group.index()].members[record.position as usize] = slot;
        }
    }

    /// Whether the record is in the group that it says it is in.
    pub(crate) fn holds(&self, records: &Records, slot: Slot) -> bool {
        let record = &records[slot];
        let group = self.all.get(record.group.index());
        group.is_some_and(|group| group.members.get(record.position as usize) == Some(&slot))
    }

    /// The bands that have groups, in the order in which they came to be.
    pub(crate) fn bands(&self) -> impl Iterator<Item = (Band, &[GroupId])> {
        let bands = self.bands.iter().filter(|(_, groups)| !groups.is_empty());
        bands.map(|(band, groups)| (*band, groups.as_slice()))
    }

    /// A member that stands for all of them.
    pub(crate) fn first(&self, id: GroupId) -> Option<Slot> {
        self.all[id.index()].members.first().copied()
    }

    /// Sends the members of a group on their way. They leave one by one, with [`Self::next_woken`].
    pub(crate) fn wake(&mut self, id: GroupId, priority: i32, wake: Wake) {
        self.unlist(id);
        self.all[id.index()].home = Home::Woken;
        self.wakes += 1;
        self.woken.insert((Reverse(priority), self.wakes), (id, wake));
    }

    /// The next record that is to leave, still in its group.
    pub(crate) fn next_woken(&mut self) -> Option<(Slot, Wake)> {
        while let Some(entry) = self.woken.first_entry() {
            let (id, wake) = *entry.get();
            if let Some(slot) = self.all[id.index()].members.last() {
                return Some((*slot, wake));
            }
            entry.remove();
            self.set_free(id);
        }
        None
    }

    /// Whether a group is on its way out.
    pub(crate) fn is_woken(&self, id: GroupId) -> bool {
        id != GroupId::NONE && self.all[id.index()].home == Home::Woken
    }

    /// The groups that are on their way out, and since when.
    pub(crate) fn woken_since(&self) -> HashMap<GroupId, Moment, FixedState> {
        self.woken.values().map(|(id, wake)| (*id, wake.since)).collect()
    }

    /// Whether any group is on its way out; it may have lost its last member meanwhile.
    pub(crate) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }
}

/// Slots are 32 bits wide, so groups and positions are.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
impl Groups {
    /// Every member with its group's number.
    pub(crate) fn members(&self) -> impl Iterator<Item = (GroupId, Slot)> {
        let groups = self.all.iter().zip(0..);
        groups.flat_map(|(group, id)| group.members.iter().map(move |slot| (GroupId(id), *slot)))
    }

    /// Groups that have members.
    pub(crate) fn count(&self) -> usize {
        self.all.iter().filter(|group| !group.members.is_empty()).count()
    }

    /// What the index of a group takes beside its members in the table of records.
    pub(crate) const fn group_size() -> usize {
        // The group, its number in the table, with the table's share of empty places, and in its band.
        size_of::<Group>() + 2 * size_of::<GroupId>() + size_of::<GroupId>()
    }
}
