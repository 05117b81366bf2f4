use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_framework::{Action, ClusterEvent, EventObjects, EventResource, QueueingHint};
use plimsoll_model::testing::{PodBuilder, node, pod};
use plimsoll_model::{Delta, Node, Pod, Seq, Uid};
use proptest::prelude::*;

use super::super::fixture::{Fixture, ROOM, Rejector, rejected_by};
use crate::{Outcome, Place};

const ROOMY: &str = "Roomy";

/// What may happen to a cluster of a few nodes in which pods only want room. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    AddPod(u32),
    ShrinkPod(usize),
    DeletePod(usize),
    AddNode(u32),
    ResizeNode(usize, u32),
    DeleteNode(usize),
    AddForeign(usize, u32),
    ShrinkForeign(usize),
    DeleteForeign(usize),
    Pop,
    /// With columns this many changes behind.
    Judge(usize, usize),
    Settle(usize),
    /// The bind of a placed pod is seen.
    Confirm(usize),
    /// The claim of a placed pod comes apart.
    ComeApart(usize),
    Pass(u64),
    Tick,
}

fn step() -> impl Strategy<Value = Step> {
    let some = || 0..100usize;
    prop_oneof![
        5 => (1..5u32).prop_map(Step::AddPod),
        1 => some().prop_map(Step::ShrinkPod),
        1 => some().prop_map(Step::DeletePod),
        2 => (1..8u32).prop_map(Step::AddNode),
        2 => (some(), 1..8u32).prop_map(|(node, size)| Step::ResizeNode(node, size)),
        1 => some().prop_map(Step::DeleteNode),
        2 => (some(), 1..5u32).prop_map(|(node, size)| Step::AddForeign(node, size)),
        1 => some().prop_map(Step::ShrinkForeign),
        2 => some().prop_map(Step::DeleteForeign),
        8 => Just(Step::Pop),
        8 => (some(), 0..4usize).prop_map(|(attempt, behind)| Step::Judge(attempt, behind)),
        8 => some().prop_map(Step::Settle),
        1 => some().prop_map(Step::Confirm),
        2 => some().prop_map(Step::ComeApart),
        3 => (0..3_000u64).prop_map(Step::Pass),
        3 => Just(Step::Tick),
    ]
}

fn cpu_of(pod: &Pod) -> i64 {
    let requests = pod
        .spec
        .containers
        .iter()
        .filter_map(|container| container.requests.get("cpu"));
    requests.map(plimsoll_model::Quantity::value).sum()
}

fn room_of(node: &Node) -> i64 {
    node.status.allocatable.amounts.milli_cpu / 1_000
}

/// Says `Queue` exactly when the change leaves more room somewhere, or the pod wants less.
fn honest(pod: &Pod, objects: &EventObjects) -> bool {
    match objects {
        EventObjects::Pod {
            old: Some(_),
            new: Some(new),
        } if new.uid == pod.uid => true,
        EventObjects::Pod {
            old: Some(old),
            new: None,
        } => old.node_name().is_some(),
        EventObjects::Pod {
            old: Some(old),
            new: Some(new),
        } => new.node_name().is_some() && cpu_of(new) < cpu_of(old),
        EventObjects::Node { old, new: Some(new) } => {
            let grows = old.as_ref().is_none_or(|old| room_of(new) > room_of(old));
            grows && room_of(new) >= cpu_of(pod)
        }
        _ => false,
    }
}

fn fixture(portion: usize) -> Fixture {
    let mut f = Fixture::listening(|| {
        let events = [
            ClusterEvent::new(EventResource::Pod, Action::DELETE | Action::UPDATE_POD_SCALE_DOWN),
            ClusterEvent::new(EventResource::Node, Action::ADD | Action::UPDATE_NODE_ALLOCATABLE),
        ];
        let hint = |_, pod: &Pod, objects: &EventObjects| {
            Ok(if honest(pod, objects) {
                QueueingHint::Queue
            } else {
                QueueingHint::Skip
            })
        };
        vec![Rejector::new(ROOMY, &events, Box::new(hint))]
    });
    f.queue.portion = portion;
    f
}

/// The cluster as the watch has told it.
#[derive(Debug, Clone, Default)]
struct Seen {
    nodes: BTreeMap<String, i64>,
    /// Pods on nodes: where, and how much they take.
    placed: BTreeMap<Uid, (String, i64)>,
}

/// An attempt under way.
#[derive(Debug, Clone)]
struct Attempt {
    pod: Arc<Pod>,
    popped_at: usize,
    verdict: Option<Verdict>,
}

#[derive(Debug, Clone)]
enum Verdict {
    Fits,
    No { judged_at: usize },
}

struct World {
    f: Fixture,
    /// The cluster after each change.
    seen: Vec<Seen>,
    waiting: BTreeMap<Uid, Arc<Pod>>,
    attempts: Vec<Attempt>,
    /// Pods with a node of ours that the watch has not shown there: where, and as what object.
    claims: BTreeMap<Uid, (String, Arc<Pod>)>,
    nodes: BTreeMap<String, Arc<Node>>,
    foreign: Vec<Arc<Pod>>,
    made: u32,
}

impl World {
    fn new(portion: usize) -> Self {
        Self {
            f: fixture(portion),
            seen: vec![Seen::default()],
            waiting: BTreeMap::new(),
            attempts: Vec::new(),
            claims: BTreeMap::new(),
            nodes: BTreeMap::new(),
            foreign: Vec::new(),
            made: 0,
        }
    }

    fn now(&self) -> Seen {
        self.seen.last().cloned().unwrap_or_default()
    }

    /// The next change has this effect.
    fn change(&mut self, effect: impl FnOnce(&mut Seen)) {
        let mut next = self.now();
        effect(&mut next);
        self.seen.push(next);
    }

    /// The node that has room for the pod as far as the columns show with this cluster and the claims of now.
    fn node_for(&self, seen: &Seen, pod: &Pod) -> Option<String> {
        seen.nodes
            .iter()
            .find(|(node, room)| {
                let placed = seen.placed.iter().filter(|(_, (on, _))| on == *node);
                let used: i64 = placed.map(|(_, (_, cpu))| cpu).sum();
                let claims = self.claims.iter().filter(|(uid, _)| !seen.placed.contains_key(*uid));
                let claimed = claims.filter(|(_, (on, _))| on == *node);
                let claimed: i64 = claimed.map(|(_, (_, pod))| cpu_of(pod)).sum();
                used + claimed + cpu_of(pod) <= **room
            })
            .map(|(node, _)| node.clone())
    }

    fn make(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{}", self.made)
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::AddPod(cpu) => {
                let name = self.make("p");
                let added = self.f.add(pod(&name).cpu(&cpu.to_string()));
                self.waiting.insert(added.uid.clone(), added);
                self.change(|_| {});
            }
            Step::ShrinkPod(at) => self.shrink_pod(at),
            Step::DeletePod(at) => self.delete_pod(at),
            Step::AddNode(cpu) => {
                let name = self.make("n");
                let added = Arc::new(node(&name).cpu(&cpu.to_string()).build());
                self.f.apply(Delta::NodeAdded(Arc::clone(&added)));
                self.change(|seen| {
                    seen.nodes.insert(name.clone(), i64::from(cpu));
                });
                self.nodes.insert(name, added);
            }
            Step::ResizeNode(at, cpu) => self.resize_node(at, cpu),
            Step::DeleteNode(at) => self.delete_node(at),
            Step::AddForeign(at, cpu) => self.add_foreign(at, cpu),
            Step::ShrinkForeign(at) => self.shrink_foreign(at),
            Step::DeleteForeign(at) => self.delete_foreign(at),
            Step::Pop => {
                if let Some(popped) = self.f.pop() {
                    self.attempts.push(Attempt {
                        pod: popped.pod,
                        popped_at: self.seen.len() - 1,
                        verdict: None,
                    });
                }
            }
            Step::Judge(at, behind) => self.judge(at, behind),
            Step::Settle(at) => self.settle(at),
            Step::Confirm(at) => self.confirm(at),
            Step::ComeApart(at) => self.come_apart(at),
            Step::Pass(milliseconds) => self.f.pass(Duration::from_millis(milliseconds)),
            Step::Tick => self.f.queue.tick(self.f.now),
        }
    }

    fn waiting_at(&self, at: usize) -> Option<Arc<Pod>> {
        self.waiting.values().nth(at.checked_rem(self.waiting.len())?).cloned()
    }

    fn shrink_pod(&mut self, at: usize) {
        let Some(old) = self
            .waiting_at(at)
            .filter(|pod| cpu_of(pod) > 1 && !self.claims.contains_key(&pod.uid))
        else {
            return;
        };
        let smaller = with_cpu(pod("smaller"), cpu_of(&old) - 1);
        let new = self.f.update(&old, |pod| {
            pod.spec.containers = smaller.build().spec.containers.clone();
        });
        self.waiting.insert(new.uid.clone(), new);
        self.change(|_| {});
    }

    fn delete_pod(&mut self, at: usize) {
        let Some(gone) = self.waiting_at(at) else { return };
        self.f.delete(&gone);
        self.waiting.remove(&gone.uid);
        self.change(|_| {});
        self.release(&gone.uid);
    }

    /// The cycle gives up a claim, and tells.
    fn release(&mut self, uid: &Uid) {
        let Some((node, pod)) = self.claims.remove(uid) else {
            return;
        };
        let mut old = Pod::clone(&pod);
        old.node_name = Some(node.as_str().into());
        let objects = EventObjects::Pod {
            old: Some(Arc::new(old)),
            new: None,
        };
        self.f.queue.observe(ROOM, objects, self.f.now);
    }

    fn node_at(&self, at: usize) -> Option<Arc<Node>> {
        self.nodes.values().nth(at.checked_rem(self.nodes.len())?).cloned()
    }

    fn resize_node(&mut self, at: usize, cpu: u32) {
        let Some(old) = self.node_at(at) else { return };
        let name = old.name.to_string();
        let new = Arc::new(node(&name).cpu(&cpu.to_string()).build());
        self.f.apply(Delta::NodeUpdated {
            old,
            new: Arc::clone(&new),
        });
        self.change(|seen| {
            seen.nodes.insert(name.clone(), i64::from(cpu));
        });
        self.nodes.insert(name, new);
    }

    fn delete_node(&mut self, at: usize) {
        let Some(gone) = self.node_at(at) else { return };
        let name = gone.name.to_string();
        self.f.apply(Delta::NodeDeleted(gone));
        self.change(|seen| {
            seen.nodes.remove(&name);
        });
        self.nodes.remove(&name);
    }

    fn add_foreign(&mut self, at: usize, cpu: u32) {
        let Some(on) = self.node_at(at) else { return };
        let name = self.make("foreign");
        let added = self
            .f
            .add(with_cpu(pod(&name).scheduler("other").on(&on.name), i64::from(cpu)));
        let place = (on.name.to_string(), i64::from(cpu));
        self.change(|seen| {
            seen.placed.insert(added.uid.clone(), place);
        });
        self.foreign.push(added);
    }

    fn shrink_foreign(&mut self, at: usize) {
        let Some(at) = at.checked_rem(self.foreign.len()) else {
            return;
        };
        let old = Arc::clone(&self.foreign[at]);
        if cpu_of(&old) > 1 {
            let smaller = with_cpu(pod("smaller"), cpu_of(&old) - 1).build();
            let new = self
                .f
                .update(&old, |pod| pod.spec.containers = smaller.spec.containers.clone());
            self.change(|seen| {
                if let Some((_, cpu)) = seen.placed.get_mut(&new.uid) {
                    *cpu = cpu_of(&new);
                }
            });
            self.foreign[at] = new;
        }
    }

    fn delete_foreign(&mut self, at: usize) {
        let Some(at) = at.checked_rem(self.foreign.len()) else {
            return;
        };
        let gone = self.foreign.swap_remove(at);
        self.f.delete(&gone);
        self.change(|seen| {
            seen.placed.remove(&gone.uid);
        });
    }

    /// With columns that know at least what the queue knew when it handed the pod out.
    fn judge(&mut self, at: usize, behind: usize) {
        let Some(at) = at.checked_rem(self.attempts.len()) else {
            return;
        };
        let attempt = &self.attempts[at];
        let judged_at = (self.seen.len() - 1).saturating_sub(behind).max(attempt.popped_at);
        let claimed = self.claims.contains_key(&attempt.pod.uid);
        if attempt.verdict.is_some() || claimed {
            return;
        }
        // The cycle judges the newest version that it has been told of.
        let newest = self.waiting.get(&attempt.pod.uid).unwrap_or(&attempt.pod);
        let newest = Arc::clone(newest);
        let verdict = match self.node_for(&self.seen[judged_at], &newest) {
            Some(node) => {
                self.claims.insert(newest.uid.clone(), (node, newest));
                Verdict::Fits
            }
            None => Verdict::No { judged_at },
        };
        self.attempts[at].verdict = Some(verdict);
    }

    fn settle(&mut self, at: usize) {
        let Some(at) = at.checked_rem(self.attempts.len()) else {
            return;
        };
        let Some(verdict) = self.attempts[at].verdict.clone() else {
            return;
        };
        let Attempt { pod, .. } = self.attempts.swap_remove(at);
        let outcome = match verdict {
            Verdict::Fits => Outcome::Placed,
            Verdict::No { judged_at } => rejected_by(ROOMY, judged_at as u64),
        };
        self.f.settle(&pod.uid, outcome);
        // Of a pod that has gone meanwhile the claim has been given up.
        if !self.waiting.contains_key(&pod.uid) {
            self.release(&pod.uid);
        }
    }

    fn settled_claim(&self, at: usize) -> Option<(Uid, String)> {
        let under_way = |uid: &Uid| self.attempts.iter().any(|attempt| attempt.pod.uid == *uid);
        let settled: Vec<_> = self.claims.iter().filter(|(uid, _)| !under_way(uid)).collect();
        let (uid, (node, _)) = settled.get(at.checked_rem(settled.len())?)?;
        Some(((*uid).clone(), node.clone()))
    }

    fn confirm(&mut self, at: usize) {
        let Some((uid, node)) = self.settled_claim(at) else {
            return;
        };
        let Some(old) = self.waiting.remove(&uid) else { return };
        let new = self.f.update(&old, |pod| pod.node_name = Some(node.as_str().into()));
        self.claims.remove(&uid);
        self.change(|seen| {
            seen.placed.insert(uid, (node, cpu_of(&new)));
        });
        self.foreign.push(new);
    }

    fn come_apart(&mut self, at: usize) {
        let Some((uid, _)) = self.settled_claim(at) else { return };
        let judged_at = Seq::new(self.f.seq);
        self.f.settle(&uid, Outcome::Failed { judged_at });
        self.release(&uid);
    }

    /// A pod that fits now is not left to wait for its longest time.
    fn check(&self) {
        let now = self.now();
        let looks: BTreeMap<_, _> = self
            .f
            .queue
            .pods()
            .map(|(uid, place, look)| (uid, (place, look)))
            .collect();
        for waiting in self.waiting.values() {
            let (place, look) = looks[&waiting.uid];
            if place == Place::Unschedulable && look > self.f.now {
                assert_eq!(
                    self.node_for(&now, waiting),
                    None,
                    "{waiting:?} fits and nobody looks at it"
                );
            }
        }
        assert_eq!(looks.len(), self.waiting.len());
    }
}

fn with_cpu(builder: PodBuilder, cpu: i64) -> PodBuilder {
    builder.cpu(&cpu.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Also when changes come while it is judged, with columns that are behind, and before it is settled.
    #[test]
    fn a_pod_that_has_come_to_fit_is_looked_at_without_waiting_for_its_longest_time(
        portion in prop_oneof![Just(10_000usize), 1..3usize],
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut world = World::new(portion);
        for step in &steps {
            world.run(step);
            world.check();
        }
    }
}
