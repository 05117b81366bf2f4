//! How often a pod is tried whose victims are on their way out: each attempt costs a patch of its status and an event.

use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);
const PREEMPTORS: usize = 20;
/// Three for each.
const VICTIMS: usize = 3 * PREEMPTORS;
/// Pods that come and go while victims are going.
const OTHERS: usize = 100;

/// As many nodes as there will be preemptors, each full but for a little: three pods of low priority, all of which have to go
/// and take so many seconds for it, and others beside them that go at once.
async fn crowded(seed: u64, grace: i64) -> (World, RunningReplica) {
    let world = World::new(seed);
    world.add_priority_class("high", 1000);
    for number in 0..PREEMPTORS {
        world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
    }
    let replica = world.start("replica-a", Setup::default()).await;
    world.pass(5 * SECOND).await;
    for number in 0..VICTIMS {
        let low = workload::pod(&format!("low-{number}"), 200, 10);
        world.add_pod(workload::of_class(low, "", grace));
    }
    world.until_bound(VICTIMS, 20 * SECOND).await;
    for number in 0..OTHERS {
        world.add_pod(workload::of_class(
            workload::pod(&format!("other-{number}"), 20, 10),
            "high",
            0,
        ));
    }
    world.until_bound(VICTIMS + OTHERS, 20 * SECOND).await;
    world.pass(SECOND).await;
    for number in 0..PREEMPTORS {
        world.add_pod(workload::of_class(
            workload::pod(&format!("p-{number}"), 800, 10),
            "high",
            0,
        ));
    }
    (world, replica)
}

fn placed(world: &World) -> usize {
    let placements = invariants::placements(world.server());
    placements.keys().filter(|pod| pod.starts_with("p-")).count()
}

/// Attempts that ended with a look for victims.
fn attempts_at_preemption(world: &World) -> usize {
    let metrics = world.metrics("replica-a").text().unwrap_or_default();
    let counted = metrics
        .lines()
        .find_map(|line| line.strip_prefix("scheduler_preemption_attempts_total "));
    counted.and_then(|count| count.parse().ok()).unwrap_or_default()
}

#[test]
fn others_that_go_do_not_have_preemptors_tried_again_and_again_while_their_victims_are_going() {
    run(async {
        let (world, _replica) = crowded(340, 12).await;
        for number in 0..OTHERS {
            world.pass_with_kubelets(SECOND / 10).await;
            world.delete_pod(&format!("other-{number}"));
        }
        assert_eq!(placed(&world), 0);
        world.pass_with_kubelets(8 * SECOND).await;
        assert_eq!(placed(&world), PREEMPTORS, "{}", world.tail());
        let attempts = attempts_at_preemption(&world);
        // One that found the victims, and those that backoffs of 1, 2 and 4 seconds let through.
        assert!(attempts <= 4 * PREEMPTORS, "{attempts} attempts");
        world.check();
    });
}

#[test]
fn a_preemptor_whose_victims_are_gone_at_once_is_tried_twice() {
    run(async {
        let (world, _replica) = crowded(341, 0).await;
        world.pass(5 * SECOND).await;
        assert_eq!(placed(&world), PREEMPTORS, "{}", world.tail());
        assert_eq!(attempts_at_preemption(&world), PREEMPTORS);
        world.check();
    });
}

#[test]
fn a_preemptor_is_not_tried_when_its_victims_have_just_been_told_however_long_that_took() {
    run(async {
        let (world, _replica) = crowded(342, 1).await;
        let slow = Action::Latency { millis: 3_000 };
        world.server().faults().add(Rule::new(rules::deletions(), slow));
        // Each of them could wake every preemptor; all backoffs that count from the first attempts are over soon.
        for number in 0..OTHERS {
            world.pass_with_kubelets(SECOND / 10).await;
            world.delete_pod(&format!("other-{number}"));
        }
        world.pass_with_kubelets(15 * SECOND).await;
        assert_eq!(placed(&world), PREEMPTORS, "{}", world.tail());
        let attempts = attempts_at_preemption(&world);
        assert!(2 * attempts <= 3 * PREEMPTORS, "{attempts} attempts");
        world.check();
    });
}
