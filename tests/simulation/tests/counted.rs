//! What metrics count where kube-scheduler counts otherwise: the sizes of the cache, calls of hints, and events of users.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Match, Rule};
use plimsoll_simulation::world::World;
use plimsoll_simulation::{rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);

/// The sum of the series whose names and labels begin with this.
fn total(world: &World, beginning: &str) -> u64 {
    let text = world.metrics("replica-a").text().expect("they can be told");
    let values = text.lines().filter(|line| line.starts_with(beginning));
    let values = values.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    values.sum()
}

fn sizes(world: &World) -> [u64; 3] {
    ["nodes", "pods", "assumed_pods"].map(|kind| total(world, &format!("scheduler_cache_size{{type=\"{kind}\"}}")))
}

#[test]
fn cache_sizes_follow_each_message_and_count_a_pod_from_the_moment_at_which_it_is_given_a_node() {
    run(async {
        let (world, _replica) = World::led(731).await;
        assert_eq!(sizes(&world), [0, 0, 0]);
        let hold = Action::Hold {
            gate: "binding".to_owned(),
        };
        world.server().faults().add(Rule::new(rules::bindings(), hold));
        world.add_node(workload::node("n1", 1_000, 8_000, 110));
        // No timer of a second has to come round.
        world
            .until("the node counts", SECOND / 4, || sizes(&world) == [1, 0, 0])
            .await;
        world.add_pod(workload::pod("a", 100, 10));
        world
            .until("the claim counts", SECOND / 4, || sizes(&world) == [1, 1, 1])
            .await;
        assert_eq!(world.node_of("a"), None);
        world.server().faults().release("binding");
        world
            .until("it is there", SECOND / 4, || sizes(&world) == [1, 1, 0])
            .await;
        assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        world.edit_pod("a", |pod| pod["metadata"]["labels"] = serde_json::json!({ "a": "b" }));
        world.pass(SECOND / 4).await;
        assert_eq!(sizes(&world), [1, 1, 0]);
    });
}

#[test]
fn a_hint_is_asked_once_for_pods_that_are_alike_and_told_of_once() {
    run(async {
        let (world, _replica) = World::led(732).await;
        world.add_node(workload::node("n1", 100, 8_000, 110));
        for pod in ["a", "b", "c"] {
            world.add_pod(workload::pod(pod, 2_000, 10));
        }
        world.pass(5 * SECOND).await;
        let calls = || {
            total(
                &world,
                "scheduler_queueing_hint_execution_duration_seconds_count{event=\"NodeAdd\",hint=\"QueueSkip\",\
                 plugin=\"NodeResourcesFit\"}",
            )
        };
        assert_eq!(calls(), 0);
        world.add_node(workload::node("n2", 200, 8_000, 110));
        world.pass(SECOND).await;
        assert_eq!(calls(), 1);
    });
}

#[test]
fn sixteen_events_are_written_at_once_and_those_that_wait_past_their_term_are_dropped_and_counted() {
    const PODS: usize = 40;
    run(async {
        let (world, _replica) = World::led(733).await;
        let hold = Action::Hold {
            gate: "events".to_owned(),
        };
        let events = Match::verbs(&["create"]).resource("events.events.k8s.io");
        world.server().faults().add(Rule::new(events, hold));
        world.add_node(workload::node("n1", 8_000, 8_000, 110));
        for pod in 0..PODS {
            world.add_pod(workload::pod(&format!("p{pod}"), 100, 10));
        }
        world.until_bound(PODS, 3 * SECOND).await;
        world.pass(SECOND).await;
        assert_eq!(world.server().faults().held("events"), 16);
        assert_eq!(total(&world, "plimsoll_events_dropped_total"), 0);
        let requests = rules::lease_requests().user_agent("replica-a");
        let refused = Action::Fail {
            failure: plimsoll_apiserver::fault::Failure::code(500),
        };
        world.server().faults().add(Rule::new(requests, refused));
        world.pass(12 * SECOND).await;
        world.server().faults().release("events");
        world.pass(SECOND).await;
        // What was on its way arrives, once or again; what waited does not.
        let written = world.events("Scheduled").len();
        assert!(written <= 16, "{written}");
        assert_eq!(total(&world, "plimsoll_events_dropped_total"), PODS as u64 - 16);
    });
}
