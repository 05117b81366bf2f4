use std::sync::Arc;

use plimsoll_framework::{ClusterEvent, Code, guarded};
use plimsoll_model::{Moment, Pod, Seq};

use super::{BACKOFF_COMPLETE, GONE, SchedulingQueue, UNSCHEDULABLE_TIMEOUT};
use crate::alike::Likeness;
use crate::groups::GroupId;
use crate::metrics::{IncomingQueue, SlowestGates};
use crate::plugin_sets::{PluginSetId, PluginSets};
use crate::record::{Record, State, Victims};
use crate::records::Slot;
use crate::worth::{self, Worth};
use crate::{Place, QueueConfig, backoff};

/// The cause, in histories, of pods that a pre-enqueue plugin holds back or no longer holds back.
const PRE_ENQUEUE: ClusterEvent = ClusterEvent::labelled("PreEnqueue");

/// Moving records between places, keeping heaps, deadlines, counts and gauges in step.
impl SchedulingQueue {
    /// A record of a pod not known so far, in no place yet.
    pub(super) fn create(&mut self, pod: Arc<Pod>, profile: u16, now: Moment) -> Slot {
        self.arrivals += 1;
        self.records.insert(Record {
            pod,
            state: State::Nowhere,
            arrival: self.arrivals,
            timestamp: now,
            added: now,
            initial_attempt: None,
            popped_seq: Seq::ZERO,
            attempts: 0,
            rejections: 0,
            errors: 0,
            rejected_by: PluginSets::EMPTY,
            position: 0,
            profile,
            gate: None,
            flushed: false,
            set_aside: false,
            victims: Victims::None,
            woken: false,
            group: GroupId::NONE,
        })
    }

    /// Forgets a record altogether.
    pub(super) fn remove(&mut self, slot: Slot) {
        self.set_rejected_by(slot, PluginSets::EMPTY);
        self.set_state(slot, State::Nowhere, GONE);
        self.journal.take(self.records[slot].arrival);
        if self.records.remove(slot).is_some() {
            self.renumber(slot);
        }
    }

    /// Tells its container that the record now in `slot` got there from another.
    fn renumber(&mut self, slot: Slot) {
        let record = &self.records[slot];
        match record.state {
            State::Active => self.active.renumber(&self.records, slot),
            State::Backoff { .. } => self.backoff.renumber(&self.records, slot),
            State::ErrorBackoff { .. } => self.error_backoff.renumber(&self.records, slot),
            State::Parked { due } | State::Placed { due } => {
                self.deadlines.insert((due, record.arrival), slot);
                self.groups.renumber(&self.records, slot);
            }
            State::Nowhere | State::InFlight { .. } => {}
        }
    }

    /// `cause` is for its history.
    pub(super) fn set_state(&mut self, slot: Slot, state: State, cause: ClusterEvent) {
        let before = self.records[slot].place();
        let gate = self.records[slot].gate;
        match self.records[slot].state {
            State::Active => self.active.remove(&mut self.records, slot),
            State::Backoff { .. } => self.backoff.remove(&mut self.records, slot),
            State::ErrorBackoff { .. } => self.error_backoff.remove(&mut self.records, slot),
            State::Parked { due } | State::Placed { due } => {
                self.deadlines.remove(&(due, self.records[slot].arrival));
                self.groups.remove(&mut self.records, slot);
            }
            State::Nowhere | State::InFlight { .. } => {}
        }
        self.records[slot].state = state;
        match state {
            State::Active => self.active.push(&mut self.records, slot),
            State::Backoff { .. } => self.backoff.push(&mut self.records, slot),
            State::ErrorBackoff { .. } => self.error_backoff.push(&mut self.records, slot),
            State::Parked { due } | State::Placed { due } => {
                self.deadlines.insert((due, self.records[slot].arrival), slot);
                self.join_group(slot);
            }
            State::Nowhere | State::InFlight { .. } => {}
        }
        self.recount(slot, (before, gate), cause);
    }

    /// Puts a parked pod with those like it, unless it is there. One that was set aside is not woken with others.
    pub(super) fn join_group(&mut self, slot: Slot) {
        let record = &self.records[slot];
        if matches!(record.state, State::Parked { .. }) && !record.set_aside && record.group == GroupId::NONE {
            let profile = self.profiles.get(usize::from(record.profile)).map(Arc::as_ref);
            let with_labels = worth::reads_labels(profile, self.plugin_sets.get(record.rejected_by));
            self.groups.insert(&mut self.records, slot, with_labels);
        }
    }

    /// Sets which plugin holds the pod. A parked one has to join a group again.
    pub(super) fn set_gate(&mut self, slot: Slot, gate: Option<u16>) {
        if self.records[slot].gate == gate {
            return;
        }
        self.leave_group(slot);
        let before = (self.records[slot].place(), self.records[slot].gate);
        self.records[slot].gate = gate;
        self.recount(slot, before, PRE_ENQUEUE);
    }

    fn leave_group(&mut self, slot: Slot) {
        self.groups.remove(&mut self.records, slot);
    }

    /// The record's place was this one, and this plugin held it there.
    pub(super) fn recount(&mut self, slot: Slot, (before, gate): (Option<Place>, Option<u16>), cause: ClusterEvent) {
        let record = &self.records[slot];
        let after = record.place();
        if before == after {
            return;
        }
        if let Some(place) = before {
            *self.counts.of(place) -= 1;
        }
        if let Some(place) = after {
            *self.counts.of(place) += 1;
        }
        self.history
            .note(self.records.hash_of(&record.pod.uid), before, after, cause);
        self.note_stay(slot, before, gate, cause);
        self.note_move(slot, after, cause);
    }

    /// Sets which plugins the pod waits for, and with it the gauge of unschedulable pods. A parked one has to join a group
    /// again.
    pub(super) fn set_rejected_by(&mut self, slot: Slot, plugins: PluginSetId) {
        let before = self.records[slot].rejected_by;
        if before == plugins {
            return;
        }
        self.leave_group(slot);
        let record = &mut self.records[slot];
        record.rejected_by = plugins;
        for plugin in self.plugin_sets.get(before).iter() {
            self.tally.add_unschedulable(plugin, record.profile, -1);
        }
        for plugin in self.plugin_sets.get(plugins).iter() {
            self.tally.add_unschedulable(plugin, record.profile, 1);
        }
    }

    /// Gives a record the newest object of its pod.
    pub(super) fn set_pod(&mut self, slot: Slot, pod: Arc<Pod>, profile: u16) {
        let record = &self.records[slot];
        let woken = self.groups.is_woken(record.group);
        if !woken && (record.profile != profile || Likeness::of(&record.pod, true) != Likeness::of(&pod, true)) {
            self.leave_group(slot);
        }
        if self.records[slot].profile != profile {
            let plugins = self.records[slot].rejected_by;
            self.set_rejected_by(slot, PluginSets::EMPTY);
            self.records[slot].profile = profile;
            self.set_rejected_by(slot, plugins);
            // The number means another plugin in the other profile; entering a queue asks them all.
            self.set_gate(slot, None);
        }
        self.records[slot].pod = pod;
        match self.records[slot].state {
            State::Active => self.active.settle(&mut self.records, slot),
            State::Backoff { .. } => self.backoff.settle(&mut self.records, slot),
            State::ErrorBackoff { .. } => self.error_backoff.settle(&mut self.records, slot),
            _ => self.join_group(slot),
        }
    }

    /// Through which second the pod backs off after what it has been through, if at all.
    pub(super) fn backoff_of(&self, slot: Slot) -> Option<Moment> {
        let record = &self.records[slot];
        let profile = self.profiles.get(usize::from(record.profile));
        let config = match profile.and_then(|profile| profile.backoff) {
            Some(own) => QueueConfig {
                initial_backoff: own.initial,
                max_backoff: own.max,
                ..self.config
            },
            None => self.config,
        };
        backoff::until(&config, record.failures(), record.backs_off_since())
    }

    /// The same, if that second is not over.
    pub(super) fn holding_backoff_of(&self, slot: Slot, now: Moment) -> Option<Moment> {
        self.backoff_of(slot)
            .filter(|until| backoff::holds(&self.config, *until, now))
    }

    /// Puts a pod where what happened to it says.
    pub(super) fn requeue(&mut self, slot: Slot, worth: Worth, event: ClusterEvent, now: Moment) {
        match (worth, self.holding_backoff_of(slot, now)) {
            (Worth::Skip, _) => self.park(slot, event, now),
            (Worth::AfterBackoff, Some(until)) => self.enter_backoff(slot, until, event, now),
            (Worth::AfterBackoff | Worth::Immediately, _) => self.enter_active(slot, event, now),
        }
    }

    pub(super) fn enter_active(&mut self, slot: Slot, event: ClusterEvent, now: Moment) {
        if !self.passes_gates(slot) {
            self.park(slot, event, now);
            return;
        }
        self.make_active(slot, event, now);
    }

    fn make_active(&mut self, slot: Slot, event: ClusterEvent, now: Moment) {
        self.records[slot].initial_attempt.get_or_insert(now);
        self.set_state(slot, State::Active, event);
        self.tally.count_incoming(IncomingQueue::Active, event);
    }

    /// Makes a pod active that backed off. If such pods may be popped, pre-enqueue plugins were asked when it began to.
    pub(super) fn leave_backoff(&mut self, slot: Slot, event: ClusterEvent, now: Moment) {
        if self.config.pop_from_backoff {
            self.make_active(slot, event, now);
        } else {
            self.enter_active(slot, event, now);
        }
    }

    fn enter_backoff(&mut self, slot: Slot, until: Moment, event: ClusterEvent, now: Moment) {
        // A held pod is parked at once, so that its hold ends with the longest wait.
        let asks_gates = self.config.pop_from_backoff || self.records[slot].is_held();
        if asks_gates && !self.passes_gates(slot) {
            self.park(slot, event, now);
            return;
        }
        let record = &self.records[slot];
        let to_the_end = record.rejected_by == PluginSets::EMPTY || matches!(record.victims, Victims::Going { .. });
        let state = if to_the_end {
            State::ErrorBackoff { until }
        } else {
            State::Backoff { until }
        };
        self.set_state(slot, state, event);
        self.tally.count_incoming(IncomingQueue::Backoff, event);
    }

    /// Parks a pod, or leaves it parked, with a deadline ahead.
    pub(super) fn park(&mut self, slot: Slot, event: ClusterEvent, now: Moment) {
        let parked = match self.records[slot].state {
            // A hold ends at the deadline, which an event must not put off.
            State::Parked { due } if due > now || self.records[slot].is_held() => return self.join_group(slot),
            State::Parked { .. } => true,
            _ => false,
        };
        let due = self.deadline(now);
        self.set_state(slot, State::Parked { due }, event);
        if !parked {
            self.tally.count_incoming(IncomingQueue::Unschedulable, event);
        }
    }

    /// Asks the pre-enqueue plugins, first the one that holds the pod: while it does, no other needs to be asked.
    pub(super) fn passes_gates(&mut self, slot: Slot) -> bool {
        if self.records[slot].is_held() {
            self.gate_held(slot);
            return false;
        }
        let record = &self.records[slot];
        let Some(profile) = self.profiles.get(usize::from(record.profile)) else {
            return true;
        };
        let plugins = &profile.pre_enqueue;
        let (watch, sampled) = (self.watch.as_ref(), self.sampler.takes_next());
        let begun = watch.now();
        let tally = &mut self.tally;
        let mut holds = |gate: u16| {
            plugins.get(usize::from(gate)).is_some_and(|plugin| {
                let begun = sampled.then(|| watch.now());
                // A plugin that panics at a pod holds it like one that refuses: until the deadline of parked pods.
                let code = match guarded(|| plugin.pre_enqueue(&record.pod)) {
                    Ok(Ok(())) => Code::Success,
                    Ok(Err(_)) => Code::UnschedulableAndUnresolvable,
                    Err(_) => Code::Error,
                };
                if let Some(begun) = begun {
                    tally.gates.plugin_ran(plugin.name(), code, watch.now().since(begun));
                }
                code != Code::Success
            })
        };
        let still_held = record.gate.is_some_and(&mut holds);
        let holder = plugins
            .iter()
            .zip(0..)
            .find(|(_, gate)| !still_held && record.gate != Some(*gate) && holds(*gate));
        let run = SlowestGates {
            took: watch.now().since(begun),
            pod: Arc::clone(&record.pod),
            trace_sampling_ratio: profile.trace_sampling_ratio,
        };
        self.tally.gates.ran(record.profile, run);
        if still_held {
            return false;
        }
        let holder = holder.map(|(plugin, gate)| (plugin.name(), gate));
        self.set_gate(slot, holder.map(|(_, gate)| gate));
        if let Some((plugin, _)) = holder {
            let plugins = self.plugin_sets.with(self.records[slot].rejected_by, plugin);
            self.set_rejected_by(slot, plugins);
        }
        holder.is_none()
    }

    /// Makes pods active whose backoff is over, up to so many, the first to end and of these the best first.
    pub(super) fn flush_backoff(&mut self, now: Moment, budget: &mut usize) {
        while *budget > 0 {
            let heads = [self.backoff.first(), self.error_backoff.first()];
            let done = |slot: &Slot| !backoff::holds(&self.config, self.records[*slot].until(), now);
            let Some(slot) = heads.into_iter().flatten().find(done) else {
                return;
            };
            *budget -= 1;
            self.leave_backoff(slot, BACKOFF_COMPLETE, now);
        }
    }

    /// Each pass gives the first record a later deadline or moves it out, so this ends even without a limit.
    pub(super) fn flush_parked(&mut self, now: Moment, budget: &mut usize) {
        while *budget > 0
            && let Some(((due, _), slot)) = self.deadlines.first_key_value()
            && *due <= now
        {
            let slot = *slot;
            *budget -= 1;
            match self.records[slot].state {
                // It will be deleted; trying it would only be turned down again.
                State::Placed { .. } if self.records[slot].pod.is_terminating() => {
                    let due = self.deadline(now);
                    self.set_state(slot, State::Placed { due }, UNSCHEDULABLE_TIMEOUT);
                }
                _ => {
                    self.let_go(slot, Victims::None);
                    self.requeue(slot, Worth::AfterBackoff, UNSCHEDULABLE_TIMEOUT, now);
                    let moved = !matches!(self.records[slot].state, State::Parked { .. });
                    self.records[slot].flushed = moved;
                }
            }
        }
    }
}
