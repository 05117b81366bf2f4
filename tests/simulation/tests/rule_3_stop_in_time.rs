//! A term that is over stops within its bound, whatever its requests wait for, and the replica goes on as a standby.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use plimsoll_actors::supervisor::{Exit, RunningReplica};
use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_config::ClientConnection;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);

fn fail(code: u16) -> Action {
    Action::Fail {
        failure: Failure::code(code),
    }
}

async fn assert_goes_on(replica: &mut RunningReplica, world: &World, time: Duration) {
    let ended: Result<Exit, _> = tokio::time::timeout(time, replica.ended()).await;
    assert!(ended.is_err(), "the process ended: {ended:?}\n{}", world.tail());
}

#[test]
fn a_read_without_an_answer_does_not_keep_a_lost_term_from_stopping() {
    run(async {
        let world = World::new(90);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let faults = world.server().faults();
        faults.add(Rule::new(rules::bindings(), fail(409)).times(1));
        let hold = Action::Hold {
            gate: "read".to_owned(),
        };
        faults.add(Rule::new(rules::pod_reads(), hold));
        world.add_pod(workload::pod("a", 600, 10));
        world
            .until("the read is held", 5 * SECOND, || {
                world.server().faults().held("read") == 1
            })
            .await;
        let lost = faults.add(Rule::new(rules::lease_requests(), fail(503)));
        assert_goes_on(&mut replica, &world, 40 * SECOND).await;
        faults.remove(lost);
        faults.clear();
        world.until_bound(1, 60 * SECOND).await;
        world.check();
    });
}

fn slow_client() -> Setup {
    let mut setup = Setup::default();
    setup.config.client_connection = ClientConnection {
        qps: 2.0,
        burst: 10,
        ..ClientConnection::default()
    };
    setup
}

#[test]
fn writes_that_wait_for_the_rate_limit_do_not_keep_a_lost_term_from_stopping() {
    run(async {
        let world = World::new(91);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut replica = world.start("replica-a", slow_client()).await;
        world.pass(10 * SECOND).await;
        for number in 0..300 {
            world.add_pod(workload::pod(&format!("big{number}"), 2000, 10));
        }
        world.pass(2 * SECOND).await;
        let faults = world.server().faults();
        let lost = faults.add(Rule::new(rules::lease_requests(), fail(503)));
        assert_goes_on(&mut replica, &world, 40 * SECOND).await;
        faults.remove(lost);
        world.check();
    });
}

#[test]
fn a_backlog_of_explanations_does_not_turn_an_orderly_end_into_a_failure() {
    run(async {
        let world = World::new(92);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut replica = world.start("replica-a", slow_client()).await;
        world.pass(10 * SECOND).await;
        for number in 0..300 {
            world.add_pod(workload::pod(&format!("big{number}"), 2000, 10));
        }
        world.pass(2 * SECOND).await;
        replica.shutdown();
        let ended = tokio::time::timeout(60 * SECOND, replica.ended()).await.unwrap();
        assert_eq!(ended, Exit::Terminated, "{}", world.tail());
        assert_eq!(world.leader(), "");
        world.check();
    });
}

#[test]
fn users_hear_of_a_pod_whose_binding_was_under_way_when_the_end_was_asked_for() {
    run(async {
        let world = World::new(93);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let slow = Action::Latency { millis: 2_000 };
        world.server().faults().add(Rule::new(rules::bindings(), slow));
        world.add_pod(workload::pod("a", 600, 10));
        world.pass(SECOND).await;
        replica.shutdown();
        assert_eq!(replica.ended().await, Exit::Terminated);
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        let told = world
            .server()
            .history()
            .iter()
            .any(|write| write.object["reason"] == "Scheduled");
        assert!(told, "{}", world.tail());
        world.check();
    });
}
