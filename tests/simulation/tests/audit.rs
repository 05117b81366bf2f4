//! The auditor: it finds nothing wrong whatever the world does, and it finds, repairs and counts what a bug does. The bugs
//! are messages that get lost, which no mailbox does.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_actors::auditor::{AuditReport, Finding};
use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_apiserver::resource;
use plimsoll_config::PluginRef;
use plimsoll_simulation::volume_writer::{self, Object};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, slow_plugins, workload};
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);

/// How often each kind of discrepancy was counted, without those that never were.
fn counted(world: &World, replica: &str) -> Vec<(&'static str, u64)> {
    let metrics = world.metrics(replica);
    let kinds = Finding::KINDS.map(|kind| (kind, metrics.audit().counted(kind).1));
    kinds.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn audits(world: &World, replica: &str) -> u64 {
    world.metrics(replica).audit().counted("missing").0
}

/// Lets time pass and audits all the while; nothing may be wrong at any moment.
async fn clean(world: &World, replica: &RunningReplica, time: Duration) {
    let step = Duration::from_millis(130);
    let mut left = time;
    while left > Duration::ZERO {
        world.pass(step.min(left)).await;
        left = left.saturating_sub(step);
        if let Some(report) = replica.audit().await {
            assert!(report.found.is_empty(), "{report}\n{}", world.tail());
        }
    }
}

#[test]
fn a_cycle_that_was_not_told_to_begin_yet_has_forgotten_to_ask_for_nothing() {
    run(async {
        let world = World::new(121);
        world.add_node(workload::node("n0", 1000, 8000, 110));
        world.add_pod(workload::pod("p0", 100, 10));
        world.trace().lose("SchedulingCycle", "Begin", 1);
        let replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        assert_eq!(world.leader(), "replica-a");
        let report = replica.audit().await.unwrap();
        assert!(report.found.is_empty(), "{report}\n{}", world.tail());
        assert_eq!(world.node_of("p0"), None);
    });
}

#[test]
fn nothing_is_found_wrong_through_faults_a_dead_leader_and_another_configuration() {
    run(async {
        let world = World::new(120);
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let second = world.start("replica-b", Setup::default()).await;
        for number in 0..4 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
        }
        let faults = world.server().faults();
        faults.add(Rule::new(rules::bindings(), Action::Latency { millis: 700 }).times(6));
        let failure = Failure::code(503);
        faults.add(
            Rule::new(
                rules::bindings(),
                Action::Fail {
                    failure: failure.clone(),
                },
            )
            .times(3),
        );
        faults.add(Rule::new(rules::status_patches(), Action::Fail { failure }).times(3));
        faults.add(Rule::new(rules::watches("pods"), Action::CutWatch { after_events: 5 }).times(4));
        for number in 0..24 {
            world.add_pod(workload::pod(&format!("a{number}"), 300, 10));
            clean(&world, &first, SECOND / 3).await;
        }
        world.delete_pod("a3");
        world.delete_pod("a17");
        clean(&world, &first, 150 * SECOND).await;
        assert!(audits(&world, "replica-a") > 100);
        first.kill();
        world
            .until("the standby leads", 60 * SECOND, || world.leader() == "replica-b")
            .await;
        let reconfigurer = second.reconfigurer();
        for number in 0..12 {
            world.add_pod(workload::pod(&format!("b{number}"), 300, 10));
            if number % 4 == 0 {
                let mut other = Setup::default();
                other.config.pod_max_backoff = Duration::from_secs(2 + number);
                reconfigurer.reconfigure(other.assembled(), "another".to_owned());
            }
            clean(&world, &second, SECOND).await;
        }
        for number in 4..8 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
        }
        clean(&world, &second, 130 * SECOND).await;
        assert!(audits(&world, "replica-b") > 100);
        for replica in ["replica-a", "replica-b"] {
            assert_eq!(counted(&world, replica), []);
        }
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn nothing_is_found_wrong_while_a_cycle_waits_for_an_answer_and_pods_wait_at_permit() {
    run(async {
        let world = World::new(121);
        let mut setup = Setup::default();
        slow_plugins::add_to(&mut setup, 20 * SECOND, 15 * SECOND);
        let more = [slow_plugins::WAIT, slow_plugins::ASK].map(|plugin| PluginRef::new(plugin, 0));
        setup.profile.plugins.multi_point.enabled.extend(more);
        let replica = world.start("replica-a", setup).await;
        world.pass(5 * SECOND).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        for name in ["a", "b", "c"] {
            world.add_pod(workload::pod(name, 300, 10));
        }
        clean(&world, &replica, 40 * SECOND).await;
        // While the cycle of another waits, changes are held back: the deletion of a pod that has a claim among them.
        world.delete_pod("a");
        clean(&world, &replica, 60 * SECOND).await;
        assert_eq!(counted(&world, "replica-a"), []);
    });
}

/// The first audit after something was lost only suspects it; the second is certain, and it is repaired then.
async fn twice(world: &World, replica: &RunningReplica, kinds: &[&'static str]) {
    let found = |report: &AuditReport| {
        let mut kinds: Vec<_> = report.found.iter().map(|wrong| wrong.finding.kind()).collect();
        kinds.dedup();
        kinds
    };
    let first = replica.audit().await.unwrap();
    assert_eq!(found(&first), kinds, "{first}\n{}", world.tail());
    assert!(first.certain.is_empty(), "{first}");
    assert_eq!(counted(world, "replica-a"), []);
    world.pass(11 * SECOND).await;
    let second = replica.audit().await.unwrap();
    assert_eq!(found(&second), kinds, "{second}");
    assert_eq!(second.certain, second.found, "{second}");
}

/// Everything is placed in the end, nothing is found wrong any more, and each kind was counted once.
async fn healed(world: &World, replica: &RunningReplica, kinds: &[&'static str]) {
    clean(world, replica, 200 * SECOND).await;
    let once: Vec<_> = kinds.iter().map(|kind| (*kind, 1)).collect();
    assert_eq!(counted(world, "replica-a"), once);
    world.check();
    world.check_nothing_forgotten();
}

#[test]
fn a_pod_that_the_queue_never_heard_of_is_found_taken_in_and_placed() {
    run(async {
        let (world, replica) = World::led(122).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(SECOND).await;
        world.trace().lose("SchedulingQueue", "Changes", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.pass(SECOND).await;
        twice(&world, &replica, &["missing"]).await;
        world.until_bound(1, 5 * SECOND).await;
        healed(&world, &replica, &["missing"]).await;
    });
}

#[test]
fn audits_go_on_by_themselves_once_a_minute() {
    run(async {
        let (world, _replica) = World::led(123).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(SECOND).await;
        let before = audits(&world, "replica-a");
        world.trace().lose("SchedulingQueue", "Changes", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.pass(55 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        world.until_bound(1, 70 * SECOND).await;
        world.pass(300 * SECOND).await;
        assert_eq!(counted(&world, "replica-a"), [("missing", 1)]);
        let made = audits(&world, "replica-a") - before;
        assert!((6..=7).contains(&made), "{made}");
    });
}

#[test]
fn a_pod_whose_attempt_nobody_makes_is_taken_back() {
    run(async {
        let (world, replica) = World::led(124).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(SECOND).await;
        // The cycle is never told, so that it does not ask for another either.
        world.trace().lose("SchedulingCycle", "Attempt", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.add_pod(workload::pod("b", 300, 10));
        world.pass(SECOND).await;
        twice(&world, &replica, &["unasked", "abandoned"]).await;
        world.until_bound(2, 15 * SECOND).await;
        healed(&world, &replica, &["abandoned", "unasked"]).await;
    });
}

#[test]
fn a_pod_whose_end_of_attempt_never_came_back_is_tried_again() {
    run(async {
        let (world, replica) = World::led(125).await;
        world.trace().lose("SchedulingQueue", "Settle", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.pass(SECOND).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(20 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        twice(&world, &replica, &["abandoned"]).await;
        world.until_bound(1, 15 * SECOND).await;
        healed(&world, &replica, &["abandoned"]).await;
    });
}

#[test]
fn a_cycle_that_was_not_heard_asking_for_a_pod_gets_one() {
    run(async {
        let (world, replica) = World::led(126).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(SECOND).await;
        world.trace().lose("SchedulingQueue", "Ready", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.until_bound(1, 5 * SECOND).await;
        world.add_pod(workload::pod("b", 300, 10));
        world.pass(5 * SECOND).await;
        assert_eq!(world.node_of("b"), None);
        twice(&world, &replica, &["unasked"]).await;
        world.until_bound(2, 5 * SECOND).await;
        healed(&world, &replica, &["unasked"]).await;
    });
}

#[test]
fn a_claim_whose_answer_was_lost_sends_its_binding_again() {
    run(async {
        let (world, replica) = World::led(127).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(SECOND).await;
        let failure = Failure::code(503);
        let faults = world.server().faults();
        faults.add(Rule::new(rules::bindings(), Action::Fail { failure }).times(1));
        world.trace().lose("SchedulingCycle", "BindAnswered", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        twice(&world, &replica, &["unanswered"]).await;
        world.until_bound(1, 15 * SECOND).await;
        healed(&world, &replica, &["unanswered"]).await;
    });
}

#[test]
fn a_claim_whose_write_to_a_volume_was_answered_in_vain_gives_the_attempt_up() {
    run(async {
        let world = World::new(129);
        let create = |plural, namespace, object| {
            let resource = resource::find("", "v1", plural).unwrap();
            world.server().create(resource, namespace, object).unwrap();
        };
        create("persistentvolumes", "", volume_writer::volume("data"));
        create("persistentvolumeclaims", "default", volume_writer::claim("data"));
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let mut setup = Setup::default();
        volume_writer::add_to(&mut setup, Object::Volume, None);
        let replica = world.start("replica-a", setup).await;
        world.pass(10 * SECOND).await;
        world.trace().lose("SchedulingCycle", "VolumeWritten", 1);
        world.add_pod(volume_writer::with_claim(workload::pod("a", 300, 10), "data"));
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        twice(&world, &replica, &["unanswered"]).await;
        // The volume is the claim's already.
        world.until_bound(1, 15 * SECOND).await;
        healed(&world, &replica, &["unanswered"]).await;
    });
}

#[test]
fn a_claim_that_never_saw_its_pod_on_the_node_ends_as_the_watch_says() {
    run(async {
        let (world, replica) = World::led(128).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(workload::pod("first", 300, 10));
        world.until_bound(1, 5 * SECOND).await;
        world.pass(SECOND).await;
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        let faults = world.server().faults();
        faults.add(Rule::new(rules::bindings(), hold).times(1));
        world.add_pod(workload::pod("a", 300, 10));
        world
            .until("the binding is held", 5 * SECOND, || faults.held("bind") == 1)
            .await;
        world.trace().lose("SchedulingCycle", "Changes", 1);
        faults.release("bind");
        world.until_bound(2, 5 * SECOND).await;
        world.pass(SECOND).await;
        // Whatever else changes brings the cycle past the number that it missed.
        world.edit_node("n1", |node| node["metadata"]["labels"]["a"] = json!("b"));
        world.pass(SECOND).await;
        twice(&world, &replica, &["orphaned_claim"]).await;
        world.add_pod(workload::pod("b", 300, 10));
        world.until_bound(3, 5 * SECOND).await;
        healed(&world, &replica, &["orphaned_claim"]).await;
    });
}

#[test]
fn a_pod_that_the_cycle_never_heard_of_is_told_to_it_and_placed() {
    run(async {
        let (world, replica) = World::led(131).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.pass(SECOND).await;
        world.trace().lose("SchedulingCycle", "Changes", 1);
        world.add_pod(workload::pod("a", 300, 10));
        world.pass(SECOND).await;
        // Brings the cycle past the number that it missed, so that it takes the first for gone.
        world.add_pod(workload::pod("b", 300, 10));
        world.until_bound(1, 5 * SECOND).await;
        world.pass(SECOND).await;
        twice(&world, &replica, &["unheard"]).await;
        world.until_bound(2, 15 * SECOND).await;
        healed(&world, &replica, &["unheard"]).await;
    });
}

#[test]
fn a_pod_that_the_queue_did_not_see_go_is_forgotten() {
    run(async {
        let (world, replica) = World::led(129).await;
        world.add_pod(workload::pod("a", 300, 10));
        world.pass(5 * SECOND).await;
        world.trace().lose("SchedulingQueue", "Changes", 1);
        world.delete_pod("a");
        world.pass(SECOND).await;
        twice(&world, &replica, &["stale"]).await;
        world.pass(SECOND).await;
        let report = replica.audit().await.unwrap();
        assert!(report.places.is_empty(), "{report}");
        healed(&world, &replica, &["stale"]).await;
    });
}

#[test]
fn a_standby_has_nothing_to_audit() {
    run(async {
        let world = World::new(130);
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let second = world.start("replica-b", Setup::default()).await;
        world.pass(5 * SECOND).await;
        assert_eq!(second.audit().await, None);
        let report = first.audit().await.unwrap();
        assert!(report.to_string().ends_with("nothing wrong\n"), "{report}");
    });
}
