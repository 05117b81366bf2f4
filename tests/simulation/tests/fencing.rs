//! Each kind of write that a scheduler makes of pods and their volumes: none is sent when another may lead, and none is left undecided when the
//! lease is given away.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::{Gate, PerformEffect};
use plimsoll_actors::supervisor::{Exit, RunningReplica};
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule, RuleId};
use plimsoll_apiserver::resource;
use plimsoll_config::{PluginRef, PodDisruptionBudgetPolicy};
use plimsoll_framework::{CycleState, EffectReply, EffectRequest, Extensions, Plugin, PreBind, PreBindOutcome};
use plimsoll_model::Pod;
use plimsoll_simulation::volume_writer::Object;
use plimsoll_simulation::world::{Machine, Setup, World};
use plimsoll_simulation::{rules, run, volume_writer, workload};
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);
/// Lease duration, two tries, and forced progress of quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(26);

/// A write about a pod, or a volume of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// POST of a binding.
    Bind,
    /// PATCH of the condition that says why a pod waits.
    Explain,
    /// PATCH of condition and nomination of a pod that others go for.
    Nominate,
    /// PATCH of the condition that says why a victim goes.
    Mark,
    /// DELETE of a victim.
    Delete,
    /// POST of the eviction of a victim.
    Evict,
    /// PATCH of a volume that makes it over to a claim.
    BindVolume,
    /// PATCH of a claim that names the node.
    SelectNode,
}

const KINDS: [Kind; 8] = [
    Kind::Bind,
    Kind::Explain,
    Kind::Nominate,
    Kind::Mark,
    Kind::Delete,
    Kind::Evict,
    Kind::BindVolume,
    Kind::SelectNode,
];

impl Kind {
    /// The requests of this kind that `replica-a` makes because of the newcomer.
    fn requests(self) -> Match {
        let requests = match self {
            Self::Bind => rules::bindings().name("newcomer"),
            Self::Explain | Self::Nominate => rules::status_patches().name("newcomer"),
            Self::Mark => rules::status_patches().name("low"),
            Self::Delete => rules::deletions().name("low"),
            Self::Evict => rules::evictions().name("low"),
            Self::BindVolume => rules::volume_patches().name("data"),
            Self::SelectNode => rules::claim_patches().name("data"),
        };
        requests.user_agent("replica-a")
    }

    fn setup(self) -> Setup {
        let mut setup = Setup::default();
        if self == Self::Evict {
            setup.profile.extras.pod_disruption_budget_policy = PodDisruptionBudgetPolicy::Hard;
        }
        match self {
            Self::BindVolume => volume_writer::add_to(&mut setup, Object::Volume, None),
            Self::SelectNode => volume_writer::add_to(&mut setup, Object::Claim, None),
            _ => {}
        }
        setup
    }

    /// A pod that makes a leader write this of it, or of the pod `low` that takes most of the only node.
    fn newcomer(self) -> serde_json::Value {
        let (cpu, class) = match self {
            Self::Bind | Self::BindVolume | Self::SelectNode => (100, ""),
            Self::Explain => (600, ""),
            Self::Nominate | Self::Mark | Self::Delete | Self::Evict => (600, "high"),
        };
        let newcomer = workload::of_class(workload::pod("newcomer", cpu, 10), class, 0);
        match self {
            Self::BindVolume | Self::SelectNode => volume_writer::with_claim(newcomer, "data"),
            _ => newcomer,
        }
    }
}

fn create(world: &World, plural: &str, namespace: &str, object: serde_json::Value) {
    let resource = resource::find("", "v1", plural).unwrap();
    world.server().create(resource, namespace, object).unwrap();
}

/// A leader and a standby, and a full node.
struct Stage {
    world: World,
    kind: Kind,
    machine: Machine,
    first: RunningReplica,
    _second: RunningReplica,
}

impl Stage {
    async fn new(kind: Kind, seed: u64) -> Self {
        let world = World::new(seed);
        world.add_priority_class("high", 1000);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        create(&world, "persistentvolumes", "", volume_writer::volume("data"));
        create(
            &world,
            "persistentvolumeclaims",
            "default",
            volume_writer::claim("data"),
        );
        let machine = world.machine("replica-a");
        let first = world.start_on(&machine, kind.setup()).await;
        world.pass(5 * SECOND).await;
        // What is said of a pod whose room is free already is not said again.
        let grace = if kind == Kind::Nominate { 20 } else { 0 };
        let mut low = workload::of_class(workload::pod("low", 800, 10), "", grace);
        low["metadata"]["labels"] = json!({ "app": "low" });
        world.add_pod(low);
        world.until_bound(1, 10 * SECOND).await;
        world.run_pod("low");
        let second = world.start("replica-b", kind.setup()).await;
        world.pass(5 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        Self {
            world,
            kind,
            machine,
            first,
            _second: second,
        }
    }

    fn fault(&self, action: Action) -> RuleId {
        let faults = self.world.server().faults();
        faults.add(Rule::new(self.kind.requests(), action))
    }

    fn fired(&self, fault: RuleId) -> Option<u64> {
        self.world.server().faults().fired(fault)
    }

    fn add_newcomer(&self) {
        self.world.add_pod(self.kind.newcomer());
    }

    /// Whoever leads in the end brings everything to the end it should have, and nobody ever wrote without the lease.
    async fn comes_to_its_end(&self) {
        let world = &self.world;
        world.pass_with_kubelets(2 * TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b", "{:?}", self.kind);
        let place = world.node_of("newcomer");
        match self.kind {
            Kind::Explain => assert_eq!(place, None),
            _ => assert_eq!(place.as_deref(), Some("n1"), "{:?}\n{}", self.kind, world.tail()),
        }
        world.check();
        world.check_nothing_forgotten();
    }
}

/// Its old lease still names the replica when it wakes: within a moment it would lead anew, and write by right.
fn keep_off_the_lease(world: &World) -> RuleId {
    let refused = Action::Fail {
        failure: Failure::code(503),
    };
    let requests = rules::lease_requests().user_agent("replica-a");
    world.server().faults().add(Rule::new(requests, refused))
}

/// How many writes reach the server when the second try waits on its way while the machine sleeps for so long.
fn writes_that_arrive(kind: Kind, asleep: Duration) -> Option<u64> {
    run(async move {
        let stage = Stage::new(kind, 400).await;
        let throttled = Action::Fail {
            failure: Failure::code(429).retry_after(3),
        };
        let faults = stage.world.server().faults();
        faults.add(Rule::new(kind.requests(), throttled).times(1));
        let arrived = stage.fault(Action::Latency { millis: 0 });
        stage.add_newcomer();
        stage.world.pass(2 * SECOND).await;
        assert_eq!(stage.fired(arrived), Some(1), "{kind:?}");
        // From here on the repeated write passes the first check of the term and waits before the wire.
        stage.machine.link().cut();
        stage.world.pass(2 * SECOND).await;
        let kept_off = keep_off_the_lease(&stage.world);
        stage.machine.clock().suspend(asleep);
        stage.machine.link().mend();
        stage.world.pass(SECOND / 2).await;
        let count = stage.fired(arrived);
        stage.world.server().faults().remove(kept_off);
        stage.world.pass_with_kubelets(2 * TAKE_OVER).await;
        stage.world.check();
        stage.world.check_nothing_forgotten();
        count
    })
}

#[test]
fn whatever_was_on_its_way_when_the_machine_fell_asleep_is_not_sent_when_it_wakes_past_its_lease() {
    for kind in KINDS {
        assert_eq!(
            writes_that_arrive(kind, Duration::ZERO),
            Some(2),
            "{kind:?} did not wait"
        );
        let arrived = writes_that_arrive(kind, 20 * SECOND);
        assert_eq!(arrived, Some(1), "{kind:?} was sent after the deadline");
    }
}

/// The leader is asked to end while the outcome of its first write is open; gives how long it keeps the lease.
fn asked_to_end(kind: Kind, fault: Action, seed: u64) -> Duration {
    run(async move {
        let mut stage = Stage::new(kind, seed).await;
        let fault = stage.fault(fault);
        stage.add_newcomer();
        let (world, first) = (&stage.world, &mut stage.first);
        let begun = || world.server().faults().fired(fault) >= Some(1);
        world.until("the write is under way", 5 * SECOND, begun).await;
        first.shutdown();
        let asked = tokio::time::Instant::now();
        assert_eq!(first.ended().await, Exit::Terminated, "{}", world.tail());
        assert_ne!(world.leader(), "replica-a", "{kind:?}: the lease is kept");
        let kept = asked.elapsed();
        stage.comes_to_its_end().await;
        kept
    })
}

#[test]
fn the_lease_is_given_away_only_when_each_write_is_decided_whatever_becomes_of_its_answer() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let seed = 410 + 10 * u64::try_from(number).unwrap_or_default();
        // Nobody need wait for longer than the answer takes.
        let late = asked_to_end(kind, Action::ApplyLate { millis: 3_500 }, seed);
        assert!(late > 3 * SECOND && late < 6 * SECOND, "{kind:?}: {late:?}");
        asked_to_end(kind, Action::LoseReply, seed + 1);
        let held = Action::Hold {
            gate: "held".to_owned(),
        };
        asked_to_end(kind, held, seed + 2);
        asked_to_end(kind, Action::Latency { millis: 60_000 }, seed + 3);
    }
}

/// The leader cannot renew any more, and a pod comes so long after its last renewal; what is written for it is applied as
/// late as the server's time-out allows.
fn written_late(kind: Kind, after: Duration) -> bool {
    run(async move {
        let stage = Stage::new(kind, 480).await;
        let (world, faults) = (&stage.world, stage.world.server().faults());
        let renewals = faults.add(Rule::new(rules::lease_updates(), Action::Latency { millis: 0 }));
        let renewed = || faults.fired(renewals) >= Some(1);
        world.until("the lease is renewed", 5 * SECOND, renewed).await;
        let failing = Action::Fail {
            failure: Failure::code(503),
        };
        let cut = faults.add(Rule::new(rules::lease_requests().user_agent("replica-a"), failing));
        let late = stage.fault(Action::ApplyLate { millis: 3_900 });
        world.pass(after).await;
        stage.add_newcomer();
        world.pass(SECOND).await;
        let sent = faults.fired(late) >= Some(1);
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        faults.remove(cut);
        stage.comes_to_its_end().await;
        sent
    })
}

#[test]
fn what_is_sent_at_the_last_moment_and_applied_as_late_as_can_be_is_applied_before_another_leads() {
    for kind in KINDS {
        let mut sent = Vec::new();
        for tenths in 96..=102 {
            sent.push(written_late(kind, Duration::from_millis(tenths * 100)));
        }
        // The deadline lies among these moments.
        assert!(sent[0] && !sent[sent.len() - 1], "{kind:?}: {sent:?}");
        assert!(sent.is_sorted_by(|a, b| a >= b), "{kind:?}: {sent:?}");
    }
}

/// Has work to do before each binding: two requests, five seconds apart.
#[derive(Default)]
struct Work {
    sent: AtomicUsize,
}

impl Plugin for Work {
    fn name(&self) -> &'static str {
        "Work"
    }
}

impl PreBind for Work {
    fn pre_bind(&self, _: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        PreBindOutcome::Needs(Box::new(()))
    }
}

/// Performs it.
struct Worker(Arc<Work>);

impl PerformEffect for Worker {
    fn perform(&self, _: EffectRequest) -> BoxFuture<'static, EffectReply> {
        futures::future::ready(Err("nobody gave leave to write".to_owned())).boxed()
    }

    fn perform_while(&self, _: EffectRequest, gate: Gate) -> BoxFuture<'static, EffectReply> {
        let work = Arc::clone(&self.0);
        async move {
            for _ in 0..2 {
                if !gate() {
                    return Err("the term is over".to_owned());
                }
                work.sent.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(5 * SECOND).await;
            }
            let done: EffectReply = Ok(Box::new(()));
            done
        }
        .boxed()
    }
}

fn requests_of_work(asleep: Duration) -> usize {
    run(async move {
        let world = World::new(490);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let work = Arc::new(Work::default());
        let mut setup = Setup::default();
        let plugin = Arc::clone(&work);
        setup.registry.add(
            "Work",
            move |_| Ok(Extensions::new().pre_bind(Arc::clone(&plugin) as _)),
        );
        setup
            .profile
            .plugins
            .multi_point
            .enabled
            .push(PluginRef::new("Work", 0));
        setup.effects.add("Work", Arc::new(Worker(Arc::clone(&work))));
        let machine = world.machine("replica-a");
        let _replica = world.start_on(&machine, setup).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        let begun = || work.sent.load(Ordering::Relaxed) == 1;
        world.until("the work has begun", 5 * SECOND, begun).await;
        // Shortly before the second request, so that nothing else notices the loss of the lease first.
        world.pass(Duration::from_millis(4_900)).await;
        keep_off_the_lease(&world);
        machine.clock().suspend(asleep);
        world.pass(SECOND / 5).await;
        work.sent.load(Ordering::Relaxed)
    })
}

#[test]
fn work_before_a_binding_makes_no_request_once_the_machine_wakes_past_its_lease() {
    assert_eq!(requests_of_work(Duration::ZERO), 2, "nothing was to be sent");
    assert_eq!(requests_of_work(20 * SECOND), 1, "sent after the deadline");
}
