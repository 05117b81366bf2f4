use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_framework::{ClusterEvent, EventObjects, Profile, QueueSort};
use plimsoll_model::{Moment, Pod, Seq};

use super::{ByArrival, SchedulingQueue};
use crate::QueueConfig;
use crate::event_log::{Audience, Occurrence};
use crate::heap::Ranking;
use crate::plugin_sets::PluginSets;
use crate::record::State;
use crate::records::Slot;

/// The label of pods that another configuration moved or brought in.
const CONFIG_RELOAD: ClusterEvent = ClusterEvent::labelled("ConfigReload");

/// Another configuration, between two pops.
impl SchedulingQueue {
    /// Goes on with other profiles. `seq` is the number of the switch in the stream of changes, which is the same for the
    /// cycle, and `unassigned` is every pod without a node at that point: those of a scheduler name that was nobody's
    /// until now have never been kept here.
    ///
    /// Pods whose profile is gone leave; one in flight does so when it is settled. Every other waiting pod is looked at
    /// again: pre-enqueue plugins are asked anew, what was parked is tried again once its backoff is over, and backoffs
    /// are those of the new configuration. A pod in flight whose attempt was judged before `seq` is tried again too when
    /// it comes back. Only pods that were set aside stay so: many of them at once could end the term.
    ///
    /// Returns how many pods left, by scheduler name.
    pub fn reconfigure(
        &mut self,
        config: QueueConfig,
        profiles: &[Arc<Profile>],
        seq: Seq,
        unassigned: &[Arc<Pod>],
        now: Moment,
    ) -> BTreeMap<String, usize> {
        self.history.turn_to(now);
        self.seen = self.seen.max(seq);
        self.disown_rejections();
        self.config = config;
        self.set_profiles(profiles);
        let sort = self.profiles.first().map_or_else(
            || Arc::new(ByArrival) as Arc<dyn QueueSort>,
            |profile| Arc::clone(&profile.queue_sort),
        );
        self.active.reorder(&mut self.records, Ranking::QueueSort, &sort);
        self.backoff
            .reorder(&mut self.records, Ranking::of_backoff(&config), &sort);
        self.error_backoff.reorder(&mut self.records, Ranking::Backoff, &sort);
        let mut left = BTreeMap::new();
        for pod in self.known_pods(|_| true) {
            let Some(slot) = self.records.find(&pod.uid) else {
                continue;
            };
            let settled = matches!(
                self.records[slot].state,
                State::Placed { .. } | State::InFlight { gone: true, .. }
            );
            if !self.adopt(slot, now) && !settled {
                *left.entry(pod.spec.scheduler_name.to_string()).or_default() += 1;
            }
        }
        self.log.record(Occurrence {
            event: CONFIG_RELOAD,
            objects: EventObjects::None,
            audience: Audience::Everyone,
            seq: Some(seq),
        });
        self.unmatched.clear();
        for pod in unassigned {
            self.note_membership(pod);
            self.take_in(pod, CONFIG_RELOAD, now);
        }
        left
    }

    /// Some of them, in the order of their arrival, so that moving them is the same whatever slots they have.
    pub(super) fn known_pods(&self, which: impl Fn(&Pod) -> bool) -> Vec<Arc<Pod>> {
        let known = self.records.iter().map(|record| (record.arrival, &record.pod));
        let mut known: Vec<_> = known.filter(|(_, pod)| which(pod)).collect();
        known.sort_unstable_by_key(|(arrival, _)| *arrival);
        known.into_iter().map(|(_, pod)| Arc::clone(pod)).collect()
    }

    /// Takes the rejected pods out of the gauge under the profiles' old numbers.
    fn disown_rejections(&mut self) {
        for record in self.records.iter() {
            for plugin in self.plugin_sets.get(record.rejected_by).iter() {
                self.tally.add_unschedulable(plugin, record.profile, -1);
            }
        }
        let profiles = &self.profiles;
        self.tally.settle_names(|profile| {
            profiles
                .get(usize::from(profile))
                .map(|profile| profile.scheduler_name.clone())
                .unwrap_or_default()
        });
    }

    /// Gives a record its profile in the new configuration and its place there. False when it has none.
    fn adopt(&mut self, slot: Slot, now: Moment) -> bool {
        self.groups.remove(&mut self.records, slot);
        let Some(profile) = self.profile_number(&self.records[slot].pod) else {
            // What it was rejected by has been taken out of the gauge.
            self.records[slot].rejected_by = PluginSets::EMPTY;
            self.forget(slot);
            return false;
        };
        self.records[slot].profile = profile;
        for plugin in self.plugin_sets.get(self.records[slot].rejected_by).iter() {
            self.tally.add_unschedulable(plugin, profile, 1);
        }
        self.set_gate(slot, None);
        self.look_again(slot, CONFIG_RELOAD, now);
        true
    }

    /// A pod that may be new to the queue.
    pub(super) fn take_in(&mut self, pod: &Arc<Pod>, event: ClusterEvent, now: Moment) {
        let Some(profile) = self.profile_number(pod) else {
            return;
        };
        match self.records.find(&pod.uid) {
            None => self.enqueue(pod, profile, event, now),
            Some(slot) if matches!(self.records[slot].state, State::InFlight { gone: true, .. }) => {
                self.waiting_pod_updated(slot, pod, pod, profile, now);
            }
            Some(_) => {}
        }
    }
}
