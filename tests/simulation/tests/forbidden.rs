//! A kind that the scheduler may not read, as when its role is older than it is: nothing is decided blindly, nothing that
//! runs stops, and all goes on by itself once the role is mended.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Match, Rule, RuleId};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};

const SECOND: Duration = Duration::from_secs(1);
const WORKLOADS: &str = "statefulsets.apps";

fn forbid(world: &World) -> RuleId {
    forbid_kind(world, WORKLOADS)
}

fn forbid_kind(world: &World, kind: &str) -> RuleId {
    let reads = Match::verbs(&["list", "watch"]).resource(kind);
    let failure = Failure::code(403);
    world.server().faults().add(Rule::new(reads, Action::Fail { failure }))
}

#[test]
fn a_scheduler_that_may_not_read_a_kind_begins_as_soon_as_it_may() {
    run(async {
        let world = World::new(101);
        let forbidden = forbid(&world);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 100, 10));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(300 * SECOND).await;
        assert_eq!(world.node_of("a"), None, "decided without having seen everything");
        let told = world.events("WatchForbidden");
        let [(kind, note)] = told.as_slice() else {
            panic!("told {} times: {told:?}", told.len());
        };
        assert_eq!(kind, "Warning");
        assert!(note.starts_with("replica-a may not read statefulsets"), "{note}");
        world.server().faults().remove(forbidden);
        world.until_bound(1, 60 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_role_from_before_storage_was_read_is_told_with_the_one_that_helps() {
    run(async {
        let world = World::new(104);
        let forbidden = forbid_kind(&world, "storageclasses.storage.k8s.io");
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 100, 10));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(60 * SECOND).await;
        assert_eq!(world.node_of("a"), None, "decided without having seen everything");
        let told = world.events("WatchForbidden");
        let [(_, note)] = told.as_slice() else {
            panic!("told {} times: {told:?}", told.len());
        };
        let begins =
            "replica-a may not read storageclasses (the ClusterRole system:volume-scheduler lets it), and schedules";
        assert!(note.starts_with(begins), "{note}");
        world.server().faults().remove(forbidden);
        world.until_bound(1, 60 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_leader_that_may_no_longer_read_a_kind_goes_on_with_what_it_knows() {
    run(async {
        let world = World::new(102);
        let _replica = world.start("replica-a", Setup::default()).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(5 * SECOND).await;
        forbid(&world);
        // Longer than any watch lives.
        world.pass(900 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 10 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        world.check();
    });
}

#[test]
fn a_new_leader_that_may_not_read_a_kind_decides_nothing_and_goes_on_as_soon_as_it_may() {
    run(async {
        let world = World::new(103);
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(5 * SECOND).await;
        let forbidden = forbid(&world);
        first.kill();
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(300 * SECOND).await;
        assert_eq!(world.node_of("a"), None, "decided without having caught up");
        world.server().faults().remove(forbidden);
        world.until_bound(1, 120 * SECOND).await;
        world.check();
    });
}
