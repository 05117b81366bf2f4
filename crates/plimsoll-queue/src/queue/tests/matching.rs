use plimsoll_config::{MatchRule, ProfileBackoff};
use plimsoll_framework::Profile;
use plimsoll_model::{LabelSelector, Labels, Namespace, ResourceVersion};

use super::*;

fn labels(team: &str) -> Labels {
    [("team", team)].into_iter().collect()
}

fn by_pod(team: &str) -> MatchRule {
    MatchRule {
        pod_selector: Some(LabelSelector::of_labels(labels(team))),
        namespace_selector: None,
    }
}

fn by_namespace(team: &str) -> MatchRule {
    MatchRule {
        pod_selector: None,
        namespace_selector: Some(LabelSelector::of_labels(labels(team))),
    }
}

/// The first profile takes pods by this rule and the others are for the rest, if any: the second one never gates pods.
fn fixture(rule: &MatchRule, rest: bool) -> Fixture {
    Fixture::of_profiles(|fixture| {
        let first = Profile {
            match_rules: vec![rule.clone()],
            ..fixture.profile("default-scheduler")
        };
        let rest = rest.then(|| Profile {
            pre_enqueue: Vec::new(),
            ..fixture.profile("default-scheduler")
        });
        [first].into_iter().chain(rest).collect()
    })
}

impl Fixture {
    /// The namespace of all pods has this team now, or is gone.
    fn label_namespace(&mut self, before: Option<&str>, after: Option<&str>) {
        let namespace = |team| {
            Arc::new(Namespace {
                name: "default".into(),
                uid: Uid::new("default"),
                resource_version: ResourceVersion::new(1),
                labels: labels(team),
            })
        };
        self.apply(Delta::NamespaceChanged {
            old: before.map(namespace),
            new: after.map(namespace),
        });
    }
}

#[test]
fn a_pod_that_no_profile_takes_is_in_no_queue_until_its_labels_change() {
    let mut f = fixture(&by_pod("red"), false);
    let blue = f.add(pod("a").label("team", "blue"));
    assert_eq!((f.place(&blue), f.queue.unmatched()), (None, 1));
    let red = f.update(&blue, |pod| pod.labels = labels("red"));
    assert_eq!((f.place(&red), f.queue.unmatched()), (Some(Place::Active), 0));
    let blue = f.update(&red, |pod| pod.labels = labels("blue"));
    assert_eq!((f.place(&blue), f.queue.unmatched()), (None, 1));
    f.delete(&blue);
    assert_eq!(f.queue.unmatched(), 0);
    assert_eq!(f.queue.counts(), crate::Counts::default());
}

#[test]
fn a_pod_waits_for_its_namespace_and_follows_its_labels() {
    let mut f = fixture(&by_namespace("red"), false);
    let a = f.add(pod("a"));
    assert_eq!((f.place(&a), f.queue.unmatched()), (None, 1));
    f.label_namespace(None, Some("red"));
    assert_eq!((f.place(&a), f.queue.unmatched()), (Some(Place::Active), 0));
    f.label_namespace(Some("red"), Some("blue"));
    assert_eq!((f.place(&a), f.queue.unmatched()), (None, 1));
    // Assigned meanwhile, by somebody else.
    f.update(&a, |pod| pod.node_name = Some("n1".into()));
    f.label_namespace(Some("blue"), Some("red"));
    assert_eq!((f.place(&a), f.queue.unmatched()), (None, 0));
}

#[test]
fn pods_in_every_place_leave_with_their_namespaces_labels_and_come_back_with_them() {
    for place in PLACES {
        let mut f = fixture(&by_namespace("red"), false);
        f.label_namespace(None, Some("red"));
        let a = f.add_at(place, "a");
        f.label_namespace(Some("red"), Some("blue"));
        assert_eq!((f.place(&a), f.queue.unmatched()), (None, 1), "{place:?}");
        assert_eq!(f.queue.counts(), crate::Counts::default(), "{place:?}");
        f.label_namespace(Some("blue"), Some("red"));
        assert_eq!(f.queue.unmatched(), 0, "{place:?}");
        let expected = match place {
            Place::Gated | Place::InFlight => place,
            _ => Place::Active,
        };
        assert_eq!(f.place(&a), Some(expected), "{place:?}");
    }
}

#[test]
fn another_profile_asks_its_own_gates_and_looks_again_at_what_was_turned_away() {
    let cases = [
        (Place::Active, Place::Active),
        (Place::Backoff, Place::Backoff),
        (Place::ErrorBackoff, Place::ErrorBackoff),
        (Place::Unschedulable, Place::Backoff),
        (Place::Gated, Place::Active),
        (Place::InFlight, Place::InFlight),
        (Place::Placed, Place::Placed),
    ];
    for (before, after) in cases {
        let mut f = fixture(&by_namespace("red"), true);
        f.label_namespace(None, Some("red"));
        let a = f.add_at(before, "a");
        f.label_namespace(Some("red"), Some("blue"));
        assert_eq!(f.place(&a), Some(after), "{before:?}");
    }
}

#[test]
fn an_attempt_with_the_profile_of_before_is_made_again() {
    let mut f = fixture(&by_namespace("red"), true);
    f.label_namespace(None, Some("red"));
    let a = f.add_at(Place::InFlight, "a");
    let judged = f.seq;
    f.label_namespace(Some("red"), Some("blue"));
    f.settle(&a.uid, rejected_at(judged));
    assert_eq!(f.place(&a), Some(Place::Backoff));
    let mut f = fixture(&by_pod("red"), true);
    let a = f.add_at(Place::InFlight, "a");
    let judged = f.seq;
    f.update(&a, |pod| pod.labels = labels("red"));
    f.settle(&a.uid, rejected_at(judged));
    assert_eq!(f.place(&a), Some(Place::Backoff));
}

#[test]
fn other_profiles_take_in_what_none_took() {
    let mut f = fixture(&by_pod("red"), false);
    let blue = f.add(pod("a").label("team", "blue"));
    f.reconfigure(QueueConfig::default(), &["default-scheduler"], &[Arc::clone(&blue)]);
    assert_eq!((f.place(&blue), f.queue.unmatched()), (Some(Place::Active), 0));
}

#[test]
fn a_profile_may_have_a_backoff_of_its_own() {
    let mut f = Fixture::of_profiles(|fixture| {
        let patient = Profile {
            backoff: Some(ProfileBackoff {
                initial: 60 * SECOND,
                max: 90 * SECOND,
            }),
            ..fixture.profile("patient")
        };
        vec![fixture.profile("default-scheduler"), patient]
    });
    let quick = f.add_at(Place::Backoff, "quick");
    let slow = f.add(pod("slow").scheduler("patient"));
    assert_eq!(f.pop_name().as_deref(), Some("slow"));
    f.settle(
        &slow.uid,
        Outcome::Failed {
            judged_at: Seq::new(f.seq),
        },
    );
    f.tick_after(3 * SECOND);
    assert_eq!(
        (f.place(&quick), f.place(&slow)),
        (Some(Place::Active), Some(Place::ErrorBackoff))
    );
    f.tick_after(55 * SECOND);
    assert_eq!(f.place(&slow), Some(Place::ErrorBackoff));
    f.tick_after(5 * SECOND);
    assert_eq!(f.place(&slow), Some(Place::Active));
}
