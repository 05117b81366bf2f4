use plimsoll_model::Uid;

use super::SchedulingQueue;
use super::holding::{HOLD, HOLDER};
use crate::record::Victims;
use crate::records::Slot;
use crate::{Account, Place};

/// Among so many pods at most it is counted how many come before one.
const COMPARED: usize = 100_000;

/// What is told of one pod. It costs a look at the moves that are remembered, of all pods.
impl SchedulingQueue {
    /// The pod's account; nothing when it is not pending.
    pub fn account_of(&self, uid: &Uid) -> Option<Account> {
        let slot = self.records.find(uid)?;
        let record = &self.records[slot];
        let place = record.place()?;
        let last = self.history.last_of(self.records.hash_of(uid));
        let last = last.filter(|last| last.to == Some(place));
        let plugins = self.plugin_sets.get(record.rejected_by);
        let mut counts = self.counts;
        let woken = self.groups.is_woken(record.group);
        let retry_at = self.retries_at(record);
        let next_look = record.next_look(&self.config);
        Some(Account {
            place,
            since: last.map_or(record.timestamp, |last| last.at),
            cause: last.map(|last| last.cause),
            next_look: retry_at.map_or(next_look, |at| at.min(next_look)),
            retry_at,
            company: *counts.of(place),
            ahead: self.ahead_of(slot, place),
            added: record.added,
            attempts: record.attempts,
            rejected_by: plugins.iter().collect(),
            pending_on: plugins.iter().filter(|plugin| plugins.is_pending(plugin)).collect(),
            gate: record.gate.map(|gate| self.name_of_gate(record.profile, gate)),
            held_for_victims: record.is_held(),
            victims_going: matches!(record.victims, Victims::Going { .. }),
            set_aside: record.set_aside,
            woken,
        })
    }

    fn ahead_of(&self, slot: Slot, place: Place) -> Option<usize> {
        let counted = place == Place::Active && self.counts.active <= COMPARED;
        counted.then(|| self.active.ahead_of(&self.records, slot))
    }

    fn name_of_gate(&self, profile: u16, gate: u16) -> String {
        if gate == HOLD {
            return HOLDER.to_owned();
        }
        let profile = self.profiles.get(usize::from(profile));
        let plugin = profile.and_then(|profile| profile.pre_enqueue.get(usize::from(gate)));
        plugin.map_or_else(String::new, |plugin| plugin.name().to_owned())
    }
}
