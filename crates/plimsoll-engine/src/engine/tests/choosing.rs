use std::collections::BTreeMap;

use plimsoll_framework::{Code, PreFilterOutcome, Restriction, Status};
use plimsoll_model::columns::{NodeIndex, NodeSet};

use super::*;

fn plain() -> Cluster {
    Cluster::new(ProfileBuilder::new().build())
}

#[test]
fn the_best_node_is_chosen_and_counts_at_once() {
    let mut cluster = plain();
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    let placement = cluster.place(&pod("a", 600));
    assert_eq!(placement.node, "n2");
    assert_eq!((placement.evaluated_nodes, placement.feasible_nodes), (2, 2));
    assert_eq!(cluster.used("n2"), 600);
    assert_eq!(cluster.said(), ["send"]);
    let second = cluster.place(&pod("b", 600));
    assert_eq!(
        (second.node.as_str(), second.evaluated_nodes, second.feasible_nodes),
        ("n1", 2, 1)
    );
}

#[test]
fn equal_nodes_are_chosen_with_equal_chance_and_the_same_seed_repeats_it() {
    let run = || {
        let mut cluster = Cluster::new(ProfileBuilder::new().flat().build());
        for name in ["n1", "n2", "n3"] {
            cluster.add_node(name, 100_000);
        }
        (0..90)
            .map(|number| cluster.place(&pod(&format!("p{number}"), 1)).node)
            .collect::<Vec<_>>()
    };
    let first = run();
    assert_eq!(first, run());
    let mut counts = BTreeMap::new();
    for node in &first {
        *counts.entry(node.clone()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 3);
    assert!(counts.values().all(|count| (15..=45).contains(count)), "{counts:?}");
}

#[test]
fn a_pod_that_fits_nowhere_says_why() {
    let mut cluster = plain();
    cluster.add_node("n1", 100);
    cluster.add_node("n2", 100);
    let diagnosis = cluster.refuse(&pod("a", 600));
    assert_eq!(diagnosis.message, "0/2 nodes are available: 2 Insufficient cpu.");
    assert_eq!(diagnosis.plugins, ["Fit"]);
    assert_eq!(diagnosis.judged_at, cluster.engine.applied());
    assert_eq!(diagnosis.nominate, Nomination::Clear);
    assert!(!diagnosis.no_nodes);
}

#[test]
fn without_nodes_no_plugin_is_blamed() {
    let diagnosis = plain().refuse(&pod("a", 1));
    assert_eq!(diagnosis.message, "no nodes available to schedule pods");
    assert!(diagnosis.plugins.is_empty() && diagnosis.no_nodes);
}

fn stop(code: Code) -> impl Fn((Pod, NodeSet)) -> PreFilterOutcome + Send + Sync {
    move |_| PreFilterOutcome::Stop(Status::new(code, "", "not today"))
}

#[test]
fn a_pre_filter_can_turn_the_pod_away_as_a_whole() {
    for code in [Code::Unschedulable, Code::UnschedulableAndUnresolvable] {
        let mut cluster = Cluster::new(ProfileBuilder::new().pre_filter("Whole", stop(code)).build());
        cluster.add_node("n1", 1000);
        let diagnosis = cluster.refuse(&pod("a", 1));
        assert_eq!(diagnosis.message, "0/1 nodes are available: not today.");
        assert_eq!(diagnosis.plugins, ["Whole"]);
    }
}

#[test]
fn a_pre_filter_error_is_an_internal_failure() {
    let mut cluster = Cluster::new(ProfileBuilder::new().pre_filter("Whole", stop(Code::Error)).build());
    cluster.add_node("n1", 1000);
    let Outcome::Failed { message, .. } = cluster.try_new(&pod("a", 1)) else {
        panic!("not failed")
    };
    assert_eq!(message, r#"running PreFilter plugin "Whole": not today"#);
}

fn only(row: u32) -> impl Fn((Pod, NodeSet)) -> PreFilterOutcome + Send + Sync {
    move |_| PreFilterOutcome::Restrict([NodeIndex::new(row)].into_iter().collect())
}

#[test]
fn restrictions_are_intersected_and_named() {
    let mut cluster = Cluster::new(ProfileBuilder::new().pre_filter("B", only(0)).build());
    cluster.add_node("n1", 100);
    cluster.add_node("n2", 9000);
    let diagnosis = cluster.refuse(&pod("a", 600));
    assert_eq!(
        diagnosis.message,
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [B]."
    );
    assert_eq!(diagnosis.plugins, ["B", "Fit"]);

    let mut cluster = Cluster::new(
        ProfileBuilder::new()
            .pre_filter("B", only(0))
            .pre_filter("A", only(1))
            .build(),
    );
    cluster.add_node("n1", 100);
    cluster.add_node("n2", 100);
    let diagnosis = cluster.refuse(&pod("a", 1));
    assert_eq!(
        diagnosis.message,
        "0/2 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously."
    );
    assert_eq!(diagnosis.plugins, ["A", "B"]);
}

#[test]
fn a_nominated_node_that_the_pre_filters_leave_out_is_not_looked_at() {
    let mut cluster = Cluster::new(ProfileBuilder::new().pre_filter("B", only(0)).build());
    cluster.add_node("n1", 100);
    cluster.add_node("n2", 9000);
    assert_eq!(
        cluster.refuse(&nominated("a", 600, 0, "n2")).message,
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [B]."
    );
}

#[test]
fn nodes_that_are_named_and_not_there_leave_none_and_the_message_of_those_left_out() {
    let gone = |names: &'static [&'static str]| {
        move |_| {
            let absent = names.iter().map(|name| (*name).into()).collect();
            PreFilterOutcome::Restrict(Restriction {
                absent,
                ..Restriction::default()
            })
        }
    };
    let cases: [(&[&str], &[&str], &str); 2] = [
        (&["x"], &["x", "y"], "2 node(s) didn't satisfy plugin(s) [A B]."),
        (&["x"], &["y"], "node(s) didn't satisfy plugin(s) [A B] simultaneously."),
    ];
    for (one, other, message) in cases {
        let profile = ProfileBuilder::new()
            .pre_filter("A", gone(one))
            .pre_filter("B", gone(other));
        let mut cluster = Cluster::new(profile.build());
        cluster.add_node("n1", 100);
        cluster.add_node("n2", 100);
        let diagnosis = cluster.refuse(&pod("a", 1));
        assert_eq!(diagnosis.message, format!("0/2 nodes are available: {message}"));
        assert_eq!(diagnosis.plugins, ["A", "B"]);
    }
}

#[test]
fn a_pre_filter_that_skips_switches_its_filter_off() {
    let mut cluster = Cluster::new(
        ProfileBuilder::new()
            .pre_filter("Fit", |_| PreFilterOutcome::Skip)
            .build(),
    );
    cluster.add_node("n1", 100);
    assert_eq!(cluster.place(&pod("a", 9000)).node, "n1");
    let asking = ProfileBuilder::new().oracle();
    let mut cluster = Cluster::new(asking.pre_filter("Oracle", |_| PreFilterOutcome::Skip).build());
    cluster.add_node("n1", 100);
    assert_eq!(cluster.place(&pod("a", 1)).node, "n1", "without I/O");
}

#[test]
fn the_nominated_node_is_the_only_one_looked_at_when_it_fits() {
    let mut cluster = plain();
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    let placement = cluster.place(&nominated("a", 600, 0, "n1"));
    assert_eq!(
        (
            placement.node.as_str(),
            placement.evaluated_nodes,
            placement.feasible_nodes
        ),
        ("n1", 1, 1)
    );
    assert_eq!(cluster.engine.nominations().count(), 0);
    assert_eq!(cluster.place(&nominated("b", 600, 0, "n1")).node, "n2");
}

#[test]
fn room_made_for_a_nominated_pod_is_kept_from_pods_of_no_higher_priority() {
    let mut cluster = plain();
    cluster.add_node("n1", 1000);
    cluster.add(&nominated("big", 800, 5, "n1"));
    let before = fixture::view(cluster.engine.columns());
    let diagnosis = cluster.refuse(&pod("low", 600));
    assert_eq!(diagnosis.message, "0/1 nodes are available: 1 Insufficient cpu.");
    assert_eq!(fixture::view(cluster.engine.columns()), before);
    assert_eq!(cluster.place(&nominated("higher", 600, 6, "none")).node, "n1");
}

#[test]
fn pods_that_are_not_to_be_tried_are_dropped_with_the_reason() {
    let mut cluster = plain();
    cluster.add_node("n1", 1000);
    let a = pod("a", 100);
    let Step::Done(Outcome::Dropped(reason)) = cluster.begin(&a) else {
        panic!("tried")
    };
    assert_eq!(reason, DropReason::Gone);

    cluster.place(&a);
    let Step::Done(Outcome::Dropped(reason)) = cluster.begin(&a) else {
        panic!("tried")
    };
    assert_eq!(reason, DropReason::Assumed);
    cluster.show(&a, "n1");
    let Step::Done(Outcome::Dropped(reason)) = cluster.begin(&a) else {
        panic!("tried")
    };
    assert_eq!(reason, DropReason::Assigned);

    let mut foreign = Pod::clone(&pod("b", 100));
    foreign.spec.scheduler_name = "other".into();
    let Outcome::Dropped(reason) = cluster.try_new(&Arc::new(foreign)) else {
        panic!("tried")
    };
    assert_eq!(reason, DropReason::UnknownProfile);

    let mut going = Pod::clone(&pod("c", 100));
    going.deletion_timestamp = Some(plimsoll_model::Timestamp::new("2026-01-01T00:00:00Z"));
    let Outcome::Dropped(reason) = cluster.try_new(&Arc::new(going)) else {
        panic!("tried")
    };
    assert_eq!(reason, DropReason::Deleting);
}

#[test]
fn each_node_is_judged_with_its_own_nominated_pods_only() {
    let mut cluster = Cluster::new(ProfileBuilder::new().duel().build());
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    cluster.add(&nominated("first", 100, 5, "n1"));
    cluster.add(&nominated("second", 500, 5, "n2"));
    // Room is another matter: there each node has its own to think of.
    assert_eq!(cluster.place(&pod("a", 600)).node, "n1");
}
