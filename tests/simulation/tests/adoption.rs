//! What the next leader makes of what the old one left half done.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_apiserver::resource;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Lease duration, two tries, and forced progress of quiet caches.
const TAKE_OVER: Duration = Duration::from_secs(26);

/// A leader and a standby, and one node, on which pods of low priority run that take so much of it each.
async fn staged(seed: u64, low: &[(&str, i64)], grace: i64) -> (World, RunningReplica, RunningReplica) {
    let world = World::new(seed);
    world.add_priority_class("high", 1000);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    let first = world.start("replica-a", Setup::default()).await;
    world.pass(5 * SECOND).await;
    for (name, cpu) in low {
        world.add_pod(workload::of_class(workload::pod(name, *cpu, 10), "", grace));
    }
    world.until_bound(low.len(), 10 * SECOND).await;
    for (name, _) in low {
        world.run_pod(name);
    }
    let second = world.start("replica-b", Setup::default()).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    (world, first, second)
}

fn high(name: &str, cpu: i64) -> Value {
    workload::of_class(workload::pod(name, cpu, 10), "high", 0)
}

async fn taken_over(world: &World, first: RunningReplica) {
    first.kill();
    world
        .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
        .await;
    world.pass(5 * SECOND).await;
}

/// Writes of the second replica to this pod, by verb.
fn writes_of_the_next(world: &World, pod: &str) -> Vec<&'static str> {
    let history = world.server().history();
    let writes = history.iter().filter(|write| {
        write.resource.plural == "pods"
            && write.user_agent.ends_with("replica-b")
            && write.object["metadata"]["name"] == pod
    });
    writes.map(|write| write.verb).collect()
}

fn nominate(world: &World, pod: &str, node: &str) {
    let pods = resource::find("", "v1", "pods").unwrap();
    let promise = |pod: &mut Value| pod["status"]["nominatedNodeName"] = json!(node);
    world.server().modify_status(pods, "default", pod, promise).unwrap();
}

#[test]
fn victims_that_are_going_are_waited_for_by_the_next_leader_and_their_room_is_not_given_away() {
    run(async {
        let (world, first, _second) = staged(500, &[("low", 600), ("spare", 300)], 60).await;
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        taken_over(&world, first).await;
        // As important, and there first when the room comes free.
        world.add_pod(high("q", 600));
        world.pass(10 * SECOND).await;
        assert!(
            world
                .pod("spare")
                .is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        );
        let lines = world.trace().lines();
        let adopted = lines.iter().filter(|line| line.contains("Evictor: Adopt")).count();
        assert_eq!(adopted, 1, "{}", world.tail());
        world.pass_with_kubelets(40 * SECOND).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n1"), "{}", world.tail());
        assert_eq!(world.node_of("q"), None);
        assert_eq!(
            writes_of_the_next(&world, "low"),
            Vec::<&str>::new(),
            "it had been told"
        );
        world.check();
        world.check_nothing_forgotten();
    });
}

/// Attempts of the second replica that ended with a look for victims.
fn attempts_at_preemption(world: &World) -> usize {
    let metrics = world.metrics("replica-b").text().unwrap_or_default();
    let counted = metrics
        .lines()
        .find_map(|line| line.strip_prefix("scheduler_preemption_attempts_total "));
    counted.and_then(|count| count.parse().ok()).unwrap_or_default()
}

#[test]
fn others_that_go_do_not_have_an_adopted_preemptor_tried_again_and_again() {
    run(async {
        let others: Vec<String> = (0..100).map(|number| format!("other-{number}")).collect();
        let low: Vec<(&str, i64)> = std::iter::once(("low", 600))
            .chain(others.iter().map(|name| (name.as_str(), 1)))
            .collect();
        let (world, first, _second) = staged(501, &low, 60).await;
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        taken_over(&world, first).await;
        for name in &others {
            world.pass(SECOND / 10).await;
            world.delete_pod(name);
        }
        let attempts = attempts_at_preemption(&world);
        // The first one, and those that backoffs of 1, 2, 4 and 8 seconds let through.
        assert!(attempts <= 6, "{attempts} attempts");
        world.pass_with_kubelets(MINUTE).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n1"), "{}", world.tail());
        world.check();
    });
}

#[test]
fn a_node_that_somebody_else_promised_is_kept_for_the_pod_by_the_next_leader() {
    run(async {
        let (world, first, _second) = staged(502, &[], 0).await;
        // Neither fits before the second node is there.
        world.add_pod(high("p", 1500));
        world.add_pod(high("q", 1500));
        world.pass(SECOND).await;
        nominate(&world, "p", "n2");
        first.kill();
        world.add_node(workload::node("n2", 2000, 8000, 110));
        world
            .until("the standby leads", TAKE_OVER, || world.leader() == "replica-b")
            .await;
        world.until_bound(1, 10 * SECOND).await;
        world.pass(10 * SECOND).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n2"), "{}", world.tail());
        assert_eq!(world.node_of("q"), None);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn what_the_old_leader_said_of_a_pod_is_not_written_again() {
    run(async {
        let (world, first, _second) = staged(503, &[], 0).await;
        world.add_pod(workload::pod("big", 5000, 10));
        world.pass(SECOND).await;
        let said = world.explanation("big");
        assert!(said.is_some());
        taken_over(&world, first).await;
        world.pass(10 * SECOND).await;
        assert_eq!(world.explanation("big"), said);
        assert_eq!(writes_of_the_next(&world, "big"), Vec::<&str>::new());
        world.check();
    });
}

/// The leader dies after it has sent a binding with whose answer this goes wrong; whether the pod has its place from it.
fn binding_nobody_saw(seed: u64, fault: Action) -> bool {
    run(async move {
        let (world, first, _second) = staged(seed, &[], 0).await;
        let bindings = || rules::bindings().user_agent("replica-a");
        world.server().faults().add(Rule::new(bindings(), fault));
        world.add_pod(workload::pod("a", 600, 10));
        world.pass(SECOND / 10).await;
        first.kill();
        world.add_pod(workload::pod("b", 600, 10));
        world.pass(TAKE_OVER + 10 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        let placed = usize::from(world.node_of("a").is_some()) + usize::from(world.node_of("b").is_some());
        assert_eq!(placed, 1, "{}", world.tail());
        world.check();
        world.check_nothing_forgotten();
        writes_of_the_next(&world, "a").is_empty() && world.node_of("a").is_some()
    })
}

#[test]
fn a_binding_whose_answer_nobody_saw_is_found_applied_or_can_not_be_applied_any_more() {
    let failure = || Failure::code(500);
    assert!(binding_nobody_saw(504, Action::LoseReply), "applied at once");
    assert!(
        binding_nobody_saw(505, Action::ApplyLate { millis: 3_900 }),
        "applied late"
    );
    assert!(
        binding_nobody_saw(506, Action::FailAfter { failure: failure() }),
        "answered wrongly"
    );
    assert!(
        !binding_nobody_saw(507, Action::Fail { failure: failure() }),
        "never applied"
    );
    let held = Action::Hold {
        gate: "held".to_owned(),
    };
    assert!(!binding_nobody_saw(508, held), "never applied");
    // The server would take longer, and its time-out does not let it.
    assert!(
        binding_nobody_saw(509, Action::ApplyLate { millis: 30_000 }),
        "as late as can be"
    );
}

#[test]
fn a_nomination_that_was_not_written_before_the_leader_died_is_decided_anew() {
    run(async {
        let (world, first, _second) = staged(510, &[("low", 600)], 60).await;
        let never = Action::Hold {
            gate: "nomination".to_owned(),
        };
        let of_preemptor: Match = rules::status_patches().name("p").user_agent("replica-a");
        world.server().faults().add(Rule::new(of_preemptor, never));
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        assert!(
            world
                .pod("p")
                .is_some_and(|pod| pod["status"]["nominatedNodeName"].is_null())
        );
        taken_over(&world, first).await;
        world.pass_with_kubelets(2 * MINUTE).await;
        assert_eq!(world.node_of("p").as_deref(), Some("n1"), "{}", world.tail());
        world.check();
        world.check_nothing_forgotten();
    });
}
