//! The main job, as small as it gets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use plimsoll_simulation::invariants;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};

#[test]
fn a_pod_goes_from_watch_to_bind_through_every_actor() {
    run(async {
        let world = World::new(1);
        world.add_node(workload::node("n1", 4000, 8000, 110));
        world.add_pod(workload::pod("a", 500, 100));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.until_bound(1, Duration::from_secs(30)).await;
        world.pass(Duration::from_secs(1)).await;
        world.check();
        assert_eq!(invariants::placements(world.server())["a"], "n1");
        let told = |actor: &str| world.trace().lines().iter().any(|line| line.contains(actor));
        for actor in [
            "InformerCache:",
            "Elector:",
            "Supervisor:",
            "Term:",
            "SchedulingQueue:",
            "SchedulingCycle:",
            "EventRecorder:",
        ] {
            assert!(told(actor), "{actor} heard nothing");
        }
    });
}

#[test]
fn a_pod_that_does_not_fit_is_told_why_and_placed_when_there_is_room() {
    run(async {
        let world = World::new(2);
        world.add_node(workload::node("small", 100, 8000, 110));
        world.add_pod(workload::pod("a", 500, 100));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(Duration::from_secs(10)).await;
        assert!(invariants::placements(world.server()).is_empty());
        assert!(invariants::forgotten(world.server()).is_empty());
        let pods = plimsoll_apiserver::resource::find("", "v1", "pods").unwrap();
        let pod = world.server().get(pods, "default", "a").unwrap();
        let condition = &pod.pointer("/status/conditions").unwrap()[0];
        assert_eq!(
            condition["message"],
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: \
             1 Preemption is not helpful for scheduling."
        );
        assert_eq!(condition["reason"], "Unschedulable");
        world.add_node(workload::node("large", 1000, 8000, 110));
        world.until_bound(1, Duration::from_secs(15)).await;
        world.check();
    });
}
