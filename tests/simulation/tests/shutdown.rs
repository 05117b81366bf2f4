//! An orderly end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use plimsoll_actors::supervisor::Exit;
use plimsoll_apiserver::resource;
use plimsoll_simulation::invariants;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};

fn holder(world: &World) -> String {
    let leases = resource::find("coordination.k8s.io", "v1", "leases").unwrap();
    let lease = world.server().get(leases, "kube-system", "kube-scheduler").unwrap();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_leader_that_is_asked_to_end_frees_the_lease_and_the_next_takes_it_at_once() {
    run(async {
        let world = World::new(5);
        world.add_node(workload::node("n1", 4000, 8000, 110));
        let mut first = world.start("replica-a", Setup::default()).await;
        world.pass(Duration::from_secs(5)).await;
        assert_eq!(holder(&world), "replica-a");
        first.shutdown();
        assert_eq!(first.ended().await, Exit::Terminated);
        assert_eq!(holder(&world), "");
        let _second = world.start("replica-b", Setup::default()).await;
        world.add_pod(workload::pod("a", 100, 100));
        world.until_bound(1, Duration::from_secs(8)).await;
        world.check();
    });
}

#[test]
fn a_standby_that_is_asked_to_end_leaves_the_lease_alone() {
    run(async {
        let world = World::new(6);
        let _first = world.start("replica-a", Setup::default()).await;
        world.pass(Duration::from_secs(5)).await;
        let mut second = world.start("replica-b", Setup::default()).await;
        world.pass(Duration::from_secs(5)).await;
        second.shutdown();
        assert_eq!(second.ended().await, Exit::Terminated);
        assert_eq!(holder(&world), "replica-a");
        assert!(invariants::placements(world.server()).is_empty());
    });
}
