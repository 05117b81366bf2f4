//! `delayCacheUntilActive`: a standby reads nothing until it leads, and again nothing when it no longer does.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::PerformEffect;
use plimsoll_actors::elector::progress::Resignation;
use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule, RuleId};
use plimsoll_config::ExtenderConfig;
use plimsoll_framework::{
    EXTENDER, EffectReply, EffectRequest, ExtenderAnswer, ExtenderCall, ExtenderNodes, ExtenderRequest,
};
use plimsoll_simulation::link::Delays;
use plimsoll_simulation::post::Pace;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, workload};
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);
/// Lease duration and a candidate's longest pause; the list of everything is in it.
const TAKE_OVER: Duration = Duration::from_secs(24);

fn cold() -> Setup {
    let mut setup = Setup::default();
    setup.config.delay_cache_until_active = true;
    setup
}

/// What a cache reads. The lease is watched by whoever stands for election.
const CACHED: [&str; 15] = [
    "pods",
    "nodes",
    "namespaces",
    "services",
    "replicationcontrollers",
    "replicasets.apps",
    "statefulsets.apps",
    "poddisruptionbudgets.policy",
    "storageclasses.storage.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "persistentvolumes",
    "persistentvolumeclaims",
];

/// Counts lists and watches of a replica from now on.
fn count_reads(world: &World, replica: &str) -> Vec<RuleId> {
    let count = |kind: &&str| {
        let reads = Match::verbs(&["list", "watch"]).resource(kind).user_agent(replica);
        let none = Action::Latency { millis: 0 };
        world.server().faults().add(Rule::new(reads, none))
    };
    CACHED.iter().map(count).collect()
}

fn reads(world: &World, rules: &[RuleId]) -> u64 {
    rules
        .iter()
        .map(|rule| world.server().faults().fired(*rule).unwrap())
        .sum()
}

async fn pair(seed: u64) -> (World, RunningReplica, RunningReplica, Vec<RuleId>) {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    let first = world.start("replica-a", cold()).await;
    world.pass(5 * SECOND).await;
    let count = count_reads(&world, "replica-b");
    let second = world.start("replica-b", cold()).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    (world, first, second, count)
}

#[test]
fn a_cold_standby_reads_nothing_until_it_leads_and_then_places_what_there_is() {
    run(async {
        let (world, first, _second, count) = pair(250).await;
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 3 * SECOND).await;
        world.pass(300 * SECOND).await;
        assert_eq!(reads(&world, &count), 0, "a cold standby reads");
        first.kill();
        // Fits only where nothing is known of the first.
        world.add_pod(workload::pod("b", 600, 10));
        world.add_pod(workload::pod("c", 300, 10));
        world
            .until("the standby places what fits", TAKE_OVER, || {
                world.node_of("c").is_some()
            })
            .await;
        assert_eq!(world.leader(), "replica-b");
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("b"), None);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_term_that_begins_before_its_cache_asks_for_nothing_but_the_first_lists() {
    run(async {
        let mut alone = Setup::default();
        alone.config.leader_election.leader_elect = false;
        // What a warm cache is held against, after the same lists: a version or an account of each kind.
        for (setup, asked) in [(cold(), 0), (alone, 0), (Setup::default(), CACHED.len() as u64)] {
            let world = World::new(260);
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(workload::pod("a", 600, 10));
            let count = |kind: &&str| {
                let lists = Match::verbs(&["list"]).resource(kind).user_agent("replica-a");
                world
                    .server()
                    .faults()
                    .add(Rule::new(lists, Action::Latency { millis: 0 }))
            };
            let lists: Vec<RuleId> = CACHED.iter().map(count).collect();
            let _replica = world.start("replica-a", setup).await;
            world.until_bound(1, 5 * SECOND).await;
            assert_eq!(reads(&world, &lists), asked);
            world.check();
        }
    });
}

#[test]
fn lists_that_come_before_the_barrier_asks_are_no_sign_of_a_restored_store() {
    run(async {
        for seed in 270..300 {
            let world = World::new(seed);
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(workload::pod("a", 600, 10));
            // Messages take their time: in some of these worlds the lists are there before the term looks.
            let machine = world.machine("replica-a");
            machine.slow_down(Pace::Slow, Delays::default());
            let _replica = world.start_on(&machine, cold()).await;
            world.until_bound(1, 60 * SECOND).await;
            let lost = world.metrics("replica-a").resignations().counted("cache");
            assert_eq!(lost, 0, "the cache was lost in world {seed}");
            world.check();
        }
    });
}

#[test]
fn a_leader_that_lost_its_lease_is_a_cold_standby_again() {
    run(async {
        let (world, _first, _second, _) = pair(251).await;
        let faults = world.server().faults();
        let failure = Failure::code(500);
        let lost = faults.add(Rule::new(
            rules::lease_requests().user_agent("replica-a"),
            Action::Fail { failure },
        ));
        world.add_pod(workload::pod("a", 100, 10));
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        faults.remove(lost);
        world.pass(10 * SECOND).await;
        let count = count_reads(&world, "replica-a");
        let lines = world.trace().lines().len();
        world.add_pod(workload::pod("b", 100, 10));
        world.pass(900 * SECOND).await;
        assert_eq!(reads(&world, &count), 0, "it still reads");
        let told = |line: &String| line.contains("replica-a InformerCache");
        assert!(!world.trace().lines()[lines..].iter().any(told), "{}", world.tail());
        world.until_bound(2, SECOND).await;
        world.check();
    });
}

#[test]
fn a_restored_store_ends_the_cold_leaders_cache_and_its_next_term_begins_with_another() {
    run(async {
        let world = World::new(252);
        let _replica = world.start("replica-a", cold()).await;
        world.pass(5 * SECOND).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 5 * SECOND).await;
        let backup = world.server().resource_version();
        world.add_pod(workload::pod("b", 500, 10));
        world.until_bound(2, 5 * SECOND).await;
        // Renewals of the lease take versions too; the store is to be older than what was seen.
        world.pass(60 * SECOND).await;
        world.server().restore(backup).unwrap();
        world.add_pod(workload::pod("big", 800, 10));
        world
            .until("the pod is placed", 240 * SECOND, || world.node_of("big").is_some())
            .await;
        assert_eq!(world.metrics("replica-a").resignations().counted("cache"), 1);
        world.check();
        world.check_nothing_forgotten();
    });
}

/// Lets every node pass, and notes whether it was sent whole pods and nodes.
#[derive(Default)]
struct Whole(Mutex<Vec<bool>>);

struct Performer(Arc<Whole>);

impl PerformEffect for Performer {
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply> {
        let requests = *request.downcast::<Vec<ExtenderRequest>>().unwrap();
        let answers: Vec<Result<ExtenderAnswer, String>> =
            requests.iter().map(|request| self.0.answer(request)).collect();
        async move {
            let reply: EffectReply = Ok(Box::new(answers));
            reply
        }
        .boxed()
    }
}

impl Whole {
    fn answer(&self, request: &ExtenderRequest) -> Result<ExtenderAnswer, String> {
        let ExtenderCall::Filter { pod, nodes } = &request.call else {
            return Err("only filters".to_owned());
        };
        let ExtenderNodes::Objects(nodes) = nodes else {
            return Err("only whole nodes".to_owned());
        };
        let whole = pod.raw.is_some() && nodes.iter().all(|node| node.raw.is_some());
        self.0.lock().unwrap().push(whole);
        Err("seen".to_owned())
    }
}

#[test]
fn another_configuration_reaches_a_cold_standby_with_the_objects_that_its_extender_needs() {
    run(async {
        let (world, first, second, count) = pair(253).await;
        let seen = Arc::new(Whole::default());
        let mut setup = cold();
        setup.config.extenders = vec![ExtenderConfig {
            url_prefix: "http://extender".to_owned(),
            filter_verb: "filter".to_owned(),
            ignorable: true,
            ..ExtenderConfig::default()
        }];
        setup.effects.add(EXTENDER, Arc::new(Performer(Arc::clone(&seen))));
        let third = world.start("replica-c", setup_without_extenders(&seen)).await;
        world.pass(5 * SECOND).await;
        third
            .reconfigurer()
            .reconfigure(setup.assembled(), "whole objects".to_owned());
        world.pass(5 * SECOND).await;
        first.kill();
        second.kill();
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-c");
        assert_eq!(*seen.0.lock().unwrap(), [true]);
        assert_eq!(reads(&world, &count), 0);
        world.check();
    });
}

fn setup_without_extenders(seen: &Arc<Whole>) -> Setup {
    let mut setup = cold();
    setup.effects.add(EXTENDER, Arc::new(Performer(Arc::clone(seen))));
    setup
}

/// Lists of namespaces are refused as streams, and each page takes so long.
fn slow_pages(world: &World, replica: &str, millis: u64) {
    let faults = world.server().faults();
    let failure = Failure::code(400);
    let streams = rules::watches("namespaces").user_agent(replica);
    faults.add(Rule::new(streams, Action::Fail { failure }).times(1));
    let pages = rules::lists("namespaces").user_agent(replica);
    faults.add(Rule::new(pages, Action::Latency { millis }));
}

#[test]
fn a_list_that_takes_minutes_and_gets_on_does_not_cost_the_lease() {
    run(async {
        let world = World::new(254);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        for number in 0..2_200 {
            world.add_namespace(json!({ "metadata": { "name": format!("ns-{number}") } }));
        }
        slow_pages(&world, "replica-a", 25_000);
        let _replica = world.start("replica-a", cold()).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(100 * SECOND).await;
        assert_eq!(world.node_of("a"), None, "decided before everything was read");
        world.until_bound(1, 120 * SECOND).await;
        let metrics = world.metrics("replica-a");
        let resigned = Resignation::ALL.map(|why| metrics.resignations().counted(why.as_str()));
        assert_eq!(resigned.iter().sum::<u64>(), 0, "{}", world.tail());
        world.check();
    });
}
