//! What is kept for those who tell of a pod's way.

use super::*;
use crate::{PoppedPod, Stay};

/// Where a pod has waited, which plugin held it there, what brought it there, and for how many seconds.
fn told(popped: &PoppedPod) -> Vec<(Place, Option<&'static str>, String, u64)> {
    let line = |stay: &Stay| {
        (
            stay.place,
            stay.gate,
            stay.cause.to_string(),
            stay.to.since(stay.from).as_secs(),
        )
    };
    popped.stays.stays.iter().map(line).collect()
}

fn telling() -> Fixture {
    let mut f = Fixture::new();
    f.queue.keep_stays(true);
    f
}

#[test]
fn a_popped_pod_tells_where_it_has_waited_since_its_last_attempt_and_why() {
    let mut f = telling();
    let waiting = f.add(pod("a").gate("not yet"));
    f.pass(7 * SECOND);
    let open = f.update(&waiting, |pod| pod.spec.scheduling_gates.clear());
    f.settle_down();
    f.pass(2 * SECOND);
    let popped = f.pop().unwrap();
    let opened = "UnschedulablePodUpdatePodSchedulingGatesEliminated";
    assert_eq!(
        told(&popped),
        [
            (Place::Gated, Some("Gates"), "UnschedulablePodAdd".to_owned(), 7),
            (Place::Active, None, opened.to_owned(), 2),
        ]
    );
    assert_eq!(popped.stays.stays[1].to, f.now);

    f.pass(SECOND);
    f.reject(&open.uid);
    f.pass(20 * SECOND);
    f.make_room();
    f.settle_down();
    f.pass(SECOND);
    let popped = f.pop().unwrap();
    let places: Vec<_> = told(&popped).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(places, [Place::Unschedulable, Place::Active]);
    assert_eq!(told(&popped)[0].2, "ScheduleAttemptFailure");
    let stays = &popped.stays.stays;
    assert_eq!((stays[0].to, stays[1].to), (stays[1].from, f.now), "without a gap");
}

#[test]
fn a_pod_that_is_tried_at_once_has_one_stay() {
    let mut f = telling();
    f.add(pod("a"));
    let popped = f.pop().unwrap();
    assert_eq!(
        told(&popped),
        [(Place::Active, None, "UnschedulablePodAdd".to_owned(), 0)]
    );
}

#[test]
fn nothing_is_kept_when_nobody_wants_it() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    assert!(f.pop().unwrap().stays.stays.is_empty());
    f.reject(&waiting.uid);
    f.delete(&waiting);
    assert!(f.queue.take_ended().is_empty());
}

#[test]
fn a_pod_that_was_tried_and_goes_untried_is_told_once() {
    let mut f = telling();
    let waiting = f.add(pod("a"));
    f.pop().unwrap();
    f.reject(&waiting.uid);
    f.pass(5 * SECOND);
    f.delete(&waiting);
    let ended = f.queue.take_ended();
    assert_eq!(ended.len(), 1);
    let (end, stay) = (&ended[0], ended[0].stays.stays[0]);
    assert_eq!((end.pod.uid.clone(), end.attempts), (waiting.uid.clone(), 1));
    assert_eq!((stay.place, stay.to), (Place::Unschedulable, f.now));
    assert!(f.queue.take_ended().is_empty());
    // Those that were never tried have nothing to tell, and those that are being tried are the cycle's.
    let untried = f.add(pod("b"));
    f.delete(&untried);
    let tried = f.add(pod("c"));
    f.pop().unwrap();
    f.delete(&tried);
    assert!(f.queue.take_ended().is_empty());
}
