//! The API server's store goes back in time: what was seen after that point has never happened.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);

/// Two pods placed before the backup and three after it.
async fn with_a_backup(world: &World) -> u64 {
    world.pass(5 * SECOND).await;
    world.add_node(workload::node("n1", 1000, 8000, 110));
    world.add_pod(workload::pod("a", 100, 10));
    world.add_pod(workload::pod("b", 100, 10));
    world.until_bound(2, 10 * SECOND).await;
    world.pass(3 * SECOND).await;
    let backup = world.server().resource_version();
    for name in ["c", "d", "e"] {
        world.add_pod(workload::pod(name, 200, 10));
    }
    world.until_bound(5, 10 * SECOND).await;
    world.pass(20 * SECOND).await;
    backup
}

#[test]
fn after_the_store_was_restored_from_a_backup_everything_is_read_anew_and_scheduling_goes_on() {
    run(async {
        let world = World::new(97);
        let _first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        let backup = with_a_backup(&world).await;
        world.server().restore(backup).unwrap();
        assert_eq!(invariants::placements(world.server()).len(), 2);
        // Fits only where nothing of what was lost is still counted.
        world.add_pod(workload::pod("big", 800, 10));
        world
            .until("the pod is placed", 240 * SECOND, || world.node_of("big").is_some())
            .await;
        world.add_pod(workload::pod("more", 100, 10));
        world.pass(60 * SECOND).await;
        assert_eq!(world.node_of("more"), None);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_binding_under_way_while_the_store_is_restored_leaves_no_claim_and_no_pod_behind() {
    run(async {
        let world = World::new(100);
        let _first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        let backup = with_a_backup(&world).await;
        let slow = Action::Latency { millis: 4_000 };
        world.server().faults().add(Rule::new(rules::bindings(), slow).times(2));
        world.add_pod(workload::pod("lost", 200, 10));
        world.pass(SECOND).await;
        world.server().restore(backup).unwrap();
        world.add_pod(workload::pod("big", 800, 10));
        world
            .until("the pod is placed", 240 * SECOND, || world.node_of("big").is_some())
            .await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_new_leader_starts_from_the_restored_store() {
    run(async {
        let world = World::new(98);
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        let backup = with_a_backup(&world).await;
        world.server().restore(backup).unwrap();
        first.kill();
        world.add_pod(workload::pod("big", 800, 10));
        world
            .until("the pod is placed", 60 * SECOND, || world.node_of("big").is_some())
            .await;
        world.check();
    });
}

#[test]
fn a_new_leader_notices_at_its_barrier_that_the_store_was_restored() {
    run(async {
        let world = World::new(140);
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        let backup = with_a_backup(&world).await;
        // Nothing of its own tells the standby: its watches get no answer until it leads, and then wait for their next try.
        let faults = world.server().faults();
        let silent = ["list", "watch"].map(|verb| {
            let reads = Match::verbs(&[verb]).user_agent("replica-b");
            let failure = Failure::code(503);
            faults.add(Rule::new(reads, Action::Fail { failure }))
        });
        world.server().restore(backup).unwrap();
        first.kill();
        world.add_pod(workload::pod("big", 800, 10));
        world
            .until("the standby leads", 60 * SECOND, || world.leader() == "replica-b")
            .await;
        for rule in silent {
            faults.remove(rule);
        }
        world
            .until("the pod is placed", 120 * SECOND, || world.node_of("big").is_some())
            .await;
        let noticed = "replica-b InformerCache: HistoryBeganAnew";
        let lines = world.trace().lines();
        assert!(lines.iter().any(|line| line.contains(noticed)), "{}", world.tail());
        world.pass(30 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn watches_that_lag_behind_do_not_hold_up_a_new_leader() {
    run(async {
        let world = World::new(99);
        let faults = world.server().faults();
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let watches = rules::watches("pods").user_agent("replica-b");
        let cut = faults.add(Rule::new(watches.clone(), Action::CutWatch { after_events: 1 }));
        let _second = world.start("replica-b", Setup::default()).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(10 * SECOND).await;
        // The open watch breaks at its next event, and no other gets anywhere; lists are as they should be.
        faults.remove(cut);
        let failure = Failure::code(503);
        faults.add(Rule::new(watches, Action::Fail { failure }));
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 5 * SECOND).await;
        first.kill();
        world.add_pod(workload::pod("b", 600, 10));
        world
            .until("the standby leads", 40 * SECOND, || world.leader() == "replica-b")
            .await;
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.until_bound(2, 15 * SECOND).await;
        world.check();
    });
}
