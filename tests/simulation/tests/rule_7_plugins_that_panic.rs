//! A plugin that panics at one pod costs that pod, never the others.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::{Effects, PerformEffect};
use plimsoll_config::PluginRef;
use plimsoll_framework::{
    CycleContext, CycleState, EffectFilter, EffectReply, EffectRequest, Extensions, FilterPass, Plugin, PreBind,
    PreBindOutcome, ReasonCode,
};
use plimsoll_model::Pod;
use plimsoll_model::columns::NodeSet;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use smallvec::SmallVec;

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

impl PreBind for Fragile {
    fn pre_bind(&self, pod: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        assert!(!is_poison(pod), "pre-bind");
        PreBindOutcome::Skip
    }
}

/// Has outside work before each binding.
struct Outside;

impl Plugin for Outside {
    fn name(&self) -> &'static str {
        "Fragile"
    }
}

impl PreBind for Outside {
    fn pre_bind(&self, pod: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        PreBindOutcome::Needs(Box::new(is_poison(pod)))
    }
}

impl EffectFilter for Outside {
    fn request(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &NodeSet) -> Option<EffectRequest> {
        Some(Box::new(is_poison(cycle.pod)))
    }

    fn apply(
        &self,
        _: CycleContext<'_>,
        _: &mut CycleState,
        reply: EffectReply,
        _: &mut FilterPass<'_>,
    ) -> Result<(), String> {
        reply.map(|_| ())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        SmallVec::new()
    }
}

/// Panics, in the middle of its work, when it is told to.
struct Performer;

impl PerformEffect for Performer {
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply> {
        async move {
            tokio::time::sleep(SECOND / 10).await;
            assert!(!*request.downcast::<bool>().unwrap(), "in the effect");
            let reply: EffectReply = Ok(Box::new(()));
            reply
        }
        .boxed()
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
    let mut effects = Effects::default();
    effects.add("Fragile", Arc::new(Performer));
    setup.effects = effects;
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
fn a_panic_in_pre_bind_frees_the_room_that_the_pod_was_to_have() {
    others_are_placed(101, || Extensions::new().pre_bind(Arc::new(Fragile)), 600);
}

#[test]
fn a_panic_in_an_effect_of_a_cycle_is_the_failure_of_that_cycle() {
    others_are_placed(103, || Extensions::new().effect_filter(Arc::new(Outside)), 600);
}

#[test]
fn a_panic_in_the_work_before_binding_frees_the_room() {
    others_are_placed(104, || Extensions::new().pre_bind(Arc::new(Outside)), 600);
}
