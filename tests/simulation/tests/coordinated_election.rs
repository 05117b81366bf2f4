//! A coordinator says who leads.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_actors::supervisor::{Exit, RunningReplica};
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_apiserver::resource;
use plimsoll_client::Clock;
use plimsoll_config::Gate;
use plimsoll_simulation::coordinator::{self, candidates};
use plimsoll_simulation::world::{Machine, Setup, World};
use plimsoll_simulation::{rules, run, workload};
use serde_json::Value;

const SECOND: Duration = Duration::from_secs(1);
/// Lease duration, two looks of the coordinator, an unanswered question, a look of the new leader, quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(40);

fn coordinated() -> Setup {
    let mut setup = Setup::default();
    let gates = setup.config.feature_gates.clone();
    setup.config.feature_gates = gates.with(Gate::CoordinatedLeaderElection, true);
    setup
}

/// Lets time pass with the coordinator at work, which has the clock of `machine`.
async fn pass(world: &World, machine: &Machine, time: Duration) {
    let mut left = time;
    while !left.is_zero() {
        tokio::time::sleep(SECOND.min(left)).await;
        coordinator::look(world.server(), machine.clock().wall());
        left = left.saturating_sub(SECOND);
    }
}

fn names(world: &World) -> Vec<String> {
    let name = |candidate: &Value| candidate["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    candidates(world.server()).iter().map(name).collect()
}

fn lease(world: &World) -> Value {
    let leases = resource::find("coordination.k8s.io", "v1", "leases").unwrap();
    let lease = world.server().get(leases, "kube-system", "kube-scheduler").unwrap();
    lease.as_ref().clone()
}

/// Two replicas, the first of which leads, and the coordinator's machine.
struct Pair {
    world: World,
    first: RunningReplica,
    machine: Machine,
    second: RunningReplica,
    coordinator: Machine,
}

async fn pair(seed: u64) -> Pair {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    let coordinator = world.machine("coordinator");
    let machine = world.machine("replica-a");
    let first = world.start_on(&machine, coordinated()).await;
    pass(&world, &coordinator, 10 * SECOND).await;
    let second = world.start("replica-b", coordinated()).await;
    pass(&world, &coordinator, 10 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    Pair {
        world,
        first,
        machine,
        second,
        coordinator,
    }
}

#[test]
fn without_a_coordinator_nobody_leads() {
    run(async {
        let world = World::new(700);
        let _first = world.start("replica-a", coordinated()).await;
        world.pass(60 * SECOND).await;
        assert_eq!(world.leader(), "");
        assert_eq!(names(&world), ["replica-a"]);
    });
}

#[test]
fn the_one_that_the_coordinator_names_leads_and_keeps_its_candidate_fresh() {
    run(async {
        let Pair {
            world,
            coordinator,
            first,
            second,
            ..
        } = pair(701).await;
        world.add_pod(workload::pod("a", 100, 10));
        pass(&world, &coordinator, 10 * SECOND).await;
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        assert_eq!(lease(&world)["spec"]["strategy"], "OldestEmulationVersion");
        let spec = candidates(world.server())[0]["spec"].clone();
        assert_eq!(spec["leaseName"], "kube-scheduler");
        assert_eq!(spec["binaryVersion"], "1.36.0");
        let before = spec["renewTime"].clone();
        pass(&world, &coordinator, Duration::from_secs(301)).await;
        assert_ne!(candidates(world.server())[0]["spec"]["renewTime"], before);
        assert_eq!(world.leader(), "replica-a");
        drop((first, second));
    });
}

#[test]
fn when_the_leader_is_killed_the_coordinator_gives_the_lease_to_the_one_that_answers() {
    run(async {
        let Pair {
            world,
            coordinator,
            first,
            second,
            ..
        } = pair(702).await;
        first.kill();
        world.add_pod(workload::pod("a", 100, 10));
        pass(&world, &coordinator, TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        world.check();
        drop(second);
    });
}

#[test]
fn a_leader_that_is_asked_to_end_withdraws_frees_the_lease_and_the_other_is_named_at_once() {
    run(async {
        let Pair {
            world,
            coordinator,
            mut first,
            second,
            ..
        } = pair(703).await;
        first.shutdown();
        assert_eq!(first.ended().await, Exit::Terminated);
        assert_eq!(world.leader(), "");
        assert_eq!(names(&world), ["replica-b"]);
        world.add_pod(workload::pod("a", 100, 10));
        // No lease that runs out, and no question that nobody answers.
        pass(&world, &coordinator, 10 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        world.until_bound(1, 10 * SECOND).await;
        drop(second);
    });
}

#[test]
fn a_leader_makes_way_for_the_preferred_holder_and_stands_behind_it() {
    run(async {
        let Pair {
            world,
            coordinator,
            first,
            second,
            ..
        } = pair(704).await;
        let leases = resource::find("coordination.k8s.io", "v1", "leases").unwrap();
        let prefer = |lease: &mut Value| lease["spec"]["preferredHolder"] = Value::from("replica-b");
        world
            .server()
            .modify(leases, "kube-system", "kube-scheduler", prefer)
            .unwrap();
        pass(&world, &coordinator, 15 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        assert!(lease(&world)["spec"].get("preferredHolder").is_none());
        // It is a candidate again at once, but the younger one now.
        pass(&world, &coordinator, 60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        assert_eq!(names(&world).len(), 2);
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 10 * SECOND).await;
        world.check();
        drop((first, second));
    });
}

#[test]
fn a_leader_that_cannot_renew_stops_and_comes_back_as_the_younger_candidate() {
    run(async {
        let Pair {
            world,
            coordinator,
            machine,
            first,
            second,
        } = pair(705).await;
        machine.link().cut();
        pass(&world, &coordinator, TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        machine.link().mend();
        pass(&world, &coordinator, 60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        assert_eq!(names(&world).len(), 2);
        world.check();
        drop((first, second));
    });
}

#[test]
fn a_candidate_whose_clock_is_behind_answers_each_question_once() {
    run(async {
        let Pair {
            world,
            coordinator,
            first,
            second,
            ..
        } = pair(706).await;
        coordinator.clock().suspend(3 * SECOND);
        let questions = world.server().faults().add(Rule::new(
            Match::verbs(&["update"]).resource("leasecandidates.coordination.k8s.io"),
            Action::Latency { millis: 0 },
        ));
        first.kill();
        pass(&world, &coordinator, TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        let answers = world.server().faults().fired(questions).unwrap();
        assert!((1..20).contains(&answers), "{answers} renewals of the candidate");
        drop(second);
    });
}

#[test]
fn faults_of_the_api_server_are_borne_by_candidate_and_leader() {
    run(async {
        let Pair {
            world,
            coordinator,
            first,
            second,
            ..
        } = pair(707).await;
        for code in [409, 500, 429] {
            let failure = Failure::code(code);
            for requests in [
                rules::lease_updates(),
                Match::default().resource("leasecandidates.coordination.k8s.io"),
            ] {
                let fail = Action::Fail {
                    failure: failure.clone(),
                };
                world.server().faults().add(Rule {
                    probability: Some(0.2),
                    ..Rule::new(requests, fail)
                });
            }
        }
        for number in 0..10 {
            world.add_pod(workload::pod(&format!("p{number}"), 50, 10));
            pass(&world, &coordinator, 5 * SECOND).await;
        }
        world.server().faults().clear();
        pass(&world, &coordinator, TAKE_OVER).await;
        world.until_bound(10, 10 * SECOND).await;
        assert_eq!(names(&world).len(), 2);
        world.check();
        drop((first, second));
    });
}
