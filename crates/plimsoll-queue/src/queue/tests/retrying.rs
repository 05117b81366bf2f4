//! Pods that are to be tried again at a given moment.

use super::*;

/// A pod that was turned away and is to be tried again after so long.
fn parked_for(f: &mut Fixture, name: &str, time: Duration) -> Arc<Pod> {
    let pod = f.add_at(Place::Unschedulable, name);
    f.queue.retry_at(&pod.uid, f.now + time);
    pod
}

#[test]
fn a_parked_pod_is_tried_again_at_the_moment_that_its_rejection_named() {
    let mut f = Fixture::new();
    let pod = parked_for(&mut f, "a", 60 * SECOND);
    assert_eq!(f.queue.next_deadline(), Some(f.now + 60 * SECOND));
    f.queue.take_metrics();
    f.tick_after(59 * SECOND);
    assert_eq!(f.place(&pod), Some(Place::Unschedulable));
    f.tick_after(SECOND);
    assert_eq!(f.place(&pod), Some(Place::Active));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("active", "RetryDue".to_owned()), 1)]
    );
    assert!(!f.pop().unwrap().flushed, "nothing was lost that had to be found");
}

#[test]
fn a_later_attempt_makes_the_moment_of_an_earlier_one_void() {
    let mut f = Fixture::new();
    let pod = parked_for(&mut f, "a", 60 * SECOND);
    f.pass(10 * SECOND);
    f.make_room();
    assert_eq!(f.pop_name().as_deref(), Some("a"));
    f.reject(&pod.uid);
    assert_eq!(f.place(&pod), Some(Place::Unschedulable));
    f.tick_after(50 * SECOND);
    assert_eq!(f.place(&pod), Some(Place::Unschedulable));
    assert!(f.queue.next_deadline().unwrap() > f.now);
}

#[test]
fn a_pod_that_went_and_came_back_is_not_tried_for_what_the_other_one_waited_for() {
    let mut f = Fixture::new();
    let pod = parked_for(&mut f, "a", 60 * SECOND);
    f.delete(&pod);
    f.apply(Delta::PodAdded(Arc::clone(&pod)));
    assert_eq!(f.pop_name().as_deref(), Some("a"));
    f.reject(&pod.uid);
    f.tick_after(60 * SECOND);
    assert_eq!(f.place(&pod), Some(Place::Unschedulable));
}

#[test]
fn a_moment_does_nothing_for_pods_that_are_not_parked_or_not_there() {
    let mut f = Fixture::new();
    let backing_off = f.add_at(Place::Backoff, "a");
    let set_aside = f.add_at(Place::InFlight, "b");
    f.settle(&set_aside.uid, Outcome::SetAside);
    let gated = f.add(pod("c").gate("x"));
    let soon = f.now + Duration::from_millis(1);
    for pod in [&backing_off, &set_aside, &gated] {
        f.queue.retry_at(&pod.uid, soon);
    }
    f.queue.retry_at(&Uid::from("nobody"), soon);
    f.tick_after(Duration::from_millis(1));
    assert_eq!(f.place(&backing_off), Some(Place::Backoff));
    assert_eq!(f.place(&set_aside), Some(Place::Unschedulable));
    assert_eq!(f.place(&gated), Some(Place::Gated));
}
