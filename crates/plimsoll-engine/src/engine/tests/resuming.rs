use plimsoll_framework::EffectReply;

use super::*;

fn asking() -> Cluster {
    let mut cluster = Cluster::new(ProfileBuilder::new().oracle().build());
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    cluster
}

#[expect(clippy::unnecessary_wraps, reason = "the reply of an effect")]
fn banned(nodes: &[&'static str]) -> EffectReply {
    Ok(Box::new(nodes.to_vec()))
}

/// Begins and stops at the question.
fn ask(cluster: &mut Cluster, pod: &Arc<Pod>) {
    cluster.add(pod);
    let Step::Needs(effect) = cluster.begin(pod) else {
        panic!("no question")
    };
    assert_eq!(effect.plugin, "Oracle");
    assert!(cluster.engine.is_waiting());
}

#[track_caller]
fn placed(step: Step) -> Placement {
    match step {
        Step::Done(Outcome::Placed(placement)) => placement,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cycle_stops_for_io_and_goes_on_with_the_reply() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("a", 100));
    assert_eq!(placed(cluster.resume(banned(&["n2"]))).node, "n1");
    assert!(!cluster.engine.is_waiting());
}

#[test]
fn what_came_back_is_explained_like_any_rejection() {
    let mut cluster = asking();
    cluster.add_node("n3", 1);
    ask(&mut cluster, &pod("a", 100));
    let Step::Done(Outcome::Unschedulable(diagnosis)) = cluster.resume(banned(&["n1", "n2"])) else {
        panic!("placed")
    };
    assert_eq!(
        diagnosis.message,
        "0/3 nodes are available: 1 Insufficient cpu, 2 the oracle said no."
    );
    assert_eq!(diagnosis.plugins, ["Fit", "Oracle"]);
}

#[test]
fn a_failed_effect_fails_the_attempt() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("a", 100));
    let Step::Done(Outcome::Failed { message, .. }) = cluster.resume(Err("no route".to_owned())) else {
        panic!("went on")
    };
    assert_eq!(message, r#"running "Oracle" filter plugin: no route"#);
}

#[test]
fn changes_that_arrive_meanwhile_are_held_back_and_not_lost() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("a", 100));
    let judged_at = cluster.engine.applied();
    cluster.add_node("n3", 1000);
    assert_eq!(cluster.engine.applied(), judged_at);
    assert_eq!(cluster.engine.columns().node_count(), 2);
    let Step::Done(Outcome::Unschedulable(diagnosis)) = cluster.resume(banned(&["n1", "n2"])) else {
        panic!("placed")
    };
    assert_eq!(diagnosis.judged_at, judged_at, "the queue must replay the new node");
    assert_eq!(cluster.engine.applied(), judged_at.next());
    assert_eq!(cluster.engine.columns().node_count(), 3);
}

#[test]
fn the_chosen_node_is_checked_again_and_another_is_chosen_when_it_filled_up() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("a", 600));
    cluster.add(&fixture::assigned(&pod("foreign", 600), "n2"));
    let Step::Needs(_) = cluster.resume(banned(&[])) else {
        panic!("n2 is full, so the oracle is asked afresh")
    };
    assert_eq!(placed(cluster.resume(banned(&[]))).node, "n1");
    assert_eq!((cluster.used("n1"), cluster.used("n2")), (600, 600));
}

#[test]
fn the_chosen_node_may_have_gone_and_its_row_been_given_away() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("a", 600));
    cluster.apply(Delta::NodeDeleted(node("n2", 1000)));
    cluster.add_node("n9", 1000);
    let Step::Needs(_) = cluster.resume(banned(&[])) else {
        panic!("n2 is gone")
    };
    assert_eq!(placed(cluster.resume(banned(&["n1"]))).node, "n9");
}

#[test]
fn a_change_that_does_not_matter_leaves_the_choice() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("a", 600));
    cluster.add_node("n3", 1000);
    assert_eq!(placed(cluster.resume(banned(&[]))).node, "n2");
}

#[test]
fn a_pod_that_went_meanwhile_is_not_claimed() {
    let mut cluster = asking();
    let a = pod("a", 600);
    ask(&mut cluster, &a);
    cluster.apply(Delta::PodDeleted(Arc::clone(&a)));
    let Step::Done(Outcome::Dropped(reason)) = cluster.resume(banned(&[])) else {
        panic!("claimed")
    };
    assert_eq!(reason, DropReason::Gone);
    assert_eq!(cluster.engine.claims().count(), 0);
}

#[test]
fn room_given_up_meanwhile_is_announced_only_when_the_columns_show_it() {
    let mut cluster = asking();
    ask(&mut cluster, &pod("first", 900));
    let first = placed(cluster.resume(banned(&[])));
    ask(&mut cluster, &pod("second", 100));
    cluster.said();
    cluster.answer(
        first.claim,
        ClaimInput::Refused {
            message: "no".to_owned(),
        },
    );
    assert_eq!(cluster.said(), ["failed"]);
    assert_eq!(cluster.used("n2"), 900);
    cluster.resume(banned(&["n1", "n2"]));
    assert_eq!(cluster.said(), ["released"]);
    assert_eq!(cluster.used("n2"), 0);
}

#[test]
fn a_reply_that_nobody_waits_for_is_harmless() {
    let step = asking().resume(banned(&[]));
    assert!(matches!(step, Step::Done(Outcome::Dropped(DropReason::NotWaiting))));
}
