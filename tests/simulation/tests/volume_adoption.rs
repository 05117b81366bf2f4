//! A leader that dies between the write to a volume and the binding of its pod: the next one finds in the objects what was
//! reserved, and brings it to its end.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_actors::auditor::Finding;
use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Rule};
use plimsoll_apiserver::resource;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, volume_writer, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
/// Lease duration, two tries, and forced progress of quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(26);

fn create(world: &World, group: &str, plural: &str, namespace: &str, object: Value) {
    let resource = resource::find(group, "v1", plural).unwrap();
    world.server().create(resource, namespace, object).unwrap();
}

fn core(world: &World, plural: &str, namespace: &str, name: &str) -> Value {
    let resource = resource::find("", "v1", plural).unwrap();
    world.server().get(resource, namespace, name).unwrap().as_ref().clone()
}

/// A class that waits for the first consumer.
fn class(name: &str, provisioner: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    })
}

/// A volume on this node.
fn local_volume(name: &str, node: &str) -> Value {
    let mut volume = volume_writer::volume(name);
    let term = json!({ "matchExpressions": [
        { "key": "kubernetes.io/hostname", "operator": "In", "values": [node] },
    ] });
    volume["spec"]["nodeAffinity"] = json!({ "required": { "nodeSelectorTerms": [term] } });
    volume
}

/// A volume that the volume controller has found to be in order.
fn add_volume(world: &World, volume: Value) {
    let name = volume["metadata"]["name"].as_str().unwrap().to_owned();
    create(world, "", "persistentvolumes", "", volume);
    let resource = resource::find("", "v1", "persistentvolumes").unwrap();
    let available = |volume: &mut Value| volume["status"]["phase"] = json!("Available");
    world.server().modify_status(resource, "", &name, available).unwrap();
}

fn claim_of_class(name: &str, class: &str) -> Value {
    let mut claim = volume_writer::claim(name);
    claim["spec"]["storageClassName"] = json!(class);
    claim
}

/// What the volume controller does of a volume that is made over to a claim.
fn bind(world: &World, claim: &str, volume: &str) {
    let resource = resource::find("", "v1", "persistentvolumeclaims").unwrap();
    let edit = |claim: &mut Value| {
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
        claim["spec"]["volumeName"] = json!(volume);
        claim["status"]["phase"] = json!("Bound");
    };
    world.server().modify(resource, "default", claim, edit).unwrap();
    world
        .server()
        .modify_status(resource, "default", claim, |claim| {
            claim["status"]["phase"] = json!("Bound");
        })
        .unwrap();
}

/// Three nodes, of which volumes are on the second alone; a leader and a standby.
async fn staged(seed: u64) -> (World, RunningReplica, RunningReplica) {
    let world = World::new(seed);
    create(
        &world,
        "storage.k8s.io",
        "storageclasses",
        "",
        class("manual", "kubernetes.io/no-provisioner"),
    );
    create(
        &world,
        "storage.k8s.io",
        "storageclasses",
        "",
        class("made", "example.com/made"),
    );
    for node in ["n1", "n2", "n3"] {
        world.add_node(workload::node(node, 1000, 8000, 110));
    }
    let first = world.start("replica-a", Setup::default()).await;
    world.pass(5 * SECOND).await;
    let second = world.start("replica-b", Setup::default()).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    (world, first, second)
}

async fn taken_over(world: &World, first: RunningReplica) {
    first.kill();
    world
        .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
        .await;
    world.pass(5 * SECOND).await;
}

/// Two audits of the new leader find nothing wrong.
async fn is_in_order(world: &World) {
    world.pass(Duration::from_mins(3)).await;
    let metrics = world.metrics("replica-b");
    for kind in Finding::KINDS {
        assert_eq!(metrics.audit().counted(kind).1, 0, "{kind}");
    }
    world.check();
}

#[test]
fn a_volume_that_a_dead_leader_made_over_stays_with_its_pod_and_its_node() {
    run(async {
        let (world, first, _second) = staged(510).await;
        add_volume(&world, local_volume("pv", "n2"));
        create(
            &world,
            "",
            "persistentvolumeclaims",
            "default",
            claim_of_class("data", "manual"),
        );
        world.add_pod(volume_writer::with_claim(workload::pod("a", 300, 10), "data"));
        let made_over =
            || core(&world, "persistentvolumes", "", "pv").pointer("/spec/claimRef/name") == Some(&json!("data"));
        world.until("the volume is made over", 5 * SECOND, made_over).await;
        taken_over(&world, first).await;
        // A rival that would like the volume as well finds none.
        create(
            &world,
            "",
            "persistentvolumeclaims",
            "default",
            claim_of_class("rival", "manual"),
        );
        world.add_pod(volume_writer::with_claim(workload::pod("rival", 300, 10), "rival"));
        world.pass(5 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        bind(&world, "data", "pv");
        world.until_bound(1, 30 * SECOND).await;
        assert_eq!(world.node_of("a").as_deref(), Some("n2"));
        assert_eq!(world.node_of("rival"), None);
        is_in_order(&world).await;
    });
}

#[test]
fn a_node_that_a_dead_leader_chose_for_a_claim_is_where_its_pod_goes() {
    run(async {
        let (world, first, _second) = staged(511).await;
        create(
            &world,
            "",
            "persistentvolumeclaims",
            "default",
            claim_of_class("data", "made"),
        );
        world.add_pod(volume_writer::with_claim(workload::pod("a", 300, 10), "data"));
        let selected = || {
            let claim = core(&world, "persistentvolumeclaims", "default", "data");
            let node = claim.pointer("/metadata/annotations/volume.kubernetes.io~1selected-node");
            node.and_then(Value::as_str).map(str::to_owned)
        };
        world
            .until("a node is chosen", 5 * SECOND, || selected().is_some())
            .await;
        let node = selected().unwrap();
        taken_over(&world, first).await;
        // The room there is not given to others meanwhile.
        for name in ["b", "c", "d"] {
            world.add_pod(workload::pod(name, 900, 10));
        }
        world.pass(5 * SECOND).await;
        add_volume(&world, local_volume("made-for-it", &node));
        bind(&world, "data", "made-for-it");
        world
            .until("the pod is bound", 30 * SECOND, || world.node_of("a").is_some())
            .await;
        assert_eq!(world.node_of("a"), Some(node));
        is_in_order(&world).await;
    });
}

#[test]
fn a_write_that_a_dead_leader_sent_and_that_comes_late_gives_the_volume_to_one_claim_only() {
    run(async {
        let (world, first, _second) = staged(512).await;
        add_volume(&world, local_volume("pv", "n2"));
        create(
            &world,
            "",
            "persistentvolumeclaims",
            "default",
            claim_of_class("data", "manual"),
        );
        let held = Action::Hold {
            gate: "write".to_owned(),
        };
        let faults = world.server().faults();
        faults.add(Rule::new(rules::volume_patches().user_agent("replica-a"), held).times(1));
        world.add_pod(volume_writer::with_claim(workload::pod("a", 300, 10), "data"));
        world
            .until("the write is on its way", 5 * SECOND, || faults.held("write") == 1)
            .await;
        taken_over(&world, first).await;
        world.pass(5 * SECOND).await;
        faults.release("write");
        world.pass(SECOND).await;
        bind(&world, "data", "pv");
        world.until_bound(1, 60 * SECOND).await;
        assert_eq!(world.node_of("a").as_deref(), Some("n2"));
        is_in_order(&world).await;
    });
}

#[test]
fn a_leader_that_stood_still_while_the_next_one_bound_its_pod_does_not_say_that_it_did() {
    run(async {
        let world = World::new(514);
        let storage = "storage.k8s.io";
        create(&world, storage, "storageclasses", "", class("made", "example.com/made"));
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut machine = world.machine("replica-a");
        let _first = world.start_on(&machine, Setup::default()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", Setup::default()).await;
        let claim = claim_of_class("data", "made");
        create(&world, "", "persistentvolumeclaims", "default", claim);
        world.add_pod(volume_writer::with_claim(workload::pod("a", 300, 10), "data"));
        world.pass(5 * SECOND).await;
        machine.stop();
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        add_volume(&world, local_volume("made-for-it", "n1"));
        bind(&world, "data", "made-for-it");
        world.until_bound(1, 30 * SECOND).await;
        // It hears first that the claim is bound, which it was waiting for, and then of the pod.
        machine.resume();
        world.pass(30 * SECOND).await;
        let scheduled = |replica| {
            let metrics = world.metrics(replica).text().unwrap();
            let counts = |line: &&str| {
                line.starts_with("scheduler_schedule_attempts_total{") && line.contains("result=\"scheduled\"")
            };
            let line = metrics.lines().find(counts).unwrap_or(" 0");
            line.rsplit(' ').next().unwrap().to_owned()
        };
        assert_eq!(
            (scheduled("replica-a"), scheduled("replica-b")),
            ("0".to_owned(), "1".to_owned())
        );
    });
}

#[test]
fn room_that_is_kept_for_a_pod_goes_to_another_one_when_it_is_turned_away_for_its_claim() {
    run(async {
        let (world, first, _second) = staged(513).await;
        first.kill();
        // The volume controller has made the volume over to the claim, and gets no further.
        let mut at_once = class("at-once", "example.com/made");
        at_once["volumeBindingMode"] = json!("Immediate");
        create(&world, "storage.k8s.io", "storageclasses", "", at_once);
        let claim = claim_of_class("data", "at-once");
        create(&world, "", "persistentvolumeclaims", "default", claim);
        let uid = core(&world, "persistentvolumeclaims", "default", "data")["metadata"]["uid"].clone();
        let mut volume = local_volume("pv", "n2");
        volume["spec"]["claimRef"] = json!({ "namespace": "default", "name": "data", "uid": uid });
        add_volume(&world, volume);
        let mut rival = workload::pod("a", 600, 10);
        rival["spec"]["nodeSelector"] = json!({ "kubernetes.io/hostname": "n2" });
        world.add_pod(rival);
        world.add_pod(volume_writer::with_claim(workload::pod("b", 600, 10), "data"));
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        world.pass(15 * SECOND).await;
        assert_eq!(world.node_of("a").as_deref(), Some("n2"), "{}", world.tail());
        let failed = world.events("FailedScheduling");
        for why in ["1 Insufficient cpu", "pod has unbound immediate PersistentVolumeClaims"] {
            assert!(failed.iter().any(|(_, note)| note.contains(why)), "{failed:?}");
        }
        is_in_order(&world).await;
    });
}
