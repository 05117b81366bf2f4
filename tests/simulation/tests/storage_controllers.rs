//! What the simulated controllers of storage do, and how their faults look to a scheduler.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_simulation::storage::{self, DYNAMIC, IMMEDIATE, LOCAL, Storage, ZONES};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

/// A world with a node in each zone, of which the first has two volumes.
fn staged(seed: u64) -> (World, Storage) {
    let world = World::new(seed);
    for class in storage::classes() {
        world.add_storage("storageclasses", class);
    }
    world.add_storage("csidrivers", storage::csi_driver(true));
    for zone in ZONES {
        let name = format!("node-{zone}");
        world.add_storage("csinodes", storage::csi_node(&name, 10));
        let mut node = workload::node(&name, 1_000, 1_000, 10);
        node["metadata"]["labels"]["zone"] = json!(zone);
        world.add_node(node);
    }
    for number in 0..2 {
        let volume = storage::local_volume(&format!("local-{number}"), "node-a");
        world.add_storage("persistentvolumes", volume);
    }
    let storage = Storage::new(world.server(), seed);
    let controllers = storage.clone();
    storage.tell_capacity();
    world.add_controller(move || controllers.look());
    (world, storage)
}

fn add_claim(world: &World, name: &str, class: &str) {
    world.add_storage("persistentvolumeclaims", storage::claim(name, class, "ReadWriteOnce"));
}

fn pod_with(name: &str, claims: &[&str]) -> Value {
    let mut pod = workload::pod(name, 10, 10);
    let volume = |claim: &&str| json!({ "name": claim, "persistentVolumeClaim": { "claimName": claim } });
    pod["spec"]["volumes"] = claims.iter().map(volume).collect();
    pod
}

#[test]
fn a_controller_that_takes_its_time_leaves_claims_half_bound_and_comes_to_its_end() {
    run(async {
        let (world, storage) = staged(1);
        storage.dawdle(true);
        let names: Vec<_> = (0..40).map(|number| format!("c{number}")).collect();
        for name in &names {
            add_claim(&world, name, IMMEDIATE);
        }
        let half_bound = || {
            let claims = world.server().snapshot(storage::kind("persistentvolumeclaims"));
            let has = |claim: &Value| claim["spec"]["volumeName"].is_string();
            claims
                .iter()
                .any(|claim| has(claim) && claim["status"]["phase"] != "Bound")
        };
        let mut was_half_bound = false;
        for _ in 0..20 {
            world.pass_with_kubelets(SECOND / 2).await;
            was_half_bound |= half_bound();
        }
        assert!(was_half_bound && storage.deeds().half_bound > 0);
        storage.recover();
        world.pass_with_kubelets(5 * SECOND).await;
        assert_eq!((half_bound(), storage.deeds().bound), (false, 40));
    });
}

#[test]
fn a_pod_with_two_claims_goes_where_both_can_be() {
    run(async {
        let (world, _storage) = staged(2);
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        add_claim(&world, "there", LOCAL);
        add_claim(&world, "made", DYNAMIC);
        world.add_pod(pod_with("both", &["there", "made"]));
        world.pass_with_kubelets(15 * SECOND).await;
        assert_eq!(world.node_of("both").as_deref(), Some("node-a"), "{}", world.tail());
        // One volume is left there.
        add_claim(&world, "second", LOCAL);
        add_claim(&world, "third", LOCAL);
        world.add_pod(pod_with("more", &["second", "third"]));
        world.pass_with_kubelets(15 * SECOND).await;
        assert_eq!(world.node_of("more"), None);
        world.check();
    });
}

#[test]
fn a_claim_that_a_pod_brings_along_comes_and_goes_with_it() {
    run(async {
        let (world, _storage) = staged(3);
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let mut pod = workload::pod("p", 10, 10);
        let spec = &storage::claim("", DYNAMIC, "ReadWriteOnce")["spec"];
        pod["spec"]["volumes"] = json!([{ "name": "data", "ephemeral": { "volumeClaimTemplate": { "spec": spec } } }]);
        world.add_pod(pod);
        world.pass_with_kubelets(15 * SECOND).await;
        assert!(world.node_of("p").is_some(), "{}", world.tail());
        let claim = || {
            world
                .server()
                .get(storage::kind("persistentvolumeclaims"), "default", "p-data")
        };
        assert!(claim().is_some_and(|claim| claim["spec"]["volumeName"].is_string()));
        world.delete_pod("p");
        world.pass_with_kubelets(2 * SECOND).await;
        assert_eq!(
            (
                claim(),
                world.server().snapshot(storage::kind("persistentvolumes")).len()
            ),
            (None, 2)
        );
        world.check();
    });
}

#[test]
fn a_pod_waits_for_room_for_its_volume_and_goes_where_there_is_some() {
    run(async {
        let (world, storage) = staged(4);
        for zone in &ZONES {
            storage.exhaust(zone, true);
        }
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        add_claim(&world, "data", DYNAMIC);
        world.add_pod(pod_with("p", &["data"]));
        world.pass_with_kubelets(15 * SECOND).await;
        let (_, why) = world.explanation("p").unwrap();
        assert!(why.contains("did not have enough free storage"), "{why}");
        storage.exhaust("b", false);
        world.pass_with_kubelets(30 * SECOND).await;
        assert_eq!(world.node_of("p").as_deref(), Some("node-b"), "{}", world.tail());
        world.check();
    });
}

#[test]
fn a_replica_that_hears_nothing_of_volumes_binds_once_it_does() {
    run(async {
        let (world, _storage) = staged(5);
        let machine = world.machine("replica-a");
        let _replica = world.start_on(&machine, Setup::default()).await;
        world.pass(5 * SECOND).await;
        machine.link().hold_volumes();
        add_claim(&world, "data", LOCAL);
        world.add_pod(pod_with("p", &["data"]));
        world.add_pod(workload::pod("plain", 10, 10));
        world.pass_with_kubelets(10 * SECOND).await;
        assert_eq!((world.node_of("p"), world.node_of("plain").is_some()), (None, true));
        machine.link().release_volumes();
        world.pass_with_kubelets(20 * SECOND).await;
        assert_eq!(world.node_of("p").as_deref(), Some("node-a"), "{}", world.tail());
        world.check();
    });
}
