//! Pops, settlements, and the events between them.

use super::*;

#[test]
fn active_pods_come_by_queue_sort_then_by_arrival() {
    let mut f = Fixture::new();
    for (name, priority) in [("a", 1), ("b", 5), ("c", 5), ("d", 9)] {
        f.add(pod(name).priority(priority));
    }
    f.pass(SECOND);
    f.add(pod("late").priority(5));
    let order: Vec<_> = std::iter::from_fn(|| f.pop_name()).collect();
    assert_eq!(order, ["d", "b", "c", "late", "a"]);
}

#[test]
fn a_popped_pod_tells_its_history() {
    let mut f = Fixture::new();
    let start = f.now;
    let waiting = f.add(pod("a"));
    f.pass(SECOND);
    let popped = f.pop().unwrap();
    assert_eq!(
        (popped.attempts, popped.added, popped.initial_attempt),
        (1, start, Some(start))
    );
    assert_eq!((popped.seq, popped.flushed), (Seq::new(1), false));
    f.reject(&waiting.uid);
    f.tick_after(302 * SECOND);
    let popped = f.pop().unwrap();
    assert_eq!(
        (popped.attempts, popped.added, popped.initial_attempt),
        (2, start, Some(start))
    );
    assert!(popped.flushed);
    f.reject(&waiting.uid);
    f.make_room();
    f.tick_after(3 * SECOND);
    assert!(!f.pop().unwrap().flushed);
}

#[test]
fn backing_off_pods_are_popped_only_when_none_is_active_and_failed_ones_never() {
    let mut f = Fixture::new();
    f.add_at(Place::ErrorBackoff, "failed");
    f.add_at(Place::Backoff, "rejected");
    f.add(pod("active").priority(-1));
    f.queue.take_metrics();
    assert_eq!(f.pop_name().as_deref(), Some("active"));
    assert_eq!(f.pop_name().as_deref(), Some("rejected"));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("active", "PopFromBackoffQ".to_owned()), 1)]
    );
    assert_eq!(f.pop_name(), None);
}

#[test]
fn backing_off_pods_compete_by_priority_within_a_second() {
    let mut f = Fixture::new();
    for (name, priority, nanos) in [("first", 1, 100), ("second", 5, 200)] {
        f.add(pod(name).priority(priority));
        let popped = f.pop().unwrap();
        f.now = f.now + Duration::from_nanos(nanos);
        f.queue.activate(std::slice::from_ref(&popped.pod.uid), f.now);
        f.reject(&popped.pod.uid);
    }
    assert_eq!(f.queue.counts().backoff, 2);
    assert_eq!(f.pop_name().as_deref(), Some("second"));
}

#[test]
fn events_after_the_judgement_are_replayed_and_earlier_ones_are_not() {
    let cases = [
        (1, Place::Backoff),
        (2, Place::Unschedulable),
        (3, Place::Unschedulable),
    ];
    for (judged_at, place) in cases {
        let mut f = Fixture::new();
        let waiting = f.add(pod("a"));
        f.pop().unwrap();
        f.apply(Delta::NodeAdded(Arc::new(node("n").build())));
        f.settle(&waiting.uid, rejected_at(judged_at));
        assert_eq!(f.place(&waiting), Some(place), "judged at {judged_at}");
    }
}

#[test]
fn an_event_that_overtakes_the_rejection_is_not_lost() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    f.pop().unwrap();
    // The cycle is ahead: it judged with a change that the queue has not heard of yet.
    f.settle(&waiting.uid, rejected_at(2));
    assert_eq!(f.place(&waiting), Some(Place::Unschedulable));
    f.apply(Delta::NodeAdded(Arc::new(node("seen").build())));
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
}

#[test]
fn events_of_our_own_are_replayed_whenever_they_came_after_the_pop() {
    let mut f = Fixture::new();
    f.make_room();
    let waiting = f.add(pod("a"));
    f.pop().unwrap();
    f.reject(&waiting.uid);
    assert_eq!(f.place(&waiting), Some(Place::Unschedulable));

    let other = f.add(pod("b"));
    f.pop().unwrap();
    f.make_room();
    f.settle(&other.uid, rejected_at(u64::MAX));
    assert_eq!(f.place(&other), Some(Place::Backoff));
}

#[test]
fn that_its_own_claim_came_apart_does_not_help_a_pod() {
    let mut f = Fixture::new();
    let parked = f.add_at(Place::Unschedulable, "parked");
    let held = f.add_at(Place::InFlight, "held");
    let old = Some(Arc::new(pod("held").on("n").build()));
    f.queue.observe(ROOM, EventObjects::Pod { old, new: None }, f.now);
    f.reject(&held.uid);
    assert_eq!(f.place(&held), Some(Place::Unschedulable));
    assert_eq!(f.place(&parked), Some(Place::Backoff));
    let old = Some(Arc::new(pod("held").on("n").build()));
    f.queue.observe(ROOM, EventObjects::Pod { old, new: None }, f.now);
    assert_eq!(f.place(&held), Some(Place::Unschedulable));
}

#[test]
fn an_own_update_during_the_attempt_is_replayed_and_the_newest_object_returns() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a").cpu("2"));
    f.pop().unwrap();
    let new = f.update(&waiting, shrink);
    // The columns knew the change, but the attempt was judged by the object that was popped.
    f.reject(&waiting.uid);
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
    assert!(Arc::ptr_eq(&f.pop().unwrap().pod, &new));
}

#[test]
fn the_condition_that_we_write_ourselves_does_not_wake_the_pod() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    f.pop().unwrap();
    f.update(&waiting, |pod| pod.status.pod_scheduled = Some(Box::default()));
    f.reject(&waiting.uid);
    assert_eq!(f.place(&waiting), Some(Place::Unschedulable));
}

#[test]
fn an_update_of_one_pod_is_not_replayed_for_another() {
    let mut f = Fixture::new();
    let updated = f.add(pod("updated").cpu("2"));
    let other = f.add(pod("other"));
    f.pop().unwrap();
    f.pop().unwrap();
    f.update(&updated, shrink);
    f.settle(&other.uid, rejected_at(2));
    assert_eq!(f.place(&other), Some(Place::Unschedulable));
}

#[test]
fn a_judgement_older_than_the_pop_counts_as_missing_everything() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    f.pop().unwrap();
    f.settle(&waiting.uid, rejected_at(0));
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
}

#[test]
fn an_event_for_a_pending_plugin_skips_the_backoff() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    f.pop().unwrap();
    f.make_room();
    let outcome = Outcome::Rejected {
        plugins: vec![],
        pending_plugins: vec!["Gang"],
        preemption_plugins: Vec::new(),
        judged_at: Seq::new(1),
    };
    f.settle(&waiting.uid, outcome);
    assert_eq!(f.place(&waiting), Some(Place::Active));
}

#[test]
fn outcomes_lead_to_their_places() {
    let judged_at = Seq::new(1);
    let none = Outcome::Rejected {
        plugins: vec![],
        pending_plugins: vec![],
        preemption_plugins: Vec::new(),
        judged_at,
    };
    let cases = [
        (rejected_at(1), Place::Unschedulable),
        (none, Place::ErrorBackoff),
        (Outcome::Failed { judged_at }, Place::ErrorBackoff),
        (Outcome::Placed, Place::Placed),
        (Outcome::Dropped, Place::Placed),
    ];
    for (outcome, place) in cases {
        let mut f = Fixture::new();
        let waiting = f.add(pod("a"));
        f.pop().unwrap();
        f.settle(&waiting.uid, outcome.clone());
        assert_eq!(f.place(&waiting), Some(place), "{outcome:?}");
        assert_eq!(f.queue.counts().in_flight, 0);
    }
}

#[test]
fn settling_a_waiting_pod_is_refused_in_upstreams_words() {
    let cases = [
        (Place::Active, "Pod default/a is already present in the active queue"),
        (Place::Backoff, "Pod default/a is already present in the backoff queue"),
        (
            Place::Unschedulable,
            "Pod default/a is already present in unschedulable queue",
        ),
    ];
    for (place, text) in cases {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        let error = f.queue.settle(&waiting.uid, rejected_at(1), f.now).unwrap_err();
        assert_eq!(
            error,
            QueueError::NotInFlight {
                pod: waiting.name.clone(),
                place
            }
        );
        assert_eq!(error.to_string(), text);
        assert_eq!(f.place(&waiting), Some(place));
    }
}

#[test]
fn settling_a_pod_never_heard_of_does_nothing() {
    let mut f = Fixture::new();
    assert_eq!(f.queue.settle(&Uid::from("nobody"), Outcome::Placed, f.now), Ok(()));
    assert_eq!(f.queue.pods().count(), 0);
}

#[test]
fn a_late_unassigned_update_does_not_bring_a_placed_pod_back() {
    let mut f = Fixture::new();
    let placed = f.add_at(Place::Placed, "a");
    f.update(&placed, |pod| pod.labels = [("k", "v")].into_iter().collect());
    f.make_room();
    assert_eq!(f.place(&placed), Some(Place::Placed));
    assert_eq!(f.pop_name(), None);
}

#[test]
fn a_placed_pod_whose_claim_came_apart_waits_again() {
    let mut f = Fixture::new();
    let placed = f.add_at(Place::Placed, "a");
    f.settle(&placed.uid, Outcome::Failed { judged_at: Seq::new(1) });
    assert_eq!(f.place(&placed), Some(Place::ErrorBackoff));
}

#[test]
fn a_placed_pod_that_the_watch_never_confirms_is_looked_at_again() {
    let mut f = Fixture::new();
    let placed = f.add_at(Place::Placed, "a");
    f.tick_after(300 * SECOND);
    assert_eq!(f.place(&placed), Some(Place::Placed));
    f.tick_after(SECOND);
    assert_eq!(f.place(&placed), Some(Place::Active));
}

#[test]
fn a_pod_back_under_its_uid_waits_for_the_attempt_under_way_and_is_tried_again() {
    let mut f = Fixture::new();
    let first = f.add_at(Place::InFlight, "a");
    f.delete(&first);
    assert_eq!(f.place(&first), None);
    f.apply(Delta::PodAdded(Arc::clone(&first)));
    assert_eq!(f.place(&first), Some(Place::InFlight));
    assert_eq!(f.pop_name(), None);
    f.reject(&first.uid);
    assert_eq!(f.place(&first), Some(Place::Backoff));
}

#[test]
fn a_pod_back_under_its_uid_is_tried_at_once_although_the_attempt_took_it_for_gone() {
    let mut f = Fixture::new();
    let first = f.add_at(Place::InFlight, "a");
    f.delete(&first);
    f.apply(Delta::PodAdded(Arc::clone(&first)));
    f.settle(&first.uid, Outcome::Dropped);
    assert_eq!(f.place(&first), Some(Place::Active));
    // It did not come back since then.
    f.pop().unwrap();
    f.settle(&first.uid, Outcome::Dropped);
    assert_eq!(f.place(&first), Some(Place::Placed));
}

#[test]
fn events_are_kept_only_while_an_attempt_may_need_them() {
    let mut f = Fixture::new();
    f.make_room();
    assert!(f.queue.in_flight_events().is_empty());
    let waiting = f.add_at(Place::InFlight, "a");
    f.make_room();
    f.queue.observe(node_event(Action::ADD), EventObjects::None, f.now);
    let nobodys = ClusterEvent::new(EventResource::VolumeAttachment, Action::DELETE);
    f.queue.observe(nobodys, EventObjects::None, f.now);
    let kept: Vec<_> = f.queue.in_flight_events().into_iter().collect();
    assert_eq!(kept, [("AssignedPodDelete".to_owned(), 1), ("NodeAdd".to_owned(), 1)]);
    f.reject(&waiting.uid);
    assert!(f.queue.in_flight_events().is_empty());
}

#[test]
fn a_pod_set_aside_waits_for_its_deadline_or_its_own_new_spec_and_for_nothing_else() {
    let mut f = Fixture::new();
    let poison = f.add(pod("poison"));
    f.pop().unwrap();
    f.queue.settle(&poison.uid, Outcome::SetAside, f.now).unwrap();
    f.make_room();
    f.tick_after(60 * SECOND);
    assert_eq!(f.queue.place_of(&poison.uid), Some(Place::Unschedulable));
    f.tick_after(245 * SECOND);
    assert_eq!(f.pop_name().as_deref(), Some("poison"));

    f.queue.settle(&poison.uid, Outcome::SetAside, f.now).unwrap();
    f.tick_after(30 * SECOND);
    f.update(&poison, |mended| mended.spec.priority = Some(7));
    assert_eq!(f.queue.place_of(&poison.uid), Some(Place::Active));
}
