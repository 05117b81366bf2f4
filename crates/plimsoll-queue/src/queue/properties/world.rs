use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::testing::{node, pod};
use plimsoll_model::{Delta, Pod, Seq, Uid};
use proptest::prelude::*;

use super::super::fixture::{Fixture, rejected_at, shrink};
use super::known::{Attempt, Known};
use super::step::Step;
use crate::queue::holding::HOLD;
use crate::{Outcome, Place, QueueConfig, Release, backoff};

/// How the queue is set up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    /// Whether pods that back off may be popped.
    early_pops: bool,
    /// How many pods one call moves, if not all.
    portion: Option<usize>,
}

pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let portion = prop_oneof![3 => Just(None), 1 => (1..4usize).prop_map(Some)];
    (prop::bool::weighted(0.7), portion).prop_map(|(early_pops, portion)| Setup { early_pops, portion })
}

/// The queue beside a model that walks over all pods.
pub(super) struct World {
    pub(super) f: Fixture,
    pub(super) known: Vec<Known>,
    setup: Setup,
    arrivals: u64,
    shut: bool,
}

impl World {
    pub(super) fn new(setup: Setup) -> Self {
        let mut f = Fixture::with(QueueConfig {
            pop_from_backoff: setup.early_pops,
            ..QueueConfig::default()
        });
        if let Some(portion) = setup.portion {
            f.queue.portion = portion;
        }
        Self {
            f,
            setup,
            known: Vec::new(),
            arrivals: 0,
            shut: false,
        }
    }

    fn choose(&self, number: usize, fits: impl Fn(&Known) -> bool) -> Option<usize> {
        let choice: Vec<usize> = (0..self.known.len()).filter(|at| fits(&self.known[*at])).collect();
        (!choice.is_empty()).then(|| choice[number % choice.len()])
    }

    fn place(&self, at: usize) -> Option<Place> {
        self.f.place(&self.known[at].pod)
    }

    fn gate_holds(&self, pod: &Pod) -> bool {
        self.shut || !pod.spec.scheduling_gates.is_empty() || self.is_held(pod)
    }

    fn is_held(&self, pod: &Pod) -> bool {
        let queue = &self.f.queue;
        queue
            .records
            .find(&pod.uid)
            .is_some_and(|slot| queue.records[slot].is_held())
    }

    /// The place of a pod that backs off after a rejection.
    fn backoff_of(&self, at: usize) -> Place {
        if self.known[at].waits_for_victims.is_some() {
            Place::ErrorBackoff
        } else {
            Place::Backoff
        }
    }

    /// Something that may help any pod: it is in every attempt's log, and no pod that it could help stays parked.
    fn helpful(&mut self, numbered: bool, at_most: Option<i32>) {
        let seq = self.f.seq;
        self.check_woken(at_most);
        for at in 0..self.known.len() {
            if let Some(attempt) = &mut self.known[at].attempt {
                if numbered {
                    attempt.changes.push((seq, at_most));
                } else {
                    attempt.unnumbered = true;
                }
            }
            if at_most.is_some_and(|most| self.known[at].pod.priority() > most) {
                continue;
            }
            let place = self.place(at);
            assert_ne!(
                place,
                Some(Place::Unschedulable),
                "an event that could help left {:?} parked",
                self.known[at]
            );
            if place == Some(Place::Gated) {
                assert!(self.gate_holds(&self.known[at].pod), "an open gate was not found");
            }
        }
    }

    /// Of pods that move in portions, those that have not moved are due.
    fn check_woken(&mut self, at_most: Option<i32>) {
        let parked = |place| matches!(place, Place::Unschedulable);
        let f = &self.f;
        for (uid, _, look) in f.queue.pods().filter(|(_, place, _)| parked(*place)) {
            let known = self.known.iter().find(|known| known.pod.uid == *uid);
            let concerned = known.is_some_and(|known| at_most.is_none_or(|most| known.pod.priority() <= most));
            assert!(!concerned || look <= f.now, "{uid} is not about to move");
        }
        if self.setup.portion.is_some() {
            self.f.settle_down();
        }
    }

    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    fn update(&mut self, at: usize, change: impl FnOnce(&mut Pod)) {
        let old = Arc::clone(&self.known[at].pod);
        self.known[at].pod = self.f.update(&old, change);
    }

    fn own_update(&mut self, at: usize, change: impl FnOnce(&mut Pod)) {
        self.update(at, change);
        let known = &mut self.known[at];
        match &mut known.attempt {
            Some(attempt) => attempt.unnumbered = true,
            None => assert_ne!(
                self.place(at),
                Some(Place::Unschedulable),
                "an own update did not wake the pod"
            ),
        }
    }

    pub(super) fn run(&mut self, step: &Step) {
        match *step {
            Step::Add {
                priority,
                gated,
                nominated,
            } => self.add(priority, gated, nominated),
            Step::Relabel(number) => self.relabel(number),
            Step::Shrink(number) => self.shrink(number),
            Step::Touch(number) => self.touch(number),
            Step::Open(number) => self.open(number),
            Step::Prioritise(number, priority) => self.prioritise(number, priority),
            Step::Assign(number) => self.assign(number),
            Step::Delete(number) => self.delete(number),
            Step::Return(number) => self.return_from_deletion(number),
            Step::NodeAdded => {
                self.f.apply(Delta::NodeAdded(Arc::new(node("n").build())));
                self.helpful(true, None);
            }
            Step::NodeDeleted => self.f.apply(Delta::NodeDeleted(Arc::new(node("n").build()))),
            Step::OthersDeleted => {
                self.f.apply(Delta::PodDeleted(Arc::new(
                    pod("other").scheduler("other").on("n").build(),
                )));
                self.helpful(true, None);
            }
            Step::Observe => {
                self.f.make_room();
                self.helpful(false, None);
            }
            Step::Pop => {
                self.pop();
            }
            Step::Reject(number, behind) => self.reject(number, behind),
            Step::Fail(number) => self.end(
                number,
                Outcome::Failed {
                    judged_at: Seq::new(self.f.seq),
                },
            ),
            Step::Place(number) => self.end(number, Outcome::Placed),
            Step::Drop(number) => self.end(number, Outcome::Dropped),
            Step::Activate(number) => self.activate(number),
            Step::Hold(number) => self.hold(number),
            Step::RetryAfter(number, milliseconds) => self.retry_after(number, Duration::from_millis(milliseconds)),
            Step::Release(number, release) => self.release(number, release),
            Step::Pass(milliseconds) => self.f.pass(Duration::from_millis(milliseconds)),
            Step::Tick => self.tick(),
            Step::ShutBarrier(shut) => {
                self.shut = shut;
                self.f.shut_barrier(shut);
            }
        }
    }

    fn add(&mut self, priority: i32, gated: bool, nominated: bool) {
        let arrival = self.arrive();
        let mut builder = pod(&format!("p{arrival}")).priority(priority).cpu("2");
        if gated {
            builder = builder.gate("g");
        }
        if nominated {
            builder = builder.nominated("n");
        }
        let timestamp = self.f.now;
        let pod = self.f.add(builder);
        self.known.push(Known {
            pod,
            arrival,
            timestamp,
            rejections: 0,
            errors: 0,
            pending: true,
            attempt: None,
            waits_for_victims: None,
        });
    }

    fn relabel(&mut self, number: usize) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        let label = self.f.seq.to_string();
        self.no_matter(at, |pod| pod.labels = [("k", label)].into_iter().collect());
    }

    fn shrink(&mut self, number: usize) {
        let large = |known: &Known| known.pending && known.pod.spec.containers.iter().any(|c| c.name != "small");
        let Some(at) = self.choose(number, large) else { return };
        self.own_update(at, |pod| {
            shrink(pod);
            pod.spec.containers[0].name = "small".into();
        });
    }

    /// An update that no plugin that rejects pods listens to. The second gate hears of everything.
    fn no_matter(&mut self, at: usize, change: impl FnOnce(&mut Pod)) {
        let before = self.place(at);
        self.update(at, change);
        let (gated, after) = (before == Some(Place::Gated), self.place(at));
        // Without early pops, gates are asked when the backoff is over.
        let backs_off = gated && !self.setup.early_pops && after == Some(self.backoff_of(at));
        if !backs_off && (!gated || self.gate_holds(&self.known[at].pod)) {
            assert_eq!(after, before, "an update that helps nobody moved the pod");
        }
    }

    fn touch(&mut self, number: usize) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        self.no_matter(at, |pod| pod.status.pod_scheduled = Some(Box::default()));
    }

    fn open(&mut self, number: usize) {
        let gated = |known: &Known| known.pending && !known.pod.spec.scheduling_gates.is_empty();
        let Some(at) = self.choose(number, gated) else { return };
        self.own_update(at, |pod| pod.spec.scheduling_gates.clear());
        assert!(
            self.gate_holds(&self.known[at].pod) || self.place(at) != Some(Place::Gated),
            "a pod without gates stayed gated"
        );
    }

    fn prioritise(&mut self, number: usize, priority: i32) {
        let other = |known: &Known| known.pending && known.pod.priority() != priority;
        let Some(at) = self.choose(number, other) else { return };
        self.no_matter(at, |pod| pod.spec.priority = Some(priority));
    }

    fn assign(&mut self, number: usize) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        let old = Arc::clone(&self.known[at].pod);
        self.known[at].pending = false;
        self.update(at, |pod| pod.node_name = Some("m".into()));
        if old.status.nominated_node_name.is_some() {
            self.helpful(true, Some(old.priority()));
        }
    }

    fn delete(&mut self, number: usize) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        let old = Arc::clone(&self.known[at].pod);
        self.known[at].pending = false;
        self.f.delete(&old);
        if old.status.nominated_node_name.is_some() {
            self.helpful(true, Some(old.priority()));
        }
    }

    fn return_from_deletion(&mut self, number: usize) {
        let deleted = |known: &Known| !known.pending && known.pod.node_name.is_none();
        let Some(at) = self.choose(number, deleted) else { return };
        let arrival = self.arrive();
        let now = self.f.now;
        let pod = Arc::clone(&self.known[at].pod);
        self.f.apply(Delta::PodAdded(pod));
        let known = &mut self.known[at];
        known.pending = true;
        if let Some(attempt) = &mut known.attempt {
            attempt.unnumbered = true;
        } else {
            (known.arrival, known.timestamp) = (arrival, now);
            (known.rejections, known.errors) = (0, 0);
            known.waits_for_victims = None;
        }
    }

    fn activate(&mut self, number: usize) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        self.f
            .queue
            .activate(std::slice::from_ref(&self.known[at].pod.uid), self.f.now);
        if let Some(attempt) = &mut self.known[at].attempt {
            attempt.unnumbered = true;
        }
    }

    fn hold(&mut self, number: usize) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        self.f.queue.hold(&self.known[at].pod.uid, self.f.now);
        self.known[at].waits_for_victims = None;
        let ready = [Place::Active, Place::Backoff, Place::ErrorBackoff].map(Some);
        assert!(!ready.contains(&self.place(at)), "a held pod is about to be popped");
    }

    fn retry_after(&mut self, number: usize, time: Duration) {
        let Some(at) = self.choose(number, |known| known.pending && known.attempt.is_none()) else {
            return;
        };
        let uid = self.known[at].pod.uid.clone();
        self.f.queue.retry_at(&uid, self.f.now + time);
        self.f.pass(time);
        self.tick();
        let parked = matches!(self.place(at), Some(Place::Unschedulable | Place::Gated));
        assert!(
            !parked || self.gate_holds(&self.known[at].pod),
            "a pod is parked past the moment at which it was to be tried"
        );
    }

    fn release(&mut self, number: usize, release: Release) {
        let Some(at) = self.choose(number, |known| known.pending) else {
            return;
        };
        let pod = Arc::clone(&self.known[at].pod);
        let was_held = self.is_held(&pod);
        // Another gate may hold it too, and that it has opened nobody has said.
        let queue = &self.f.queue;
        let gate = queue.records.find(&pod.uid).and_then(|slot| queue.records[slot].gate);
        let was_to_be_tried = was_held && gate == Some(HOLD);
        self.f.queue.release(&pod.uid, release, self.f.now);
        let known = &mut self.known[at];
        known.waits_for_victims = match release {
            Release::Quietly if was_held => Some(backoff::whole_second(self.f.now)),
            Release::Quietly => known.waits_for_victims,
            Release::AfterBackoff | Release::AtOnce => None,
        };
        if let Some(attempt) = &mut self.known[at].attempt {
            attempt.unnumbered |= release != Release::Quietly;
            return;
        }
        let parked = matches!(self.place(at), Some(Place::Unschedulable | Place::Gated));
        assert!(
            !parked || self.gate_holds(&pod) || (release == Release::Quietly && !was_to_be_tried),
            "a pod that was released is still parked"
        );
    }

    fn tick(&mut self) {
        self.f.queue.tick(self.f.now);
        if self.setup.portion.is_some() {
            self.f.settle_down();
        }
        assert!(
            self.f.queue.next_deadline().is_none_or(|due| due > self.f.now),
            "a tick left work behind"
        );
    }

    /// Pods whose backoff is not over.
    fn backed_off(&self) -> Vec<Uid> {
        let f = &self.f;
        let backs_off = |known: &&Known| {
            let waits = matches!(f.place(&known.pod), Some(Place::Backoff | Place::ErrorBackoff));
            waits && backoff::holds(&f.queue.config, known.until(f), f.now)
        };
        let pods = self.known.iter().filter(backs_off);
        pods.map(|known| known.pod.uid.clone()).collect()
    }

    /// The pod that a walk over all of them finds.
    fn expected_pop(&self) -> Option<Uid> {
        let f = &self.f;
        let now = f.now;
        let rank = |known: &&Known| (Reverse(known.pod.priority()), known.timestamp, known.arrival);
        let place = |known: &Known| f.place(&known.pod);
        let over = |known: &Known| !backoff::holds(&f.queue.config, known.until(f), now);
        let ready = |known: &&Known| match place(known) {
            Some(Place::Active) => true,
            Some(Place::Backoff | Place::ErrorBackoff) => {
                over(known) && (self.setup.early_pops || !self.gate_holds(&known.pod))
            }
            _ => false,
        };
        let backing_off = |known: &&Known| self.setup.early_pops && place(known) == Some(Place::Backoff);
        let first = self.known.iter().filter(ready).min_by_key(rank);
        let first = first.or_else(|| {
            self.known
                .iter()
                .filter(backing_off)
                .min_by_key(|known| (known.until(f), rank(known)))
        });
        first.map(|known| known.pod.uid.clone())
    }

    /// Says whether there was one.
    pub(super) fn pop(&mut self) -> bool {
        let expected = self.expected_pop();
        let backed_off = self.backed_off();
        let popped = self.f.pop();
        // Among pods that have not moved yet may be one that should come before.
        if self.setup.portion.is_none() {
            assert_eq!(popped.as_ref().map(|popped| &popped.pod.uid), expected.as_ref());
        }
        let popped_any = popped.is_some();
        if let Some(popped) = popped {
            let popped_at = self.f.seq;
            let known = self
                .known
                .iter_mut()
                .find(|known| known.pod.uid == popped.pod.uid)
                .unwrap();
            assert!(known.attempt.is_none(), "two attempts at one pod");
            assert!(Arc::ptr_eq(&known.pod, &popped.pod), "not the newest object");
            assert!(
                known.waits_for_victims.is_none() || !backed_off.contains(&popped.pod.uid),
                "a backoff was cut short"
            );
            known.attempt = Some(Attempt {
                popped_at,
                ..Attempt::default()
            });
        }
        popped_any
    }

    fn reject(&mut self, number: usize, behind: u64) {
        let Some(at) = self.choose(number, |known| known.attempt.is_some()) else {
            return;
        };
        let Some(attempt) = self.known[at].attempt.take() else {
            return;
        };
        let judged_at = self.f.seq.saturating_sub(behind).max(attempt.popped_at);
        let uid = self.known[at].pod.uid.clone();
        self.f.settle(&uid, rejected_at(judged_at));
        if !self.known[at].pending {
            return;
        }
        let missed = attempt.missed(judged_at, &self.known[at].pod);
        let known = &mut self.known[at];
        known.timestamp = self.f.now;
        known.rejections += 1;
        known.errors = 0;
        let expected = match (missed, self.gate_holds(&self.known[at].pod)) {
            (false, _) => Place::Unschedulable,
            (true, true) if self.setup.early_pops || self.is_held(&self.known[at].pod) => Place::Gated,
            (true, _) => self.backoff_of(at),
        };
        assert_eq!(
            self.place(at),
            Some(expected),
            "judged at {judged_at} after {attempt:?}"
        );
    }

    fn end(&mut self, number: usize, outcome: Outcome) {
        let Some(at) = self.choose(number, |known| known.attempt.is_some()) else {
            return;
        };
        self.known[at].attempt = None;
        let failed = matches!(outcome, Outcome::Failed { .. });
        let uid = self.known[at].pod.uid.clone();
        self.f.settle(&uid, outcome);
        if failed && self.known[at].pending {
            self.known[at].timestamp = self.f.now;
            self.known[at].errors += 1;
        }
    }
}
