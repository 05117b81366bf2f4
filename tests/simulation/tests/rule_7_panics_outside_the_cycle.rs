//! A plugin that panics at one pod outside its scheduling cycle costs that pod, never the others.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::PluginRef;
use plimsoll_framework::{
    CycleContext, CycleState, Extensions, GateStatus, Plugin, PostBind, PreEnqueue, Reserve, Status,
};
use plimsoll_model::Pod;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Fragile;

impl Plugin for Fragile {
    fn name(&self) -> &'static str {
        "Fragile"
    }
}

fn is_poison(pod: &Pod) -> bool {
    pod.name.name == "poison"
}

impl PreEnqueue for Fragile {
    fn pre_enqueue(&self, pod: &Pod) -> GateStatus {
        assert!(!is_poison(pod), "pre-enqueue");
        Ok(())
    }
}

impl PostBind for Fragile {
    fn post_bind(&self, pod: &Pod, _: &str) {
        assert!(!is_poison(pod), "post-bind");
    }
}

impl Reserve for Fragile {
    fn reserve(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &str) -> Result<(), Status> {
        assert!(!is_poison(cycle.pod), "reserve");
        Ok(())
    }

    fn unreserve(&self, pod: &Pod, _: &mut CycleState, _: &str) {
        assert!(!is_poison(pod), "unreserve");
    }
}

fn setup(extensions: fn() -> Extensions) -> Setup {
    let mut setup = Setup::default();
    setup.registry.add("Fragile", move |_| Ok(extensions()));
    setup
        .profile
        .plugins
        .multi_point
        .enabled
        .push(PluginRef::new("Fragile", 0));
    setup
}

/// Poison first, then a pod that needs all the room: it gets it from the first leader, without another term.
fn others_are_placed(seed: u64, extensions: fn() -> Extensions, poison_milli_cpu: i64) {
    run(async move {
        let world = World::new(seed);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", setup(extensions)).await;
        let _standby = world.start("replica-b", setup(extensions)).await;
        world.pass(10 * SECOND).await;
        let leader = world.leader();
        world.add_pod(workload::pod("poison", poison_milli_cpu, 10));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("good", 900, 10));
        world
            .until("the good pod is placed", 20 * SECOND, || {
                world.node_of("good").is_some()
            })
            .await;
        assert_eq!(world.leader(), leader, "{}", world.tail());
        world.check();
    });
}

#[test]
fn a_panic_in_pre_enqueue_costs_that_pod_alone() {
    others_are_placed(100, || Extensions::new().pre_enqueue(Arc::new(Fragile)), 600);
}

#[test]
fn a_panic_in_post_bind_costs_nothing() {
    others_are_placed(102, || Extensions::new().post_bind(Arc::new(Fragile)), 50);
}

#[test]
fn a_panic_in_unreserve_after_one_in_reserve_costs_that_pod_alone() {
    others_are_placed(104, || Extensions::new().reserve(Arc::new(Fragile)), 600);
}
