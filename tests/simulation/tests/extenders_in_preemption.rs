//! An extender that has a say in whom to evict, in a whole replica.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_config::{ExtenderConfig, GoDuration};
use plimsoll_simulation::extender::{Mood, SimulatedExtender, Trouble};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};

const SECOND: Duration = Duration::from_secs(1);

/// A full node, an extender with this trouble, and a more important pod for which nobody goes.
async fn turned_away(seed: u64, trouble: Trouble) -> (World, SimulatedExtender, RunningReplica) {
    let world = World::new(seed);
    let extender = SimulatedExtender::new(&world, seed, Duration::ZERO);
    let mut setup = Setup::default();
    setup.config.extenders = vec![ExtenderConfig {
        url_prefix: "http://extender".to_owned(),
        preempt_verb: "preempt".to_owned(),
        http_timeout: GoDuration::from_secs(2),
        ..ExtenderConfig::default()
    }];
    let machine = world.machine("replica-a");
    extender.serve(&mut setup, &machine);
    let replica = world.start_on(&machine, setup).await;
    world.add_priority_class("high", 1_000);
    world.add_node(workload::node("full", 1_000, 1_000, 10));
    world.pass(5 * SECOND).await;
    world.add_pod(workload::of_class(workload::pod("low", 1_000, 10), "", 1));
    world.until_bound(1, 5 * SECOND).await;
    extender.upset(Mood {
        verb: "preempt",
        trouble,
        percent: 100,
    });
    world.add_pod(workload::of_class(workload::pod("important", 1_000, 10), "high", 1));
    world.pass_with_kubelets(90 * SECOND).await;
    assert_eq!(world.node_of("low").as_deref(), Some("full"));
    (world, extender, replica)
}

#[test]
fn a_pod_whose_extender_failed_in_its_preemption_has_its_room_soon_after_that_is_well_again() {
    for (number, trouble) in [Trouble::Fails, Trouble::AnswerLost].into_iter().enumerate() {
        run(async move {
            let (world, extender, _replica) = turned_away(220 + number as u64, trouble).await;
            let (reason, why) = world.explanation("important").unwrap();
            assert_eq!(reason, "Unschedulable");
            assert!(
                why.starts_with("0/1 nodes are available: 1 Insufficient cpu. "),
                "{why}"
            );
            extender.recover();
            world.pass_with_kubelets(30 * SECOND).await;
            assert_eq!(world.node_of("important").as_deref(), Some("full"), "{}", world.tail());
            world.check();
        });
    }
}

#[test]
fn an_extender_that_hangs_in_a_preemption_leaves_nearly_all_of_the_time_to_other_pods() {
    run(async {
        let (world, extender, _replica) = turned_away(222, Trouble::CallLost).await;
        // Two seconds each, and a pause of twenty.
        assert!((4..=5).contains(&extender.deeds().calls), "{:?}", extender.deeds());
        world.check();
    });
}
