//! Bindings as slow as Kubernetes 1.0 made them, for who asks for it.

use std::time::Duration;

use plimsoll_config::SchedulerConfig;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, run, workload};

const SECOND: Duration = Duration::from_secs(1);
const PODS: usize = 100;

fn slowly() -> Setup {
    let setup = Setup::default();
    Setup {
        config: SchedulerConfig {
            bind_pods_qps: Some(15.0),
            bind_pods_burst: 20,
            binding_workers: 1,
            ..setup.config
        },
        ..setup
    }
}

async fn led_slowly(seed: u64) -> (World, plimsoll_actors::supervisor::RunningReplica) {
    let world = World::new(seed);
    let replica = world.start("replica-a", slowly()).await;
    world.add_node(workload::node("n1", 64_000, 64_000, 110));
    world.pass(5 * SECOND).await;
    (world, replica)
}

#[test]
fn a_burst_of_pods_is_bound_at_once_and_the_rest_at_the_rate_of_the_flags() {
    run(async {
        let (world, _replica) = led_slowly(3).await;
        for pod in 0..PODS {
            world.add_pod(workload::pod(&format!("p{pod}"), 100, 100));
        }
        let bound = || invariants::placements(world.server()).len();
        world.pass(SECOND / 2).await;
        let at_first = bound();
        assert!((20..=30).contains(&at_first), "{at_first}");
        world.pass(SECOND).await;
        let later = bound();
        assert!((at_first + 14..=at_first + 16).contains(&later), "{at_first} {later}");
        world.until_bound(PODS, 6 * SECOND).await;
        world.check();
    });
}

#[test]
fn bindings_that_wait_for_their_turn_keep_no_worker_busy() {
    run(async {
        let (world, _replica) = led_slowly(4).await;
        for pod in 0..PODS {
            world.add_pod(workload::pod(&format!("p{pod}"), 100, 100));
        }
        world.add_pod(workload::pod("too-large", 100_000, 100));
        let told = || world.explanation("too-large").is_some();
        world.until("the pod is told why", 2 * SECOND, told).await;
        let bound = invariants::placements(world.server()).len();
        assert!(bound < PODS, "{bound}");
        world.until_bound(PODS, 10 * SECOND).await;
    });
}
