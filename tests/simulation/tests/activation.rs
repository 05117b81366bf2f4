//! A plugin that knows which other pod can go now has it tried at once.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_config::PluginRef;
use plimsoll_framework::{
    ClusterEvent, Code, CycleContext, CycleState, EnqueueExtensions, Extensions, Plugin, PreFilter, PreFilterOutcome,
    Reserve, Status,
};
use plimsoll_model::{Pod, Uid};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);

/// Turns the pod `late` away until another one is placed. No event brings it back: whoever is placed and has the label
/// `activates` names it.
#[derive(Default)]
struct Second {
    first_is_there: AtomicBool,
}

impl Plugin for Second {
    fn name(&self) -> &'static str {
        "Second"
    }
}

impl PreFilter for Second {
    fn pre_filter(&self, cycle: CycleContext<'_>, _: &mut CycleState) -> PreFilterOutcome {
        if cycle.pod.name.name == "late" && !self.first_is_there.load(Ordering::Relaxed) {
            return PreFilterOutcome::Stop(Status::new(Code::Unschedulable, "", "it is not its turn"));
        }
        PreFilterOutcome::Continue
    }
}

impl Reserve for Second {
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &str) -> Result<(), Status> {
        self.first_is_there.store(true, Ordering::Relaxed);
        if let Some(uid) = cycle.pod.labels.get("activates") {
            state.activate(Uid::from(uid));
        }
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

impl EnqueueExtensions for Second {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        Vec::new()
    }
}

fn setup() -> Setup {
    let mut setup = Setup::default();
    setup.registry.add("Second", |_| {
        let second = Arc::new(Second::default());
        let extensions = Extensions::new().pre_filter(Arc::clone(&second) as _);
        Ok(extensions.reserve(Arc::clone(&second) as _).enqueue(second))
    });
    let enabled = &mut setup.profile.plugins.multi_point.enabled;
    enabled.push(PluginRef::new("Second", 0));
    setup
}

#[test]
fn a_pod_that_a_plugin_activates_is_placed_at_once_and_another_waits_for_its_time() {
    run(async {
        for (seed, activates) in [(150, true), (151, false)] {
            let world = World::new(seed);
            let _replica = world.start("replica-a", setup()).await;
            world.pass(5 * SECOND).await;
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(workload::pod("late", 100, 10));
            world.pass(10 * SECOND).await;
            assert_eq!(world.node_of("late"), None);
            let mut first = workload::pod("first", 100, 10);
            if activates {
                let late = world.pod("late").unwrap();
                first["metadata"]["labels"] = json!({"activates": late["metadata"]["uid"]});
            }
            world.add_pod(first);
            world.pass(5 * SECOND).await;
            assert!(world.node_of("first").is_some());
            assert_eq!(world.node_of("late").is_some(), activates);
            world.check();
        }
    });
}
