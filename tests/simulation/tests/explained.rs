//! Why a pod is pending, asked of whole replicas.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use plimsoll_actors::explanation::{Explanation, NotLeading, PodState};
use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);

async fn explained(replica: &RunningReplica, pod: &str) -> Explanation {
    let answer = replica.explain(&format!("default/{pod}")).await.unwrap();
    serde_json::from_str(&answer.json).unwrap_or_else(|error| panic!("{error}: {}", answer.json))
}

#[test]
fn a_pod_is_explained_from_its_first_attempt_until_it_is_bound() {
    run(async {
        let world = World::new(1);
        world.add_node(workload::node("small", 100, 8000, 110));
        world.add_node(workload::node("medium", 400, 8000, 110));
        let replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 500, 100));
        world.pass(SECOND).await;
        let explanation = explained(&replica, "a").await;
        assert_eq!(explanation.state, PodState::Unschedulable);
        let queue = explanation.queue.unwrap();
        assert_eq!((queue.place.as_str(), queue.attempts), ("unschedulable", 1));
        assert_eq!(queue.rejected_by, ["NodeResourcesFit"]);
        assert!(queue.next_look.is_some());
        let attempt = &explanation.attempts[0];
        assert!(
            attempt
                .message
                .starts_with("0/2 nodes are available: 2 Insufficient cpu.")
        );
        let rejection = &attempt.rejections[0];
        assert_eq!(
            (rejection.plugin.as_str(), rejection.nodes, rejection.reason.as_str()),
            ("NodeResourcesFit", 2, "Insufficient cpu")
        );
        assert_eq!(rejection.examples.len(), 2);
        let nearest = explanation.would_help.unwrap().nearest;
        assert_eq!(
            (nearest[0].node.as_str(), nearest[0].lacks[0].what.as_str()),
            ("medium", "cpu: needs 0.5, the whole node has 0.4")
        );
        world.add_node(workload::node("large", 1000, 8000, 110));
        world.until_bound(1, 15 * SECOND).await;
        world.pass(SECOND).await;
        let explanation = explained(&replica, "a").await;
        assert_eq!(
            (explanation.state, explanation.node.as_deref()),
            (PodState::Bound, Some("large"))
        );
        assert!(
            explanation.attempts.is_empty(),
            "nothing is kept of a pod that is bound"
        );
        assert_eq!(explained(&replica, "nobody").await.state, PodState::Unknown);
        world.check();
    });
}

#[test]
fn a_gated_pod_and_one_of_another_scheduler_are_explained() {
    run(async {
        let world = World::new(2);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let mut gated = workload::pod("gated", 100, 100);
        gated["spec"]["schedulingGates"] = json!([{ "name": "example.com/quota" }]);
        world.add_pod(gated);
        let mut foreign = workload::pod("foreign", 100, 100);
        foreign["spec"]["schedulerName"] = json!("another");
        world.add_pod(foreign);
        world.pass(SECOND).await;
        let explanation = explained(&replica, "gated").await;
        assert_eq!(explanation.state, PodState::Gated);
        assert_eq!(
            explanation.waits_for[0].what,
            "its scheduling gates to be removed: example.com/quota"
        );
        let explanation = explained(&replica, "foreign").await;
        assert_eq!(explanation.state, PodState::NotOurs);
        assert!(explanation.summary.contains("another"), "{}", explanation.summary);
    });
}

#[test]
fn a_preempting_pod_names_its_victims_until_they_are_gone() {
    run(async {
        let world = World::new(3);
        world.add_priority_class("high", 1000);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::of_class(workload::pod("low", 800, 10), "", 30));
        world.until_bound(1, 10 * SECOND).await;
        world.run_pod("low");
        world.add_pod(workload::of_class(workload::pod("high", 600, 10), "high", 0));
        world.pass(3 * SECOND).await;
        let explanation = explained(&replica, "high").await;
        assert_eq!(explanation.nominated_node.as_deref(), Some("n1"), "{explanation:?}");
        let victims = explanation.waits_for.iter().find(|wait| wait.kind == "Victims");
        let victims = victims.unwrap_or_else(|| panic!("{explanation:?}"));
        assert_eq!(victims.what, "its victims on node n1 to go");
        assert_eq!(victims.pods, ["default/low is going"]);
        let first = explanation.attempts.last().unwrap();
        assert_eq!(
            (first.nominated_node.as_deref(), first.victims.as_slice()),
            (Some("n1"), ["default/low".to_owned()].as_slice())
        );
        world.pass_with_kubelets(Duration::from_mins(1)).await;
        assert_eq!(explained(&replica, "high").await.state, PodState::Bound);
        world.check();
    });
}

#[test]
fn a_standby_answers_with_the_leaders_address_from_the_lease() {
    run(async {
        let world = World::new(4);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let leader = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let standby = world.start("replica-b", Setup::default()).await;
        world.add_pod(workload::pod("a", 5000, 100));
        world.pass(10 * SECOND).await;
        let answer = standby.explain("default/a").await.unwrap();
        assert_eq!(answer.status.as_u16(), 503);
        let said: NotLeading = serde_json::from_str(&answer.json).unwrap();
        assert_eq!(
            (said.leader.as_str(), said.leader_address.as_deref()),
            ("replica-a", Some("https://replica-a:10259"))
        );
        assert_eq!(explained(&leader, "a").await.state, PodState::Unschedulable);
        // The next leader says where it serves, and knows the pod.
        leader.kill();
        world.pass_with_kubelets(Duration::from_mins(1)).await;
        let explanation = explained(&standby, "a").await;
        assert_eq!(explanation.state, PodState::Unschedulable);
        let third = world.start("replica-c", Setup::default()).await;
        world.pass(10 * SECOND).await;
        let answer = third.explain("default/a").await.unwrap();
        let said: NotLeading = serde_json::from_str(&answer.json).unwrap();
        assert_eq!(said.leader_address.as_deref(), Some("https://replica-b:10259"));
    });
}
