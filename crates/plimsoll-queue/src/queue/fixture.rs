use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::time::Duration;

use plimsoll_config::{FeatureGates, PluginRef, PluginSet, Plugins, ProfileConfig};
use plimsoll_framework::{
    Action, Bind, BindAction, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, Extensions, GateStatus,
    Plugin, PluginEvents, PreEnqueue, Profile, QueueOrder, QueueSort, QueueingHint, Registry,
};
use plimsoll_model::testing::{PodBuilder, pod};
use plimsoll_model::{Change, Delta, Moment, Pod, Seq, Uid, WorkloadKind};

use super::SchedulingQueue;
use crate::{Outcome, Place, PoppedPod, QueueConfig};

/// Higher priority first, then the earlier timestamp.
struct ByPriority;

impl Plugin for ByPriority {
    fn name(&self) -> &'static str {
        "ByPriority"
    }
}

impl QueueSort for ByPriority {
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering {
        b.pod
            .priority()
            .cmp(&a.pod.priority())
            .then(a.timestamp.cmp(&b.timestamp))
    }
}

/// Holds pods that have gates.
struct Gates;

impl Plugin for Gates {
    fn name(&self) -> &'static str {
        "Gates"
    }
}

impl PreEnqueue for Gates {
    fn pre_enqueue(&self, pod: &Pod) -> GateStatus {
        if pod.spec.scheduling_gates.is_empty() {
            Ok(())
        } else {
            Err("gated".to_owned())
        }
    }
}

impl EnqueueExtensions for Gates {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![ClusterEvent::new(
            EventResource::Pod,
            Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        )]
    }

    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        match objects {
            EventObjects::Pod { new: Some(new), .. } if new.uid == pod.uid => Ok(QueueingHint::Queue),
            _ => Ok(QueueingHint::Skip),
        }
    }
}

/// Holds every pod while it is shut; says nothing of the events it listens to, and so hears of all.
struct Barrier(Arc<AtomicBool>);

impl Plugin for Barrier {
    fn name(&self) -> &'static str {
        "Barrier"
    }
}

impl PreEnqueue for Barrier {
    fn pre_enqueue(&self, _: &Pod) -> GateStatus {
        if self.0.load(Memory::Relaxed) {
            Err("shut".to_owned())
        } else {
            Ok(())
        }
    }
}

/// Rejects pods, as far as the tests say so, and listens to some events.
pub(super) struct Rejector {
    pub(super) name: &'static str,
    pub(super) events: Vec<ClusterEvent>,
    pub(super) hint: Hint,
    /// Whether a new node can help only by taking the pod itself.
    pub(super) alone: bool,
    pub(super) reads_labels: bool,
}

impl Rejector {
    pub(super) fn new(name: &'static str, events: &[ClusterEvent], hint: Hint) -> Self {
        Self {
            name,
            events: events.to_vec(),
            hint,
            alone: false,
            reads_labels: true,
        }
    }

    /// Its hint must not read labels.
    pub(super) fn without_labels(self) -> Self {
        Self {
            reads_labels: false,
            ..self
        }
    }

    pub(super) fn judging_new_nodes_alone(mut self) -> Self {
        self.alone = true;
        self
    }
}

/// What the plugin answers to an event about these objects.
pub(super) type Hint = Box<dyn Fn(ClusterEvent, &Pod, &EventObjects) -> Result<QueueingHint, String> + Send + Sync>;

impl Plugin for Rejector {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl EnqueueExtensions for Rejector {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        self.events.clone()
    }

    fn reads_labels(&self) -> bool {
        self.reads_labels
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        (self.hint)(registered, pod, objects)
    }
}

/// Whatever it hears of may help.
pub(super) fn always() -> Hint {
    Box::new(|_, _, _| Ok(QueueingHint::Queue))
}

/// Of pods that change without anything that has its own event, only those that are told to go count.
fn departures() -> Hint {
    Box::new(|registered, _, objects| {
        let departs = match objects {
            EventObjects::Pod {
                old: Some(old),
                new: Some(new),
            } => new.is_terminating() && !old.is_terminating(),
            _ => false,
        };
        let may_help = registered.action != Action::UPDATE || departs;
        Ok(if may_help {
            QueueingHint::Queue
        } else {
            QueueingHint::Skip
        })
    })
}

/// Plugins that listen to what kube-scheduler's of the same names do, and to what no event of kube-scheduler tells.
fn rejectors() -> Vec<Rejector> {
    let on = ClusterEvent::new;
    let nodes = Action::ADD | Action::DELETE | Action::UPDATE_NODE_LABEL | Action::UPDATE_NODE_TAINT;
    let pods = Action::ADD | Action::DELETE | Action::UPDATE_POD_LABEL;
    vec![
        Rejector {
            name: "InterPodAffinity",
            events: vec![
                on(EventResource::Pod, pods),
                on(EventResource::Node, nodes),
                on(EventResource::Namespace, Action::ALL),
            ],
            hint: always(),
            alone: false,
            reads_labels: true,
        },
        Rejector {
            name: "NodeResourcesFit",
            events: vec![
                on(EventResource::Pod, Action::DELETE | Action::UPDATE_POD_SCALE_DOWN),
                on(EventResource::Node, Action::ADD | Action::UPDATE_NODE_ALLOCATABLE),
            ],
            hint: always(),
            alone: false,
            reads_labels: true,
        },
        Rejector {
            name: "PodTopologySpread",
            events: vec![
                on(EventResource::Pod, pods),
                on(EventResource::Pod, Action::UPDATE),
                on(EventResource::Node, nodes),
                on(EventResource::Workload(WorkloadKind::Service), Action::ALL),
            ],
            hint: departures(),
            alone: false,
            reads_labels: true,
        },
        Rejector {
            name: "TaintToleration",
            events: vec![
                on(EventResource::Pod, Action::UPDATE_POD_TOLERATION),
                on(EventResource::Node, Action::ADD | Action::UPDATE_NODE_TAINT),
            ],
            hint: always(),
            alone: false,
            reads_labels: true,
        },
    ]
}

/// Makes the profile's plugin of that name listen, or adds one that does.
pub(super) fn listen(profile: &mut Profile, rejector: Rejector) {
    let name = rejector.name;
    profile.events.retain(|events| events.plugin() != name);
    let alone = rejector.alone;
    let events = PluginEvents::new(name, Some(Arc::new(rejector))).judging_nodes_alone(alone);
    profile.events.push(events);
    profile.events.sort_by(|a, b| a.plugin().cmp(b.plugin()));
}

struct Binder;

impl Plugin for Binder {
    fn name(&self) -> &'static str {
        "Binder"
    }
}

impl Bind for Binder {
    fn bind(&self, _: &Pod, _: &str) -> BindAction {
        BindAction::PostBinding
    }
}

/// A queue with the profiles `default-scheduler` and `second`, the time, and the number of the last change.
pub(super) struct Fixture {
    pub(super) queue: SchedulingQueue,
    pub(super) now: Moment,
    pub(super) seq: u64,
    /// Whether a second pre-enqueue plugin holds every pod.
    pub(super) barrier: Arc<AtomicBool>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self::with(QueueConfig::default())
    }

    pub(super) fn with(config: QueueConfig) -> Self {
        let barrier = Arc::new(AtomicBool::new(false));
        let mut fixture = Self {
            queue: SchedulingQueue::new(config, &[]),
            now: Moment::from_nanos(1_000_000_000_000),
            seq: 0,
            barrier,
        };
        fixture.queue = SchedulingQueue::new(config, &fixture.profiles(&["default-scheduler", "second"]));
        fixture
    }

    fn profiles(&self, names: &[&str]) -> Vec<Arc<Profile>> {
        names.iter().map(|name| Arc::new(self.profile(name))).collect()
    }

    pub(super) fn profile(&self, name: &str) -> Profile {
        profile(name, &self.barrier)
    }

    /// Switches to profiles of these names at the next number of the stream; `unassigned` is told again.
    pub(super) fn reconfigure(
        &mut self,
        config: QueueConfig,
        names: &[&str],
        unassigned: &[Arc<Pod>],
    ) -> BTreeMap<String, usize> {
        self.seq += 1;
        let profiles = self.profiles(names);
        self.queue
            .reconfigure(config, &profiles, Seq::new(self.seq), unassigned, self.now)
    }

    /// A queue for these profiles of the default scheduler name instead.
    pub(super) fn of_profiles(change: impl Fn(&Self) -> Vec<Profile>) -> Self {
        let mut fixture = Self::new();
        let profiles: Vec<_> = change(&fixture).into_iter().map(Arc::new).collect();
        fixture.queue = SchedulingQueue::new(QueueConfig::default(), &profiles);
        fixture
    }

    /// A queue whose profiles have these plugins too.
    pub(super) fn listening(rejectors: impl Fn() -> Vec<Rejector>) -> Self {
        Self::of_profiles(|fixture| {
            let mut profile = fixture.profile("default-scheduler");
            for rejector in rejectors() {
                listen(&mut profile, rejector);
            }
            vec![profile]
        })
    }

    /// Adds a pod, tries it and has these plugins turn it away.
    pub(super) fn add_rejected(&mut self, pod: PodBuilder, plugins: &[&'static str]) -> Arc<Pod> {
        let waiting = self.add(pod);
        let popped = self.queue.pop_specific(&waiting.uid, self.now).unwrap();
        assert_eq!(popped.pod.uid, waiting.uid);
        let outcome = Outcome::Rejected {
            plugins: plugins.to_vec(),
            pending_plugins: Vec::new(),
            preemption_plugins: Vec::new(),
            judged_at: Seq::new(self.seq),
        };
        self.settle(&waiting.uid, outcome);
        waiting
    }

    /// Moves whatever is due now, however many calls that takes.
    pub(super) fn settle_down(&mut self) {
        while self.queue.next_deadline().is_some_and(|due| due <= self.now) {
            self.queue.tick(self.now);
        }
    }

    pub(super) fn shut_barrier(&self, shut: bool) {
        self.barrier.store(shut, Memory::Relaxed);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    pub(super) fn tick_after(&mut self, time: Duration) {
        self.pass(time);
        self.queue.tick(self.now);
    }

    pub(super) fn apply(&mut self, delta: Delta) {
        self.seq += 1;
        self.queue.apply(
            &Change {
                seq: Seq::new(self.seq),
                delta,
            },
            self.now,
        );
    }

    pub(super) fn add(&mut self, pod: PodBuilder) -> Arc<Pod> {
        let pod = Arc::new(pod.build());
        self.apply(Delta::PodAdded(Arc::clone(&pod)));
        pod
    }

    /// Changes a pod and gives it the next version.
    pub(super) fn update(&mut self, old: &Arc<Pod>, change: impl FnOnce(&mut Pod)) -> Arc<Pod> {
        let mut new = Pod::clone(old);
        new.resource_version = plimsoll_model::ResourceVersion::new(old.resource_version.as_u64() + 1);
        change(&mut new);
        let new = Arc::new(new);
        self.apply(Delta::PodUpdated {
            old: Arc::clone(old),
            new: Arc::clone(&new),
        });
        new
    }

    pub(super) fn delete(&mut self, pod: &Arc<Pod>) {
        self.apply(Delta::PodDeleted(Arc::clone(pod)));
    }

    pub(super) fn pop(&mut self) -> Option<PoppedPod> {
        self.queue.pop(self.now)
    }

    pub(super) fn pop_name(&mut self) -> Option<String> {
        self.pop().map(|popped| popped.pod.name.name.to_string())
    }

    pub(super) fn settle(&mut self, uid: &Uid, outcome: Outcome) {
        self.queue.settle(uid, outcome, self.now).unwrap();
    }

    /// Tells of room that comes from nowhere in particular.
    pub(super) fn make_room(&mut self) {
        self.queue.observe(ROOM, EventObjects::None, self.now);
    }

    /// Settles as rejected by `NodeResourcesFit`, judged with all that was applied so far.
    pub(super) fn reject(&mut self, uid: &Uid) {
        self.settle(uid, rejected_at(self.seq));
    }

    pub(super) fn place(&self, pod: &Pod) -> Option<Place> {
        self.queue.place_of(&pod.uid)
    }

    /// Adds a pod and brings it to a place.
    pub(super) fn add_at(&mut self, place: Place, name: &str) -> Arc<Pod> {
        let builder = match place {
            Place::Active => pod(name),
            Place::Gated => pod(name).gate("g"),
            _ => pod(name).priority(1000),
        };
        let pod = self.add(builder);
        if !matches!(place, Place::Active | Place::Gated) {
            let popped = self.pop().unwrap();
            assert_eq!(popped.pod.uid, pod.uid);
        }
        match place {
            Place::Active | Place::Gated | Place::InFlight => {}
            Place::Backoff => {
                self.queue.activate(std::slice::from_ref(&pod.uid), self.now);
                self.reject(&pod.uid);
            }
            Place::ErrorBackoff => self.settle(
                &pod.uid,
                Outcome::Failed {
                    judged_at: Seq::new(self.seq),
                },
            ),
            Place::Unschedulable => self.reject(&pod.uid),
            Place::Placed => self.settle(&pod.uid, Outcome::Placed),
        }
        assert_eq!(self.place(&pod), Some(place));
        pod
    }
}

pub(super) const PLACES: [Place; 7] = [
    Place::Active,
    Place::Backoff,
    Place::ErrorBackoff,
    Place::Unschedulable,
    Place::Gated,
    Place::InFlight,
    Place::Placed,
];

pub(super) fn rejected_at(seq: u64) -> Outcome {
    rejected_by("NodeResourcesFit", seq)
}

pub(super) fn rejected_by(plugin: &'static str, seq: u64) -> Outcome {
    Outcome::Rejected {
        plugins: vec![plugin],
        pending_plugins: Vec::new(),
        preemption_plugins: Vec::new(),
        judged_at: Seq::new(seq),
    }
}

fn profile(scheduler_name: &str, barrier: &Arc<AtomicBool>) -> Profile {
    let mut registry = Registry::new();
    registry.add("ByPriority", |_| Ok(Extensions::new().queue_sort(Arc::new(ByPriority))));
    registry.add("Gates", |_| {
        Ok(Extensions::new().pre_enqueue(Arc::new(Gates)).enqueue(Arc::new(Gates)))
    });
    let barrier = Arc::clone(barrier);
    registry.add("Barrier", move |_| {
        Ok(Extensions::new().pre_enqueue(Arc::new(Barrier(Arc::clone(&barrier)))))
    });
    registry.add("Binder", |_| Ok(Extensions::new().bind(Arc::new(Binder))));
    let plugins = ["ByPriority", "Gates", "Barrier", "Binder"]
        .map(|name| PluginRef::new(name, 0))
        .to_vec();
    let config = ProfileConfig {
        scheduler_name: scheduler_name.to_owned(),
        plugins: Plugins {
            multi_point: PluginSet {
                enabled: plugins,
                disabled: Vec::new(),
            },
            ..Plugins::default()
        },
        ..ProfileConfig::default()
    };
    let mut profile = Profile::assemble(&config, &registry, &FeatureGates::default()).unwrap();
    for rejector in rejectors() {
        listen(&mut profile, rejector);
    }
    profile.events.push(PluginEvents::new("OfMyOwn", None));
    profile.events.sort_by(|a, b| a.plugin().cmp(b.plugin()));
    profile
}

/// An event about nothing in particular that may help whoever waits for room.
pub(super) const ROOM: ClusterEvent = ClusterEvent::new(EventResource::AssignedPod, Action::DELETE);

/// Makes a pod ask for less than any pod that was built with requests.
pub(super) fn shrink(shrunk: &mut Pod) {
    shrunk.spec.containers = pod("small").cpu("1m").build().spec.containers.clone();
}
