use plimsoll_framework::{ClusterEvent, EventObjects};
use plimsoll_model::{Moment, Uid};

use super::SchedulingQueue;
use crate::backoff;
use crate::plugin_sets::PluginSets;
use crate::record::{State, Victims};
use crate::records::Slot;
use crate::worth::Worth;

/// Who holds a pod back whose victims are on their way out, by the name that kube-scheduler's queue knows.
pub(super) const HOLDER: &str = "DefaultPreemption";

/// Stands for [`HOLDER`] among the numbers of pre-enqueue plugins, of which a profile has a handful.
pub(super) const HOLD: u16 = u16::MAX;

/// The cause of moves of pods that are held from now on.
const PREEMPTION_STARTED: ClusterEvent = ClusterEvent::labelled("PreemptionStarted");
/// The label of pods that are held no longer.
const PREEMPTION_FINISHED: ClusterEvent = ClusterEvent::labelled("PreemptionFinished");

/// What becomes of a pod that is held no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Its victims are on their way: it goes where it would be had nobody held it, and whatever woke it meanwhile wakes it
    /// now. Until it is released for good it backs off from here on and to the end, also when nothing else is to be tried.
    Quietly,
    /// For good: it is tried again after its backoff, whether or not anything woke it.
    AfterBackoff,
    /// For good: it is tried again now.
    AtOnce,
}

/// Pods that wait for their own preemption.
///
/// While a pod is held it stands among the gated, as one that `DefaultPreemption` holds back before the queue in
/// kube-scheduler. What wakes the pod meanwhile is not lost, as it may be there: the pod is tried as soon as it is released.
/// A hold that nobody releases ends at the deadline that every parked pod has.
///
/// From then until the last of its victims is gone, an attempt most often finds only that they are still going, and the end
/// of any other pod may wake it. So its backoff begins anew with the quiet release, and is not cut short meanwhile. When the
/// last of them is gone, its backoff counts from its last attempt again.
impl SchedulingQueue {
    /// Holds a pod back, wherever it is; for one in flight this counts from its settlement on. Nothing when it is not
    /// pending.
    pub fn hold(&mut self, uid: &Uid, now: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        self.history.turn_to(now);
        self.records[slot].victims = Victims::Asked;
        if matches!(
            self.records[slot].state,
            State::Active | State::Backoff { .. } | State::ErrorBackoff { .. }
        ) {
            self.gate_held(slot);
            self.park(slot, PREEMPTION_STARTED, now);
        }
    }

    /// Lets go of a pod. Only [`Release::Quietly`] does nothing when nobody holds it.
    pub fn release(&mut self, uid: &Uid, release: Release, now: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        self.history.turn_to(now);
        let woken = match release {
            Release::Quietly => {
                let since = backoff::second_of(now);
                self.let_go(slot, Victims::Going { since })
            }
            Release::AfterBackoff | Release::AtOnce => self.let_go_for_good(slot, now),
        };
        let in_flight = matches!(self.records[slot].state, State::InFlight { gone: false, .. });
        match release {
            Release::Quietly if !woken => {}
            Release::AtOnce => self.activate(std::slice::from_ref(uid), now),
            Release::AfterBackoff if in_flight => self.note_for(slot, PREEMPTION_FINISHED, EventObjects::None),
            Release::Quietly | Release::AfterBackoff => {
                let record = &self.records[slot];
                if matches!(record.state, State::Parked { .. }) && !record.set_aside {
                    self.requeue(slot, Worth::AfterBackoff, PREEMPTION_FINISHED, now);
                }
            }
        }
    }

    /// Ends a hold, if there is one; says whether the pod was to be tried while it lasted.
    pub(super) fn let_go(&mut self, slot: Slot, victims: Victims) -> bool {
        let record = &mut self.records[slot];
        let held = record.is_held();
        if held {
            record.victims = victims;
        }
        held && record.gate == Some(HOLD)
    }

    /// Ends a hold and all that comes after it: a backoff that had to last to its end may be cut short again, and counts from
    /// the last attempt.
    fn let_go_for_good(&mut self, slot: Slot, now: Moment) -> bool {
        let woken = self.let_go(slot, Victims::None);
        let record = &mut self.records[slot];
        let had_to_wait = matches!(std::mem::take(&mut record.victims), Victims::Going { .. });
        let backs_off = matches!(record.state, State::ErrorBackoff { .. }) && record.rejected_by != PluginSets::EMPTY;
        if had_to_wait && backs_off {
            match self.holding_backoff_of(slot, now) {
                Some(until) => self.set_state(slot, State::Backoff { until }, PREEMPTION_FINISHED),
                None => self.leave_backoff(slot, PREEMPTION_FINISHED, now),
            }
        }
        woken
    }

    /// Notes that a pod which is to be tried is held.
    pub(super) fn gate_held(&mut self, slot: Slot) {
        self.set_gate(slot, Some(HOLD));
        let plugins = self.plugin_sets.with(self.records[slot].rejected_by, HOLDER);
        self.set_rejected_by(slot, plugins);
    }
}
