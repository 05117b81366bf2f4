//! Leaders that die, or are shut down, in the middle of a preemption.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Match, Rule};
use plimsoll_simulation::world::Setup;
use plimsoll_simulation::{rules, run};

use crate::{MINUTE, SECOND, fail, filled, hard, high, is_there};

/// Lease duration, two tries, and forced progress of quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(26);

/// The leader is killed after this fault has held a request up; the next one ends what it began.
fn killed(seed: u64, setup: fn() -> Setup, matching: Match, fault: Action, grace: i64) {
    run(async move {
        let (world, first) = filled(seed, setup(), &[("a", 400), ("b", 400), ("other", 100)], grace).await;
        let _second = world.start("replica-b", setup()).await;
        world.pass(5 * SECOND).await;
        world
            .server()
            .faults()
            .add(Rule::new(matching.user_agent("replica-a"), fault));
        world.add_pod(high("p", 900));
        world.pass_with_kubelets(SECOND).await;
        first.kill();
        world.pass_with_kubelets(TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        world.pass_with_kubelets(MINUTE).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n1"), "{}", world.tail());
        assert!(is_there(&world, "other"));
        assert!(!is_there(&world, "a") && !is_there(&world, "b"));
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_leader_killed_before_it_has_marked_a_victim_leaves_everything_to_the_next() {
    killed(
        320,
        Setup::default,
        rules::status_patches(),
        Action::Latency { millis: 60_000 },
        0,
    );
    killed(321, hard, rules::evictions(), Action::Latency { millis: 60_000 }, 0);
}

#[test]
fn a_leader_killed_between_mark_and_deletion_leaves_an_ordinary_pod() {
    killed(
        322,
        Setup::default,
        rules::deletions(),
        Action::Latency { millis: 60_000 },
        0,
    );
    killed(323, Setup::default, rules::deletions(), fail(500), 0);
}

#[test]
fn a_leader_killed_while_a_deletion_is_under_way_does_not_make_the_next_evict_more() {
    killed(
        324,
        Setup::default,
        rules::deletions(),
        Action::ApplyLate { millis: 3_000 },
        20,
    );
    killed(325, hard, rules::evictions(), Action::LoseReply, 20);
}

#[test]
fn a_leader_killed_between_two_victims_leaves_the_second_to_the_next() {
    killed(
        326,
        Setup::default,
        rules::deletions().name("b"),
        Action::Latency { millis: 60_000 },
        0,
    );
    killed(
        327,
        Setup::default,
        rules::deletions().name("a"),
        Action::Latency { millis: 60_000 },
        0,
    );
}

#[test]
fn a_leader_killed_while_victims_are_going_leaves_their_room_to_the_preemptor() {
    killed(328, Setup::default, rules::pod_reads(), fail(500), 20);
    killed(329, hard, rules::pod_reads(), fail(500), 20);
}

#[test]
fn a_leader_that_is_shut_down_in_the_middle_writes_nothing_beside_the_next() {
    run(async {
        let (world, mut first) = filled(330, Setup::default(), &[("a", 400), ("b", 400)], 0).await;
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let slow = Action::ApplyLate { millis: 3_000 };
        world
            .server()
            .faults()
            .add(Rule::new(rules::deletions().user_agent("replica-a"), slow));
        world.add_pod(high("p", 900));
        world.pass(SECOND).await;
        first.shutdown();
        first.ended().await;
        world.pass(TAKE_OVER + MINUTE).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n1"), "{}", world.tail());
        world.check();
    });
}
