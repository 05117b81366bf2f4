use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::{
    ClusterEvent, EventObjects, NoStopwatch, Plugin, Profile, ProfileIndex, QueueOrder, QueueSort, Sampler, Stopwatch,
};
use plimsoll_model::guard::{Guard, holds};
use plimsoll_model::{Labels, Moment, Pod, Seq, Uid};

use self::retrying::Retries;
use crate::event_log::{Audience, EventLog, Occurrence};
use crate::groups::Groups;
use crate::heap::{Heap, Ranking};
use crate::history::History;
use crate::metrics::{IncomingQueue, Tally};
use crate::plugin_sets::{PluginSet, PluginSets};
use crate::record::State;
use crate::records::{Records, Slot};
use crate::stays::Journal;
use crate::worth::Worth;
use crate::{Counts, Outcome, Place, PoppedPod, QueueConfig, QueueError, QueueMetrics, backoff};

mod account;
mod audit;
mod changes;
#[cfg(test)]
mod fixture;
mod holding;
mod listing;
mod membership;
mod moves;
#[cfg(test)]
mod properties;
mod reconfigure;
mod retrying;
mod telling;
#[cfg(test)]
mod tests;
mod waking;

pub use self::holding::Release;
pub use self::listing::{QueuePage, QueuedPod};
pub use self::telling::{EndedLife, PodMove};

/// So many pods at most are moved by one call, which takes some milliseconds: when an event, or the end of a time, concerns
/// more than that, [`SchedulingQueue::next_deadline`] says that there is more to do at once, and what comes meanwhile does
/// not have to wait.
const PORTION: usize = 4_096;

/// The label of pods whose backoff ended.
const BACKOFF_COMPLETE: ClusterEvent = ClusterEvent::labelled("BackoffComplete");
/// The label of pods activated by request.
const FORCE_ACTIVATE: ClusterEvent = ClusterEvent::labelled("ForceActivate");
/// The label of pods popped before their backoff ended.
const POP_FROM_BACKOFF: ClusterEvent = ClusterEvent::labelled("PopFromBackoffQ");
/// The cause, in histories, of pods popped.
const POP: ClusterEvent = ClusterEvent::labelled("Pop");
/// The cause, in histories, of pods that need no further attempt.
const SETTLED: ClusterEvent = ClusterEvent::labelled("Settled");
/// The cause, in histories, of pods that are not to be scheduled here any more.
const GONE: ClusterEvent = ClusterEvent::labelled("Gone");
/// The label of pods that come back from an attempt.
const SCHEDULE_ATTEMPT_FAILURE: ClusterEvent = ClusterEvent::labelled("ScheduleAttemptFailure");
/// The label of pods that were parked too long.
const UNSCHEDULABLE_TIMEOUT: ClusterEvent = ClusterEvent::labelled("UnschedulableTimeout");

/// The waiting pods of all profiles.
///
/// **One order of changes.** The queue and the cycle get the same numbered stream. A popped pod carries the last number
/// the queue had seen; its rejection carries the number that the columns had when it was judged. Settling replays every
/// event after *that* number. The cycle's columns are never behind the pop, so keeping events since the oldest pop is
/// enough. Events of the scheduler's own ([`Self::observe`]) carry no number: one that arrives between a pop and its
/// settlement may have happened before or after the judgement and is always replayed, and so is every update of the
/// popped pod itself. Waking too often is harmless, missing an event is not.
///
/// **Ownership.** From [`Self::pop`] until [`Self::settle`] the caller owns the pod. A pod that is deleted or assigned
/// meanwhile is no longer pending, and settling it does nothing; but until then no second attempt can start for its UID.
///
/// **Deadlines.** Active pods are somebody's turn, backing-off pods have the end of their backoff, and all others that
/// the queue owns are looked at again after `max_in_unschedulable`. That includes gated pods, whose pre-enqueue plugins
/// are asked again, and placed ones that the watch never confirmed; kube-scheduler looks at neither.
///
/// **Events.** An event that no plugin listens to costs nothing. Any other costs a look at each set of plugins that turned
/// pods away, a hint for each group of parked pods that are alike, and a move for each pod that it wakes. An event may wake
/// all of a million pods; they move in portions, those of high priority first, and one that has not moved yet is where it
/// was, and due.
pub struct SchedulingQueue {
    config: QueueConfig,
    profiles: Vec<Arc<Profile>>,
    index: ProfileIndex,
    /// Labels of the namespaces that are known.
    namespaces: BTreeMap<CompactString, Labels>,
    /// Pods that nobody's turn will come to: their scheduler name is ours, and no profile takes them.
    unmatched: BTreeMap<Uid, Arc<Pod>>,
    seen: Seq,
    arrivals: u64,
    records: Records,
    active: Heap,
    backoff: Heap,
    error_backoff: Heap,
    /// Parked and placed records by deadline and arrival.
    deadlines: BTreeMap<(Moment, u64), Slot>,
    /// Parked records, but for those set aside, by what events can do for them.
    groups: Groups,
    retries: Retries,
    log: EventLog,
    history: History,
    journal: Journal,
    ended: Vec<EndedLife>,
    portion: usize,
    plugin_sets: PluginSets,
    counts: Counts,
    tally: Tally,
    watch: Arc<dyn Stopwatch>,
    sampler: Sampler,
}

impl SchedulingQueue {
    /// An empty queue for the pods of these profiles, ordered by the first profile's queue sort: configuration makes
    /// sure that all have the same.
    pub fn new(config: QueueConfig, profiles: &[Arc<Profile>]) -> Self {
        let sort: Arc<dyn QueueSort> = profiles
            .first()
            .map_or_else(|| Arc::new(ByArrival) as _, |profile| Arc::clone(&profile.queue_sort));
        let mut queue = Self {
            config,
            profiles: Vec::new(),
            index: ProfileIndex::default(),
            namespaces: BTreeMap::new(),
            unmatched: BTreeMap::new(),
            seen: Seq::ZERO,
            arrivals: 0,
            records: Records::default(),
            active: Heap::new(Ranking::QueueSort, Arc::clone(&sort)),
            backoff: Heap::new(Ranking::of_backoff(&config), Arc::clone(&sort)),
            error_backoff: Heap::new(Ranking::Backoff, sort),
            deadlines: BTreeMap::new(),
            groups: Groups::default(),
            retries: Retries::default(),
            log: EventLog::default(),
            history: History::default(),
            journal: Journal::default(),
            ended: Vec::new(),
            portion: PORTION,
            plugin_sets: PluginSets::new(),
            counts: Counts::default(),
            tally: Tally::default(),
            watch: Arc::new(NoStopwatch),
            sampler: Sampler::default(),
        };
        queue.set_profiles(profiles);
        queue
    }

    /// Takes the time of gates by this from now on; a queue without one measures nothing.
    #[must_use]
    pub fn timed_by(mut self, watch: Arc<dyn Stopwatch>) -> Self {
        self.watch = watch;
        self
    }

    fn set_profiles(&mut self, profiles: &[Arc<Profile>]) {
        self.profiles = profiles.to_vec();
        self.index = ProfileIndex::new(profiles.iter().map(Arc::as_ref));
    }

    /// The last change applied.
    pub fn seen(&self) -> Seq {
        self.seen
    }

    /// Hands out the first active pod, or, when there is none, the first of those that back off after a rejection.
    /// The caller owns it until it settles it.
    pub fn pop(&mut self, now: Moment) -> Option<PoppedPod> {
        self.history.turn_to(now);
        let mut budget = self.portion;
        self.flush_backoff(now, &mut budget);
        if self.active.first().is_none() {
            self.move_woken(now, &mut budget);
        }
        let slot = if let Some(slot) = self.active.first() {
            slot
        } else {
            let slot = self.backoff.first().filter(|_| self.config.pop_from_backoff)?;
            self.tally.count_incoming(IncomingQueue::Active, POP_FROM_BACKOFF);
            slot
        };
        Some(self.hand_out(slot, now))
    }

    /// Hands out one pod whatever its turn, its backoff or what it waits for, if no pre-enqueue plugin holds it: for those
    /// that are scheduled together with another. Nothing when it is not waiting here.
    pub fn pop_specific(&mut self, uid: &Uid, now: Moment) -> Option<PoppedPod> {
        self.history.turn_to(now);
        let slot = self.records.find(uid)?;
        self.force_active(slot, now);
        let active = matches!(self.records[slot].state, State::Active);
        active.then(|| self.hand_out(slot, now))
    }

    fn hand_out(&mut self, slot: Slot, now: Moment) -> PoppedPod {
        let mark = self.log.begin();
        let state = State::InFlight {
            mark,
            popped_at: now,
            gone: false,
        };
        self.set_state(slot, state, POP);
        self.set_rejected_by(slot, PluginSets::EMPTY);
        let record = &mut self.records[slot];
        record.attempts = record.attempts.saturating_add(1);
        record.set_aside = false;
        record.popped_seq = self.seen;
        record.initial_attempt.get_or_insert(now);
        PoppedPod {
            pod: Arc::clone(&record.pod),
            seq: self.seen,
            attempts: record.attempts,
            initial_attempt: record.initial_attempt,
            flushed: record.flushed,
            added: record.added,
            stays: self.journal.take(record.arrival),
        }
    }

    /// Takes back a popped pod. Idempotent, and nothing when the pod is no longer there.
    ///
    /// A placed pod may be settled again as rejected or failed, when its claim came apart after all.
    pub fn settle(&mut self, uid: &Uid, outcome: Outcome, now: Moment) -> Result<(), QueueError> {
        let Some(slot) = self.records.find(uid) else {
            return Ok(());
        };
        self.history.turn_to(now);
        let mark = match self.records[slot].state {
            // The watch may show a pod on its node before the answer to its binding is here.
            State::InFlight { mark, gone: true, .. } => {
                self.count_wakeup(slot, &outcome);
                self.log.end(mark);
                self.remove(slot);
                return Ok(());
            }
            State::InFlight { mark, .. } => Some(mark),
            State::Placed { .. } => None,
            _ => return Err(self.not_in_flight(slot)),
        };
        self.count_wakeup(slot, &outcome);
        match outcome {
            Outcome::Rejected {
                plugins,
                pending_plugins,
                preemption_plugins,
                judged_at,
            } => {
                let plugins = PluginSet::new(&plugins, &pending_plugins).hindered_by(&preemption_plugins);
                let worth = self.replay(slot, &plugins, mark, judged_at);
                self.records[slot].woken = worth > Worth::Skip && !plugins.is_empty();
                self.take_back(slot, plugins, worth, now);
            }
            Outcome::Failed { .. } => self.take_back(slot, PluginSet::default(), Worth::AfterBackoff, now),
            Outcome::SetAside => self.set_aside(slot, now),
            Outcome::Dropped if mark.is_some_and(|mark| self.came_back(slot, mark)) => {
                self.enter_active(slot, SCHEDULE_ATTEMPT_FAILURE, now);
            }
            Outcome::Placed | Outcome::Dropped => {
                let due = self.deadline(now);
                self.set_state(slot, State::Placed { due }, SETTLED);
            }
        }
        if let Some(mark) = mark {
            self.log.end(mark);
        }
        Ok(())
    }

    /// Whether the event that woke the pod did so to some purpose.
    fn count_wakeup(&mut self, slot: Slot, outcome: &Outcome) {
        if !std::mem::take(&mut self.records[slot].woken) {
            return;
        }
        match outcome {
            Outcome::Placed => self.tally.useful += 1,
            Outcome::Rejected { .. } => self.tally.wasted += 1,
            Outcome::Failed { .. } | Outcome::SetAside | Outcome::Dropped => {}
        }
    }

    /// Hears of an event that the cycle made itself, for example `AssignedPodDelete` for the room of a released claim. As
    /// in kube-scheduler, that does not help the pod itself whose claim it was.
    pub fn observe(&mut self, event: ClusterEvent, objects: EventObjects, now: Moment) {
        let own = match &objects {
            EventObjects::Pod { old: Some(pod), .. } => self.records.find(&pod.uid),
            _ => None,
        };
        self.history.turn_to(now);
        let audience = own.map_or(Audience::Everyone, |slot| Audience::Others(self.records[slot].arrival));
        // One on its way out stays on it.
        let own = own.filter(|slot| !self.groups.is_woken(self.records[*slot].group));
        if let Some(slot) = own {
            self.groups.remove(&mut self.records, slot);
        }
        let occurrence = Occurrence {
            event,
            objects,
            audience,
            seq: None,
        };
        self.announce(occurrence, now);
        if let Some(slot) = own {
            self.join_group(slot);
        }
    }

    /// Makes these pods active whatever their backoff; pre-enqueue plugins still hold back parked ones. A pod in
    /// flight comes back to be tried again if it is rejected. Others are left alone.
    pub fn activate(&mut self, uids: &[Uid], now: Moment) {
        self.history.turn_to(now);
        for uid in uids {
            let Some(slot) = self.records.find(uid) else { continue };
            match self.records[slot].state {
                State::InFlight { gone: false, .. } => self.note_for(slot, FORCE_ACTIVATE, EventObjects::None),
                _ => self.force_active(slot, now),
            }
        }
    }

    fn force_active(&mut self, slot: Slot, now: Moment) {
        match self.records[slot].state {
            State::Parked { .. } => self.enter_active(slot, FORCE_ACTIVATE, now),
            State::Backoff { .. } | State::ErrorBackoff { .. } => self.leave_backoff(slot, FORCE_ACTIVATE, now),
            _ => {}
        }
    }

    /// Moves pods that an event woke, whose backoff is over, or that were parked up to their deadline or up to the moment that
    /// their rejection named; of very many only a portion, and [`Self::next_deadline`] then lies in the past.
    pub fn tick(&mut self, now: Moment) {
        self.history.turn_to(now);
        let mut budget = self.portion;
        self.move_woken(now, &mut budget);
        self.flush_backoff(now, &mut budget);
        self.retry_due(now, &mut budget);
        self.flush_parked(now, &mut budget);
    }

    /// When [`Self::tick`] has something to do next.
    pub fn next_deadline(&self) -> Option<Moment> {
        let backoffs = [&self.backoff, &self.error_backoff];
        let first_backoff = backoffs
            .iter()
            .filter_map(|heap| heap.first())
            .map(|slot| self.records[slot].next_look(&self.config));
        first_backoff
            .chain(self.deadlines.first_key_value().map(|((due, _), _)| *due))
            .chain(self.retries.next())
            .chain(self.groups.has_woken().then(|| self.history.now()))
            .min()
    }

    /// Where the pod is; nothing when it is not pending.
    pub fn place_of(&self, uid: &Uid) -> Option<Place> {
        self.records[self.records.find(uid)?].place()
    }

    /// The pod as it was seen last; nothing when it is not pending.
    pub fn pod(&self, uid: &Uid) -> Option<&Arc<Pod>> {
        Some(&self.records[self.records.find(uid)?].pod)
    }

    /// How many pods are where.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Each pod, its place, and when it is looked at next; for active pods, those in flight, and those that have been woken
    /// and are about to move, since when it is their turn.
    pub fn pods(&self) -> impl Iterator<Item = (&Uid, Place, Moment)> {
        let woken = self.groups.woken_since();
        self.records.iter().filter_map(move |record| {
            let woken = woken.get(&record.group).copied();
            let look = woken.unwrap_or_else(|| record.next_look(&self.config));
            Some((&record.pod.uid, record.place()?, look))
        })
    }

    /// Takes what was counted since the last call.
    pub fn take_metrics(&mut self) -> QueueMetrics {
        let profiles = &self.profiles;
        self.tally.take(|profile| {
            profiles
                .get(usize::from(profile))
                .map(|profile| profile.scheduler_name.clone())
                .unwrap_or_default()
        })
    }

    /// The gauge `inflight_events` by `event`, without `PodPopped`, which is [`Counts::in_flight`]. Walks over all
    /// events kept, so it is for scrapes.
    pub fn in_flight_events(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for event in self.log.events() {
            *counts.entry(event.to_string()).or_insert(0) += 1;
        }
        counts
    }

    /// What the events that an attempt may have missed are worth to its pod.
    fn replay(&mut self, slot: Slot, plugins: &PluginSet, mark: Option<u64>, judged_at: Seq) -> Worth {
        let record = &self.records[slot];
        // Never happens as long as the cycle applies changes up to the pop before it judges.
        if judged_at < record.popped_seq && holds(Guard::SequenceCheck) {
            return Worth::AfterBackoff;
        }
        if self.config.generic_workload && record.pod.spec.scheduling_group.is_some() {
            return Worth::AfterBackoff;
        }
        let Some(events) = mark.and_then(|mark| self.log.since(mark)) else {
            return Worth::AfterBackoff;
        };
        let most = if plugins.has_pending() {
            Worth::Immediately
        } else {
            Worth::AfterBackoff
        };
        let profile = self.profiles.get(usize::from(record.profile)).map(Arc::as_ref);
        let mut best = Worth::Skip;
        for missed in events.filter(|event| event.unknown_at(judged_at) && event.concerns(record)) {
            let happening = missed.happening();
            best = best.max(happening.worth(profile, &record.pod, plugins, &mut self.tally.hints));
            if best >= most {
                break;
            }
        }
        best
    }

    fn take_back(&mut self, slot: Slot, plugins: PluginSet, worth: Worth, now: Moment) {
        let failed = plugins.is_empty();
        let plugins = self.plugin_sets.intern(plugins);
        self.set_rejected_by(slot, plugins);
        let record = &mut self.records[slot];
        if failed {
            record.errors = record.errors.saturating_add(1);
        } else {
            record.rejections = record.rejections.saturating_add(1);
            record.errors = 0;
        }
        record.timestamp = now;
        record.flushed = false;
        self.requeue(
            slot,
            if failed { Worth::AfterBackoff } else { worth },
            SCHEDULE_ATTEMPT_FAILURE,
            now,
        );
    }

    pub(super) fn set_aside(&mut self, slot: Slot, now: Moment) {
        let record = &mut self.records[slot];
        record.errors = record.errors.saturating_add(1);
        record.timestamp = now;
        record.flushed = false;
        record.set_aside = true;
        let due = self.deadline(now);
        self.set_state(slot, State::Parked { due }, SCHEDULE_ATTEMPT_FAILURE);
        self.tally
            .count_incoming(IncomingQueue::Unschedulable, SCHEDULE_ATTEMPT_FAILURE);
    }

    fn not_in_flight(&self, slot: Slot) -> QueueError {
        let record = &self.records[slot];
        QueueError::NotInFlight {
            pod: record.pod.name.clone(),
            place: record.place().unwrap_or(Place::Active),
        }
    }

    /// When a pod parked now is looked at again: past the limit, at a whole second so that such pods come together.
    fn deadline(&self, now: Moment) -> Moment {
        backoff::whole_second(now + self.config.max_in_unschedulable) + backoff::GRAIN
    }
}

impl fmt::Debug for SchedulingQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulingQueue")
            .field("seen", &self.seen)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// Orders a queue without profiles, which never holds a pod.
struct ByArrival;

impl Plugin for ByArrival {
    fn name(&self) -> &'static str {
        "ByArrival"
    }
}

impl QueueSort for ByArrival {
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> std::cmp::Ordering {
        a.timestamp.cmp(&b.timestamp)
    }
}
