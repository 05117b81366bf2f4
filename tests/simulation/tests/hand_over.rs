//! Taking the lead over: what a new leader waits for, and when.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, workload};
use plimsoll_telemetry::HandOverStage;

const SECOND: Duration = Duration::from_secs(1);

fn seconds(world: &World, replica: &str, stage: HandOverStage) -> Option<f64> {
    world.metrics(replica).hand_over().seconds(stage)
}

#[test]
fn a_quiet_cluster_is_caught_up_with_without_waiting_for_its_streams() {
    run(async {
        let (world, first) = World::led(161).await;
        for number in 0..20 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
        }
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 10 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(30 * SECOND).await;
        first.kill();
        world
            .until("the standby leads", 22 * SECOND, || world.leader() == "replica-b")
            .await;
        world.pass(SECOND).await;
        let built = seconds(&world, "replica-b", HandOverStage::QueueBuilt).unwrap();
        assert!(built < 0.1, "{built} s");
        world.check();
    });
}

#[test]
fn nothing_is_decided_before_every_kind_has_been_caught_up_with_though_queue_and_columns_are_built() {
    run(async {
        let (world, first) = World::led(162).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(20 * SECOND).await;
        let slow = Action::Latency { millis: 5_000 };
        let reads = Match::verbs(&["list"])
            .resource("statefulsets.apps")
            .user_agent("replica-b");
        world.server().faults().add(Rule::new(reads, slow));
        first.kill();
        world.add_pod(workload::pod("a", 600, 10));
        world
            .until("the standby leads", 22 * SECOND, || world.leader() == "replica-b")
            .await;
        world.pass(4 * SECOND).await;
        assert_eq!(world.node_of("a"), None, "decided before the barrier");
        world.until_bound(1, 3 * SECOND).await;
        let caught_up = seconds(&world, "replica-b", HandOverStage::CaughtUp).unwrap();
        let built = seconds(&world, "replica-b", HandOverStage::QueueBuilt).unwrap();
        assert!(caught_up >= 5.0 && built - caught_up < 0.1, "{caught_up} s, {built} s");
        world.check();
    });
}

#[test]
fn a_released_lease_is_taken_at_once() {
    run(async {
        let (world, first) = World::led(163).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(20 * SECOND).await;
        first.shutdown();
        world
            .until("the standby leads", SECOND / 5, || world.leader() == "replica-b")
            .await;
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, SECOND / 2).await;
        world.check();
    });
}

#[test]
fn a_lease_whose_taker_is_asked_to_end_while_it_takes_it_is_freed_again() {
    run(async {
        let (world, first) = World::led(166).await;
        let second = world.start("replica-b", Setup::default()).await;
        world.pass(20 * SECOND).await;
        let writes = Match::verbs(&["update"])
            .resource("leases.coordination.k8s.io")
            .user_agent("replica-b");
        let slow = world
            .server()
            .faults()
            .add(Rule::new(writes, Action::ApplyLate { millis: 300 }).times(1));
        first.shutdown();
        world
            .until("the standby's write is on its way", 2 * SECOND, || {
                world.server().faults().fired(slow) == Some(1)
            })
            .await;
        second.shutdown();
        world.pass(2 * SECOND).await;
        let _third = world.start("replica-c", Setup::default()).await;
        world
            .until("another one leads", 5 * SECOND, || world.leader() == "replica-c")
            .await;
        world.check();
    });
}

#[test]
fn a_lease_that_is_not_renewed_any_more_is_taken_as_it_runs_out() {
    run(async {
        let (world, first) = World::led(164).await;
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(20 * SECOND).await;
        first.kill();
        // The last renewal may be almost a retry period old.
        world.pass(12 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        world
            .until("the standby leads", 3 * SECOND + SECOND / 5, || {
                world.leader() == "replica-b"
            })
            .await;
    });
}

#[test]
fn a_standby_that_may_not_watch_the_lease_polls() {
    run(async {
        let (world, first) = World::led(165).await;
        let failure = Failure::code(403);
        let watches = rules::watches("leases.coordination.k8s.io").user_agent("replica-b");
        world
            .server()
            .faults()
            .add(Rule::new(watches, Action::Fail { failure }));
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(20 * SECOND).await;
        first.shutdown();
        world
            .until("the standby leads", 6 * SECOND, || world.leader() == "replica-b")
            .await;
        assert!(
            !world
                .trace()
                .lines()
                .iter()
                .any(|line| line.contains("replica-b Elector: Seen"))
        );
        world.check();
    });
}
