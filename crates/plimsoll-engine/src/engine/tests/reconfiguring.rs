use plimsoll_framework::{EffectReply, PermitOutcome};

use super::*;

fn other_scheduler() -> Profile {
    Profile {
        scheduler_name: "other".to_owned(),
        ..ProfileBuilder::new().build()
    }
}

/// A pod that already has a nomination and belongs to `other`.
fn of_other(name: &str) -> Arc<Pod> {
    let mut pod = Pod::clone(&nominated(name, 100, 0, "n1"));
    pod.spec.scheduler_name = "other".into();
    Arc::new(pod)
}

#[expect(clippy::unnecessary_wraps, reason = "the reply of an effect")]
fn banned(nodes: &[&'static str]) -> EffectReply {
    Ok(Box::new(nodes.to_vec()))
}

#[test]
fn the_next_cycle_uses_the_new_profile() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    cluster.place(&pod("a", 100));
    cluster.reconfigure(other_scheduler());
    let dropped = cluster.try_new(&pod("b", 100));
    assert!(
        matches!(dropped, Outcome::Dropped(DropReason::UnknownProfile)),
        "{dropped:?}"
    );
}

#[test]
fn the_switch_has_a_number_of_its_own() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    let before = cluster.engine.applied();
    cluster.reconfigure(ProfileBuilder::new().build());
    assert_eq!(cluster.engine.applied(), before.next());
}

#[test]
fn nominations_are_those_of_pods_that_have_a_profile() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    cluster.add(&nominated("ours", 100, 0, "n1"));
    cluster.add(&of_other("theirs"));
    let names =
        |cluster: &Cluster| -> Vec<String> { cluster.engine.nominations().map(|(uid, _)| uid.to_string()).collect() };
    assert_eq!(names(&cluster), ["uid-ours"]);
    cluster.reconfigure(other_scheduler());
    assert_eq!(names(&cluster), ["uid-theirs"]);
}

#[test]
fn a_cycle_that_waits_ends_with_the_profile_it_began_with() {
    let mut cluster = Cluster::new(ProfileBuilder::new().oracle().build());
    cluster.add_node("n1", 1000);
    let a = pod("a", 100);
    cluster.add(&a);
    let judged_at = cluster.engine.applied();
    assert!(matches!(cluster.begin(&a), Step::Needs(_)));
    cluster.reconfigure(other_scheduler());
    cluster.add_node("n2", 1000);
    assert_eq!(
        cluster.engine.applied(),
        judged_at,
        "the columns stand still under a cycle"
    );
    let Step::Done(Outcome::Unschedulable(diagnosis)) = cluster.resume(banned(&["n1"])) else {
        panic!("placed")
    };
    assert_eq!(diagnosis.plugins, ["Oracle"]);
    assert_eq!(diagnosis.judged_at, judged_at, "the queue must replay the switch");
    assert_eq!(cluster.engine.applied(), judged_at.next().next());
    assert!(matches!(
        cluster.try_new(&pod("b", 100)),
        Outcome::Dropped(DropReason::UnknownProfile)
    ));
}

#[test]
fn a_choice_made_before_the_switch_stands_and_says_that_it_is_older() {
    let mut cluster = Cluster::new(
        ProfileBuilder::new()
            .oracle()
            .permit("Gang", |_| PermitOutcome::Wait(Duration::from_secs(10)))
            .build(),
    );
    cluster.add_node("n1", 1000);
    let a = pod("a", 100);
    cluster.add(&a);
    let judged_at = cluster.engine.applied();
    assert!(matches!(cluster.begin(&a), Step::Needs(_)));
    cluster.reconfigure(other_scheduler());
    let Step::Done(Outcome::Placed(placement)) = cluster.resume(banned(&[])) else {
        panic!("not placed")
    };
    assert!(placement.waits_on_permit);
    cluster.wait(10);
    let failure = cluster.failure();
    assert_eq!((failure.plugins, failure.judged_at), (vec!["Gang"], judged_at));
}

#[test]
fn a_parked_pod_goes_on_with_the_profile_it_began_with() {
    let mut cluster = Cluster::new(
        ProfileBuilder::new()
            .permit("Gang", |_| PermitOutcome::Wait(Duration::from_secs(10)))
            .volumes()
            .build(),
    );
    cluster.add_node("n1", 1000);
    let placement = cluster.place(&pod("a", 100));
    cluster.said();
    cluster.reconfigure(other_scheduler());
    cluster
        .engine
        .allow(&placement.pod.uid, "Gang", cluster.now, &mut cluster.out);
    assert_eq!(cluster.said(), ["waited", "pre-bind"]);
    cluster
        .engine
        .pre_bind_done(placement.claim, Ok(Box::new(())), cluster.now, &mut cluster.out);
    assert_eq!(cluster.said(), ["send"]);
    cluster.answer(placement.claim, ClaimInput::Bound);
    assert_eq!(cluster.said(), ["bound"]);
}
