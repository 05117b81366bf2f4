use std::sync::Arc;

use plimsoll_framework::{Action, ClusterEvent, EventObjects, EventResource};
use plimsoll_model::{Change, Delta, Moment, Node, Pod};

use super::{GONE, SchedulingQueue};
use crate::event_log::{Audience, Occurrence};
use crate::record::State;
use crate::records::Slot;
use crate::worth::Happening;
use crate::{node_update_events, pod_update_events};

const ASSIGNED_POD_ADD: ClusterEvent = ClusterEvent::new(EventResource::AssignedPod, Action::ADD);
const ASSIGNED_POD_DELETE: ClusterEvent = ClusterEvent::new(EventResource::AssignedPod, Action::DELETE);
pub(super) const UNSCHEDULABLE_POD_ADD: ClusterEvent = ClusterEvent::new(EventResource::UnschedulablePod, Action::ADD);
const UNSCHEDULABLE_POD_UPDATE: ClusterEvent = ClusterEvent::new(EventResource::UnschedulablePod, Action::UPDATE);
const NODE_ADD: ClusterEvent = ClusterEvent::new(EventResource::Node, Action::ADD);
const NODE_DELETE: ClusterEvent = ClusterEvent::new(EventResource::Node, Action::DELETE);

/// A pod that came back under the same UID while the attempt at its former self was under way: whatever that attempt
/// ends in, the pod is tried again.
const BACK_AGAIN: ClusterEvent = ClusterEvent::labelled("UnschedulablePodAdd");

/// Whether an earlier term set the pod aside, as its condition tells: its successor would only meet the same panic, and
/// with enough such pods no term would ever come to the others.
fn was_set_aside(pod: &Pod) -> bool {
    pod.status
        .pod_scheduled
        .as_deref()
        .is_some_and(|condition| condition.message.starts_with(crate::SET_ASIDE_MESSAGE))
}

/// What kube-scheduler's informer handlers do, as far as they concern the queue.
impl SchedulingQueue {
    /// Applies the next change of the stream.
    pub fn apply(&mut self, change: &Change, now: Moment) {
        self.history.turn_to(now);
        self.seen = self.seen.max(change.seq);
        match &change.delta {
            Delta::PodAdded(pod) => self.pod_added(pod, now),
            Delta::PodUpdated { old, new } => self.pod_updated(old, new, now),
            Delta::PodDeleted(pod) => self.pod_deleted(pod, now),
            Delta::NodeAdded(node) => self.node_changed(NODE_ADD, None, Some(node), now),
            Delta::NodeUpdated { old, new } => {
                for event in node_update_events(old, new) {
                    self.node_changed(event, Some(old), Some(new), now);
                }
            }
            Delta::NodeDeleted(node) => self.node_changed(NODE_DELETE, Some(node), None, now),
            Delta::NamespaceChanged { old, new } => {
                self.namespace_changed(old.as_deref(), new.as_deref(), now);
                let objects = EventObjects::Namespace {
                    old: old.clone(),
                    new: new.clone(),
                };
                self.object_changed(EventResource::Namespace, (old.is_some(), new.is_some()), objects, now);
            }
            Delta::WorkloadSelectorChanged { old, new } => {
                if let Some(workload) = new.as_ref().or(old.as_ref()) {
                    let objects = EventObjects::Workload {
                        old: old.clone(),
                        new: new.clone(),
                    };
                    let resource = EventResource::Workload(workload.kind);
                    self.object_changed(resource, (old.is_some(), new.is_some()), objects, now);
                }
            }
            // To kube-scheduler they say nothing: no plugin of its default profile listens.
            Delta::DisruptionBudgetChanged { old, new } => {
                let objects = EventObjects::DisruptionBudget {
                    old: old.clone(),
                    new: new.clone(),
                };
                let there = (old.is_some(), new.is_some());
                self.object_changed(EventResource::PodDisruptionBudget, there, objects, now);
            }
            Delta::StorageChanged { old, new } => {
                if let Some(object) = new.as_ref().or(old.as_ref()) {
                    let resource = EventResource::from(object.kind());
                    let objects = EventObjects::Storage {
                        old: old.clone(),
                        new: new.clone(),
                    };
                    self.object_changed(resource, (old.is_some(), new.is_some()), objects, now);
                }
            }
        }
    }

    fn pod_added(&mut self, pod: &Arc<Pod>, now: Moment) {
        self.note_membership(pod);
        if pod.node_name().is_some() {
            self.pod_assigned(None, pod, now);
            return;
        }
        match (self.records.find(&pod.uid), self.profile_number(pod)) {
            (Some(slot), Some(profile)) => {
                let old = Arc::clone(&self.records[slot].pod);
                self.waiting_pod_updated(slot, &old, pod, profile, now);
            }
            (None, Some(profile)) => {
                self.enqueue(pod, profile, UNSCHEDULABLE_POD_ADD, now);
                // The others of its group may have waited for it.
                if self.config.gang_scheduling {
                    self.pod_changed(UNSCHEDULABLE_POD_ADD, None, Some(pod), Audience::Everyone, now);
                }
            }
            (Some(slot), None) => self.leave(slot, now),
            (None, None) => {}
        }
    }

    fn pod_updated(&mut self, old: &Arc<Pod>, new: &Arc<Pod>, now: Moment) {
        self.note_membership(new);
        match (old.node_name().is_some(), new.node_name().is_some()) {
            // Read anew to be kept whole; there may be as many of these as there are pods.
            (true, true) if old == new => {}
            (true, _) => {
                self.forget_pod(new);
                for event in pod_update_events(old, new) {
                    self.pod_changed(event, Some(old), Some(new), Audience::Everyone, now);
                }
            }
            (false, true) => self.pod_assigned(Some(old), new, now),
            (false, false) => self.unassigned_pod_updated(old, new, now),
        }
    }

    fn unassigned_pod_updated(&mut self, old: &Arc<Pod>, new: &Arc<Pod>, now: Moment) {
        let Some(profile) = self.profile_number(new) else {
            if let Some(slot) = self.records.find(&new.uid) {
                self.leave(slot, now);
            }
            return;
        };
        let same_version = old.resource_version == new.resource_version;
        match self.records.find(&new.uid) {
            Some(slot) if same_version => {
                // Whatever it says it has said before, but now it may carry the whole of it.
                self.set_pod(slot, Arc::clone(new), profile);
                return;
            }
            Some(slot) => self.waiting_pod_updated(slot, old, new, profile, now),
            None => self.enqueue(new, profile, UNSCHEDULABLE_POD_UPDATE, now),
        }
        if old.status.nominated_node_name.is_some() && old.status.nominated_node_name != new.status.nominated_node_name
        {
            self.nomination_ended(old, now);
        }
    }

    fn pod_deleted(&mut self, pod: &Arc<Pod>, now: Moment) {
        let nominated = pod.status.nominated_node_name.is_some();
        let ours = self.records.find(&pod.uid).is_some() || self.profile_number(pod).is_some();
        self.unmatched.remove(&pod.uid);
        self.note_end_of_life(pod, now);
        self.forget_pod(pod);
        // A claim of a pod in flight or placed is the cycle's, which tells when its room is free.
        if pod.node_name().is_some() {
            self.pod_changed(ASSIGNED_POD_DELETE, Some(pod), None, Audience::Everyone, now);
        } else if nominated && ours {
            self.nomination_ended(pod, now);
        }
    }

    /// Room that was kept for a pod is free for those that it came before.
    pub(super) fn nomination_ended(&mut self, pod: &Arc<Pod>, now: Moment) {
        self.pod_changed(
            ASSIGNED_POD_DELETE,
            Some(pod),
            None,
            Audience::PriorityAtMost(pod.priority()),
            now,
        );
    }

    fn pod_assigned(&mut self, old: Option<&Arc<Pod>>, pod: &Arc<Pod>, now: Moment) {
        self.forget_pod(pod);
        self.pod_changed(ASSIGNED_POD_ADD, None, Some(pod), Audience::Everyone, now);
        // The room it was promised on another node is free again.
        let promised = old.and_then(|old| old.status.nominated_node_name.as_deref());
        if let Some(old) = old
            && promised.is_some_and(|node| pod.node_name() != Some(node))
        {
            self.nomination_ended(old, now);
        }
    }

    /// An update of a pod that has a record.
    pub(super) fn waiting_pod_updated(
        &mut self,
        slot: Slot,
        old: &Arc<Pod>,
        new: &Arc<Pod>,
        profile: u16,
        now: Moment,
    ) {
        let moves = self.records[slot].profile != profile;
        self.set_pod(slot, Arc::clone(new), profile);
        if moves {
            self.look_again_in_other_profile(slot, now);
        }
        let objects = EventObjects::Pod {
            old: Some(Arc::clone(old)),
            new: Some(Arc::clone(new)),
        };
        match self.records[slot].state {
            State::Parked { .. } => {
                for event in pod_update_events(old, new) {
                    let happening = Happening {
                        event,
                        objects: &objects,
                    };
                    if self.wake(slot, happening, now) {
                        break;
                    }
                }
            }
            State::InFlight {
                mark,
                popped_at,
                gone: true,
            } => {
                let state = State::InFlight {
                    mark,
                    popped_at,
                    gone: false,
                };
                self.set_state(slot, state, BACK_AGAIN);
                self.note_for(slot, BACK_AGAIN, EventObjects::None);
            }
            State::InFlight { .. } => {
                for event in pod_update_events(old, new) {
                    self.note_for(slot, event, objects.clone());
                }
            }
            State::Nowhere
            | State::Active
            | State::Backoff { .. }
            | State::ErrorBackoff { .. }
            | State::Placed { .. } => {}
        }
    }

    pub(super) fn enqueue(&mut self, pod: &Arc<Pod>, profile: u16, event: ClusterEvent, now: Moment) {
        let slot = self.create(Arc::clone(pod), profile, now);
        if was_set_aside(pod) {
            self.set_aside(slot, now);
        } else {
            self.enter_active(slot, event, now);
        }
    }

    /// Whether the pod of an attempt went and came back since it was popped: what the attempt found out about the one that
    /// went, as that it is gone, says nothing about the one that came.
    pub(super) fn came_back(&self, slot: Slot, mark: u64) -> bool {
        let own = Audience::One(self.records[slot].arrival);
        let is_return = |missed: &Occurrence| missed.audience == own && missed.event == BACK_AGAIN;
        self.log.since(mark).is_none_or(|mut missed| missed.any(is_return))
    }

    fn forget_pod(&mut self, pod: &Pod) {
        if let Some(slot) = self.records.find(&pod.uid) {
            self.forget(slot);
        }
    }

    /// Stops waiting for a pod. One in flight keeps its record until it is settled.
    pub(super) fn forget(&mut self, slot: Slot) {
        match self.records[slot].state {
            State::InFlight { mark, popped_at, .. } => {
                let state = State::InFlight {
                    mark,
                    popped_at,
                    gone: true,
                };
                self.set_state(slot, state, GONE);
            }
            _ => self.remove(slot),
        }
    }

    /// An object changed that is neither pod nor node: whether it was there before, and whether it is now.
    fn object_changed(&mut self, resource: EventResource, there: (bool, bool), objects: EventObjects, now: Moment) {
        let action = match there {
            (false, _) => Action::ADD,
            (true, true) => Action::UPDATE,
            (true, false) => Action::DELETE,
        };
        self.announce(
            Occurrence {
                event: ClusterEvent::new(resource, action),
                objects,
                audience: Audience::Everyone,
                seq: Some(self.seen),
            },
            now,
        );
    }

    fn pod_changed(
        &mut self,
        event: ClusterEvent,
        old: Option<&Arc<Pod>>,
        new: Option<&Arc<Pod>>,
        audience: Audience,
        now: Moment,
    ) {
        let objects = EventObjects::Pod {
            old: old.cloned(),
            new: new.cloned(),
        };
        self.announce(
            Occurrence {
                event,
                objects,
                audience,
                seq: Some(self.seen),
            },
            now,
        );
    }

    fn node_changed(&mut self, event: ClusterEvent, old: Option<&Arc<Node>>, new: Option<&Arc<Node>>, now: Moment) {
        let objects = EventObjects::Node {
            old: old.cloned(),
            new: new.cloned(),
        };
        self.announce(
            Occurrence {
                event,
                objects,
                audience: Audience::Everyone,
                seq: Some(self.seen),
            },
            now,
        );
    }
}
