use plimsoll_framework::PreFilterOutcome;
use plimsoll_model::Effect;

use super::*;

#[test]
fn a_pod_that_may_not_preempt_is_told_so_and_keeps_its_nomination() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.run(guest("low", "n1", "2", 0));
    let diagnosis = cluster.refuse_built(preemptor("1").never_preempts().nominated("n1"));
    assert!(
        diagnosis
            .message
            .ends_with("preemption: not eligible due to preemptionPolicy=Never."),
        "{}",
        diagnosis.message
    );
    assert_eq!((diagnosis.nominate, diagnosis.preemption), (Nomination::Keep, None));
    assert!(diagnosis.preemption_tried);
}

#[test]
fn pods_of_the_same_priority_are_never_victims() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.run(guest("same", "n1", "2", 100));
    let diagnosis = cluster.refuse_built(preemptor("1").nominated("n1"));
    let expected = "0/1 nodes are available: 1 No preemption victims found for incoming pod.";
    assert_eq!(said(&diagnosis), expected);
    assert_eq!(diagnosis.nominate, Nomination::Clear);
}

#[test]
fn each_node_says_why_preemption_does_not_help_there() {
    let mut cluster = Cluster::with_nodes(profile(), &["same", "mixed", "small", "tainted", "n1"]);
    cluster.set_node(node("small").cpu("1").memory("8Gi").pods(10).build());
    let tainted = node("tainted").cpu("2").memory("8Gi").pods(10);
    cluster.set_node(tainted.taint("a", "b", Effect::NoSchedule).build());
    cluster.run(guest("same", "same", "2", 100));
    cluster.run(guest("more", "mixed", "1", 200));
    cluster.run(guest("less", "mixed", "1", 0));
    cluster.run(guest("less-too", "tainted", "2", 0));
    cluster.run(guest("port", "n1", "1", 100).host_port(80));
    cluster.run(guest("lesser", "n1", "1", 0));
    let diagnosis = cluster.refuse_built(preemptor("1500m").host_port(80));
    assert_eq!(
        said(&diagnosis),
        "0/5 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, 1 node(s) didn't have \
         free ports for the requested pod ports, 2 Preemption is not helpful for scheduling."
    );
}

#[test]
fn where_all_nodes_are_ruled_out_preemption_is_not_helpful() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(guest("low", "n1", "2", 0));
    let diagnosis = cluster.refuse_built(preemptor("3").nominated("n1"));
    let expected = "0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(said(&diagnosis), expected);
    assert_eq!(diagnosis.nominate, Nomination::Clear);
}

#[test]
fn while_victims_are_going_on_its_node_a_pod_waits() {
    let waits = "not eligible due to a terminating pod on the nominated node.";
    let low = || guest("low", "n1", "1", 0);
    let other_reason = |pod: &mut Pod| {
        if let Some(condition) = &mut pod.status.disruption_target {
            condition.reason = "EvictionByEvictionAPI".into();
        }
    };
    let not_true = |pod: &mut Pod| {
        if let Some(condition) = &mut pod.status.disruption_target {
            condition.status = "False".into();
        }
    };
    let cases = [
        ("evicted by us", being_preempted(low()), true),
        ("deleted by others", low().terminating(), false),
        ("evicted by others", being_preempted(low()).with(other_reason), false),
        ("not evicted after all", being_preempted(low()).with(not_true), false),
        ("as important", being_preempted(low().priority(100)), false),
        (
            "marked, but not going",
            being_preempted(low()).with(|pod| pod.deletion_timestamp = None),
            false,
        ),
    ];
    for (case, going, expected) in cases {
        let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
        cluster.run(going);
        cluster.run(guest("other", "n1", "1", 0));
        cluster.run(guest("another", "n2", "2", 0));
        let diagnosis = cluster.refuse_built(preemptor("2").nominated("n1"));
        assert_eq!(said(&diagnosis) == waits, expected, "{case}: {diagnosis:?}");
        if expected {
            assert_eq!((&diagnosis.nominate, &diagnosis.preemption), (&Nomination::Keep, &None));
        }
    }
}

#[test]
fn a_pod_whose_node_will_not_do_any_more_looks_elsewhere() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(being_preempted(guest("going", "n1", "2", 0)));
    cluster.run(guest("low", "n2", "2", 0));
    let cordoned = node("n1").cpu("2").memory("8Gi").pods(10).unschedulable();
    cluster.set_node(cordoned.build());
    let diagnosis = cluster.refuse_built(preemptor("2").nominated("n1"));
    assert_eq!(chosen(&diagnosis), ("n2", vec!["low"]));
}

#[test]
fn what_was_decided_counts_before_the_status_shows_it() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(guest("low", "n1", "2", 0));
    cluster.run(guest("low2", "n2", "2", 1));
    let first = Arc::new(preemptor("2").build());
    assert_eq!(chosen(&cluster.refuse(&Arc::clone(&first))).0, "n1");
    let old = Arc::new(guest("low", "n1", "2", 0).build());
    let new = Arc::new(being_preempted(guest("low", "n1", "2", 0)).build());
    cluster.apply(Delta::PodUpdated { old, new });
    let Step::Done(Outcome::Unschedulable(diagnosis)) = cluster.begin(&first) else {
        panic!("not refused");
    };
    let expected = "not eligible due to a terminating pod on the nominated node.";
    assert_eq!(said(&diagnosis), expected);
}

#[test]
fn a_pod_turned_away_as_a_whole_may_preempt_anywhere_if_its_plugin_says_that_this_could_help() {
    let stop = |code: Code| {
        move |profile: &mut Profile| {
            let builder = ProfileBuilder::new();
            let whole = builder.pre_filter("Whole", move |_| {
                PreFilterOutcome::Stop(Status::new(code, "", "not today"))
            });
            profile.pre_filter.extend(whole.build().pre_filter);
        }
    };
    let refused = |code: Code| {
        let mut cluster = Cluster::with_nodes(profile_with(&FeatureGates::default(), stop(code)), &["n1", "n2"]);
        cluster.run(guest("low", "n1", "2", 0));
        cluster.refuse_built(preemptor("1"))
    };
    let diagnosis = refused(Code::Unschedulable);
    assert!(
        diagnosis.message.starts_with("0/2 nodes are available: not today."),
        "{diagnosis:?}"
    );
    assert_eq!(chosen_of(&diagnosis), Some(("n1", vec!["low"])));
    let diagnosis = refused(Code::UnschedulableAndUnresolvable);
    let expected = "0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(said(&diagnosis), expected);
}

fn chosen_of(diagnosis: &Diagnosis) -> Option<(&str, Vec<&str>)> {
    diagnosis.preemption.as_ref().map(|_| chosen(diagnosis))
}

#[test]
fn a_node_where_nobody_has_to_go_after_all_is_an_error_unless_there_are_candidates() {
    let whole = |profile: &mut Profile| {
        let stop = ProfileBuilder::new().pre_filter("Whole", |_| {
            PreFilterOutcome::Stop(Status::new(Code::Unschedulable, "", "not today"))
        });
        profile.pre_filter.extend(stop.build().pre_filter);
    };
    let mut cluster = Cluster::with_nodes(profile_with(&FeatureGates::default(), whole), &["n1", "n2"]);
    cluster.run(guest("low", "n1", "1", 0));
    cluster.run(guest("low-too", "n2", "1", 0));
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert!(
        [
            r#"[expected at least one victim pod on node "n1", expected at least one victim pod on node "n2"]"#,
            r#"[expected at least one victim pod on node "n2", expected at least one victim pod on node "n1"]"#,
        ]
        .contains(&said(&diagnosis)),
        "{diagnosis:?}"
    );
    assert_eq!(diagnosis.nominate, Nomination::Keep);
    cluster.run(guest("third", "n2", "1", 0));
    let again = Arc::new(preemptor("1").uid("again").build());
    assert_eq!(chosen(&cluster.refuse(&again)).0, "n2");
}

#[test]
fn nodes_outside_a_restriction_are_no_candidates() {
    let restrict = |profile: &mut Profile| {
        let only_first = ProfileBuilder::new().pre_filter("Picky", |(_, nodes)| {
            PreFilterOutcome::Restrict(Restriction {
                nodes: nodes.iter().take(1).collect(),
                absent: Vec::new(),
            })
        });
        profile.pre_filter.extend(only_first.build().pre_filter);
    };
    let mut cluster = Cluster::with_nodes(profile_with(&FeatureGates::default(), restrict), &["n1", "n2"]);
    cluster.run(guest("same", "n1", "2", 100));
    cluster.run(guest("low", "n2", "2", 0));
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(
        said(&diagnosis),
        "0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    );
}
