//! Preemptions that a volume stands in the way of for a while.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_simulation::storage::{self, DYNAMIC, Storage, Trouble};
use plimsoll_simulation::world::World;
use plimsoll_simulation::{run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

fn add_node(world: &World, name: &str) {
    world.add_storage("csinodes", storage::csi_node(name, 10));
    let mut node = workload::node(name, 1_000, 1_000, 10);
    node["metadata"]["labels"]["zone"] = json!("a");
    world.add_node(node);
}

/// A pod that fills a node and uses the claim.
fn with_claim(name: &str) -> Value {
    let mut pod = workload::of_class(workload::pod(name, 1_000, 10), "high", 1);
    pod["spec"]["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
    pod
}

#[test]
fn a_claim_that_gets_its_volume_wakes_a_pod_whose_preemption_it_stood_in_the_way_of() {
    run(async {
        let (world, _replica) = World::led(1).await;
        for class in storage::classes() {
            world.add_storage("storageclasses", class);
        }
        world.add_priority_class("high", 1_000);
        let storage = Storage::new(world.server(), 1);
        let controllers = storage.clone();
        world.add_controller(move || controllers.look());
        storage.upset(Some(Trouble::Silent));
        add_node(&world, "full");
        world.add_pod(workload::of_class(workload::pod("low", 1_000, 10), "", 1));
        world.until_bound(1, 5 * SECOND).await;

        add_node(&world, "chosen");
        world.add_storage(
            "persistentvolumeclaims",
            storage::claim("data", DYNAMIC, "ReadWriteOnce"),
        );
        world.add_pod(with_claim("first"));
        world.pass_with_kubelets(5 * SECOND).await;
        world.add_pod(with_claim("second"));
        world.pass_with_kubelets(10 * SECOND).await;
        let (_, why) = world.explanation("second").unwrap();
        let turned_down = "1 node(s) didn't find available persistent volumes to bind";
        assert!(why.starts_with("0/2 nodes are available: 2 Insufficient cpu."), "{why}");
        assert!(why.ends_with(&format!("{turned_down}.")), "{why}");
        assert_eq!(world.node_of("low").as_deref(), Some("full"));

        storage.upset(None);
        world.pass_with_kubelets(20 * SECOND).await;
        assert_eq!(world.node_of("first").as_deref(), Some("chosen"));
        assert_eq!(world.node_of("second").as_deref(), Some("full"), "{}", world.tail());
        world.check();
    });
}
