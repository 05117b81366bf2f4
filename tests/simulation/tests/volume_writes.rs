//! Pods whose volumes are written to before they are bound: they hold nothing up while they wait, and nothing of theirs stays
//! behind when they are gone.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_actors::auditor::Finding;
use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_apiserver::resource;
use plimsoll_simulation::volume_writer::{self, Object};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn create(world: &World, plural: &str, namespace: &str, object: Value) {
    let resource = resource::find("", "v1", plural).unwrap();
    world.server().create(resource, namespace, object).unwrap();
}

fn claim_of(world: &World, name: &str) -> Option<std::sync::Arc<Value>> {
    let resource = resource::find("", "v1", "persistentvolumeclaims").unwrap();
    world.server().get(resource, "default", name)
}

/// Somebody makes a volume and binds the claim to it.
fn bind_claim(world: &World, name: &str) {
    let resource = resource::find("", "v1", "persistentvolumeclaims").unwrap();
    let bind = |claim: &mut Value| {
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
        claim["spec"]["volumeName"] = json!(format!("volume-{name}"));
    };
    world.server().modify(resource, "default", name, bind).unwrap();
}

/// A pod with a claim of its own name.
fn add_pod_with_claim(world: &World, name: &str) {
    create(world, "persistentvolumeclaims", "default", volume_writer::claim(name));
    world.add_pod(volume_writer::with_claim(workload::pod(name, 10, 10), name));
}

fn setup(patience: Duration) -> Setup {
    let mut setup = Setup::default();
    setup.config.binding_workers = 4;
    volume_writer::add_to(&mut setup, Object::Claim, Some(patience));
    setup
}

async fn led(seed: u64, patience: Duration) -> (World, RunningReplica) {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 100_000, 80_000, 1000));
    let replica = world.start("replica-a", setup(patience)).await;
    world.pass(10 * SECOND).await;
    (world, replica)
}

/// Two audits find nothing wrong.
async fn is_in_order(world: &World) {
    world.pass(3 * MINUTE).await;
    let metrics = world.metrics("replica-a");
    for kind in Finding::KINDS {
        assert_eq!(metrics.audit().counted(kind).1, 0, "{kind}");
    }
    world.check();
}

#[test]
fn plain_pods_are_bound_by_four_workers_while_hundreds_wait_for_their_volumes() {
    run(async {
        let (world, _replica) = led(84, 10 * MINUTE).await;
        for number in 0..300 {
            add_pod_with_claim(&world, &format!("data-{number}"));
        }
        world.pass(30 * SECOND).await;
        let selected = (0..300).filter(|number| {
            let claim = claim_of(&world, &format!("data-{number}")).unwrap();
            claim.pointer("/metadata/annotations/volume.kubernetes.io~1selected-node") == Some(&json!("n1"))
        });
        assert_eq!(selected.count(), 300);
        for number in 0..50 {
            world.add_pod(workload::pod(&format!("plain-{number}"), 10, 10));
        }
        world.until_bound(50, 5 * SECOND).await;
        let bound = invariants::placements(world.server());
        assert!(bound.keys().all(|pod| pod.starts_with("plain-")), "{bound:?}");
        for number in 0..300 {
            bind_claim(&world, &format!("data-{number}"));
        }
        world.until_bound(350, 5 * SECOND).await;
        is_in_order(&world).await;
    });
}

#[test]
fn a_pod_whose_volume_nobody_makes_is_told_of_and_tried_again_and_one_that_is_deleted_leaves_nothing_behind() {
    run(async {
        let (world, _replica) = led(85, 20 * SECOND).await;
        add_pod_with_claim(&world, "data");
        add_pod_with_claim(&world, "gone");
        world.pass(5 * SECOND).await;
        world.delete_pod("gone");
        world.pass(16 * SECOND).await;
        let why = r#"running PreBind plugin "Writer": in vain"#;
        assert_eq!(
            world.explanation("data"),
            Some(("SchedulerError".to_owned(), why.to_owned()))
        );
        world.pass(10 * SECOND).await;
        bind_claim(&world, "data");
        world.until_bound(1, 30 * SECOND).await;
        is_in_order(&world).await;
    });
}

#[test]
fn a_claim_deleted_while_its_pod_waits_ends_the_attempt() {
    run(async {
        let (world, _replica) = led(86, 10 * MINUTE).await;
        add_pod_with_claim(&world, "data");
        world.pass(5 * SECOND).await;
        let resource = resource::find("", "v1", "persistentvolumeclaims").unwrap();
        world.server().delete(resource, "default", "data").unwrap();
        world.pass(SECOND).await;
        let why = r#"running PreBind plugin "Writer": there is no claim"#;
        assert_eq!(
            world.explanation("data"),
            Some(("SchedulerError".to_owned(), why.to_owned()))
        );
        is_in_order(&world).await;
    });
}

#[test]
fn a_pod_that_goes_while_its_write_is_put_off_leaves_no_request_behind_that_waits_for_an_answer() {
    run(async {
        let (world, _replica) = led(88, 10 * MINUTE).await;
        let binding = || {
            let told = world.metrics("replica-a").text().unwrap();
            let line = r#"scheduler_goroutines{operation="binding"} "#;
            let value = told.lines().find_map(|told| told.strip_prefix(line));
            value.unwrap().to_owned()
        };
        let slow = Action::Latency { millis: 5000 };
        let busy = Action::Fail {
            failure: Failure::code(429).retry_after(60),
        };
        let faults = world.server().faults();
        faults.add(Rule::new(rules::claim_patches(), slow).times(1));
        add_pod_with_claim(&world, "slow");
        world.pass(SECOND).await;
        assert_eq!(binding(), "1");
        world.pass(10 * SECOND).await;
        faults.add(Rule::new(rules::claim_patches(), busy));
        add_pod_with_claim(&world, "gone");
        world.pass(5 * SECOND).await;
        world.delete_pod("gone");
        world.pass(2 * MINUTE).await;
        assert_eq!(binding(), "0");
        is_in_order(&world).await;
    });
}

#[test]
fn a_write_that_is_put_off_or_whose_answer_is_lost_costs_its_pod_no_more_than_an_attempt() {
    run(async {
        let (world, _replica) = led(87, 10 * MINUTE).await;
        let busy = Action::Fail {
            failure: Failure::code(429).retry_after(3),
        };
        let faults = world.server().faults();
        faults.add(Rule::new(rules::claim_patches().name("busy"), busy).times(2));
        faults.add(Rule::new(rules::claim_patches().name("lost"), Action::LoseReply).times(1));
        add_pod_with_claim(&world, "busy");
        add_pod_with_claim(&world, "lost");
        world.pass(30 * SECOND).await;
        // It was put off twice and is waiting; nobody was told of a failure.
        assert_eq!(world.explanation("busy"), None);
        for name in ["busy", "lost"] {
            let claim = claim_of(&world, name).unwrap();
            let node = claim.pointer("/metadata/annotations/volume.kubernetes.io~1selected-node");
            assert_eq!(node, Some(&json!("n1")), "{name}");
            bind_claim(&world, name);
        }
        world.until_bound(2, 30 * SECOND).await;
        is_in_order(&world).await;
    });
}
