use plimsoll_model::ControllerReference;
use plimsoll_model::testing::{PodBuilder, pod};
use proptest::prelude::*;

use super::*;

const WINDOW: Duration = Duration::from_mins(10);

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

fn made_by(name: &str, controller: &str) -> PodBuilder {
    let controller = ControllerReference {
        uid: controller.into(),
        ..ControllerReference::default()
    };
    pod(name).with(|pod| pod.controller = Some(controller.into()))
}

/// `big` of the controller `app` has had `victims` evicted from n1 at second 0, where `beside` stay.
fn remembered(victims: &[Pod], beside: &[Pod]) -> Recent {
    let mut recent = Recent::default();
    let there = victims.iter().chain(beside);
    recent.note(
        &made_by("big", "app").build(),
        "n1",
        victims.iter(),
        there,
        (WINDOW, at(0)),
    );
    recent
}

fn bar(recent: &Recent, preemptor: &Pod, lower: &[Pod], now: Moment) -> Option<Bar> {
    let barred = recent.against(preemptor, now);
    barred.judge("n1", &lower.iter()).map(|(bar, _)| bar)
}

#[test]
fn a_node_with_a_replacement_of_a_victim_is_barred() {
    let evicted = made_by("v", "rs").priority(5).build();
    let sibling = made_by("s", "rs").priority(5).build();
    let recent = remembered(std::slice::from_ref(&evicted), std::slice::from_ref(&sibling));
    let same = made_by("big", "app").build();
    let next = made_by("big-2", "app").build();
    let other = made_by("other", "another").build();
    let replacement = || made_by("w", "rs").priority(5);
    let cases = [
        ("a replacement", &same, replacement().build(), Some(Bar::Replaced)),
        (
            "for a pod of the same controller",
            &next,
            replacement().build(),
            Some(Bar::Replaced),
        ),
        ("for a pod of another one", &other, replacement().build(), None),
        (
            "of lower priority",
            &next,
            replacement().priority(4).build(),
            Some(Bar::Replaced),
        ),
        ("of higher priority", &next, replacement().priority(6).build(), None),
        ("going already", &next, replacement().terminating().build(), None),
        (
            "made by another",
            &next,
            made_by("w", "other").priority(5).build(),
            None,
        ),
        (
            "without a controller",
            &next,
            pod("v").uid("w").priority(5).build(),
            None,
        ),
        ("the victim itself", &next, evicted.clone(), None),
        ("one that was there before", &next, sibling, None),
    ];
    for (case, preemptor, lower, expected) in cases {
        // The victim is still there, so that it cannot have been for nothing yet.
        let there = [lower, evicted.clone()];
        assert_eq!(bar(&recent, preemptor, &there, at(1)), expected, "{case}");
    }
}

#[test]
fn a_pod_without_a_controller_is_replaced_by_one_of_its_name() {
    let evicted = pod("v").uid("first").build();
    let recent = remembered(std::slice::from_ref(&evicted), &[]);
    let preemptor = made_by("big-2", "app").build();
    let again = pod("v").uid("second");
    assert_eq!(bar(&recent, &preemptor, &[again.build()], at(1)), Some(Bar::Replaced));
    let elsewhere = pod("v").uid("second").namespace("shop").build();
    assert_eq!(bar(&recent, &preemptor, &[elsewhere], at(1)), None);
    let mut recent = Recent::default();
    let lone = pod("lone").uid("1").build();
    recent.note(
        &lone,
        "n1",
        [&evicted].into_iter(),
        [&evicted].into_iter(),
        (WINDOW, at(0)),
    );
    let made_again = pod("lone").uid("2").build();
    let replacement = [pod("v").uid("second").build()];
    assert_eq!(bar(&recent, &made_again, &replacement, at(1)), Some(Bar::Replaced));
}

#[test]
fn evictions_that_did_not_help_are_not_followed_by_others_there() {
    let victims = [made_by("v", "rs").build(), made_by("u", "rs").build()];
    let recent = remembered(&victims, &[]);
    let same = made_by("big", "app").build();
    let next = made_by("big-2", "app").build();
    let unrelated = pod("x").build();
    let all_gone = [unrelated.clone()];
    assert_eq!(bar(&recent, &same, &all_gone, at(1)), Some(Bar::NoGain));
    assert_eq!(bar(&recent, &next, &all_gone, at(1)), None, "it may fare better");
    let one_is_left = [unrelated, victims[1].clone()];
    assert_eq!(
        bar(&recent, &same, &one_is_left, at(1)),
        None,
        "not over yet, or failed"
    );
    let barred = recent.against(&same, at(1));
    assert!(!barred.is_empty() && recent.against(&pod("p").build(), at(1)).is_empty());
    assert_eq!(barred.judge("n2", &all_gone.iter()), None, "another node");
}

#[test]
fn a_bar_ends_with_the_last_window_that_speaks_for_it() {
    let evicted = made_by("v", "rs").build();
    let mut recent = remembered(std::slice::from_ref(&evicted), &[]);
    let preemptor = made_by("big-2", "app").build();
    let replacement = [made_by("w", "rs").build()];
    let until = |recent: &Recent, now| {
        let barred = recent.against(&preemptor, now);
        barred.judge("n1", &replacement.iter()).map(|(_, until)| until)
    };
    assert_eq!(until(&recent, at(599)), Some(at(600)));
    assert_eq!(until(&recent, at(600)), None);
    let again = [made_by("y", "rs").build()];
    recent.note(&preemptor, "n1", again.iter(), again.iter(), (WINDOW, at(300)));
    assert_eq!(until(&recent, at(301)), Some(at(900)));
    assert_eq!(until(&recent, at(899)), Some(at(900)));
    assert_eq!(until(&recent, at(900)), None);
}

#[test]
fn the_pods_message_says_what_speaks_against_nodes() {
    assert_eq!(
        Bar::Replaced.reason(),
        "Replacements of pods evicted for this pod are back"
    );
    assert_eq!(Bar::NoGain.reason(), "Evictions there did not help this pod");
}

#[test]
fn only_so_many_pods_are_remembered_and_the_oldest_are_forgotten_first() {
    let mut recent = Recent::with_most_pods(6);
    let preemptor = |number: u64| pod(&format!("p{number}")).build();
    let victim = |number: u64| made_by(&format!("v{number}"), &format!("rs{number}"));
    for number in 0..5 {
        let victims = [victim(number).build()];
        recent.note(
            &preemptor(number),
            "n1",
            victims.iter(),
            victims.iter(),
            (WINDOW, at(number)),
        );
    }
    let remembers = |number: u64| {
        let replacement = [victim(number).uid("new").build()];
        bar(&recent, &preemptor(number), &replacement, at(9)).is_some()
    };
    let remembered: Vec<bool> = (0..5).map(remembers).collect();
    assert_eq!(remembered, [false, false, true, true, true]);
}

#[test]
fn what_is_over_is_forgotten() {
    let mut recent = remembered(&[pod("v").build()], &[]);
    let later = pod("w").build();
    recent.note(
        &pod("p").build(),
        "n2",
        [&later].into_iter(),
        [&later].into_iter(),
        (WINDOW, at(600)),
    );
    assert_eq!(
        (recent.preemptions.len(), recent.by_origin.len(), recent.pods),
        (1, 1, 2)
    );
}

/// What happens in a cluster in which nothing but preemption decides.
#[derive(Debug, Clone)]
enum Event {
    /// So many seconds pass.
    Wait(u64),
    /// A pod of this application wants room on a node; so many of the pods there would have to go.
    Want { app: usize, node: usize, victims: usize },
    /// A controller puts a pod on a node.
    Arrive {
        controller: usize,
        node: usize,
        priority: i32,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1..200_u64).prop_map(Event::Wait),
        (0..2_usize, 0..2_usize, 1..3_usize).prop_map(|(app, node, victims)| Event::Want { app, node, victims }),
        (0..3_usize, 0..2_usize, 0..3).prop_map(|(controller, node, priority)| Event::Arrive {
            controller,
            node,
            priority
        }),
        (0..3_usize, 0..2_usize, 0..3).prop_map(|(controller, node, priority)| Event::Arrive {
            controller,
            node,
            priority
        }),
    ]
}

struct Resident {
    pod: Pod,
    came: Moment,
}

/// A preemption that took place.
struct Done {
    app: usize,
    node: usize,
    when: Moment,
    victims: Vec<Pod>,
}

impl Done {
    fn is_repeated_by(&self, app: usize, node: usize, now: Moment, victim: &Resident) -> bool {
        let replaces =
            |evicted: &Pod| evicted.controller == victim.pod.controller && victim.pod.priority() <= evicted.priority();
        (self.app, self.node) == (app, node)
            && now.since(self.when) < WINDOW
            && victim.came >= self.when
            && self.victims.iter().any(replaces)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_preemption_is_repeated_within_the_window_and_none_is_barred_after_it(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut recent = Recent::default();
        let mut nodes: [Vec<Resident>; 2] = [Vec::new(), Vec::new()];
        let mut done: Vec<Done> = Vec::new();
        let mut now = at(1);
        for (number, event) in events.iter().enumerate() {
            match *event {
                Event::Wait(seconds) => now = now + Duration::from_secs(seconds),
                Event::Arrive { controller, node, priority } => {
                    let pod = made_by(&format!("v{number}"), &format!("rs{controller}")).priority(priority).build();
                    nodes[node].push(Resident { pod, came: now });
                }
                Event::Want { app, node, victims } => {
                    let preemptor = made_by(&format!("p{number}"), &format!("app{app}")).priority(10).build();
                    let name = format!("n{node}");
                    let there = nodes[node].iter().map(|resident| &resident.pod);
                    let barred = recent.against(&preemptor, now).judge(&name, &there);
                    let repeats = |resident: &Resident| {
                        done.iter().any(|done| done.is_repeated_by(app, node, now, resident))
                    };
                    let nothing_to_repeat = !nodes[node].iter().any(repeats);
                    prop_assert_eq!(barred.is_none(), nothing_to_repeat);
                    if barred.is_some() {
                        continue;
                    }
                    let count = victims.min(nodes[node].len());
                    recent.note(&preemptor, &name, there.clone().take(count), there, (WINDOW, now));
                    let victims: Vec<Pod> = nodes[node].drain(..count).map(|resident| resident.pod).collect();
                    // Whatever comes at the same moment comes after the decision.
                    now = now + Duration::from_nanos(1);
                    done.push(Done { app, node, when: now, victims });
                }
            }
        }
    }

    #[test]
    fn memory_is_bounded(sizes in prop::collection::vec((1..6_usize, 0..6_usize, 0..900_u64), 1..60)) {
        let mut recent = Recent::with_most_pods(20);
        let mut now = at(0);
        for (number, (victims, beside, wait)) in sizes.into_iter().enumerate() {
            let pods: Vec<Pod> = (0..victims + beside).map(|at| made_by(&format!("v{number}-{at}"), "rs").build()).collect();
            let preemptor = made_by("p", &format!("app{}", number % 3)).build();
            recent.note(&preemptor, "n1", pods[..victims].iter(), pods.iter(), (WINDOW, now));
            let held: usize = recent.preemptions.values().map(Preemption::pods).sum();
            let listed: usize = recent.by_origin.values().map(Vec::len).sum();
            prop_assert_eq!(held, recent.pods);
            prop_assert_eq!(listed, recent.preemptions.len());
            prop_assert!(recent.pods <= 20, "{}", recent.pods);
            now = now + Duration::from_secs(wait);
        }
    }
}
