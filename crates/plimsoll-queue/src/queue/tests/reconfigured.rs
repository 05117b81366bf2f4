use std::cmp::Ordering;
use std::collections::BTreeMap;

use plimsoll_framework::{Plugin, QueueOrder, QueueSort};
use proptest::prelude::*;

use super::*;

const BOTH: [&str; 2] = ["default-scheduler", "second"];

/// The label counted for each pod that moved, since the last call.
fn reload_moves(f: &mut Fixture) -> BTreeMap<&'static str, u64> {
    let incoming = f.queue.take_metrics().incoming;
    let ours = incoming.into_iter().filter(|((_, event), _)| event == "ConfigReload");
    ours.map(|((queue, _), count)| (queue, count)).collect()
}

#[test]
fn pods_whose_profile_is_gone_leave_every_place() {
    for place in PLACES {
        let mut f = Fixture::new();
        let a = f.add_at(place, "a");
        let left = f.reconfigure(QueueConfig::default(), &["second"], &[Arc::clone(&a)]);
        let waited = place != Place::Placed;
        let told = waited.then(|| ("default-scheduler".to_owned(), 1));
        assert_eq!(left, told.into_iter().collect(), "{place:?}");
        assert_eq!(f.place(&a), None, "{place:?}");
        assert_eq!(f.queue.counts(), crate::Counts::default(), "{place:?}");
        assert_eq!(f.queue.next_deadline(), None, "{place:?}");
    }
}

#[test]
fn pods_of_a_new_profile_join_although_they_were_never_kept() {
    let mut f = Fixture::new();
    let theirs = f.add(pod("theirs").scheduler("third"));
    let gated = f.add(pod("gated").scheduler("third").gate("g"));
    let nobodys = f.add(pod("nobodys").scheduler("fourth"));
    assert_eq!(f.place(&theirs), None);
    let unassigned = [&theirs, &gated, &nobodys].map(Arc::clone);
    let left = f.reconfigure(QueueConfig::default(), &["default-scheduler", "third"], &unassigned);
    assert_eq!(left, BTreeMap::new());
    assert_eq!(f.place(&theirs), Some(Place::Active));
    assert_eq!(f.place(&gated), Some(Place::Gated));
    assert_eq!(f.place(&nobodys), None);
    let popped = f.pop().unwrap();
    assert_eq!(
        (popped.pod.uid.clone(), popped.seq),
        (theirs.uid.clone(), Seq::new(f.seq))
    );
}

#[test]
fn a_pod_told_again_that_is_there_already_stays_one_pod() {
    for place in PLACES {
        let mut f = Fixture::new();
        let a = f.add_at(place, "a");
        f.reconfigure(QueueConfig::default(), &BOTH, &[Arc::clone(&a)]);
        assert!(f.place(&a).is_some(), "{place:?}");
        assert_eq!(f.queue.pods().count(), 1, "{place:?}");
    }
}

#[test]
fn a_parked_pod_is_tried_again() {
    let mut f = Fixture::new();
    let a = f.add_at(Place::Unschedulable, "a");
    f.pass(20 * SECOND);
    f.queue.take_metrics();
    f.reconfigure(QueueConfig::default(), &BOTH, &[]);
    assert_eq!(f.place(&a), Some(Place::Active));
    assert_eq!(reload_moves(&mut f), BTreeMap::from([("active", 1)]));
}

#[test]
fn a_parked_pod_that_was_just_tried_backs_off_first() {
    let mut f = Fixture::new();
    let a = f.add_at(Place::Unschedulable, "a");
    f.reconfigure(QueueConfig::default(), &BOTH, &[]);
    assert_eq!(f.place(&a), Some(Place::Backoff));
}

#[test]
fn a_pod_that_was_set_aside_stays_so() {
    let mut f = Fixture::new();
    let a = f.add_at(Place::InFlight, "a");
    f.settle(&a.uid, Outcome::SetAside);
    f.pass(20 * SECOND);
    f.reconfigure(QueueConfig::default(), &BOTH, &[]);
    assert_eq!(f.place(&a), Some(Place::Unschedulable));
}

#[test]
fn an_attempt_judged_before_the_switch_is_made_again_and_one_judged_after_is_not() {
    for (judged_after, place) in [(false, Place::Backoff), (true, Place::Unschedulable)] {
        let mut f = Fixture::new();
        let a = f.add_at(Place::InFlight, "a");
        let before = f.seq;
        f.reconfigure(QueueConfig::default(), &BOTH, &[]);
        f.settle(&a.uid, rejected_at(if judged_after { f.seq } else { before }));
        assert_eq!(f.place(&a), Some(place));
    }
}

#[test]
fn a_pod_in_flight_whose_profile_goes_and_comes_back_is_not_lost() {
    let mut f = Fixture::new();
    let a = f.add_at(Place::InFlight, "a");
    f.reconfigure(QueueConfig::default(), &["second"], &[Arc::clone(&a)]);
    assert_eq!(f.place(&a), None);
    f.reconfigure(QueueConfig::default(), &BOTH, &[Arc::clone(&a)]);
    assert_eq!(f.place(&a), Some(Place::InFlight));
    assert!(f.pop().is_none(), "one attempt at a time");
    f.reject(&a.uid);
    assert_eq!(f.place(&a), Some(Place::Backoff));
}

#[test]
fn a_pod_in_flight_whose_profile_is_gone_is_forgotten_when_it_is_settled() {
    let mut f = Fixture::new();
    let a = f.add_at(Place::InFlight, "a");
    f.reconfigure(QueueConfig::default(), &["second"], &[Arc::clone(&a)]);
    f.reject(&a.uid);
    assert_eq!(f.place(&a), None);
    assert_eq!(f.queue.counts(), crate::Counts::default());
}

#[test]
fn backoffs_are_those_of_the_new_configuration() {
    let mut f = Fixture::new();
    let a = f.add_at(Place::Backoff, "a");
    let longer = QueueConfig {
        initial_backoff: 30 * SECOND,
        max_backoff: 60 * SECOND,
        ..QueueConfig::default()
    };
    f.reconfigure(longer, &BOTH, &[]);
    assert_eq!(f.place(&a), Some(Place::Backoff));
    assert!(f.queue.next_deadline().unwrap() > f.now + 29 * SECOND);
    let none = QueueConfig {
        max_backoff: Duration::ZERO,
        ..QueueConfig::default()
    };
    f.reconfigure(none, &BOTH, &[]);
    assert_eq!(f.place(&a), Some(Place::Active));
}

#[test]
fn gates_are_asked_anew_in_every_place() {
    let mut f = Fixture::new();
    let active = f.add(pod("a"));
    let parked = f.add_at(Place::Unschedulable, "b");
    f.pass(20 * SECOND);
    f.shut_barrier(true);
    f.reconfigure(QueueConfig::default(), &BOTH, &[]);
    assert_eq!(
        (f.place(&active), f.place(&parked)),
        (Some(Place::Gated), Some(Place::Gated))
    );
    f.shut_barrier(false);
    f.reconfigure(QueueConfig::default(), &BOTH, &[]);
    assert_eq!(
        (f.place(&active), f.place(&parked)),
        (Some(Place::Active), Some(Place::Active))
    );
}

#[test]
fn rejected_pods_are_counted_under_the_profiles_names_whatever_their_numbers() {
    let mut f = Fixture::new();
    let a = f.add(pod("a").scheduler("second"));
    f.pop().unwrap();
    f.reject(&a.uid);
    let gone = f.add(pod("b"));
    f.pop().unwrap();
    f.reject(&gone.uid);
    let mut gauge = BTreeMap::new();
    let mut read = |f: &mut Fixture| {
        for (key, difference) in f.queue.take_metrics().unschedulable {
            *gauge.entry(key).or_insert(0) += difference;
        }
        gauge.retain(|_, count| *count != 0);
        gauge.clone()
    };
    read(&mut f);
    // `second` was number 1 and is number 0 now.
    f.reconfigure(QueueConfig::default(), &["second"], &[]);
    assert_eq!(
        read(&mut f),
        BTreeMap::from([(("NodeResourcesFit", "second".to_owned()), 1)])
    );
    f.pass(20 * SECOND);
    f.queue.tick(f.now);
    f.pop().unwrap();
    assert_eq!(read(&mut f), BTreeMap::new());
}

/// Lower priority first.
struct Upside;

impl Plugin for Upside {
    fn name(&self) -> &'static str {
        "Upside"
    }
}

impl QueueSort for Upside {
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering {
        a.pod.priority().cmp(&b.pod.priority())
    }
}

#[test]
fn waiting_pods_stand_in_the_order_of_the_new_queue_sort() {
    let mut f = Fixture::new();
    for priority in [3, 1, 5, 2, 4] {
        f.add(pod(&format!("p{priority}")).priority(priority));
    }
    let mut profile = f.profile("default-scheduler");
    profile.queue_sort = Arc::new(Upside);
    let seq = Seq::new(f.seq + 1);
    f.queue
        .reconfigure(QueueConfig::default(), &[Arc::new(profile)], seq, &[], f.now);
    let order: Vec<_> = std::iter::from_fn(|| f.pop_name()).collect();
    assert_eq!(order, ["p1", "p2", "p3", "p4", "p5"]);
}

#[derive(Debug, Clone)]
enum Step {
    Add(usize),
    Pop,
    Settle(usize, usize),
    Delete(usize),
    /// Bits choose among the schedulers.
    Reconfigure(usize, u64),
    Pass(u64),
}

const SCHEDULERS: [&str; 3] = ["default-scheduler", "second", "third"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3usize).prop_map(Step::Add),
        4 => Just(Step::Pop),
        4 => (0..1000usize, 0..5usize).prop_map(|(pod, how)| Step::Settle(pod, how)),
        1 => (0..1000usize).prop_map(Step::Delete),
        2 => (0..8usize, 0..3u64).prop_map(|(names, backoff)| Step::Reconfigure(names, backoff)),
        2 => (0..4_000u64).prop_map(Step::Pass),
    ]
}

/// A queue, and which pods there are.
struct Run {
    f: Fixture,
    pods: Vec<Arc<Pod>>,
    in_flight: Vec<Uid>,
    served: Vec<&'static str>,
}

impl Run {
    fn take(&mut self, step: &Step, number: usize) {
        match *step {
            Step::Add(scheduler) => {
                let builder = pod(&format!("p{number}")).scheduler(SCHEDULERS[scheduler]);
                let added = self.f.add(builder);
                self.pods.push(added);
            }
            Step::Pop => {
                let popped = self.f.pop();
                self.in_flight.extend(popped.map(|popped| popped.pod.uid.clone()));
            }
            Step::Settle(..) if self.in_flight.is_empty() => {}
            Step::Settle(which, how) => {
                let uid = self.in_flight.swap_remove(which % self.in_flight.len());
                let judged_at = Seq::new(self.f.seq);
                let outcome = match how {
                    0 => Outcome::Failed { judged_at },
                    1 => Outcome::SetAside,
                    2 => Outcome::Placed,
                    _ => rejected_at(self.f.seq),
                };
                self.f.settle(&uid, outcome);
            }
            Step::Delete(_) if self.pods.is_empty() => {}
            Step::Delete(which) => {
                let gone = self.pods.swap_remove(which % self.pods.len());
                self.f.delete(&gone);
            }
            Step::Reconfigure(names, backoff) => {
                let chosen = SCHEDULERS.iter().enumerate().filter(|(bit, _)| names >> bit & 1 == 1);
                self.served = chosen.map(|(_, name)| *name).collect();
                let config = QueueConfig {
                    max_backoff: Duration::from_secs(backoff * 7),
                    ..QueueConfig::default()
                };
                self.f.reconfigure(config, &self.served, &self.pods);
            }
            Step::Pass(millis) => self.f.tick_after(Duration::from_millis(millis)),
        }
    }

    fn check(&self) {
        for pod in &self.pods {
            let served = self.served.contains(&pod.spec.scheduler_name.as_str());
            assert_eq!(self.f.place(pod).is_some(), served, "{}", pod.name);
        }
        let mut counts = crate::Counts::default();
        for (_, place, look) in self.f.queue.pods() {
            *counts.of(place) += 1;
            assert!(
                look <= self.f.now + Duration::from_secs(400),
                "{place:?} until {look:?}"
            );
        }
        assert_eq!(self.f.queue.counts(), counts);
    }
}

proptest! {
    #[test]
    fn exactly_the_pods_of_the_profiles_there_are_have_a_place(steps in prop::collection::vec(step(), 1..80)) {
        let mut run = Run {
            f: Fixture::new(),
            pods: Vec::new(),
            in_flight: Vec::new(),
            served: BOTH.to_vec(),
        };
        for (number, step) in steps.iter().enumerate() {
            run.take(step, number);
            run.check();
        }
    }
}
