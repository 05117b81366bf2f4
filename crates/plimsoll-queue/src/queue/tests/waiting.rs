//! Backoff, gates, deadlines, activation and gauges.

use super::*;

/// Whole seconds from `since` until the pod becomes active by ticks alone.
fn seconds_until_active(f: &mut Fixture, pod: &Pod) -> u64 {
    for second in 1..1000 {
        f.tick_after(SECOND);
        if f.place(pod) == Some(Place::Active) {
            return second;
        }
    }
    0
}

#[test]
fn backoff_doubles_with_rejections_up_to_the_maximum() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    let waits: Vec<u64> = (0..6)
        .map(|_| {
            f.pop().unwrap();
            f.make_room();
            f.reject(&waiting.uid);
            seconds_until_active(&mut f, &waiting)
        })
        .collect();
    // The second in which a backoff ends still counts.
    assert_eq!(waits, [2, 3, 5, 9, 11, 11]);
}

#[test]
fn errors_in_a_row_have_a_backoff_of_their_own() {
    let mut f = Fixture::new();
    let waiting = f.add(pod("a"));
    let mut attempt = |failed: bool| {
        f.pop().unwrap();
        f.make_room();
        if failed {
            f.settle(
                &waiting.uid,
                Outcome::Failed {
                    judged_at: Seq::new(f.seq),
                },
            );
        } else {
            f.reject(&waiting.uid);
        }
        seconds_until_active(&mut f, &waiting)
    };
    let waits = [false, false, true, true, false].map(&mut attempt);
    assert_eq!(waits, [2, 3, 2, 3, 5]);
}

#[test]
fn an_event_after_the_backoff_makes_the_pod_active_at_once() {
    let mut f = Fixture::new();
    let waiting = f.add_at(Place::Unschedulable, "a");
    f.pass(2 * SECOND);
    f.make_room();
    assert_eq!(f.place(&waiting), Some(Place::Active));
}

#[test]
fn without_a_maximal_backoff_there_is_none() {
    let mut f = Fixture::with(QueueConfig {
        max_backoff: Duration::ZERO,
        ..QueueConfig::default()
    });
    let waiting = f.add_at(Place::InFlight, "a");
    f.settle(&waiting.uid, Outcome::Failed { judged_at: Seq::new(1) });
    assert_eq!(f.place(&waiting), Some(Place::Active));
}

#[test]
fn the_next_deadline_is_when_a_tick_moves_something() {
    let mut f = Fixture::new();
    assert_eq!(f.queue.next_deadline(), None);
    let parked = f.add_at(Place::Unschedulable, "parked");
    let backing_off = f.add_at(Place::Backoff, "backing-off");
    f.add(pod("active"));
    for pod in [backing_off, parked] {
        let due = f.queue.next_deadline().unwrap();
        f.queue.tick(Moment::from_nanos(due.as_nanos() - 1));
        assert_ne!(f.place(&pod), Some(Place::Active));
        f.queue.tick(due);
        assert_eq!(f.place(&pod), Some(Place::Active));
    }
    assert_eq!(f.queue.next_deadline(), None);
}

#[test]
fn a_parked_pod_is_tried_again_after_the_limit() {
    let mut f = Fixture::new();
    let parked = f.add_at(Place::Unschedulable, "a");
    f.queue.take_metrics();
    f.tick_after(300 * SECOND);
    assert_eq!(f.place(&parked), Some(Place::Unschedulable));
    f.tick_after(SECOND);
    assert_eq!(f.place(&parked), Some(Place::Active));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("active", "UnschedulableTimeout".to_owned()), 1)]
    );
}

#[test]
fn a_gated_pod_waits_until_its_last_gate_is_gone() {
    let mut f = Fixture::new();
    let two = f.add(pod("a").gate("x").gate("y"));
    assert_eq!(f.place(&two), Some(Place::Gated));
    let one = f.update(&two, |pod| pod.spec.scheduling_gates.truncate(1));
    f.make_room();
    assert_eq!(f.place(&one), Some(Place::Gated));
    f.pass(SECOND);
    let none = f.update(&one, |pod| pod.spec.scheduling_gates.clear());
    assert_eq!(f.place(&none), Some(Place::Active));
    // The clock of the first attempt starts when the gates are gone.
    assert_eq!(f.pop().unwrap().initial_attempt, Some(f.now));
}

#[test]
fn a_gate_opened_by_something_else_is_found_by_an_event_or_the_deadline() {
    let mut f = Fixture::new();
    f.shut_barrier(true);
    let by_event = f.add(pod("event"));
    f.make_room();
    assert_eq!(f.place(&by_event), Some(Place::Gated));
    f.shut_barrier(false);
    f.make_room();
    assert_eq!(f.place(&by_event), Some(Place::Active));

    f.shut_barrier(true);
    let by_deadline = f.add(pod("deadline"));
    f.tick_after(301 * SECOND);
    assert_eq!(f.place(&by_deadline), Some(Place::Gated));
    assert!(f.queue.next_deadline().unwrap() > f.now);
    f.shut_barrier(false);
    f.tick_after(301 * SECOND);
    assert_eq!(f.place(&by_deadline), Some(Place::Active));
}

#[test]
fn gates_are_asked_on_the_way_back_but_not_after_the_backoff() {
    let mut f = Fixture::new();
    let held = f.add_at(Place::InFlight, "held");
    f.shut_barrier(true);
    f.make_room();
    f.reject(&held.uid);
    assert_eq!(f.place(&held), Some(Place::Gated));

    f.shut_barrier(false);
    let passed = f.add_at(Place::Backoff, "passed");
    f.shut_barrier(true);
    f.tick_after(3 * SECOND);
    assert_eq!(f.place(&passed), Some(Place::Active));
}

#[test]
fn activation_ignores_backoff_but_not_gates() {
    let cases = [
        (Place::Active, Place::Active),
        (Place::Backoff, Place::Active),
        (Place::ErrorBackoff, Place::Active),
        (Place::Unschedulable, Place::Active),
        (Place::Gated, Place::Gated),
        (Place::InFlight, Place::InFlight),
        (Place::Placed, Place::Placed),
    ];
    for (from, to) in cases {
        let mut f = Fixture::new();
        let waiting = f.add_at(from, "a");
        f.queue.activate(&[waiting.uid.clone(), Uid::from("nobody")], f.now);
        assert_eq!(f.place(&waiting), Some(to), "{from:?}");
    }
}

#[test]
fn a_pod_activated_in_flight_is_tried_again_and_no_other_is() {
    let mut f = Fixture::new();
    let meant = f.add_at(Place::InFlight, "meant");
    let other = f.add_at(Place::InFlight, "other");
    f.queue.activate(std::slice::from_ref(&meant.uid), f.now);
    f.reject(&meant.uid);
    f.reject(&other.uid);
    assert_eq!(f.place(&meant), Some(Place::Backoff));
    assert_eq!(f.place(&other), Some(Place::Unschedulable));
}

#[test]
fn unschedulable_pods_are_counted_by_plugin_and_profile() {
    let mut f = Fixture::new();
    let changes = |f: &mut Fixture| f.queue.take_metrics().unschedulable;
    let fit = |profile: &str, difference| (("NodeResourcesFit", profile.to_owned()), difference);
    let waiting = f.add_at(Place::Unschedulable, "a");
    assert_eq!(changes(&mut f), [fit("default-scheduler", 1)]);
    let moved = f.update(&waiting, |pod| pod.spec.scheduler_name = "second".into());
    assert_eq!(changes(&mut f), [fit("default-scheduler", -1), fit("second", 1)]);
    f.tick_after(3 * SECOND);
    f.pop().unwrap();
    assert_eq!(changes(&mut f), [fit("second", -1)]);
    f.reject(&moved.uid);
    f.delete(&moved);
    assert_eq!(changes(&mut f), []);
    let gated = f.add_at(Place::Gated, "g");
    f.make_room();
    assert_eq!(changes(&mut f), [(("Gates", "default-scheduler".to_owned()), 1)]);
    f.delete(&gated);
    assert_eq!(changes(&mut f), [(("Gates", "default-scheduler".to_owned()), -1)]);
}

#[test]
fn each_time_that_gates_are_asked_is_told_by_profile_and_one_in_ten_by_plugin() {
    let mut f = Fixture::new();
    f.add(pod("a"));
    f.add(pod("b").scheduler("second"));
    f.add(pod("c").gate("g"));
    let metrics = f.queue.take_metrics();
    let told = metrics
        .gates
        .iter()
        .map(|(profile, runs)| (profile.as_str(), runs.took.len()));
    assert_eq!(told.collect::<Vec<_>>(), [("default-scheduler", 2), ("second", 1)]);
    let plugins = metrics.gate_plugins.iter().map(|(plugin, code, _)| (*plugin, *code));
    assert_eq!(
        plugins.collect::<Vec<_>>(),
        [("Gates", Code::Success), ("Barrier", Code::Success)]
    );
    for number in 0..100 {
        f.add(pod(&format!("gated-{number}")).gate("g"));
    }
    let told = f.queue.take_metrics().gate_plugins;
    assert!((5..=15).contains(&told.len()), "{told:?}");
    assert!(
        told.iter()
            .all(|(_, code, _)| *code == Code::UnschedulableAndUnresolvable)
    );
}

#[test]
fn every_pod_has_a_place_and_a_next_look() {
    let mut f = Fixture::new();
    for place in PLACES {
        f.add_at(place, &format!("{place:?}").to_lowercase());
    }
    let limit = f.now + 301 * SECOND;
    let looks: Vec<_> = f.queue.pods().map(|(_, place, look)| (place, look)).collect();
    assert_eq!(looks.len(), PLACES.len());
    for (place, look) in looks {
        assert!(look <= limit, "{place:?}");
    }
}
