//! Every pod that the queue hands out comes back to it, whoever else binds the pod meanwhile.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, workload};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_pod_that_the_watch_shows_on_another_node_is_settled_with_the_queue() {
    run(async {
        let world = World::new(95);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        world.server().faults().add(Rule::new(rules::bindings(), hold));
        world.add_pod(workload::pod("a", 600, 10));
        world
            .until("the binding is held", 5 * SECOND, || {
                world.server().faults().held("bind") == 1
            })
            .await;
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.server().bind("default", "a", "n2").unwrap();
        world.pass(60 * SECOND).await;
        let uid = world.pod("a").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
        let settled = format!("SchedulingQueue: Settle {uid}");
        let told = world.trace().lines().iter().any(|line| line.contains(&settled));
        assert!(told, "{}", world.tail());
    });
}
