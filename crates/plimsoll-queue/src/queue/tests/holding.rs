//! Pods that wait for their own preemption.

use super::*;
use crate::Release;

/// A pod that was turned away after its preemption began.
fn held(f: &mut Fixture) -> Arc<Pod> {
    let pod = f.add_at(Place::InFlight, "a");
    f.queue.hold(&pod.uid, f.now);
    f.reject(&pod.uid);
    assert_eq!(f.place(&pod), Some(Place::Unschedulable));
    pod
}

#[test]
fn a_held_pod_is_gated_when_something_wakes_it_and_comes_when_it_is_released() {
    for (release, place) in [
        (Release::Quietly, Place::ErrorBackoff),
        (Release::AfterBackoff, Place::Active),
        (Release::AtOnce, Place::Active),
    ] {
        let mut f = Fixture::new();
        let pod = held(&mut f);
        f.make_room();
        assert_eq!(f.place(&pod), Some(Place::Gated));
        assert_eq!((f.queue.counts().gated, f.pop_name()), (1, None));
        f.pass(3 * SECOND);
        f.queue.release(&pod.uid, release, f.now);
        assert_eq!(f.place(&pod), Some(place), "{release:?}");
    }
}

#[test]
fn the_backoff_of_a_pod_whose_victims_are_going_counts_from_the_moment_at_which_they_are_seen_going() {
    let mut f = Fixture::new();
    let pod = held(&mut f);
    f.pass(30 * SECOND);
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    f.make_room();
    assert_eq!((f.place(&pod), f.pop_name()), (Some(Place::ErrorBackoff), None));
    f.tick_after(3 * SECOND);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
}

#[test]
fn the_backoff_of_a_pod_whose_last_victim_is_gone_counts_from_its_last_attempt() {
    for release in [Release::AfterBackoff, Release::AtOnce] {
        let mut f = Fixture::new();
        let pod = held(&mut f);
        f.pass(30 * SECOND);
        f.queue.release(&pod.uid, Release::Quietly, f.now);
        f.make_room();
        f.queue.release(&pod.uid, release, f.now);
        assert_eq!(f.place(&pod), Some(Place::Active), "{release:?}");
    }
}

#[test]
fn the_backoff_of_a_held_pod_counts_unless_it_is_to_come_at_once() {
    for (release, place) in [
        (Release::Quietly, Place::ErrorBackoff),
        (Release::AfterBackoff, Place::Backoff),
        (Release::AtOnce, Place::Active),
    ] {
        let mut f = Fixture::new();
        let pod = held(&mut f);
        f.make_room();
        f.queue.release(&pod.uid, release, f.now);
        assert_eq!(f.place(&pod), Some(place), "{release:?}");
    }
}

#[test]
fn a_pod_that_nothing_has_woken_waits_on_after_a_quiet_release_and_only_then() {
    for (release, place) in [
        (Release::Quietly, Place::Unschedulable),
        (Release::AfterBackoff, Place::Active),
        (Release::AtOnce, Place::Active),
    ] {
        let mut f = Fixture::new();
        let pod = held(&mut f);
        f.pass(3 * SECOND);
        f.queue.release(&pod.uid, release, f.now);
        assert_eq!(f.place(&pod), Some(place), "{release:?}");
    }
}

#[test]
fn what_happened_during_the_attempt_is_not_lost_to_a_held_pod() {
    let mut f = Fixture::new();
    let pod = f.add_at(Place::InFlight, "a");
    f.make_room();
    f.queue.hold(&pod.uid, f.now);
    f.reject(&pod.uid);
    assert_eq!(f.place(&pod), Some(Place::Gated));
    f.pass(3 * SECOND);
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    assert_eq!(f.place(&pod), Some(Place::ErrorBackoff));
}

#[test]
fn a_pod_in_flight_that_is_released_is_tried_again_if_it_is_turned_away() {
    for (release, place) in [
        (Release::Quietly, Place::Unschedulable),
        (Release::AfterBackoff, Place::Backoff),
        (Release::AtOnce, Place::Backoff),
    ] {
        let mut f = Fixture::new();
        let pod = f.add_at(Place::InFlight, "a");
        f.queue.release(&pod.uid, release, f.now);
        f.reject(&pod.uid);
        assert_eq!(f.place(&pod), Some(place), "{release:?}");
    }
}

#[test]
fn a_held_pod_is_taken_out_of_every_queue_that_it_could_be_popped_from() {
    for place in [Place::Active, Place::Backoff, Place::ErrorBackoff] {
        let mut f = Fixture::new();
        let pod = f.add_at(place, "a");
        f.queue.hold(&pod.uid, f.now);
        assert_eq!(f.place(&pod), Some(Place::Gated), "{place:?}");
        f.queue.activate(std::slice::from_ref(&pod.uid), f.now);
        assert_eq!(f.place(&pod), Some(Place::Gated), "{place:?}");
        assert!(f.queue.pop_specific(&pod.uid, f.now).is_none());
    }
}

#[test]
fn a_hold_that_nobody_ends_ends_at_the_deadline_of_parked_pods() {
    let mut f = Fixture::new();
    let pod = held(&mut f);
    f.make_room();
    f.tick_after(Duration::from_secs(299));
    assert_eq!(f.place(&pod), Some(Place::Gated));
    f.tick_after(2 * SECOND);
    assert_eq!(f.place(&pod), Some(Place::Active));
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
}

#[test]
fn a_hold_outlives_a_reload_and_says_so_in_the_gauge_until_it_ends() {
    let mut f = Fixture::new();
    let pod = held(&mut f);
    f.make_room();
    let gauge = |f: &mut Fixture| {
        let by_plugin = f.queue.take_metrics().unschedulable;
        let of_hold = by_plugin
            .into_iter()
            .filter(|((plugin, _), _)| *plugin == "DefaultPreemption");
        of_hold.map(|(_, difference)| difference).sum::<i64>()
    };
    assert_eq!(gauge(&mut f), 1);
    f.reconfigure(QueueConfig::default(), &["default-scheduler"], &[Arc::clone(&pod)]);
    assert_eq!(f.place(&pod), Some(Place::Gated));
    assert_eq!(gauge(&mut f), 0);
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    f.tick_after(3 * SECOND);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
    assert_eq!(gauge(&mut f), -1);
}

#[test]
fn other_gates_still_count_for_a_pod_that_is_released() {
    let mut f = Fixture::new();
    let pod = held(&mut f);
    f.make_room();
    f.shut_barrier(true);
    f.queue.release(&pod.uid, Release::AtOnce, f.now);
    assert_eq!(f.place(&pod), Some(Place::Gated));
    f.shut_barrier(false);
    f.make_room();
    f.pass(3 * SECOND);
    f.queue.activate(std::slice::from_ref(&pod.uid), f.now);
    assert_eq!(f.place(&pod), Some(Place::Active));
}

#[test]
fn nobody_is_held_under_the_uid_of_a_pod_that_is_not_pending() {
    let mut f = Fixture::new();
    let pod = f.add(pod("a"));
    f.delete(&pod);
    f.queue.hold(&pod.uid, f.now);
    f.apply(Delta::PodAdded(Arc::clone(&pod)));
    assert_eq!(f.pop_name().as_deref(), Some("a"));
}

/// A pod whose victims are on their way, and which something wakes.
fn woken_while_victims_go(f: &mut Fixture) -> Arc<Pod> {
    let pod = held(f);
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    f.make_room();
    pod
}

#[test]
fn nothing_cuts_the_backoff_of_a_pod_short_whose_victims_are_going() {
    let mut f = Fixture::new();
    let pod = woken_while_victims_go(&mut f);
    assert_eq!((f.place(&pod), f.pop_name()), (Some(Place::ErrorBackoff), None));
    f.make_room();
    assert_eq!(f.pop_name(), None);
    f.tick_after(3 * SECOND);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
    // The attempt found that they are going still.
    f.make_room();
    f.reject(&pod.uid);
    assert_eq!((f.place(&pod), f.pop_name()), (Some(Place::ErrorBackoff), None));
}

#[test]
fn what_woke_a_held_pod_has_it_tried_after_its_backoff_while_its_victims_are_going() {
    let mut f = Fixture::new();
    let pod = held(&mut f);
    f.make_room();
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    assert_eq!((f.place(&pod), f.pop_name()), (Some(Place::ErrorBackoff), None));
    f.tick_after(3 * SECOND);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
}

#[test]
fn a_pod_whose_last_victim_is_gone_is_tried_when_nothing_else_is() {
    for release in [Release::AfterBackoff, Release::AtOnce] {
        let mut f = Fixture::new();
        let pod = woken_while_victims_go(&mut f);
        f.queue.release(&pod.uid, release, f.now);
        assert_eq!(f.pop_name().as_deref(), Some("a"), "{release:?}");
        // And waits for nobody any more.
        f.make_room();
        f.reject(&pod.uid);
        assert_eq!(f.place(&pod), Some(Place::Backoff), "{release:?}");
    }
}

#[test]
fn the_end_of_a_preemption_does_not_cut_the_backoff_after_an_error_short() {
    let mut f = Fixture::new();
    let pod = held(&mut f);
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    f.queue.activate(std::slice::from_ref(&pod.uid), f.now);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
    let judged_at = Seq::new(f.seq);
    f.settle(&pod.uid, Outcome::Failed { judged_at });
    f.queue.release(&pod.uid, Release::AfterBackoff, f.now);
    assert_eq!((f.place(&pod), f.pop_name()), (Some(Place::ErrorBackoff), None));
}

#[test]
fn another_preemption_of_the_same_pod_holds_it_again() {
    let mut f = Fixture::new();
    let pod = woken_while_victims_go(&mut f);
    f.queue.hold(&pod.uid, f.now);
    assert_eq!(f.place(&pod), Some(Place::Gated));
    f.queue.release(&pod.uid, Release::Quietly, f.now);
    assert_eq!(f.place(&pod), Some(Place::ErrorBackoff));
}

#[test]
fn what_wakes_a_held_pod_at_its_deadline_does_not_prolong_the_hold() {
    let mut f = Fixture::new();
    f.queue.portion = 1;
    f.shut_barrier(true);
    let pods: Vec<_> = (0..6).map(|number| f.add(pod(&format!("p{number}")))).collect();
    f.queue.hold(&pods[0].uid, f.now);
    // Wakes all of them, and moves one.
    f.apply(Delta::NodeDeleted(Arc::new(node("n").build())));
    f.shut_barrier(false);
    f.pass(Duration::from_secs(302));
    f.settle_down();
    assert_eq!(f.place(&pods[0]), Some(Place::Active));
}
