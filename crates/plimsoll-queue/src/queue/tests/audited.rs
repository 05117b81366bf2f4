//! What audits ask, and repairs.

use super::*;
use crate::groups::Groups;

#[test]
fn the_last_moves_of_a_pod_are_told_also_when_it_is_gone() {
    let mut f = Fixture::new();
    let waiting = f.add_at(Place::Unschedulable, "a");
    f.make_room();
    f.delete(&waiting);
    f.add(pod("other"));
    let moves = f.queue.history_of(&waiting.uid);
    let told: Vec<_> = moves
        .iter()
        .map(|noted| (noted.from, noted.to, noted.cause.to_string()))
        .collect();
    let noted = |from: Option<Place>, to: Option<Place>, cause: &str| (from, to, cause.to_owned());
    assert_eq!(
        told,
        [
            noted(None, Some(Place::Active), "UnschedulablePodAdd"),
            noted(Some(Place::Active), Some(Place::InFlight), "Pop"),
            noted(
                Some(Place::InFlight),
                Some(Place::Unschedulable),
                "ScheduleAttemptFailure"
            ),
            noted(Some(Place::Unschedulable), Some(Place::Backoff), "AssignedPodDelete"),
            noted(Some(Place::Backoff), None, "Gone"),
        ]
    );
    assert!(moves.iter().all(|noted| noted.at == f.now));
    assert!(f.queue.history_of(&Uid::from("nobody")).is_empty());
}

#[test]
fn a_pod_that_is_where_it_should_be_needs_no_repair() {
    for place in PLACES {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        let before = f.queue.counts();
        assert!(!f.queue.repair(&waiting, f.now), "{place:?}");
        assert_eq!(f.queue.counts(), before, "{place:?}");
    }
}

#[test]
fn a_pod_that_was_missed_is_taken_in_once() {
    let mut f = Fixture::new();
    let missed = Arc::new(pod("missed").build());
    assert!(f.queue.repair(&missed, f.now));
    assert!(!f.queue.repair(&missed, f.now));
    assert_eq!(f.place(&missed), Some(Place::Active));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("active", "AuditRepair".to_owned()), 1)]
    );
    let cases = [pod("theirs").scheduler("other"), pod("bound").on("n")];
    for case in cases {
        let case = Arc::new(case.build());
        assert!(!f.queue.repair(&case, f.now), "{}", case.name);
        assert_eq!(f.place(&case), None, "{}", case.name);
    }
}

#[test]
fn a_pod_that_fell_out_of_its_container_becomes_active() {
    type Lose = fn(&mut Fixture);
    let cases: [(Place, Lose); 7] = [
        (Place::Active, |f| f.queue.active.forget_all()),
        (Place::Backoff, |f| f.queue.backoff.forget_all()),
        (Place::ErrorBackoff, |f| f.queue.error_backoff.forget_all()),
        (Place::Unschedulable, |f| f.queue.deadlines.clear()),
        (Place::Unschedulable, |f| {
            f.queue.groups = Groups::default();
        }),
        (Place::Gated, |f| f.queue.deadlines.clear()),
        (Place::Placed, |f| f.queue.deadlines.clear()),
    ];
    for (place, lose) in cases {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        lose(&mut f);
        assert!(f.queue.repair(&waiting, f.now), "{place:?}");
        assert!(!f.queue.repair(&waiting, f.now), "{place:?}");
        let expected = if place == Place::Gated {
            Place::Gated
        } else {
            Place::Active
        };
        assert_eq!(f.place(&waiting), Some(expected), "{place:?}");
        let mut counts = crate::Counts::default();
        *counts.of(expected) = 1;
        assert_eq!(f.queue.counts(), counts, "{place:?}");
    }
}

#[test]
fn a_pod_taken_for_gone_while_it_is_tried_is_pending_again_after_a_repair() {
    let mut f = Fixture::new();
    let waiting = f.add_at(Place::InFlight, "a");
    f.delete(&waiting);
    assert!(f.queue.repair(&waiting, f.now));
    assert_eq!(f.place(&waiting), Some(Place::InFlight));
    f.reject(&waiting.uid);
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
}

#[test]
fn a_stale_pod_is_forgotten_once() {
    for place in PLACES {
        let mut f = Fixture::new();
        let stale = f.add_at(place, "a");
        assert!(f.queue.forget_stale(&stale.uid, f.now), "{place:?}");
        assert!(!f.queue.forget_stale(&stale.uid, f.now), "{place:?}");
        assert_eq!(f.place(&stale), None, "{place:?}");
        assert!(f.queue.audit().is_empty(), "{place:?}");
    }
}
