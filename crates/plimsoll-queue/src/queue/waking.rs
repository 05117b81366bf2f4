use std::sync::Arc;

use plimsoll_framework::{ClusterEvent, EventObjects};
use plimsoll_model::Moment;

use super::SchedulingQueue;
use super::holding::HOLD;
use crate::event_log::{Audience, Occurrence};
use crate::groups::{Band, GroupId, Wake};
use crate::metrics::IncomingQueue;
use crate::record::State;
use crate::records::Slot;
use crate::worth::{self, Happening, Worth};

/// What events do to parked pods, and to those in flight.
impl SchedulingQueue {
    /// Wakes every parked pod that the event may help, and keeps the event for attempts under way.
    pub(super) fn announce(&mut self, occurrence: Occurrence, now: Moment) {
        let profiles = || self.profiles.iter().map(Arc::as_ref);
        if !worth::can_help_anybody(profiles(), occurrence.event) {
            return;
        }
        for (group, priority, worth) in self.helped_by(&occurrence) {
            let wake = Wake {
                worth,
                event: occurrence.event,
                since: now,
            };
            self.groups.wake(group, priority, wake);
        }
        let mut budget = self.portion;
        self.move_woken(now, &mut budget);
        self.log.record(occurrence);
    }

    /// The groups that the event may help, with the priority of their pods and how much it may help them.
    fn helped_by(&mut self, occurrence: &Occurrence) -> Vec<(GroupId, i32, Worth)> {
        let mut helped = Vec::new();
        for (band, groups) in self.groups.bands() {
            if !self.may_help(band, occurrence.happening()) {
                continue;
            }
            let profile = self.profiles.get(usize::from(band.profile)).map(Arc::as_ref);
            let plugins = self.plugin_sets.get(band.rejected_by);
            for group in groups {
                let Some(first) = self.groups.first(*group) else {
                    continue;
                };
                let record = &self.records[first];
                if !occurrence.concerns(record) {
                    continue;
                }
                let hints = &mut self.tally.hints;
                let worth = occurrence.happening().worth(profile, &record.pod, plugins, hints);
                if worth > Worth::Skip {
                    helped.push((*group, record.pod.priority(), worth));
                }
            }
        }
        helped
    }

    /// Whether a plugin that rejected the pods may see it help some of them; gated ones also need that the plugin that holds
    /// them listens to such events. Those held for their own preemption are to be tried once it lets go, whatever happens.
    fn may_help(&self, band: Band, happening: Happening<'_>) -> bool {
        if band.gate == Some(HOLD) {
            return false;
        }
        let profile = self.profiles.get(usize::from(band.profile)).map(Arc::as_ref);
        let gate = band
            .gate
            .and_then(|gate| profile?.pre_enqueue.get(usize::from(gate)))
            .map(|plugin| plugin.name());
        let profiles = || self.profiles.iter().map(Arc::as_ref);
        gate.is_none_or(|gate| worth::gate_listens(profiles(), gate, happening.event))
            && worth::may_be_worth(profile, self.plugin_sets.get(band.rejected_by), happening)
    }

    /// Moves pods that events have woken, up to so many.
    pub(super) fn move_woken(&mut self, now: Moment, budget: &mut usize) {
        while *budget > 0
            && let Some((slot, wake)) = self.groups.next_woken()
        {
            *budget -= 1;
            self.groups.remove(&mut self.records, slot);
            self.requeue_woken(slot, wake.worth, wake.event, now);
            if matches!(self.records[slot].state, State::Parked { .. }) {
                self.join_group(slot);
                // As if it had left and come back: so kube-scheduler counts it.
                self.tally.count_incoming(IncomingQueue::Unschedulable, wake.event);
            }
        }
    }

    /// Moves a parked pod if an event about itself may help it; says whether it needs no further such event.
    pub(super) fn wake(&mut self, slot: Slot, happening: Happening<'_>, now: Moment) -> bool {
        let record = &self.records[slot];
        if record.set_aside && !happening.changes_spec_of(&record.pod) {
            return false;
        }
        let profile = self.profiles.get(usize::from(record.profile)).map(Arc::as_ref);
        let plugins = self.plugin_sets.get(record.rejected_by);
        let worth = happening.worth(profile, &record.pod, plugins, &mut self.tally.hints);
        let parked = matches!(record.state, State::Parked { .. });
        // One that backs off has no more to gain but that the backoff is skipped.
        if worth == Worth::Immediately || (parked && worth > Worth::Skip) {
            self.requeue_woken(slot, worth, happening.event, now);
        }
        match self.records[slot].state {
            State::Parked { .. } => false,
            State::Backoff { .. } | State::ErrorBackoff { .. } => self.config.pop_from_backoff,
            _ => true,
        }
    }

    fn requeue_woken(&mut self, slot: Slot, worth: Worth, event: ClusterEvent, now: Moment) {
        self.requeue(slot, worth, event, now);
        let record = &mut self.records[slot];
        record.woken = !matches!(record.state, State::Parked { .. });
    }

    /// Keeps an event for the attempt under way of one pod.
    pub(super) fn note_for(&mut self, slot: Slot, event: ClusterEvent, objects: EventObjects) {
        let audience = Audience::One(self.records[slot].arrival);
        self.log.record(Occurrence {
            event,
            objects,
            audience,
            seq: Some(self.seen),
        });
    }
}
