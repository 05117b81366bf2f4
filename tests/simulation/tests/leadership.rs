//! Who may write, and when: one leader at a time, whatever happens to it.

use std::time::Duration;

use plimsoll_actors::supervisor::{Exit, RunningReplica};
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_simulation::world::{Machine, Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);
/// Lease duration, two tries, and forced progress of quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(26);

fn fail(code: u16) -> Action {
    Action::Fail {
        failure: Failure::code(code),
    }
}

/// A leader and a standby, each on a machine of its own, and one node.
struct Pair {
    world: World,
    first: RunningReplica,
    machine: Machine,
    second: RunningReplica,
}

async fn pair(seed: u64) -> Pair {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    let machine = world.machine("replica-a");
    let first = world.start_on(&machine, Setup::default()).await;
    world.pass(5 * SECOND).await;
    let second = world.start("replica-b", Setup::default()).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    Pair {
        world,
        first,
        machine,
        second,
    }
}

#[test]
fn conflicts_about_the_lease_do_not_end_a_term_that_is_renewed_in_time() {
    run(async {
        let Pair { world, .. } = pair(40).await;
        for kind in [fail(409), Action::LoseReply, fail(500)] {
            world.server().faults().add(Rule {
                probability: Some(0.3),
                ..Rule::new(rules::lease_updates().user_agent("replica-a"), kind)
            });
        }
        for number in 0..9 {
            world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
            world.pass(3 * SECOND).await;
        }
        world.until_bound(9, TAKE_OVER).await;
        world.check();
    });
}

#[test]
fn a_leader_that_cannot_renew_stops_another_takes_over_and_it_returns_as_standby() {
    run(async {
        let Pair {
            world, second, first, ..
        } = pair(41).await;
        let faults = world.server().faults();
        let rule = faults.add(Rule::new(rules::lease_requests().user_agent("replica-a"), fail(500)));
        world.pass(11 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(SECOND).await;
        assert_eq!(world.node_of("a"), None, "bound without the right to");
        world.until_bound(1, TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        faults.remove(rule);
        world.pass(20 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        second.kill();
        world.add_pod(workload::pod("b", 100, 10));
        world.until_bound(2, TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-a");
        world.check();
        world.check_nothing_forgotten();
        drop(first);
    });
}

#[test]
fn a_leader_cut_off_in_the_middle_of_a_binding_never_writes_beside_the_next() {
    run(async {
        let Pair {
            world, machine, first, ..
        } = pair(42).await;
        world.add_pod(workload::pod("a", 600, 10));
        machine.link().cut();
        world.add_pod(workload::pod("b", 600, 10));
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        world.until_bound(1, 10 * SECOND).await;
        machine.link().mend();
        world.pass(60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        world.check();
        world.check_nothing_forgotten();
        drop(first);
    });
}

#[test]
fn a_cut_after_the_server_applied_the_binding_leaves_it_to_the_next_leader() {
    run(async {
        let Pair {
            world, machine, first, ..
        } = pair(43).await;
        let slow = Action::ApplyLate { millis: 3_000 };
        world.server().faults().add(Rule::new(rules::bindings(), slow).times(1));
        world.add_pod(workload::pod("a", 600, 10));
        world.pass(SECOND).await;
        machine.link().cut();
        world.add_pod(workload::pod("b", 600, 10));
        world.pass(TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        machine.link().mend();
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        assert_eq!(world.node_of("b"), None);
        world.check();
        world.check_nothing_forgotten();
        drop(first);
    });
}

/// How many bindings reach the server when the second one waits on its way while the machine sleeps for so long.
fn bindings_that_arrive(asleep: Duration) -> Option<u64> {
    run(async move {
        let pair = pair(44).await;
        let (world, machine) = (&pair.world, &pair.machine);
        let throttled = Action::Fail {
            failure: Failure::code(429).retry_after(3),
        };
        let bindings = rules::bindings().user_agent("replica-a");
        world
            .server()
            .faults()
            .add(Rule::new(bindings.clone(), throttled).times(1));
        let none = Action::Latency { millis: 0 };
        let arrived = world.server().faults().add(Rule::new(bindings, none));
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(2 * SECOND).await;
        // From here on the repeated binding passes the first check of the term and waits before the wire.
        machine.link().cut();
        world.pass(2 * SECOND).await;
        // Else it would win its own lease back, and bind in another term.
        let lease = rules::lease_requests().user_agent("replica-a");
        world.server().faults().add(Rule::new(lease, fail(500)));
        machine.clock().suspend(asleep);
        machine.link().mend();
        world.pass(SECOND / 2).await;
        let count = world.server().faults().fired(arrived);
        world.until_bound(1, 2 * TAKE_OVER).await;
        world.check();
        count
    })
}

#[test]
fn a_machine_that_wakes_past_its_lease_sends_nothing_that_waited() {
    assert_eq!(bindings_that_arrive(Duration::ZERO), Some(2), "nothing waited");
    assert_eq!(bindings_that_arrive(20 * SECOND), Some(1), "sent after the deadline");
}

#[test]
fn a_lease_is_not_released_before_the_last_binding_is_decided() {
    run(async {
        let Pair {
            world,
            mut first,
            second,
            ..
        } = pair(45).await;
        let late = Action::ApplyLate { millis: 3_500 };
        world.server().faults().add(Rule::new(rules::bindings(), late).times(1));
        world.add_pod(workload::pod("a", 600, 10));
        world.pass(SECOND / 2).await;
        first.shutdown();
        world.pass(2 * SECOND).await;
        assert_eq!(world.leader(), "replica-a", "released with a binding undecided");
        assert_eq!(first.ended().await, Exit::Terminated);
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        world.add_pod(workload::pod("b", 300, 10));
        world.until_bound(2, 10 * SECOND).await;
        world.check();
        drop(second);
    });
}

#[test]
fn a_shutdown_with_bindings_that_stay_unknown_never_lets_two_write() {
    run(async {
        let Pair {
            world,
            mut first,
            second,
            ..
        } = pair(46).await;
        let bindings = || rules::bindings().user_agent("replica-a");
        world
            .server()
            .faults()
            .add(Rule::new(bindings(), Action::ApplyLate { millis: 60_000 }));
        world
            .server()
            .faults()
            .add(Rule::new(rules::pod_reads().user_agent("replica-a"), fail(500)));
        world.add_pod(workload::pod("a", 600, 10));
        world.pass(SECOND / 2).await;
        world.add_pod(workload::pod("b", 600, 10));
        first.shutdown();
        first.ended().await;
        world.pass(TAKE_OVER).await;
        assert_eq!(world.leader(), "replica-b");
        world.pass(30 * SECOND).await;
        assert_eq!(invariants::placements(world.server()).len(), 1);
        world.check();
        world.check_nothing_forgotten();
        drop(second);
    });
}

#[test]
fn an_api_server_out_of_reach_for_everyone_delays_and_loses_nothing() {
    run(async {
        let Pair {
            world, first, second, ..
        } = pair(47).await;
        let down = world.server().faults().add(Rule::new(Match::default(), fail(503)));
        for number in 0..5 {
            world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        world.pass(40 * SECOND).await;
        world.server().faults().remove(down);
        world.until_bound(5, 90 * SECOND).await;
        world.check();
        drop((first, second));
    });
}

/// Three replicas; whoever leads is killed again and again at moments that the seed decides, and replaced.
fn kill_leaders(seed: u64) {
    run(async move {
        let world = World::new(seed);
        for number in 0..4 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
        }
        let mut replicas = Vec::new();
        for number in 0..3 {
            let name = format!("replica-{number}");
            replicas.push((name.clone(), world.start(&name, Setup::default()).await));
        }
        let mut random = seed;
        for round in 0..4_u64 {
            for number in 0..9 {
                world.add_pod(workload::pod(&format!("p{round}-{number}"), 100, 10));
            }
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            world.pass(Duration::from_millis((random >> 33) % 3_000)).await;
            let leader = world.leader();
            if let Some(at) = replicas.iter().position(|(name, _)| *name == leader) {
                replicas.swap_remove(at).1.kill();
                let name = format!("replica-{}", round + 3);
                replicas.push((name.clone(), world.start(&name, Setup::default()).await));
            }
            world.pass(Duration::from_millis((random >> 20) % 20_000)).await;
        }
        world.until_bound(36, 2 * TAKE_OVER).await;
        world.check();
    });
}

#[test]
fn leaders_killed_at_any_moment_lose_no_pod_and_bind_none_twice() {
    for seed in 0..12 {
        kill_leaders(seed);
    }
}

#[test]
fn a_cycle_that_answers_no_probes_costs_its_replica_the_lease() {
    run(async {
        let world = World::new(141);
        let _first = world.start("replica-a", Setup::default()).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(10 * SECOND).await;
        // As if it were busy with one message for ever; the lease could be renewed all the same.
        world.trace().lose("SchedulingCycle", "Probe", usize::MAX);
        world.trace().lose("SchedulingCycle", "Attempt", usize::MAX);
        world.add_pod(workload::pod("a", 100, 10));
        world
            .until("the leader gives up", 20 * SECOND, || world.leader() != "replica-a")
            .await;
        world.trace().lose_no_more();
        let _second = world.start("replica-b", Setup::default()).await;
        world.until_bound(1, 15 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        // It stands aside, and then by.
        world.pass(60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        world.check();
    });
}
