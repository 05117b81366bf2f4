use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_framework::{Action, ClusterEvent, EventObjects, EventResource, QueueingHint};
use plimsoll_model::testing::pod;
use plimsoll_model::{Pod, Seq, Uid};
use proptest::prelude::*;

use super::super::fixture::{Fixture, Hint, Rejector};
use crate::event_log::{Audience, Occurrence};
use crate::metrics::HintTally;
use crate::worth::{self, Happening, Worth};
use crate::{Outcome, Place};

/// What pods are rejected by; the last is known to no profile.
const PLUGINS: [&str; 4] = ["Even", "Odd", "Loud", "Unheard"];

const EVENTS: [ClusterEvent; 4] = [
    ClusterEvent::new(EventResource::Node, Action::ADD),
    ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_LABEL),
    ClusterEvent::new(EventResource::AssignedPod, Action::DELETE),
    ClusterEvent::new(EventResource::VolumeAttachment, Action::DELETE),
];

/// A pod, as far as the hints here read it.
#[derive(Debug, Clone)]
struct Sort {
    label: u8,
    cpu: u8,
    priority: i32,
    plugins: Vec<usize>,
    pending: Vec<usize>,
    hindering: Vec<usize>,
    gated: bool,
}

fn sort() -> impl Strategy<Value = Sort> {
    let plugins = || prop::collection::vec(0..PLUGINS.len(), 0..3);
    let turned_away_by = (plugins(), plugins(), plugins());
    (0..3u8, 1..3u8, 0..3i32, turned_away_by, prop::bool::weighted(0.2)).prop_map(
        |(label, cpu, priority, (plugins, pending, hindering), gated)| Sort {
            label,
            cpu,
            priority,
            plugins,
            pending,
            hindering,
            gated,
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Park(Sort),
    Relabel(usize, u8),
    Delete(usize),
    /// An event, what its pod looks like, and of which priority at most those are whom it concerns.
    Event {
        event: usize,
        object: u8,
        at_most: Option<i32>,
    },
    OpenBarrier(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => sort().prop_map(Step::Park),
        1 => (0..100usize, 0..3u8).prop_map(|(pod, label)| Step::Relabel(pod, label)),
        1 => (0..100usize).prop_map(Step::Delete),
        4 => (0..EVENTS.len(), 0..4u8, prop::option::of(0..3i32))
            .prop_map(|(event, object, at_most)| Step::Event { event, object, at_most }),
        1 => any::<bool>().prop_map(Step::OpenBarrier),
    ]
}

/// Says yes where label, if it is read, request and the event's pod come together so that the sum has this remainder by three;
/// one combination is beyond it.
fn hint(remainder: usize, reads_labels: bool) -> Hint {
    Box::new(move |_, pod, objects| {
        let EventObjects::Pod { old: Some(old), .. } = objects else {
            return Err("no pod".to_owned());
        };
        let label = pod.labels.get("l").filter(|_| reads_labels).map_or(0, str::len);
        let cpu = usize::from(
            pod.spec
                .containers
                .iter()
                .any(|container| container.requests.get("cpu").is_some_and(|cpu| cpu.value() > 1)),
        );
        let sum = label + cpu + old.labels.len();
        if sum == 5 {
            return Err("beyond me".to_owned());
        }
        Ok(if sum % 3 == remainder {
            QueueingHint::Queue
        } else {
            QueueingHint::Skip
        })
    })
}

fn fixture(portion: usize) -> Fixture {
    let mut f = Fixture::listening(|| {
        vec![
            Rejector::new("Even", &EVENTS[..2], hint(0, true)),
            Rejector::new("Odd", &EVENTS[1..3], hint(1, true)),
            Rejector::new("Loud", &EVENTS[..1], hint(2, false)).without_labels(),
        ]
    });
    f.queue.portion = portion;
    f
}

fn label(length: u8) -> String {
    "x".repeat(usize::from(length))
}

impl Fixture {
    fn park(&mut self, number: usize, sort: &Sort) -> Arc<Pod> {
        let mut builder = pod(&format!("p{number}"))
            .label("l", &label(sort.label))
            .cpu(&sort.cpu.to_string())
            .priority(sort.priority);
        if sort.gated {
            builder = builder.gate("g");
        }
        let waiting = self.add(builder);
        let named = |plugins: &[usize]| plugins.iter().map(|at| PLUGINS[*at]).collect();
        if self.queue.pop_specific(&waiting.uid, self.now).is_some() {
            let outcome = Outcome::Rejected {
                plugins: named(&sort.plugins),
                pending_plugins: named(&sort.pending),
                preemption_plugins: named(&sort.hindering),
                judged_at: Seq::new(self.seq),
            };
            self.settle(&waiting.uid, outcome);
        }
        waiting
    }

    /// What a walk over all parked pods says of each: where it is and what the event is worth to it.
    fn walk(&self, happening: Happening<'_>, at_most: Option<i32>) -> BTreeMap<Uid, (Place, Worth)> {
        let queue = &self.queue;
        let profiles = || queue.profiles.iter().map(Arc::as_ref);
        let heard = worth::can_help_anybody(profiles(), happening.event);
        let mut hints = HintTally::default();
        let mut found = BTreeMap::new();
        for record in queue.records.iter() {
            let Some(place @ (Place::Unschedulable | Place::Gated)) = record.place() else {
                continue;
            };
            let profile = &queue.profiles[usize::from(record.profile)];
            let gate = record.gate.map(|gate| profile.pre_enqueue[usize::from(gate)].name());
            let deaf = gate.is_some_and(|gate| !worth::gate_listens(profiles(), gate, happening.event));
            let above = at_most.is_some_and(|most| record.pod.priority() > most);
            let plugins = queue.plugin_sets.get(record.rejected_by);
            let worth = if heard && !deaf && !above {
                happening.worth(Some(profile.as_ref()), &record.pod, plugins, &mut hints)
            } else {
                Worth::Skip
            };
            found.insert(record.pod.uid.clone(), (place, worth));
        }
        found
    }

    fn tell(&mut self, event: ClusterEvent, objects: EventObjects, at_most: Option<i32>) {
        let occurrence = Occurrence {
            event,
            objects,
            audience: at_most.map_or(Audience::Everyone, Audience::PriorityAtMost),
            seq: None,
        };
        self.queue.announce(occurrence, self.now);
    }

    fn holds(&self, pod: &Pod) -> bool {
        self.barrier.load(Ordering::Relaxed) || !pod.spec.scheduling_gates.is_empty()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn an_event_moves_exactly_the_pods_that_a_walk_over_all_of_them_finds(
        portion in prop_oneof![Just(10_000usize), 1..4usize],
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut f = fixture(portion);
        let mut pods: Vec<Arc<Pod>> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Park(sort) => pods.push(f.park(number, sort)),
                Step::Relabel(..) | Step::Delete(_) if pods.is_empty() => {}
                Step::Relabel(at, length) => {
                    let at = at % pods.len();
                    let old = Arc::clone(&pods[at]);
                    pods[at] = f.update(&old, |pod| pod.labels = [("l", label(*length))].into_iter().collect());
                }
                Step::Delete(at) => {
                    let gone = pods.swap_remove(at % pods.len());
                    f.delete(&gone);
                }
                Step::OpenBarrier(open) => f.shut_barrier(!open),
                Step::Event { event, object, at_most } => {
                    let mut old = pod("event").on("n");
                    for at in 0..*object {
                        old = old.label(&at.to_string(), "");
                    }
                    let objects = EventObjects::Pod { old: Some(Arc::new(old.build())), new: None };
                    let happening = Happening { event: EVENTS[*event], objects: &objects };
                    let expected = f.walk(happening, *at_most);
                    f.tell(EVENTS[*event], objects.clone(), *at_most);
                    f.settle_down();
                    for (uid, (before, worth)) in expected {
                        let record = &f.queue.records[f.queue.records.find(&uid).unwrap()];
                        let after = record.place();
                        let expected: &[Place] = match (worth, f.holds(&record.pod)) {
                            (Worth::Skip, _) => &[before],
                            (_, true) => &[Place::Gated],
                            (Worth::AfterBackoff, false) => &[Place::Active, Place::Backoff],
                            (Worth::Immediately, false) => &[Place::Active],
                        };
                        prop_assert!(after.is_some_and(|after| expected.contains(&after)), "{uid}: {after:?}");
                    }
                }
            }
        }
    }
}
