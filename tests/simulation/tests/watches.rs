//! What goes wrong with watches and lists: nothing is missed for good, nothing is believed that is out of date.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);

fn fail(code: u16) -> Action {
    Action::Fail {
        failure: Failure::code(code),
    }
}

/// Cuts the watches of a kind after their next event and keeps new ones away for a while.
fn blind(world: &World, plural: &str, seconds: u32) -> Vec<plimsoll_apiserver::fault::RuleId> {
    let faults = world.server().faults();
    let refused = Action::Fail {
        failure: Failure::code(503).retry_after(seconds),
    };
    vec![
        faults.add(Rule::new(rules::watches(plural), refused.clone())),
        faults.add(Rule::new(rules::lists(plural), refused)),
    ]
}

fn see_again(world: &World, blinded: Vec<plimsoll_apiserver::fault::RuleId>) {
    for rule in blinded {
        world.server().faults().remove(rule);
    }
}

/// A leader whose watches end after each event: the rules must be there before the watches are opened.
async fn with_watches_cut_after_each_event(seed: u64) -> (World, plimsoll_actors::supervisor::RunningReplica) {
    let world = World::new(seed);
    for plural in ["pods", "nodes"] {
        let cut = Action::CutWatch { after_events: 1 };
        world.server().faults().add(Rule::new(rules::watches(plural), cut));
    }
    let replica = world.start("replica-a", Setup::default()).await;
    world.pass(10 * SECOND).await;
    (world, replica)
}

#[test]
fn watches_cut_in_the_middle_of_a_line_lose_no_event() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(20).await;
        for number in 0..10 {
            world.add_node(workload::node(&format!("n{number}"), 100, 8000, 110));
            world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        world.until_bound(10, 300 * SECOND).await;
        world.server().faults().clear();
        world.pass(30 * SECOND).await;
        world.check();
    });
}

#[test]
fn what_happened_before_a_compaction_is_found_by_listing_anew() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(21).await;
        let blinded = [blind(&world, "pods", 1), blind(&world, "nodes", 1)];
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 600, 10));
        world.add_pod(workload::pod("b", 600, 10));
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("gone", 100, 10));
        world.delete_pod("gone");
        world.delete_pod("b");
        world.add_pod(workload::pod("b", 300, 10));
        world.server().compact(world.server().resource_version());
        for blinded in blinded {
            see_again(&world, blinded);
        }
        world.server().faults().clear();
        world.until_bound(2, 60 * SECOND).await;
        world.pass(10 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_watch_that_says_its_version_is_gone_lists_anew() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(22).await;
        // Watches that are open keep their faults.
        world.server().faults().clear();
        let gone = Action::WatchError {
            failure: Failure::code(410),
        };
        for plural in ["pods", "nodes"] {
            let rule = Rule::new(rules::watches(plural), gone.clone()).times(3);
            world.server().faults().add(rule);
        }
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 60 * SECOND).await;
        world.check();
    });
}

#[test]
fn any_error_event_ends_that_watch_and_no_more() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(23).await;
        for (skip, code) in (0..).zip([500_u16, 504, 429, 400]) {
            let error = Action::WatchError {
                failure: Failure::code(code),
            };
            let rule = Rule::new(rules::watches("pods"), error).times(1);
            world.server().faults().add(Rule { skip, ..rule });
        }
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 200, 10));
        world.until_bound(1, 120 * SECOND).await;
        world.add_pod(workload::pod("b", 200, 10));
        world.until_bound(2, 120 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_list_older_than_what_was_seen_does_not_free_a_place_again() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(24).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 60 * SECOND).await;
        let stale = Action::StaleRead { versions: 8 };
        world
            .server()
            .faults()
            .add(Rule::new(Match::verbs(&["list", "watch"]), stale));
        let gone = Action::WatchError {
            failure: Failure::code(410),
        };
        world
            .server()
            .faults()
            .add(Rule::new(rules::watches("pods"), gone).times(2));
        world.add_pod(workload::pod("b", 600, 10));
        world.pass(120 * SECOND).await;
        world.check();
        assert_eq!(invariants::placements(world.server()).len(), 1);
        world.server().faults().clear();
        world.pass(30 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_new_leader_that_began_with_a_stale_list_waits_until_it_has_caught_up() {
    run(async {
        let (world, first) = World::led(25).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 10 * SECOND).await;
        world.pass(SECOND).await;
        world.add_pod(workload::pod("b", 600, 10));
        let stale = Action::StaleRead { versions: 12 };
        let reads = Match::verbs(&["list", "watch"]).user_agent("replica-b");
        world.server().faults().add(Rule::new(reads, stale));
        first.kill();
        // The new one's own watches are slow as well: it believes the old list for a while.
        let slow = Action::Latency { millis: 2_000 };
        let watches = Match::verbs(&["watch"]).user_agent("replica-b");
        world.server().faults().add(Rule::new(watches, slow));
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        world.check();
        assert_eq!(invariants::placements(world.server()).len(), 1);
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.until_bound(2, 30 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_relist_while_bindings_are_under_way_keeps_their_claims() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(26).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(10 * SECOND).await;
        world.server().faults().clear();
        world.server().faults().add(
            Rule::new(
                rules::bindings(),
                Action::Hold {
                    gate: "bind".to_owned(),
                },
            )
            .times(2),
        );
        world.add_pod(workload::pod("a", 400, 10));
        world.add_pod(workload::pod("b", 400, 10));
        let cut = Action::CutWatch { after_events: 1 };
        world
            .server()
            .faults()
            .add(Rule::new(rules::watches("pods"), cut).times(2));
        world
            .until("both bindings are held", 30 * SECOND, || {
                world.server().faults().held("bind") == 2
            })
            .await;
        world.server().compact(world.server().resource_version());
        let gone = Action::WatchError {
            failure: Failure::code(410),
        };
        for plural in ["pods", "nodes"] {
            let rule = Rule::new(rules::watches(plural), gone.clone()).times(1);
            world.server().faults().add(rule);
        }
        world.add_pod(workload::pod("c", 400, 10));
        world.pass(2 * SECOND).await;
        world.server().faults().release("bind");
        world.pass(60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(invariants::placements(world.server()).len(), 2);
        assert_eq!(world.node_of("c"), None);
    });
}

#[test]
fn a_quiet_cluster_without_bookmarks_does_not_hold_up_a_new_leader() {
    run(async {
        let (world, first) = World::led(27).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _second = world.start("replica-b", Setup::default()).await;
        world.pass(30 * SECOND).await;
        first.kill();
        world.pass(SECOND).await;
        world
            .until("the standby leads", 22 * SECOND, || world.leader() == "replica-b")
            .await;
        world.add_pod(workload::pod("a", 600, 10));
        world.until_bound(1, 6 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_pod_made_anew_under_its_name_while_nobody_looked_is_another_pod() {
    run(async {
        let (world, _replica) = with_watches_cut_after_each_event(28).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 900, 10));
        world.until_bound(1, 60 * SECOND).await;
        world.pass(10 * SECOND).await;
        let blinded = blind(&world, "pods", 1);
        world.add_pod(workload::pod("noise", 900, 10));
        world.pass(2 * SECOND).await;
        world.delete_pod("a");
        world.add_pod(workload::pod("a", 200, 10));
        world.delete_pod("noise");
        see_again(&world, blinded);
        world.until_bound(1, 60 * SECOND).await;
        world.add_pod(workload::pod("b", 800, 10));
        world.until_bound(2, 60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_node_removed_while_a_pod_is_bound_to_it_still_holds_the_pod_when_it_returns() {
    run(async {
        let (world, _replica) = World::led(29).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        world.server().faults().add(Rule::new(rules::bindings(), hold).times(1));
        world.add_pod(workload::pod("a", 600, 10));
        world
            .until("the binding is held", 5 * SECOND, || {
                world.server().faults().held("bind") == 1
            })
            .await;
        world.delete_node("n1");
        world.pass(SECOND).await;
        world.server().faults().release("bind");
        world.until_bound(1, 10 * SECOND).await;
        world.add_pod(workload::pod("b", 600, 10));
        world.pass(5 * SECOND).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(world.node_of("b"), None);
        world.delete_pod("a");
        world
            .until("b is bound", 15 * SECOND, || world.node_of("b").is_some())
            .await;
        world.check();
    });
}

#[test]
fn slow_lists_and_refused_watches_at_the_start_delay_and_do_not_break() {
    run(async {
        let world = World::new(30);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("a", 600, 10));
        let faults = world.server().faults();
        for code in [500, 503, 429, 410] {
            faults.add(Rule::new(Match::verbs(&["list"]), fail(code)).times(2));
            faults.add(Rule::new(Match::verbs(&["watch"]), fail(code)).times(2));
        }
        faults.add(Rule::new(Match::verbs(&["list"]), Action::Latency { millis: 3_000 }).times(6));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.until_bound(1, 300 * SECOND).await;
        world.check();
    });
}
