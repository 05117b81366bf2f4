//! What becomes of preemptions: whatever happens to requests, victims, preemptors and leaders, nobody goes in vain, and whoever
//! can be placed is placed.

mod preemption {
    mod leaders;
}

use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Failure, Match, Rule};
use plimsoll_config::{FeatureGates, Gate, PodDisruptionBudgetPolicy};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn fail(code: u16) -> Action {
    Action::Fail {
        failure: Failure::code(code),
    }
}

fn hard() -> Setup {
    let mut setup = Setup::default();
    setup.profile.extras.pod_disruption_budget_policy = PodDisruptionBudgetPolicy::Hard;
    setup
}

fn synchronous() -> Setup {
    let mut setup = Setup::default();
    setup.config.feature_gates = FeatureGates::default().with(Gate::SchedulerAsyncPreemption, false);
    setup
}

/// A leader, one node of 1000m, and running pods of low priority that take so much of it each.
async fn filled(seed: u64, setup: Setup, low: &[(&str, i64)], grace: i64) -> (World, RunningReplica) {
    let world = World::new(seed);
    world.add_priority_class("high", 1000);
    world.add_priority_class("highest", 2000);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    let replica = world.start("replica-a", setup).await;
    world.pass(5 * SECOND).await;
    for (name, cpu) in low {
        let mut pod = workload::of_class(workload::pod(name, *cpu, 10), "", grace);
        pod["metadata"]["labels"] = json!({ "app": "low" });
        world.add_pod(pod);
    }
    world.until_bound(low.len(), 10 * SECOND).await;
    for (name, _) in low {
        world.run_pod(name);
    }
    world.pass(SECOND).await;
    (world, replica)
}

fn high(name: &str, cpu: i64) -> Value {
    workload::of_class(workload::pod(name, cpu, 10), "high", 0)
}

/// Verbs of the writes of schedulers to a pod, in order: `status` for the condition, then `delete` or `evict`.
fn writes_to(world: &World, pod: &str) -> Vec<String> {
    let history = world.server().history();
    let of_pod = history.iter().filter(|write| {
        write.resource.plural == "pods"
            && write.user_agent.starts_with("plimsoll")
            && write.object["metadata"]["name"] == pod
            && write.verb != "bind"
    });
    let mut verbs: Vec<String> = of_pod.map(|write| write.verb.to_owned()).collect();
    verbs.dedup();
    verbs
}

fn is_there(world: &World, pod: &str) -> bool {
    world.pod(pod).is_some()
}

fn is_going(world: &World, pod: &str) -> bool {
    let pod = world.pod(pod);
    pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_string())
}

fn disruption(world: &World, pod: &str) -> Option<Value> {
    let pod = world.pod(pod)?;
    let conditions = pod.pointer("/status/conditions")?.as_array()?.clone();
    conditions
        .into_iter()
        .find(|condition| condition["type"] == "DisruptionTarget")
}

#[test]
fn a_victim_is_marked_then_deleted_and_told_and_the_preemptor_has_its_room() {
    run(async {
        let (world, _replica) = filled(300, Setup::default(), &[("low", 800)], 30).await;
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        assert!(is_going(&world, "low"));
        let condition = disruption(&world, "low").unwrap_or_default();
        assert_eq!(
            (
                condition["status"].as_str(),
                condition["reason"].as_str(),
                condition["message"].as_str()
            ),
            (
                Some("True"),
                Some("PreemptionByScheduler"),
                Some("default-scheduler: preempting to accommodate a higher priority pod")
            )
        );
        let preemptor = world.pod("p").unwrap_or_default();
        assert_eq!(preemptor["status"]["nominatedNodeName"], "n1");
        // A preemption that found victims adds nothing to the text.
        let why = "0/1 nodes are available: 1 Insufficient cpu.";
        assert_eq!(
            world.explanation("p"),
            Some(("Unschedulable".to_owned(), why.to_owned()))
        );
        let uid = preemptor["metadata"]["uid"].as_str().unwrap_or_default();
        let note = format!("Preempted by pod {uid} on node n1");
        assert_eq!(world.events("Preempted"), [("Normal".to_owned(), note)]);
        assert_eq!(world.node_of("p"), None);
        world.pass_with_kubelets(31 * SECOND).await;
        world
            .until("the preemptor is bound", 2 * SECOND, || {
                world.node_of("p").as_deref() == Some("n1")
            })
            .await;
        assert!(!is_there(&world, "low"));
        let metrics = world.metrics("replica-a").text().unwrap_or_default();
        for line in [
            "scheduler_preemption_attempts_total",
            "scheduler_preemption_victims_count 1",
            r#"scheduler_preemption_goroutines_execution_total{result="success"} 1"#,
            r#"plimsoll_preemptions_total{outcome="done"} 1"#,
            "plimsoll_preemptions_under_way 0",
        ] {
            assert!(metrics.contains(line), "{line} is missing");
        }
        world.check();
    });
}

/// One victim, one preemptor, and faults on requests about the victim: exactly that victim goes, once, and the preemptor is
/// placed.
fn one_victim_under(setup: fn() -> Setup, matching: Match, times: u64, fault: Action) {
    run(async move {
        let (world, _replica) = filled(301, setup(), &[("low", 800), ("other", 200)], 0).await;
        let rule = Rule::new(matching.name("low"), fault).times(times);
        world.server().faults().add(rule);
        world.add_pod(high("p", 600));
        world.until_bound(2, MINUTE).await;
        world
            .until("the preemptor is bound", MINUTE, || world.node_of("p").is_some())
            .await;
        world.pass(MINUTE).await;
        assert!(!is_there(&world, "low") && is_there(&world, "other"));
        assert_eq!(world.events("Preempted").len(), 1);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_deletion_whose_answer_is_lost_is_sent_again() {
    one_victim_under(Setup::default, rules::deletions(), 1, Action::LoseReply);
    one_victim_under(
        Setup::default,
        rules::deletions(),
        1,
        Action::ApplyLate { millis: 3_900 },
    );
    one_victim_under(
        Setup::default,
        rules::deletions(),
        2,
        Action::FailAfter {
            failure: Failure::code(500),
        },
    );
    one_victim_under(hard, rules::evictions(), 1, Action::LoseReply);
}

#[test]
fn a_server_in_trouble_is_asked_again_and_for_good_only_by_another_attempt() {
    for times in [1, 3, 20] {
        one_victim_under(Setup::default, rules::deletions(), times, fail(500));
        one_victim_under(Setup::default, rules::status_patches(), times, fail(503));
    }
    one_victim_under(Setup::default, rules::deletions(), 2, fail(429));
    one_victim_under(
        Setup::default,
        rules::deletions(),
        2,
        Action::Latency { millis: 20_000 },
    );
    one_victim_under(hard, rules::evictions(), 3, fail(500));
}

#[test]
fn a_conflict_or_not_found_about_a_victim_that_is_there_does_not_lose_the_preemptor() {
    for code in [404, 409] {
        one_victim_under(Setup::default, rules::deletions(), 2, fail(code));
        one_victim_under(Setup::default, rules::status_patches(), 2, fail(code));
    }
}

#[test]
fn without_the_asynchronous_mode_the_pod_goes_back_when_its_victims_have_been_told() {
    one_victim_under(synchronous, rules::deletions(), 0, fail(500));
    one_victim_under(synchronous, rules::deletions(), 1, Action::LoseReply);
    one_victim_under(synchronous, rules::deletions(), 7, fail(500));
}

#[test]
fn an_error_without_the_asynchronous_mode_is_the_end_of_the_text_and_the_pod_is_not_nominated() {
    run(async {
        let (world, _replica) = filled(302, synchronous(), &[("low", 800)], 0).await;
        let rule = world.server().faults().add(Rule::new(rules::deletions(), fail(403)));
        world.add_pod(high("p", 600));
        world.pass(5 * SECOND).await;
        let (reason, why) = world.explanation("p").unwrap_or_default();
        assert_eq!(reason, "Unschedulable");
        assert_eq!(
            why,
            "0/1 nodes are available: 1 Insufficient cpu. preemption: injected fault"
        );
        assert_eq!(
            world.pod("p").unwrap_or_default()["status"]["nominatedNodeName"],
            Value::Null
        );
        // Room for another pod of its kind is not kept for it.
        world.add_pod(high("q", 200));
        world.pass(2 * SECOND).await;
        assert!(world.node_of("q").is_some());
        world.server().faults().remove(rule);
        world.delete_pod("q");
        world
            .until("the preemptor is bound", MINUTE, || world.node_of("p").is_some())
            .await;
        world.check();
    });
}

#[test]
fn a_refused_deletion_spares_the_other_victims_and_is_tried_again_after_a_pause() {
    run(async {
        let (world, _replica) = filled(303, Setup::default(), &[("a", 300), ("b", 300), ("c", 300)], 0).await;
        let refused = Rule::new(rules::deletions(), fail(403));
        let rule = world.server().faults().add(refused);
        world.add_pod(high("p", 900));
        world.pass(20 * SECOND).await;
        let tries = world.server().faults().fired(rule).unwrap_or_default();
        assert!(tries > 2 && tries < 50, "{tries} deletions in 20 s");
        for pod in ["a", "b", "c"] {
            assert!(is_there(&world, pod) && !is_going(&world, pod));
        }
        assert!(world.events("Preempted").is_empty());
        world.server().faults().remove(rule);
        world
            .until("the preemptor is bound", 30 * SECOND, || world.node_of("p").is_some())
            .await;
        world.check();
    });
}

#[test]
fn a_victim_that_does_not_die_is_waited_for_and_nobody_else_goes() {
    run(async {
        let (world, _replica) = filled(304, Setup::default(), &[("low", 800), ("other", 200)], 0).await;
        world.edit_pod("low", |pod| pod["metadata"]["finalizers"] = json!(["example.com/stay"]));
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        assert!(is_going(&world, "low"));
        let version = world.server().resource_version();
        world.add_node(workload::node("small", 100, 8000, 110));
        world.pass(10 * MINUTE).await;
        let (_, why) = world.explanation("p").unwrap_or_default();
        assert!(
            why.ends_with("preemption: not eligible due to a terminating pod on the nominated node."),
            "{why}"
        );
        assert!(is_there(&world, "other"));
        let history = world.server().history();
        let later = history
            .iter()
            .filter(|write| write.rv > version && write.user_agent.starts_with("plimsoll"));
        let to_others =
            later.filter(|write| write.object["metadata"]["name"] != "p" && write.resource.plural == "pods");
        assert_eq!(to_others.count(), 0);
        world.edit_pod("low", |pod| pod["metadata"]["finalizers"] = json!([]));
        world
            .until("the preemptor is bound", 10 * SECOND, || world.node_of("p").is_some())
            .await;
        world.check();
    });
}

/// A preemptor to which something happens while the patch of its victim is on its way: the victim stays.
fn spared(seed: u64, happens: fn(&World, &RunningReplica)) {
    run(async move {
        let (world, replica) = filled(seed, Setup::default(), &[("low", 800)], 0).await;
        let slow = Action::Latency { millis: 2_000 };
        world
            .server()
            .faults()
            .add(Rule::new(rules::status_patches().name("low"), slow).times(1));
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        happens(&world, &replica);
        world.pass(30 * SECOND).await;
        assert!(is_there(&world, "low") && !is_going(&world, "low"));
        assert_eq!(writes_to(&world, "low"), ["status"]);
        assert!(world.events("Preempted").is_empty());
        world.check();
    });
}

#[test]
fn nobody_goes_for_a_preemptor_that_was_deleted() {
    spared(305, |world, _| world.delete_pod("p"));
}

#[test]
fn nobody_goes_for_a_preemptor_that_was_bound_by_somebody_else() {
    spared(306, |world, _| {
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.server().bind("default", "p", "n2").unwrap_or_default();
    });
}

#[test]
fn nobody_goes_for_a_preemptor_whose_profile_a_changed_configuration_leaves_out() {
    spared(321, |_, replica| {
        let mut other = Setup::default();
        "other".clone_into(&mut other.profile.scheduler_name);
        let note = "loaded a test's configuration".to_owned();
        replica.reconfigurer().reconfigure(other.assembled(), note);
    });
}

#[test]
fn the_preemption_of_a_higher_pod_takes_the_place_of_one_on_its_node() {
    run(async {
        let (world, _replica) = filled(307, Setup::default(), &[("low", 900)], 0).await;
        let slow = Action::Latency { millis: 2_000 };
        world
            .server()
            .faults()
            .add(Rule::new(rules::status_patches().name("low"), slow).times(1));
        world.add_pod(high("p", 900));
        world.pass(SECOND).await;
        world.add_pod(workload::of_class(workload::pod("q", 900, 10), "highest", 0));
        world
            .until("the higher one is bound", 10 * SECOND, || world.node_of("q").is_some())
            .await;
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("p"), None);
        assert_eq!(world.events("Preempted").len(), 1);
        assert_eq!(
            world.pod("p").unwrap_or_default()["status"]["nominatedNodeName"],
            Value::Null
        );
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_pod_of_the_victims_name_that_came_later_is_left_alone() {
    run(async {
        let (world, _replica) = filled(308, Setup::default(), &[("low", 800)], 0).await;
        let slow = Action::Latency { millis: 2_000 };
        world
            .server()
            .faults()
            .add(Rule::new(rules::deletions().name("low"), slow).times(1));
        world.add_pod(high("p", 600));
        world.pass(SECOND).await;
        world.delete_pod("low");
        world.add_pod(workload::of_class(workload::pod("low", 300, 10), "", 0));
        world
            .until("the preemptor is bound", 10 * SECOND, || world.node_of("p").is_some())
            .await;
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("low").as_deref(), Some("n1"));
        assert_eq!(disruption(&world, "low"), None);
        world.check();
    });
}

#[test]
fn many_preemptors_at_once_are_all_placed_and_nobody_goes_in_vain() {
    run(async {
        let world = World::new(309);
        world.add_priority_class("high", 1000);
        for number in 0..20 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
        }
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        for number in 0..40 {
            let pod = workload::pod(&format!("low-{number}"), 500, 10);
            world.add_pod(workload::of_class(pod, "", 5));
        }
        world.until_bound(40, 20 * SECOND).await;
        for number in 0..30 {
            world.add_pod(high(&format!("p-{number}"), 500));
        }
        world.pass_with_kubelets(40 * SECOND).await;
        let placed = invariants::placements(world.server());
        let high_ones = placed.keys().filter(|pod| pod.starts_with("p-")).count();
        assert_eq!((high_ones, placed.len()), (30, 40), "{placed:?}");
        world.check();
    });
}

#[test]
fn a_plan_that_got_lost_holds_its_pod_until_the_deadline_of_parked_pods() {
    run(async {
        let (world, _replica) = filled(310, Setup::default(), &[("low", 800)], 0).await;
        // No mailbox loses messages: this stands for a bug.
        world.trace().lose("Evictor", "Preempt default/p ", 1);
        world.add_pod(high("p", 600));
        world.pass(4 * MINUTE).await;
        assert_eq!(world.node_of("p"), None);
        world
            .until("the preemptor is bound", 2 * MINUTE, || world.node_of("p").is_some())
            .await;
    });
}

#[test]
fn a_budget_that_the_scheduler_has_not_heard_of_yet_is_kept_by_the_api_server() {
    run(async {
        let (world, _replica) = filled(311, hard(), &[("low", 800)], 0).await;
        world.server().faults().add(Rule::new(
            rules::watches("poddisruptionbudgets.policy"),
            Action::Latency { millis: 60_000 },
        ));
        world.add_budget("low", 0);
        world.add_pod(high("p", 600));
        world.pass(10 * SECOND).await;
        assert!(is_there(&world, "low") && !is_going(&world, "low"));
        assert_eq!(world.node_of("p"), None);
        assert!(world.events("Preempted").is_empty());
        world.allow_disruptions("low", 1);
        world.server().faults().clear();
        world
            .until("the preemptor is bound", 6 * MINUTE, || world.node_of("p").is_some())
            .await;
        world.check();
    });
}
