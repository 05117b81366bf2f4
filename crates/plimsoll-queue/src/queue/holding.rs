use plimsoll_framework::{ClusterEvent, EventObjects};
use plimsoll_model::{Moment, Uid};

use super::SchedulingQueue;
use crate::record::State;
use crate::records::Slot;
use crate::worth::Worth;

/// Who holds a pod back whose victims are on their way out, by the name that kube-scheduler's queue knows.
const HOLDER: &str = "DefaultPreemption";

/// Stands for [`HOLDER`] among the numbers of pre-enqueue plugins, of which a profile has a handful.
pub(super) const HOLD: u16 = u16::MAX;

/// The cause of moves of pods that are held from now on.
const PREEMPTION_STARTED: ClusterEvent = ClusterEvent::labelled("PreemptionStarted");
/// The label of pods that are held no longer.
const PREEMPTION_FINISHED: ClusterEvent = ClusterEvent::labelled("PreemptionFinished");

/// What becomes of a pod that is held no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It goes where it would be had nobody held it: whatever woke it meanwhile wakes it now.
    Quietly,
    /// It is tried again after its backoff, whether or not anything woke it.
    AfterBackoff,
    /// It is tried again now.
    AtOnce,
}

/// Pods that wait for their own preemption.
///
/// While a pod is held, the pre-enqueue gate says `waiting for the preemption for this pod to be finished`, as
/// `DefaultPreemption` does in kube-scheduler. What wakes the pod meanwhile is not lost, as it may be there: the pod is
/// tried as soon as it is released. A hold that nobody releases ends at the deadline that every parked pod has.
impl SchedulingQueue {
    /// Holds a pod back, wherever it is; for one in flight this counts from its settlement on. Nothing when it is not
    /// pending.
    pub fn hold(&mut self, uid: &Uid, now: Moment) {
        let Some(slot) = self.records.find(uid) else { return };
        self.history.turn_to(now);
        self.records[slot].held = true;
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
        let woken = self.let_go(slot);
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

    /// Ends a hold; says whether the pod was to be tried while it lasted.
    pub(super) fn let_go(&mut self, slot: Slot) -> bool {
        let held = std::mem::take(&mut self.records[slot].held);
        held && self.records[slot].gate == Some(HOLD)
    }

    /// Notes that a pod which is to be tried is held.
    pub(super) fn gate_held(&mut self, slot: Slot) {
        self.set_gate(slot, Some(HOLD));
        let plugins = self.plugin_sets.with(self.records[slot].rejected_by, HOLDER);
        self.set_rejected_by(slot, plugins);
    }
}
