//! What users and dashboards are told of who leads.

use std::time::Duration;

use plimsoll_actors::supervisor::Exit;
use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run};

const SECOND: Duration = Duration::from_secs(1);

fn messages(world: &World) -> Vec<String> {
    let told = world.events("LeaderElection").into_iter();
    told.map(|(_, message)| message).collect()
}

fn status(world: &World, replica: &str) -> Option<i64> {
    world.metrics(replica).election().master_status()
}

fn fail(code: u16) -> Action {
    Action::Fail {
        failure: Failure::code(code),
    }
}

#[test]
fn the_gauge_of_leading_falls_when_leadership_ends_and_the_process_lives_on() {
    run(async {
        let (world, _first) = World::led(720).await;
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(5 * SECOND).await;
        assert_eq!(
            (status(&world, "replica-a"), status(&world, "replica-b")),
            (Some(1), Some(0))
        );
        let requests = rules::lease_requests().user_agent("replica-a");
        world.server().faults().add(Rule::new(requests, fail(500)));
        world.pass(11 * SECOND).await;
        assert_eq!(
            (status(&world, "replica-a"), status(&world, "replica-b")),
            (Some(0), Some(0))
        );
        world.pass(20 * SECOND).await;
        assert_eq!(
            (status(&world, "replica-a"), status(&world, "replica-b")),
            (Some(0), Some(1))
        );
    });
}

#[test]
fn a_leader_that_has_stopped_says_so_although_its_token_is_dead() {
    run(async {
        let (world, _first) = World::led(721).await;
        assert_eq!(messages(&world), ["replica-a became leader"]);
        let requests = rules::lease_requests().user_agent("replica-a");
        world.server().faults().add(Rule::new(requests, fail(500)));
        world.pass(12 * SECOND).await;
        assert_eq!(
            messages(&world),
            ["replica-a became leader", "replica-a stopped leading"]
        );
    });
}

#[test]
fn a_process_ends_only_when_its_last_word_is_written_or_a_moment_has_passed() {
    run(async {
        let (world, mut first) = World::led(722).await;
        let events = plimsoll_apiserver::fault::Match::verbs(&["create"]).resource("events");
        let slow = Action::Latency { millis: 800 };
        let rule = world.server().faults().add(Rule::new(events.clone(), slow));
        first.shutdown();
        assert_eq!(first.ended().await, Exit::Terminated);
        assert_eq!(
            messages(&world),
            ["replica-a became leader", "replica-a stopped leading"]
        );
        world.server().faults().remove(rule);

        let mut second = world.start("replica-b", Setup::default()).await;
        world.pass(5 * SECOND).await;
        world
            .server()
            .faults()
            .add(Rule::new(events, Action::Latency { millis: 60_000 }));
        second.shutdown();
        let ended = tokio::time::timeout(3 * SECOND, second.ended()).await;
        assert_eq!(ended, Ok(Exit::Terminated), "it waits for an event");
    });
}

#[test]
fn renewals_that_have_to_read_first_are_counted_and_others_are_not() {
    run(async {
        let (world, _first) = World::led(723).await;
        let slow = |world: &World| world.metrics("replica-a").election().slow_path_total();
        world.pass(20 * SECOND).await;
        assert_eq!(slow(&world), 0);
        world
            .server()
            .faults()
            .add(Rule::new(rules::lease_updates(), fail(409)).times(3));
        world.pass(20 * SECOND).await;
        // Refused on the fast path, refused again on the slow one; refused on the fast path, accepted on the slow one.
        assert_eq!(slow(&world), 2);
        assert_eq!(status(&world, "replica-a"), Some(1));
    });
}

#[test]
fn without_an_election_nothing_is_told_of_one() {
    run(async {
        let world = World::new(724);
        let mut setup = Setup::default();
        setup.config.leader_election.leader_elect = false;
        let mut replica = world.start("replica-a", setup).await;
        world.pass(5 * SECOND).await;
        assert_eq!(status(&world, "replica-a"), None);
        assert_eq!(messages(&world), Vec::<String>::new());
        replica.shutdown();
        assert_eq!(replica.ended().await, Exit::Terminated);
        assert_eq!(world.leader(), "");
    });
}

#[test]
fn a_lease_that_was_lost_is_not_released() {
    run(async {
        let (world, _first) = World::led(725).await;
        let rule = world
            .server()
            .faults()
            .add(Rule::new(rules::lease_updates(), fail(500)));
        world.pass(12 * SECOND).await;
        // It still names the one that lost it, until it runs out or is taken.
        assert_eq!(status(&world, "replica-a"), Some(0));
        assert_eq!(world.leader(), "replica-a");
        world.server().faults().remove(rule);
    });
}
