//! What goes wrong with a binding: each pod ends on one node, and no node gets more than it can hold.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_simulation::world::World;
use plimsoll_simulation::{invariants, rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);

fn fail(code: u16) -> Action {
    Action::Fail {
        failure: Failure::code(code),
    }
}

fn fail_after(code: u16) -> Action {
    Action::FailAfter {
        failure: Failure::code(code),
    }
}

/// One node with one place, two pods, and a fault on the first bindings: one pod gets the place, the other one is told,
/// and gets the next place that there is.
fn one_place_for_two_pods(times: u64, fault: Action) {
    run(async move {
        let (world, _replica) = World::led(7).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world
            .server()
            .faults()
            .add(Rule::new(rules::bindings(), fault).times(times));
        world.add_pod(workload::pod("a", 600, 100));
        world.pass(SECOND / 4).await;
        world.add_pod(workload::pod("b", 600, 100));
        world.until_bound(1, 60 * SECOND).await;
        world.pass(60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(invariants::placements(world.server()).len(), 1);
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.until_bound(2, 15 * SECOND).await;
        world.pass(10 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_reply_lost_after_the_binding_was_applied_is_settled_by_sending_it_again() {
    one_place_for_two_pods(1, Action::LoseReply);
}

#[test]
fn replies_lost_again_and_again_are_settled_as_soon_as_one_comes_through() {
    one_place_for_two_pods(4, Action::LoseReply);
}

#[test]
fn a_server_error_before_applying_keeps_the_place_until_it_is_settled() {
    one_place_for_two_pods(1, fail(500));
    one_place_for_two_pods(3, fail(503));
}

#[test]
fn a_server_error_after_applying_is_found_out() {
    one_place_for_two_pods(1, fail_after(500));
    one_place_for_two_pods(3, fail_after(504));
}

#[test]
fn a_binding_applied_after_its_client_gave_up_never_shares_its_place() {
    one_place_for_two_pods(1, Action::ApplyLate { millis: 3_900 });
    one_place_for_two_pods(2, Action::ApplyLate { millis: 60_000 });
}

#[test]
fn a_slow_answer_past_every_time_out_is_settled() {
    one_place_for_two_pods(2, Action::Latency { millis: 20_000 });
}

#[test]
fn a_conflict_about_an_unbound_pod_means_another_try() {
    one_place_for_two_pods(2, fail(409));
}

#[test]
fn not_found_about_a_pod_that_is_there_means_another_try() {
    one_place_for_two_pods(2, fail(404));
}

#[test]
fn a_refusal_frees_the_place_and_the_pod_is_tried_again() {
    one_place_for_two_pods(1, fail(403));
    one_place_for_two_pods(2, fail(422));
}

#[test]
fn a_throttled_binding_is_sent_again_no_sooner_than_asked() {
    run(async {
        let (world, _replica) = World::led(8).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let throttled = Action::Fail {
            failure: Failure::code(429).retry_after(4),
        };
        let faults = world.server().faults();
        let rule = faults.add(Rule::new(rules::bindings(), throttled).times(3));
        world.add_pod(workload::pod("a", 600, 100));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("b", 600, 100));
        world.pass(10 * SECOND).await;
        assert_eq!(faults.fired(rule), Some(3));
        assert!(invariants::placements(world.server()).is_empty());
        world.pass(3 * SECOND).await;
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn failures_of_every_kind_in_a_row_end_with_the_pod_bound_once() {
    run(async {
        let (world, _replica) = World::led(9).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let throttled = Action::Fail {
            failure: Failure::code(429).retry_after(1),
        };
        let kinds = [
            fail(500),
            throttled,
            fail(409),
            Action::ApplyLate { millis: 60_000 },
            Action::LoseReply,
            fail_after(500),
        ];
        for (skip, kind) in (0..).zip(kinds) {
            let rule = Rule::new(rules::bindings(), kind).times(1);
            world.server().faults().add(Rule { skip, ..rule });
        }
        world.add_pod(workload::pod("a", 600, 100));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("b", 600, 100));
        world.pass(120 * SECOND).await;
        assert_eq!(invariants::placements(world.server()).len(), 1);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_pod_that_another_scheduler_has_bound_meanwhile_counts_where_it_is() {
    run(async {
        let (world, _replica) = World::led(10).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        world.server().faults().add(Rule::new(rules::bindings(), hold).times(1));
        world.add_pod(workload::pod("a", 600, 100));
        world
            .until("the binding is held", 5 * SECOND, || {
                world.server().faults().held("bind") == 1
            })
            .await;
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.server().bind("default", "a", "n2").unwrap();
        world.server().faults().release("bind");
        world.add_pod(workload::pod("b", 600, 100));
        world.until_bound(2, 20 * SECOND).await;
        world.add_pod(workload::pod("c", 600, 100));
        world.pass(30 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(world.node_of("a").as_deref(), Some("n2"));
        assert_eq!(world.node_of("b").as_deref(), Some("n1"));
        assert_eq!(world.node_of("c"), None);
    });
}

#[test]
fn a_pod_deleted_while_its_binding_is_under_way_leaves_its_place_to_others() {
    run(async {
        let (world, _replica) = World::led(11).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        world.server().faults().add(Rule::new(rules::bindings(), hold).times(1));
        world.add_pod(workload::pod("a", 600, 100));
        world
            .until("the binding is held", 5 * SECOND, || {
                world.server().faults().held("bind") == 1
            })
            .await;
        world.add_pod(workload::pod("b", 600, 100));
        world.pass(SECOND).await;
        assert_eq!(world.node_of("b"), None);
        world.delete_pod("a");
        world.server().faults().release("bind");
        world.until_bound(1, 15 * SECOND).await;
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("b").as_deref(), Some("n1"));
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_late_binding_does_not_bind_the_next_pod_of_the_same_name() {
    run(async {
        let (world, _replica) = World::led(12).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let late = Action::ApplyLate { millis: 3_500 };
        world.server().faults().add(Rule::new(rules::bindings(), late).times(1));
        world.add_pod(workload::pod("a", 600, 100));
        world.pass(SECOND / 2).await;
        world.delete_pod("a");
        world.add_pod(workload::pod("b", 900, 100));
        world.add_pod(workload::pod("a", 600, 100));
        world.pass(60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(invariants::placements(world.server()).len(), 1);
    });
}

#[test]
fn many_pods_with_half_of_all_bindings_failing_fill_the_nodes_exactly() {
    run(async {
        let (world, _replica) = World::led(13).await;
        for number in 0..5 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
        }
        let kinds = [
            fail(500),
            Action::LoseReply,
            Action::ApplyLate { millis: 2_000 },
            fail_after(503),
            fail(429),
            Action::Latency { millis: 700 },
        ];
        for kind in kinds {
            world.server().faults().add(Rule {
                probability: Some(0.2),
                ..Rule::new(rules::bindings(), kind)
            });
        }
        for number in 0..60 {
            world.add_pod(workload::pod(&format!("p{number}"), 100, 100));
        }
        world.until_bound(50, 120 * SECOND).await;
        world.pass(60 * SECOND).await;
        world.check();
        world.server().faults().clear();
        for number in 0..10 {
            world.delete_pod(invariants::placements(world.server()).keys().nth(number * 3).unwrap());
        }
        world.until_bound(50, 60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
    });
}
