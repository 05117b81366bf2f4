//! One seed, one history.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_simulation::invariants;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};

/// Two replicas, 60 pods, the leader killed after a third of them is bound, the other one finishes.
fn kill_the_leader(seed: u64) -> (Vec<String>, BTreeMap<String, String>) {
    run(async move {
        let world = World::new(seed);
        for number in 0..8 {
            world.add_node(workload::node(&format!("n{number}"), 4000, 8000, 20));
        }
        let first = world.start("replica-a", Setup::default()).await;
        world.pass(Duration::from_secs(3)).await;
        let _second = world.start("replica-b", Setup::default()).await;
        for number in 0..20 {
            world.add_pod(workload::pod(&format!("p{number}"), 250, 64));
        }
        world.until_bound(20, Duration::from_secs(20)).await;
        for number in 20..60 {
            world.add_pod(workload::pod(&format!("p{number}"), 250, 64));
        }
        world.trace().note("kill replica-a");
        first.kill();
        world.until_bound(60, Duration::from_secs(90)).await;
        world.check();
        (world.trace().lines(), invariants::placements(world.server()))
    })
}

#[test]
fn two_runs_of_one_seed_send_the_same_messages_and_place_the_same() {
    let (first, first_placed) = kill_the_leader(42);
    let (second, second_placed) = kill_the_leader(42);
    let difference = first.iter().zip(&second).position(|(one, other)| one != other);
    if let Some(line) = difference {
        let from = line.saturating_sub(5);
        let (one, other) = (&first[from..=line], &second[from..=line]);
        panic!(
            "the traces part at line {line}:\n{}\nor\n{}",
            one.join("\n"),
            other.join("\n")
        );
    }
    assert_eq!(first.len(), second.len());
    assert_eq!(first_placed, second_placed);
    assert!(
        first
            .iter()
            .any(|line| line.contains("replica-b Supervisor: TermBegan"))
    );
}

#[test]
fn another_seed_breaks_ties_in_another_way() {
    let (_, first) = kill_the_leader(42);
    let (_, second) = kill_the_leader(43);
    assert_ne!(first, second);
}
