//! Pods that wait at Permit and before binding: they hold nothing up, and are let go, turned away or lost in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::PerformEffect;
use plimsoll_actors::permits::Permits;
use plimsoll_config::PluginRef;
use plimsoll_framework::{
    CycleContext, CycleState, EffectReply, EffectRequest, Extensions, Permit, PermitOutcome, Plugin, PreBind,
    PreBindOutcome, Reserve, Status, WaitingPods,
};
use plimsoll_model::{Pod, Uid};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// Lets pods with the label `hold` wait for ten minutes, and counts the pods that it has reserved for.
struct Hold {
    reserved: Arc<AtomicI64>,
}

impl Plugin for Hold {
    fn name(&self) -> &'static str {
        "Hold"
    }
}

impl Permit for Hold {
    fn permit(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &str, _: &WaitingPods) -> PermitOutcome {
        match cycle.pod.labels.get("hold") {
            Some(_) => PermitOutcome::Wait(10 * MINUTE),
            None => PermitOutcome::Allow,
        }
    }
}

impl Reserve for Hold {
    fn reserve(&self, _: CycleContext<'_>, _: &mut CycleState, _: &str) -> Result<(), Status> {
        self.reserved.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {
        self.reserved.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Has ten minutes of work to do before pods with the label `volume` are bound.
struct Volumes;

impl Plugin for Volumes {
    fn name(&self) -> &'static str {
        "Volumes"
    }
}

impl PreBind for Volumes {
    fn pre_bind(&self, pod: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        match pod.labels.get("volume") {
            Some(_) => PreBindOutcome::Needs(Box::new(())),
            None => PreBindOutcome::Skip,
        }
    }
}

impl PerformEffect for Volumes {
    fn perform(&self, _: EffectRequest) -> BoxFuture<'static, EffectReply> {
        async {
            tokio::time::sleep(10 * MINUTE).await;
            let reply: EffectReply = Ok(Box::new(()));
            reply
        }
        .boxed()
    }

    fn time_limit(&self) -> Duration {
        15 * MINUTE
    }
}

struct Parts {
    setup: Setup,
    permits: Permits,
    reserved: Arc<AtomicI64>,
}

fn parts() -> Parts {
    let reserved = Arc::new(AtomicI64::new(0));
    let mut setup = Setup::default();
    setup.config.binding_workers = 4;
    let counted = Arc::clone(&reserved);
    setup.registry.add("Hold", move |_| {
        let hold = Arc::new(Hold {
            reserved: Arc::clone(&counted),
        });
        Ok(Extensions::new().permit(Arc::clone(&hold) as _).reserve(hold))
    });
    setup
        .registry
        .add("Volumes", |_| Ok(Extensions::new().pre_bind(Arc::new(Volumes))));
    for plugin in ["Hold", "Volumes"] {
        setup
            .profile
            .plugins
            .multi_point
            .enabled
            .push(PluginRef::new(plugin, 0));
    }
    setup.effects.add("Volumes", Arc::new(Volumes));
    let permits = setup.permits.clone();
    Parts {
        setup,
        permits,
        reserved,
    }
}

fn labelled(name: &str, label: &str) -> Value {
    let mut pod = workload::pod(name, 10, 10);
    pod["metadata"]["labels"] = json!({ label: "yes" });
    pod
}

fn uid(world: &World, pod: &str) -> Uid {
    let pod = world.pod(pod);
    let uid = pod.as_ref().and_then(|pod| pod["metadata"]["uid"].as_str());
    Uid::from(uid.unwrap_or_default())
}

#[test]
fn plain_pods_are_bound_by_four_workers_while_hundreds_wait_at_permit_and_before_binding() {
    run(async {
        let world = World::new(80);
        world.add_node(workload::node("n1", 100_000, 80_000, 1000));
        let Parts { setup, permits, .. } = parts();
        let _replica = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        for number in 0..100 {
            world.add_pod(labelled(&format!("hold-{number}"), "hold"));
        }
        for number in 0..500 {
            world.add_pod(labelled(&format!("volume-{number}"), "volume"));
        }
        world.pass(30 * SECOND).await;
        assert_eq!(permits.waiting_pods().await.len(), 100);
        let expected = (0..500).filter(|number| {
            let pod = world.pod(&format!("volume-{number}")).unwrap();
            pod.pointer("/status/nominatedNodeName") == Some(&json!("n1"))
        });
        assert_eq!(expected.count(), 500);
        for number in 0..50 {
            world.add_pod(workload::pod(&format!("plain-{number}"), 10, 10));
        }
        world.until_bound(50, 5 * SECOND).await;
        let bound = invariants::placements(world.server());
        assert!(bound.keys().all(|pod| pod.starts_with("plain-")), "{bound:?}");
        for waiting in permits.waiting_pods().await {
            assert!(permits.allow(waiting.pod.uid.clone(), "Hold"));
        }
        world.until_bound(150, 5 * SECOND).await;
        world.pass(9 * MINUTE).await;
        assert_eq!(invariants::placements(world.server()).len(), 150);
        world.pass(MINUTE).await;
        world.until_bound(650, 10 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_waiting_pod_is_let_go_or_turned_away_from_outside_and_tried_again() {
    run(async {
        let world = World::new(81);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let Parts {
            setup,
            permits,
            reserved,
        } = parts();
        assert!(!permits.allow(Uid::from("nobody"), "Hold"));
        assert!(permits.waiting_pods().await.is_empty());
        let _replica = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        for pod in ["first", "second"] {
            world.add_pod(labelled(pod, "hold"));
        }
        world.pass(SECOND).await;
        let waiting = permits.waiting_pods().await;
        let names: Vec<_> = waiting.iter().map(|waiting| waiting.pod.name.name.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
        assert!(permits.reject(uid(&world, "first"), "Hold", "no quota"));
        assert!(permits.allow(uid(&world, "second"), "Hold"));
        world.until_bound(1, SECOND).await;
        assert_eq!(world.node_of("second").as_deref(), Some("n1"));
        let why = "0/1 nodes are available: 1 no quota.";
        assert_eq!(
            world.explanation("first"),
            Some(("Unschedulable".to_owned(), why.to_owned()))
        );
        // What frees room brings it back, and it waits anew.
        world.delete_pod("second");
        world.pass(10 * SECOND).await;
        assert_eq!(permits.waiting_pods().await.len(), 1);
        assert!(permits.allow(uid(&world, "first"), "Hold"));
        world
            .until("the pod is bound", SECOND, || world.node_of("first").is_some())
            .await;
        // One reservation for each pod that was bound.
        assert_eq!(reserved.load(Ordering::Relaxed), 2);
        world.check();
    });
}

#[test]
fn a_pod_deleted_while_it_waits_was_removed_and_its_room_is_free() {
    run(async {
        let world = World::new(82);
        world.add_node(workload::node("n1", 10, 8000, 110));
        let Parts { setup, reserved, .. } = parts();
        let _replica = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        world.add_pod(labelled("held", "hold"));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("next", 10, 10));
        world.pass(10 * SECOND).await;
        assert_eq!(world.node_of("next"), None);
        world.delete_pod("held");
        world.until_bound(1, 10 * SECOND).await;
        assert_eq!(reserved.load(Ordering::Relaxed), 1);
        world.pass(10 * SECOND).await;
        let removed = "0/1 nodes are available: 1 removed.";
        let told = world.events("FailedScheduling");
        assert!(told.iter().any(|(_, note)| note == removed), "{told:?}");
        world.check();
    });
}

#[test]
fn the_end_of_a_term_gives_reservations_of_waiting_pods_back_and_the_next_leader_holds_them_anew() {
    run(async {
        let world = World::new(83);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let Parts { setup, reserved, .. } = parts();
        let mut first = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        let Parts { setup, permits, .. } = parts();
        let _second = world.start("replica-b", setup).await;
        world.pass(5 * SECOND).await;
        for pod in ["held", "too"] {
            world.add_pod(labelled(pod, "hold"));
        }
        world.add_pod(labelled("volume", "volume"));
        world.pass(5 * SECOND).await;
        assert_eq!(reserved.load(Ordering::Relaxed), 3);
        first.shutdown();
        first.ended().await;
        assert_eq!(reserved.load(Ordering::Relaxed), 0);
        world.pass(30 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        assert_eq!(permits.waiting_pods().await.len(), 2);
        for waiting in permits.waiting_pods().await {
            permits.allow(waiting.pod.uid.clone(), "Hold");
        }
        world.until_bound(2, 5 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_victim_that_waits_at_permit_is_turned_away_and_not_deleted() {
    run(async {
        let world = World::new(84);
        world.add_priority_class("high", 1000);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let Parts {
            setup,
            permits,
            reserved,
        } = parts();
        let _replica = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        for (name, label) in [("held", "hold"), ("volume", "volume")] {
            let mut pod = workload::pod(name, 500, 10);
            pod["metadata"]["labels"] = json!({ label: "yes" });
            world.add_pod(pod);
        }
        world.pass(SECOND).await;
        assert_eq!(permits.waiting_pods().await.len(), 1);
        let high = workload::of_class(workload::pod("high", 1000, 10), "high", 0);
        world.add_pod(high);
        world.until_bound(1, 10 * SECOND).await;
        assert_eq!(world.node_of("high").as_deref(), Some("n1"));
        assert!(permits.waiting_pods().await.is_empty());
        assert_eq!(reserved.load(Ordering::Relaxed), 1);
        for name in ["held", "volume"] {
            let pod = world.pod(name).unwrap_or_default();
            assert_eq!(pod["metadata"]["deletionTimestamp"], Value::Null, "{name}");
        }
        // Not by the events themselves: their names are made of the time, which stands still here while two are told.
        let note = " on node n1 (in kube-scheduler memory).";
        let lines = world.trace().lines();
        let told = lines
            .iter()
            .filter(|line| line.contains("Preempted by pod") && line.contains(note));
        assert_eq!(told.count(), 2);
        world.check();
        world.check_nothing_forgotten();
    });
}
