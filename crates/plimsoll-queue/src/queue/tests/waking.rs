//! What an event is worth: whose hints are asked, and what their answers mean.

use plimsoll_framework::QueueingHint;
use plimsoll_model::testing::PodBuilder;

use super::*;
use crate::Wakeups;

const NODE_ADD: ClusterEvent = ClusterEvent::new(EventResource::Node, Action::ADD);

/// Hears of new nodes, and says what the pod's label `answer` tells it to.
fn obedient(name: &'static str) -> Rejector {
    let hint = |_: ClusterEvent, pod: &Pod, _: &EventObjects| match pod.labels.get("answer") {
        Some("queue") => Ok(QueueingHint::Queue),
        Some("fail") => Err("no idea".to_owned()),
        Some("panic") => panic!("beyond me"),
        _ => Ok(QueueingHint::Skip),
    };
    Rejector::new(name, &[NODE_ADD], Box::new(hint))
}

/// Hears of new nodes and is never helped by them.
fn stubborn(name: &'static str) -> Rejector {
    Rejector::new(name, &[NODE_ADD], Box::new(|_, _, _| Ok(QueueingHint::Skip)))
}

fn fixture() -> Fixture {
    Fixture::listening(|| {
        let eager = Rejector::new("Eager", &[NODE_ADD], always());
        let deaf = Rejector::new("Deaf", &[], always());
        vec![obedient("Obedient"), stubborn("Stubborn"), eager, deaf]
    })
}

fn answering(answer: &str) -> PodBuilder {
    pod(answer).label("answer", answer)
}

fn new_node(f: &mut Fixture) {
    f.apply(Delta::NodeAdded(Arc::new(node("n").build())));
}

fn hints(f: &mut Fixture) -> Vec<(String, &'static str, u64)> {
    let hints = f.queue.take_metrics().hints.into_iter();
    hints.map(|((plugin, _, hint), calls)| (plugin, hint, calls)).collect()
}

#[test]
fn a_pod_moves_if_a_hint_says_so_or_fails_and_stays_otherwise() {
    let cases = [
        ("queue", Place::Backoff, "Queue"),
        ("skip", Place::Unschedulable, "QueueSkip"),
        ("fail", Place::Backoff, "Error"),
        ("panic", Place::Backoff, "Error"),
    ];
    for (answer, place, label) in cases {
        let mut f = fixture();
        let waiting = f.add_rejected(answering(answer), &["Obedient"]);
        new_node(&mut f);
        assert_eq!(f.place(&waiting), Some(place), "{answer}");
        assert_eq!(hints(&mut f), [("Obedient".to_owned(), label, 1)], "{answer}");
    }
}

#[test]
fn hints_that_fail_are_told_of_but_not_without_end() {
    let mut f = fixture();
    for at in 0..20 {
        let waiting = pod(&format!("p{at}")).label("n", &at.to_string());
        f.add_rejected(waiting.label("answer", "fail"), &["Obedient"]);
    }
    f.add_rejected(answering("panic"), &["Obedient"]);
    new_node(&mut f);
    let metrics = f.queue.take_metrics();
    assert_eq!(metrics.hint_errors.len(), 8);
    let first = &metrics.hint_errors[0];
    assert_eq!(
        (first.plugin, first.event.as_str(), first.error.as_str()),
        ("Obedient", "NodeAdd", "no idea")
    );
    assert_eq!(metrics.wakeups.asked, 21);
}

#[test]
fn any_plugin_that_turned_the_pod_away_may_bring_it_back_and_others_are_not_asked() {
    let cases: [(&[&'static str], Place, &[&str]); 4] = [
        (&["Stubborn"], Place::Unschedulable, &["Stubborn"]),
        (
            &["Stubborn", "Obedient"],
            Place::Unschedulable,
            &["Obedient", "Stubborn"],
        ),
        (&["Stubborn", "Eager"], Place::Backoff, &["Eager"]),
        (
            &["PodTopologySpread", "Stubborn"],
            Place::Backoff,
            &["PodTopologySpread"],
        ),
    ];
    for (plugins, place, asked) in cases {
        let mut f = fixture();
        let waiting = f.add_rejected(pod("a"), plugins);
        new_node(&mut f);
        assert_eq!(f.place(&waiting), Some(place), "{plugins:?}");
        let hints: Vec<_> = hints(&mut f).into_iter().map(|(plugin, ..)| plugin).collect();
        assert_eq!(hints, asked, "{plugins:?}");
    }
}

#[test]
fn only_what_a_pending_plugin_waits_for_skips_the_backoff() {
    let cases: [(&[&'static str], &[&'static str], Place); 4] = [
        (&["Stubborn"], &["Eager"], Place::Active),
        (&["Eager"], &["Stubborn"], Place::Backoff),
        (&["Eager"], &["Eager"], Place::Active),
        (&["Stubborn"], &["Stubborn"], Place::Unschedulable),
    ];
    for (plugins, pending, place) in cases {
        for in_flight in [false, true] {
            let mut f = fixture();
            let waiting = f.add(pod("a"));
            f.pop();
            let outcome = Outcome::Rejected {
                plugins: plugins.to_vec(),
                pending_plugins: pending.to_vec(),
                preemption_plugins: Vec::new(),
                judged_at: Seq::new(f.seq),
            };
            if in_flight {
                new_node(&mut f);
            }
            f.settle(&waiting.uid, outcome);
            if !in_flight {
                new_node(&mut f);
            }
            assert_eq!(
                f.place(&waiting),
                Some(place),
                "{plugins:?} {pending:?} in flight: {in_flight}"
            );
        }
    }
}

#[test]
fn what_stood_in_the_way_of_a_preemption_wakes_the_pod_and_counts_for_no_plugin() {
    for (hindering, place) in [("Eager", Place::Backoff), ("Stubborn", Place::Unschedulable)] {
        for in_flight in [false, true] {
            let mut f = fixture();
            let waiting = f.add(pod("a"));
            f.pop();
            let outcome = Outcome::Rejected {
                plugins: vec!["Deaf"],
                pending_plugins: Vec::new(),
                preemption_plugins: vec![hindering],
                judged_at: Seq::new(f.seq),
            };
            if in_flight {
                new_node(&mut f);
            }
            f.settle(&waiting.uid, outcome);
            if !in_flight {
                assert_eq!(f.place(&waiting), Some(Place::Unschedulable));
                assert_eq!(f.queue.account_of(&waiting.uid).unwrap().rejected_by, ["Deaf"]);
                new_node(&mut f);
            }
            assert_eq!(f.place(&waiting), Some(place), "{hindering} in flight: {in_flight}");
        }
    }
}

#[test]
fn a_plugin_that_the_profile_does_not_know_is_helped_by_whatever_anybody_listens_to() {
    let mut f = fixture();
    let waiting = f.add_rejected(pod("a"), &["Unheard"]);
    f.queue.observe(
        ClusterEvent::new(EventResource::VolumeAttachment, Action::DELETE),
        EventObjects::None,
        f.now,
    );
    assert_eq!(f.place(&waiting), Some(Place::Unschedulable));
    new_node(&mut f);
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
    assert!(hints(&mut f).is_empty());
}

#[test]
fn pods_that_are_alike_are_asked_for_once_and_move_together() {
    let mut f = fixture();
    let alike: Vec<_> = (0..5)
        .map(|at| f.add_rejected(pod(&format!("web-{at}")).label("answer", "queue"), &["Obedient"]))
        .collect();
    let other = f.add_rejected(pod("db").label("answer", "skip"), &["Obedient"]);
    let by_another = f.add_rejected(pod("deaf").label("answer", "queue"), &["NodeResourcesFit"]);
    f.queue.observe(NODE_ADD, EventObjects::None, f.now);
    assert!(alike.iter().all(|pod| f.place(pod) == Some(Place::Backoff)));
    assert_eq!(f.place(&other), Some(Place::Unschedulable));
    assert_eq!(f.place(&by_another), Some(Place::Backoff));
    assert_eq!(
        hints(&mut f),
        [
            ("NodeResourcesFit".to_owned(), "Queue", 1),
            ("Obedient".to_owned(), "Queue", 1),
            ("Obedient".to_owned(), "QueueSkip", 1),
        ]
    );
}

#[test]
fn a_pod_that_changes_is_asked_for_as_what_it_is_now() {
    let mut f = fixture();
    let first = f.add_rejected(pod("a").label("answer", "skip"), &["Obedient"]);
    let second = f.add_rejected(pod("b").label("answer", "skip"), &["Obedient"]);
    f.update(&second, |pod| pod.labels = [("answer", "queue")].into_iter().collect());
    new_node(&mut f);
    assert_eq!(f.place(&first), Some(Place::Unschedulable));
    assert_eq!(f.place(&second), Some(Place::Backoff));
}

/// A pod that a plugin turned away and a gate then holds: the barrier, shut until the pod was there, which listens to what
/// `gate` does.
fn gated(gate: fn() -> Rejector, plugin: &'static str) -> (Fixture, Arc<Pod>) {
    let mut f = Fixture::listening(|| {
        let eager = Rejector::new("Eager", &[NODE_ADD], always());
        vec![stubborn("Stubborn"), eager, gate()]
    });
    let waiting = f.add(pod("a"));
    f.pop();
    f.shut_barrier(true);
    f.queue.activate(std::slice::from_ref(&waiting.uid), f.now);
    f.settle(&waiting.uid, rejected_by(plugin, f.seq));
    f.shut_barrier(false);
    f.queue.take_metrics();
    assert_eq!(f.place(&waiting), Some(Place::Gated));
    (f, waiting)
}

#[test]
fn a_gated_pod_is_left_alone_unless_the_plugin_that_holds_it_hears_of_the_event() {
    let deaf = || Rejector::new("Barrier", &[], always());
    let (mut f, waiting) = gated(deaf, "Eager");
    new_node(&mut f);
    assert_eq!(f.place(&waiting), Some(Place::Gated));
    assert!(hints(&mut f).is_empty());
    // Its own update is asked about as any pod's.
    f.update(&waiting, |pod| pod.spec.tolerations.push(Toleration::default()));
    assert_eq!(f.place(&waiting), Some(Place::Gated));
}

#[test]
fn what_a_gated_pod_was_turned_away_by_decides_once_its_gate_hears_of_the_event() {
    let quiet = || stubborn("Barrier");
    for (plugin, place) in [("Stubborn", Place::Gated), ("Eager", Place::Backoff)] {
        let (mut f, waiting) = gated(quiet, plugin);
        new_node(&mut f);
        assert_eq!(f.place(&waiting), Some(place), "{plugin}");
    }
}

#[test]
fn wakings_are_useful_if_the_next_attempt_places_the_pod_and_wasted_if_it_is_turned_away() {
    let wakeups = |f: &mut Fixture| {
        let Wakeups { useful, wasted, .. } = f.queue.take_metrics().wakeups;
        (useful, wasted)
    };
    let failed = Outcome::Failed { judged_at: Seq::new(9) };
    let cases = [
        (Outcome::Placed, (1, 0)),
        (rejected_at(9), (0, 1)),
        (failed, (0, 0)),
        (Outcome::Dropped, (0, 0)),
    ];
    for (outcome, expected) in cases {
        let mut f = Fixture::new();
        let waiting = f.add_rejected(pod("a"), &["NodeResourcesFit"]);
        assert_eq!(wakeups(&mut f), (0, 0));
        f.make_room();
        f.pop().unwrap();
        f.settle(&waiting.uid, outcome.clone());
        assert_eq!(wakeups(&mut f), expected, "{outcome:?}");
    }
    // The watch may show the pod on its node before the cycle tells that it is placed.
    let mut f = Fixture::new();
    let waiting = f.add_rejected(pod("a"), &["NodeResourcesFit"]);
    f.make_room();
    f.pop().unwrap();
    f.update(&waiting, |pod| pod.node_name = Some("n".into()));
    f.settle(&waiting.uid, Outcome::Placed);
    assert_eq!(wakeups(&mut f), (1, 0));
    // Neither a deadline nor a forced activation is an event's doing.
    let mut f = Fixture::new();
    let waiting = f.add_rejected(pod("a"), &["NodeResourcesFit"]);
    f.tick_after(301 * SECOND);
    f.pop().unwrap();
    f.reject(&waiting.uid);
    f.queue.activate(std::slice::from_ref(&waiting.uid), f.now);
    f.pop().unwrap();
    f.settle(&waiting.uid, Outcome::Placed);
    assert_eq!(wakeups(&mut f), (0, 0));
    // An event during the attempt wakes for the next one.
    let waiting = f.add(pod("b"));
    f.pop().unwrap();
    f.make_room();
    f.reject(&waiting.uid);
    f.pop().unwrap();
    f.settle(&waiting.uid, Outcome::Placed);
    assert_eq!(wakeups(&mut f), (1, 0));
}

#[test]
fn members_of_a_scheduling_group_come_back_after_a_backoff_when_groups_are_on() {
    for (on, place) in [(false, Place::Unschedulable), (true, Place::Backoff)] {
        let mut f = Fixture::with(QueueConfig {
            generic_workload: on,
            ..QueueConfig::default()
        });
        let member = f.add(pod("a").with(|pod| pod.spec.scheduling_group = Some("g".into())));
        f.pop();
        f.reject(&member.uid);
        assert_eq!(f.place(&member), Some(place), "{on}");
    }
}

#[test]
fn a_new_member_of_a_group_is_an_event_to_the_others_when_gangs_are_on() {
    for (on, place) in [(false, Place::Unschedulable), (true, Place::Backoff)] {
        let mut f = Fixture::with(QueueConfig {
            gang_scheduling: on,
            ..QueueConfig::default()
        });
        let member = f.add_rejected(pod("a"), &["InterPodAffinity"]);
        f.add(pod("b"));
        assert_eq!(f.place(&member), Some(place), "{on}");
    }
}

#[test]
fn one_pod_can_be_popped_out_of_turn_whatever_it_waits_for_but_its_gates() {
    for place in PLACES {
        let mut f = Fixture::new();
        let wanted = f.add_at(place, "a");
        f.add(pod("first").priority(9_999));
        let popped = f
            .queue
            .pop_specific(&wanted.uid, f.now)
            .map(|popped| popped.pod.uid.clone());
        let stays = matches!(place, Place::Gated | Place::InFlight | Place::Placed);
        assert_eq!(popped, (!stays).then(|| wanted.uid.clone()), "{place:?}");
        let after = if stays { place } else { Place::InFlight };
        assert_eq!(f.place(&wanted), Some(after), "{place:?}");
    }
    let mut f = Fixture::new();
    assert!(f.queue.pop_specific(&Uid::from("nobody"), f.now).is_none());
}

/// Of these plugins each finds a new node good that has its label.
fn wanting(label: &'static str) -> Rejector {
    let hint = move |_: ClusterEvent, _: &Pod, objects: &EventObjects| match objects {
        EventObjects::Node { new: Some(new), .. } if new.labels.get(label).is_some() => Ok(QueueingHint::Queue),
        _ => Ok(QueueingHint::Skip),
    };
    Rejector::new(label, &[NODE_ADD], Box::new(hint))
}

#[test]
fn a_new_node_wakes_a_pod_only_if_it_suits_every_plugin_that_can_be_helped_by_nothing_but_the_node() {
    let cases: [(&[&'static str], &[&str], bool); 8] = [
        (&["Room", "Kind"], &["Room"], false),
        (&["Room", "Kind"], &["Kind"], false),
        (&["Room", "Kind"], &["Room", "Kind"], true),
        (&["Room"], &["Room"], true),
        (&["Room"], &["Kind"], false),
        // What is counted over many nodes may change elsewhere.
        (&["Room", "Spread"], &["Spread"], true),
        (&["Room", "Spread"], &["Room"], true),
        (&["Room", "Kind", "Spread"], &["Room"], false),
    ];
    for (rejected_by, labels, wakes) in cases {
        let mut f = Fixture::listening(|| {
            let alone = ["Room", "Kind"].map(|name| wanting(name).judging_new_nodes_alone());
            alone.into_iter().chain([wanting("Spread")]).collect()
        });
        let waiting = f.add_rejected(pod("p"), rejected_by);
        let new = labels.iter().fold(node("n"), |node, label| node.label(label, "yes"));
        f.apply(Delta::NodeAdded(Arc::new(new.build())));
        let moved = f.place(&waiting) == Some(Place::Backoff);
        assert_eq!(moved, wakes, "{rejected_by:?} {labels:?}");
    }
}
