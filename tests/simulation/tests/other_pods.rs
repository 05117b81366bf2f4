//! Pods that are placed by where others are: what changes around them wakes them, and a new leader knows it all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_apiserver::resource;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
/// What a pod is looked at within when nothing wakes it.
const LIMIT: Duration = Duration::from_secs(12);

fn labelled(name: &str, app: &str) -> Value {
    let mut pod = workload::pod(name, 100, 10);
    pod["metadata"]["labels"] = json!({"app": app});
    pod
}

/// A pod that must be on the node of a pod of app `web`, in a namespace of team `x` if so wanted.
fn follower(by_namespace: bool) -> Value {
    let mut term = json!({
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    if by_namespace {
        term["namespaceSelector"] = json!({"matchLabels": {"team": "x"}});
    }
    let mut pod = workload::pod("a", 100, 10);
    pod["spec"]["affinity"] = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    pod
}

/// A pod of app `web`, spread over the nodes without exception.
fn spread(name: &str) -> Value {
    let mut pod = labelled(name, "web");
    pod["spec"]["topologySpreadConstraints"] = json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]);
    pod
}

fn label_namespace(world: &World, team: &str) {
    let namespaces = resource::find("", "v1", "namespaces").unwrap();
    let label = |namespace: &mut Value| namespace["metadata"]["labels"]["team"] = json!(team);
    world.server().modify(namespaces, "", "default", label).unwrap();
}

async fn until_bound(world: &World, pod: &str) {
    world
        .until("the pod is bound", LIMIT, || world.node_of(pod).is_some())
        .await;
}

/// The pod has been told that it fits nowhere, long enough ago to be parked.
async fn parked(world: &World, pod: &str) {
    world.pass(30 * SECOND).await;
    assert_eq!(world.node_of(pod), None);
    assert_eq!(world.explanation(pod).unwrap().0, "Unschedulable");
}

fn check(world: &World) {
    world.check();
    world.check_nothing_forgotten();
}

#[test]
fn a_pod_that_must_be_near_another_is_placed_when_that_comes() {
    run(async {
        let (world, _replica) = World::led(60).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.add_pod(follower(false));
        parked(&world, "a").await;
        world.add_pod(labelled("web", "web"));
        until_bound(&world, "a").await;
        assert_eq!(world.node_of("a"), world.node_of("web"));
        check(&world);
    });
}

#[test]
fn a_namespace_that_gets_the_label_places_the_pod_that_asked_for_it() {
    run(async {
        let (world, _replica) = World::led(61).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(labelled("web", "web"));
        world.add_pod(follower(true));
        until_bound(&world, "web").await;
        parked(&world, "a").await;
        label_namespace(&world, "y");
        parked(&world, "a").await;
        label_namespace(&world, "x");
        until_bound(&world, "a").await;
        check(&world);
    });
}

#[test]
fn a_spread_pod_is_placed_when_the_domain_that_nobody_may_use_goes() {
    run(async {
        let (world, _replica) = World::led(62).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_node(workload::node("shut", 1000, 8000, 110));
        world.edit_node("shut", |node| node["spec"]["unschedulable"] = json!(true));
        world.add_pod(spread("a"));
        until_bound(&world, "a").await;
        world.add_pod(spread("b"));
        parked(&world, "b").await;
        world.delete_node("shut");
        until_bound(&world, "b").await;
        check(&world);
    });
}

#[test]
fn a_new_leader_knows_the_labels_of_namespaces_that_were_there_before_it() {
    run(async {
        let (world, first) = World::led(63).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(labelled("web", "web"));
        label_namespace(&world, "x");
        until_bound(&world, "web").await;
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(5 * SECOND).await;
        first.kill();
        world
            .until("the standby leads", 26 * SECOND, || world.leader() == "replica-b")
            .await;
        world.add_pod(follower(true));
        until_bound(&world, "a").await;
        check(&world);
    });
}
