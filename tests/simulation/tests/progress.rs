//! A leader whose term does not get on gives its leadership up, says why, and stands aside; one that only waits keeps it.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::PerformEffect;
use plimsoll_actors::elector::progress::{CATCH_UP_PATIENCE, Resignation, WATCH_PATIENCE};
use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_config::{ClientConnection, PluginRef};
use plimsoll_framework::{EffectReply, EffectRequest};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, slow_plugins, workload};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(15);
/// Ten seconds without a sign of life, a renewal before and one after.
const NOTICED: Duration = Duration::from_secs(14);
/// A candidate's longest pause, and forced progress of quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(8);

/// How often each reason was counted, without those that never were.
fn resignations(world: &World, replica: &str) -> Vec<(&'static str, u64)> {
    let metrics = world.metrics(replica);
    let labels = Resignation::ALL.map(Resignation::as_str);
    let counted = labels.map(|label| (label, metrics.resignations().counted(label)));
    counted.into_iter().filter(|(_, count)| *count > 0).collect()
}

async fn pair(seed: u64) -> (World, RunningReplica, RunningReplica) {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    let first = world.start("replica-a", Setup::default()).await;
    world.pass(5 * SECOND).await;
    let second = world.start("replica-b", Setup::default()).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    (world, first, second)
}

/// An actor takes up nothing any more, as if it were busy with one message for ever; the lease could be renewed all the same.
fn a_wedge_costs_the_lease(seed: u64, actor: &'static str, message: &str, label: &'static str, words: &'static str) {
    let message = message.to_owned();
    run(async move {
        let (world, _first, _second) = pair(seed).await;
        world.trace().lose_all_of("replica-a", actor, &message);
        world.add_pod(workload::pod("a", 100, 10));
        world
            .until("the leader gives up", NOTICED, || {
                !resignations(&world, "replica-a").is_empty()
            })
            .await;
        world.trace().lose_no_more();
        assert_eq!(resignations(&world, "replica-a"), [(label, 1)]);
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        world.until_bound(1, TAKE_OVER).await;
        let told = world.events("LeadershipResigned");
        let expected = format!("replica-a gave leadership up: {words} has shown no life for 10 s");
        assert_eq!(told, [("Warning".to_owned(), expected)]);
        // It stands aside, and then by.
        world.pass(60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        assert_eq!(resignations(&world, "replica-b"), []);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_cycle_that_takes_up_nothing_costs_its_replica_the_lease() {
    a_wedge_costs_the_lease(230, "SchedulingCycle", "", "cycle", "the scheduling cycle");
}

#[test]
fn a_queue_that_takes_up_nothing_costs_its_replica_the_lease() {
    a_wedge_costs_the_lease(231, "SchedulingQueue", "", "queue", "the scheduling queue");
}

#[test]
fn workers_that_take_no_jobs_cost_their_replica_the_lease() {
    let words = "the pool of binding workers";
    a_wedge_costs_the_lease(232, "BindingWorkers", "", "binding_workers", words);
}

#[test]
fn an_evictor_that_takes_up_nothing_costs_its_replica_the_lease() {
    a_wedge_costs_the_lease(233, "Evictor", "", "evictor", "the Evictor");
}

#[test]
fn a_cache_that_takes_up_nothing_costs_its_replica_the_lease() {
    // What it is told of pods would be lost on the standby too.
    a_wedge_costs_the_lease(234, "InformerCache", "Probe", "cache", "the informer cache");
}

#[test]
fn alone_it_leads_again_after_one_lease_duration() {
    run(async {
        let world = World::new(235);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        world.trace().lose("SchedulingCycle", "", usize::MAX);
        world.add_pod(workload::pod("a", 100, 10));
        world
            .until("the lease is released", NOTICED + SECOND, || world.leader().is_empty())
            .await;
        world.trace().lose_no_more();
        world.pass(14 * SECOND).await;
        assert_eq!(world.leader(), "", "it did not stand aside");
        world
            .until("it leads again", 3 * SECOND, || world.leader() == "replica-a")
            .await;
        world.until_bound(1, TAKE_OVER).await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn without_an_election_a_wedged_term_is_ended_and_another_begun() {
    run(async {
        let world = World::new(236);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut setup = Setup::default();
        let election = &mut setup.config.leader_election;
        election.leader_elect = false;
        // The bound on the end of the first term is over when the second has begun.
        (election.lease_duration, election.renew_deadline) = (3 * SECOND, 2 * SECOND);
        election.retry_period = SECOND / 2;
        let _replica = world.start("replica-a", setup).await;
        world.pass(5 * SECOND).await;
        world.trace().lose("SchedulingCycle", "", usize::MAX);
        world.add_pod(workload::pod("a", 100, 10));
        world
            .until("it gives up", NOTICED, || !resignations(&world, "replica-a").is_empty())
            .await;
        world.trace().lose_no_more();
        world.until_bound(1, LEASE + TAKE_OVER).await;
        world.pass(10 * SECOND).await;
        let terms: Vec<_> = world.trace().lines();
        let terms: Vec<_> = terms.iter().filter(|line| line.contains("TermBegan")).collect();
        assert!(terms.len() == 2 && terms[1].contains("TermBegan 2"));
        world.add_pod(workload::pod("b", 100, 10));
        world.until_bound(2, TAKE_OVER).await;
        world.check();
    });
}

/// The watches of a kind open and stay silent for ever, on one replica.
fn silence(world: &World, plural: &str, replica: &str) {
    let never = Action::BookmarkEvery { millis: u64::MAX / 2 };
    let watches = rules::watches(plural).user_agent(replica);
    world.server().faults().add(Rule::new(watches, never));
}

/// Within the limit replica-a resigns over a watch and says so, and the standby takes over.
async fn gives_its_watch_up(world: &World, limit: Duration, words: &str) {
    let resigned = || !resignations(world, "replica-a").is_empty();
    world.until("the leader gives up", limit, resigned).await;
    assert_eq!(resignations(world, "replica-a"), [("watch", 1)]);
    world
        .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
        .await;
    let told = world.events("LeadershipResigned");
    let note = format!("replica-a gave leadership up: {words}");
    assert_eq!(told, [("Warning".to_owned(), note)]);
}

#[test]
fn a_watch_that_opens_and_stays_silent_costs_its_replica_the_lease() {
    run(async {
        let world = World::new(237);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        silence(&world, "statefulsets.apps", "replica-a");
        let _first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        let words = "the watch of statefulsets has brought nothing for 240 s, not even a bookmark";
        gives_its_watch_up(&world, WATCH_PATIENCE + 4 * SECOND, words).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, TAKE_OVER).await;
        // The one whose watches work keeps the lease; the other has read everything anew.
        world.pass(900 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        assert_eq!(resignations(&world, "replica-b"), []);
        world.check();
    });
}

#[test]
fn a_watch_whose_task_dies_costs_a_leader_the_lease_and_a_standby_nothing_but_its_cache() {
    run(async {
        let world = World::new(238);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let machines = ["replica-a", "replica-b"].map(|name| world.machine(name));
        let _first = world.start_on(&machines[0], Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start_on(&machines[1], Setup::default()).await;
        world.pass(5 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");

        machines[1].link().kill_reader_of("nodes");
        world.add_node(workload::node("n2", 4000, 8000, 110));
        // It stands aside meanwhile.
        world.pass(LEASE + SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        machines[0].link().kill_reader_of("nodes");
        world.add_node(workload::node("n3", 1000, 8000, 110));
        gives_its_watch_up(&world, SECOND, "the watch of nodes has died").await;
        // Only the node whose event killed the standby's watch has room for it.
        world.add_pod(workload::pod("a", 3000, 10));
        world.until_bound(1, TAKE_OVER).await;
        assert_eq!(resignations(&world, "replica-b"), []);
        world.check();
    });
}

/// A leader that is to keep its lease and its term whatever a test does to it.
struct Steady {
    world: World,
    _replica: RunningReplica,
}

impl Steady {
    async fn led(seed: u64, setup: Setup) -> Self {
        let world = World::new(seed);
        world.add_node(workload::node("n1", 100_000, 80_000, 1100));
        let replica = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        Self {
            world,
            _replica: replica,
        }
    }

    fn check(&self) {
        assert_eq!(resignations(&self.world, "replica-a"), [], "{}", self.world.tail());
        let lines = self.world.trace().lines();
        let terms = lines.iter().filter(|line| line.contains("TermBegan")).count();
        assert_eq!(terms, 1, "{}", self.world.tail());
        self.world.check();
    }
}

/// Answers after so long, and says that it may take longer still.
struct Slow(Duration);

impl PerformEffect for Slow {
    fn perform(&self, _: EffectRequest) -> BoxFuture<'static, EffectReply> {
        let time = self.0;
        async move {
            tokio::time::sleep(time).await;
            let reply: EffectReply = Ok(Box::new(()));
            reply
        }
        .boxed()
    }

    fn time_limit(&self) -> Duration {
        10 * self.0
    }
}

fn enable(setup: &mut Setup, plugin: &str) {
    let plugins = &mut setup.profile.plugins.multi_point.enabled;
    plugins.push(PluginRef::new(plugin, 0));
}

#[test]
fn waiting_for_an_effect_or_an_extender_for_ten_minutes_is_no_lack_of_progress() {
    run(async {
        let mut setup = Setup::default();
        slow_plugins::add_to(&mut setup, SECOND, SECOND);
        setup.effects.add(slow_plugins::ASK, Arc::new(Slow(600 * SECOND)));
        enable(&mut setup, slow_plugins::ASK);
        let steady = Steady::led(238, setup).await;
        let world = &steady.world;
        world.add_pod(workload::pod("a", 100, 10));
        // Meanwhile the watch of nodes fills all the room there is, and is held back.
        for number in 0..590 {
            world.edit_node("n1", |node| {
                node["metadata"]["labels"]["beat"] = number.to_string().into();
            });
            world.pass(SECOND).await;
        }
        steady.check();
        world.until_bound(1, 20 * SECOND).await;
        world.add_pod(workload::pod("b", 100, 10));
        world.until_bound(2, 620 * SECOND).await;
        steady.check();
    });
}

#[test]
fn waiting_at_permit_is_no_lack_of_progress() {
    run(async {
        let mut setup = Setup::default();
        slow_plugins::add_to(&mut setup, 600 * SECOND, SECOND);
        enable(&mut setup, slow_plugins::WAIT);
        let steady = Steady::led(239, setup).await;
        for number in 0..20 {
            steady.world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        steady.world.pass(590 * SECOND).await;
        steady.check();
    });
}

#[test]
fn a_slow_api_server_that_keeps_every_worker_busy_is_no_lack_of_progress() {
    run(async {
        let mut setup = Setup::default();
        setup.config.binding_workers = 2;
        let steady = Steady::led(240, setup).await;
        let slow = Action::Latency { millis: 4_000 };
        steady.world.server().faults().add(Rule::new(rules::bindings(), slow));
        for number in 0..100 {
            steady.world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        steady.world.until_bound(100, 400 * SECOND).await;
        steady.check();
    });
}

#[test]
fn workers_that_wait_for_the_rate_limit_are_no_lack_of_progress() {
    run(async {
        let mut setup = Setup::default();
        setup.config.binding_workers = 1;
        setup.config.client_connection = ClientConnection {
            qps: 0.02,
            burst: 60,
            ..ClientConnection::default()
        };
        let steady = Steady::led(241, setup).await;
        for number in 0..60 {
            steady.world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        steady.world.pass(600 * SECOND).await;
        let bound = plimsoll_simulation::invariants::placements(steady.world.server()).len();
        assert!(bound > 0 && bound < 60, "nothing waits: {bound} are bound");
        steady.check();
    });
}

#[test]
fn bindings_that_get_no_answer_are_no_lack_of_progress() {
    run(async {
        let mut setup = Setup::default();
        setup.config.binding_workers = 4;
        let steady = Steady::led(242, setup).await;
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        steady
            .world
            .server()
            .faults()
            .add(Rule::new(rules::bindings(), hold).times(40));
        for number in 0..20 {
            steady.world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        steady.world.pass(120 * SECOND).await;
        steady.check();
    });
}

#[test]
fn kinds_that_may_not_be_read_and_an_api_server_that_is_away_are_no_lack_of_progress() {
    run(async {
        let (world, first, second) = pair(243).await;
        let faults = world.server().faults();
        let failure = Failure::code(403);
        let reads = Match::verbs(&["list", "watch"]).resource("services");
        let forbidden = faults.add(Rule::new(reads, Action::Fail { failure }));
        world.pass(1200 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        faults.remove(forbidden);
        let failure = Failure::code(503).retry_after(600);
        let reads = Match::verbs(&["list", "watch"]);
        let refused = faults.add(Rule::new(reads, Action::Fail { failure }));
        world.pass(1200 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        faults.remove(refused);
        let failure = Failure::code(503);
        let down = faults.add(Rule::new(Match::default(), Action::Fail { failure }));
        world.pass(300 * SECOND).await;
        faults.remove(down);
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 700 * SECOND).await;
        for replica in ["replica-a", "replica-b"] {
            assert_eq!(resignations(&world, replica), [], "{replica}\n{}", world.tail());
        }
        world.check();
        drop((first, second));
    });
}

#[test]
fn a_machine_that_slept_loses_its_lease_and_has_not_resigned() {
    run(async {
        let world = World::new(244);
        let machine = world.machine("replica-a");
        let _replica = world.start_on(&machine, Setup::default()).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        for asleep in [7, 9, 40, 10_000, 3, 100] {
            world.pass(30 * SECOND).await;
            machine.clock().suspend(asleep * SECOND);
        }
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 60 * SECOND).await;
        assert_eq!(resignations(&world, "replica-a"), []);
        world.check();
    });
}

#[test]
fn a_new_leader_whose_lists_fail_makes_room_for_another() {
    run(async {
        let (world, first, second) = pair(245).await;
        let failure = Failure::code(503);
        let reads = Match::verbs(&["list", "watch"]).user_agent("replica-b");
        world.server().faults().add(Rule::new(reads, Action::Fail { failure }));
        first.kill();
        world
            .until("the standby leads", 30 * SECOND, || world.leader() == "replica-b")
            .await;
        let _third = world.start("replica-c", Setup::default()).await;
        world
            .until("it gives up", CATCH_UP_PATIENCE + 5 * SECOND, || {
                !resignations(&world, "replica-b").is_empty()
            })
            .await;
        assert_eq!(resignations(&world, "replica-b"), [("marks", 1)]);
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 2 * TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-c");
        world.check();
        drop(second);
    });
}

#[test]
fn a_read_that_hangs_delays_a_new_leader_by_seconds_and_the_other_marks_are_not_read_again() {
    run(async {
        let (world, first, _second) = pair(246).await;
        let faults = world.server().faults();
        let lists = |plural| Match::verbs(&["list"]).resource(plural).user_agent("replica-b");
        let hangs = Action::Latency { millis: 600_000 };
        faults.add(Rule::new(lists("services"), hangs).times(1));
        let nodes = faults.add(Rule::new(lists("nodes"), Action::Latency { millis: 1 }));
        first.kill();
        world
            .until("the standby leads", 30 * SECOND, || world.leader() == "replica-b")
            .await;
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 12 * SECOND).await;
        assert_eq!(faults.fired(nodes), Some(1));
        assert_eq!(resignations(&world, "replica-b"), []);
        world.check();
    });
}
