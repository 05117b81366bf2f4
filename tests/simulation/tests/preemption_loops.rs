//! Evictions that bring nothing: a second scheduler puts replacements of victims where room was made. With a window they end,
//! and the pod for which they were is told why; without one they go on, as kube-scheduler's do.

use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_config::PodDisruptionBudgetPolicy;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn with_window(window: Duration) -> Setup {
    let mut setup = Setup::default();
    setup.profile.extras.preemption_loop_window = Some(window);
    setup
}

/// A pod of a replica set, bound by whoever binds for it, that is gone a second after it is deleted.
fn replica(number: usize, node: &str) -> Value {
    let mut pod = workload::of_class(workload::pod(&format!("low-{number}"), 10, 10), "", 1);
    pod["metadata"]["labels"] = json!({ "app": "low" });
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "low", "uid": "uid-of-low", "controller": true,
    }]);
    pod["spec"]["schedulerName"] = json!("other");
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// A node that takes one pod, and has one of a replica set whose pods another scheduler places.
async fn contested(seed: u64, setup: Setup) -> (World, RunningReplica) {
    let world = World::new(seed);
    world.add_priority_class("high", 1000);
    world.add_node(workload::node("n1", 8000, 8000, 1));
    let scheduler = world.start("replica-a", setup).await;
    world.pass(5 * SECOND).await;
    world.add_pod(replica(0, "n1"));
    world.run_pod("low-0");
    world.pass(SECOND).await;
    (world, scheduler)
}

/// Lets time pass in which the replica set makes a pod for each that goes, and the other scheduler binds it to the node at
/// once. How many went.
async fn replaced_for(world: &World, time: Duration, first: usize) -> usize {
    const BEAT: Duration = Duration::from_millis(100);
    let mut current = first;
    let mut left = time;
    while left >= BEAT {
        world.pass(BEAT).await;
        left -= BEAT;
        world.server().reap_terminated_pods();
        // A replica set does not wait for the end of a pod that is told to go.
        let goes = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
        if world.pod(&format!("low-{current}")).is_none_or(|pod| goes(&pod)) {
            current += 1;
            world.add_pod(replica(current, "n1"));
            world.run_pod(&format!("low-{current}"));
        }
    }
    current - first
}

fn message(world: &World, pod: &str) -> String {
    world.explanation(pod).map(|(_, message)| message).unwrap_or_default()
}

#[test]
fn two_schedulers_on_a_full_node_do_not_evict_and_replace_for_ever() {
    run(async {
        let (world, _replica) = contested(500, with_window(10 * MINUTE)).await;
        world.add_pod(workload::of_class(workload::pod("p", 10, 10), "high", 0));
        assert_eq!(replaced_for(&world, 9 * MINUTE, 0).await, 1);
        let why = message(&world, "p");
        let expected = "preemption: 0/1 nodes are available: 1 Replacements of pods evicted for this pod are back.";
        assert!(why.ends_with(expected), "{why}");
        // Once for each window, and no sooner and not much later.
        assert_eq!(replaced_for(&world, 22 * MINUTE, 1).await, 3);
        world.check();
    });
}

#[test]
fn a_pod_gets_its_room_as_soon_as_nobody_else_takes_it() {
    run(async {
        let (world, _replica) = contested(501, with_window(10 * MINUTE)).await;
        world.add_pod(workload::of_class(workload::pod("p", 10, 10), "high", 0));
        assert_eq!(replaced_for(&world, MINUTE, 0).await, 1);
        world.delete_pod("low-1");
        world.pass_with_kubelets(15 * SECOND).await;
        assert_eq!(
            world.node_of("p").as_deref(),
            Some("n1"),
            "no need to wait for the window"
        );
        world.check();
    });
}

#[test]
fn a_pod_is_woken_when_the_window_ends_and_not_only_by_the_longest_wait() {
    run(async {
        let (world, _replica) = contested(502, with_window(30 * SECOND)).await;
        world.add_pod(workload::of_class(workload::pod("p", 10, 10), "high", 0));
        assert_eq!(replaced_for(&world, 20 * SECOND, 0).await, 1);
        // Nothing happens in the cluster but that time passes: the other scheduler is gone.
        world.pass_with_kubelets(25 * SECOND).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n1"));
        world.check();
    });
}

#[test]
fn without_a_window_pods_are_evicted_and_replaced_all_the_time() {
    run(async {
        let (world, _replica) = contested(503, Setup::default()).await;
        world.add_pod(workload::of_class(workload::pod("p", 10, 10), "high", 0));
        let evicted = replaced_for(&world, 9 * MINUTE, 0).await;
        assert!(evicted > 20, "{evicted}");
    });
}

#[test]
fn a_pod_that_hard_budgets_keep_waiting_is_placed_when_one_allows_more() {
    run(async {
        let mut setup = Setup::default();
        setup.profile.extras.pod_disruption_budget_policy = PodDisruptionBudgetPolicy::Hard;
        let (world, _replica) = contested(504, setup).await;
        world.add_budget("low", 0);
        world.pass(SECOND).await;
        world.add_pod(workload::of_class(workload::pod("p", 10, 10), "high", 0));
        world.pass(MINUTE).await;
        let why = message(&world, "p");
        let expected = "preemption: 0/1 nodes are available: 1 Pod disruption budgets spare all victims.";
        assert!(why.ends_with(expected), "{why}");
        assert!(world.pod("low-0").is_some());
        world.allow_disruptions("low", 1);
        world.pass_with_kubelets(15 * SECOND).await;
        assert!(world.pod("low-0").is_none());
        assert_eq!(world.node_of("p").as_deref(), Some("n1"));
        world.check();
    });
}
