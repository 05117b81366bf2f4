use std::sync::Arc;

use plimsoll_framework::{ClusterEvent, EventObjects, Membership};
use plimsoll_model::{Moment, Namespace, Pod};

use super::SchedulingQueue;
use crate::record::State;
use crate::records::Slot;
use crate::worth::Worth;

/// The label of pods that came to another profile, or to one at all.
const PROFILE_CHANGE: ClusterEvent = ClusterEvent::labelled("ProfileChange");

/// Which profile a pod belongs to, as its labels and its namespace's labels decide. Pods with a scheduler name of ours that no
/// profile takes are remembered, since a change of their namespace may bring them in.
impl SchedulingQueue {
    /// How many pods have a scheduler name of ours and no profile that takes them.
    pub fn unmatched(&self) -> usize {
        self.unmatched.len()
    }

    fn membership(&self, pod: &Pod) -> Membership {
        self.index.membership(pod, self.namespaces.get(&pod.name.namespace))
    }

    pub(super) fn profile_number(&self, pod: &Pod) -> Option<u16> {
        u16::try_from(self.membership(pod).profile()?).ok()
    }

    /// Remembers a pod without a node that no profile takes, and forgets one that is no longer so.
    pub(super) fn note_membership(&mut self, pod: &Arc<Pod>) {
        if !self.index.reads_labels() {
            return;
        }
        let membership = self.membership(pod);
        if pod.node_name().is_none() && membership.is_ours() && membership.profile().is_none() {
            self.unmatched.insert(pod.uid.clone(), Arc::clone(pod));
        } else {
            self.unmatched.remove(&pod.uid);
        }
    }

    pub(super) fn namespace_changed(&mut self, old: Option<&Namespace>, new: Option<&Namespace>, now: Moment) {
        match (old, new) {
            (_, Some(new)) => {
                self.namespaces.insert(new.name.clone(), new.labels.clone());
            }
            (Some(old), None) => {
                self.namespaces.remove(&old.name);
            }
            (None, None) => {}
        }
        let unchanged = old.map(|old| &old.labels) == new.map(|new| &new.labels);
        let Some(namespace) = new.or(old).filter(|_| self.index.reads_namespaces() && !unchanged) else {
            return;
        };
        let is_in_it = |pod: &Pod| pod.name.namespace == namespace.name;
        for pod in self.known_pods(is_in_it) {
            self.follow_profile(&pod, now);
        }
        let unmatched = self.unmatched.values().filter(|pod| is_in_it(pod));
        for pod in unmatched.cloned().collect::<Vec<_>>() {
            self.note_membership(&pod);
            self.take_in(&pod, PROFILE_CHANGE, now);
        }
    }

    /// Moves a pod that has a record to the profile that takes it now, if that is another one.
    fn follow_profile(&mut self, pod: &Arc<Pod>, now: Moment) {
        let Some(slot) = self.records.find(&pod.uid) else {
            return;
        };
        if matches!(self.records[slot].state, State::InFlight { gone: true, .. }) {
            return;
        }
        match self.profile_number(pod) {
            Some(profile) if profile == self.records[slot].profile => {}
            Some(profile) => {
                self.set_pod(slot, Arc::clone(pod), profile);
                self.look_again_in_other_profile(slot, now);
            }
            None => {
                self.leave(slot, now);
                self.note_membership(pod);
            }
        }
    }

    /// A pod that has got another profile is judged by that one, wherever it is.
    pub(super) fn look_again_in_other_profile(&mut self, slot: Slot, now: Moment) {
        if matches!(self.records[slot].state, State::InFlight { .. }) {
            self.note_for(slot, PROFILE_CHANGE, EventObjects::None);
        }
        self.look_again(slot, PROFILE_CHANGE, now);
    }

    /// No profile takes the pod any more. Room that was kept for it is free.
    pub(super) fn leave(&mut self, slot: Slot, now: Moment) {
        let pod = Arc::clone(&self.records[slot].pod);
        self.forget(slot);
        if pod.status.nominated_node_name.is_some() {
            self.nomination_ended(&pod, now);
        }
    }

    /// Asks the pre-enqueue plugins of a pod's profile anew, and gives what was parked by another judgement another try.
    pub(super) fn look_again(&mut self, slot: Slot, event: ClusterEvent, now: Moment) {
        match self.records[slot].state {
            State::Active => {
                if !self.passes_gates(slot) {
                    self.park(slot, event, now);
                }
            }
            State::Backoff { until } | State::ErrorBackoff { until } => {
                let unchanged = self.backoff_of(slot) == Some(until);
                if !(unchanged && (!self.config.pop_from_backoff || self.passes_gates(slot))) {
                    self.requeue(slot, Worth::AfterBackoff, event, now);
                }
            }
            State::Parked { .. } if self.records[slot].set_aside => {}
            State::Parked { .. } => self.requeue(slot, Worth::AfterBackoff, event, now),
            State::Nowhere | State::InFlight { .. } | State::Placed { .. } => {}
        }
    }
}
