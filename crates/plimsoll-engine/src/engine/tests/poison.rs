use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use plimsoll_framework::PermitOutcome;

use super::*;

fn panics(cluster: &mut Cluster, pod: &Arc<Pod>) {
    cluster.add(pod);
    let caught = catch_unwind(AssertUnwindSafe(|| cluster.begin(pod)));
    assert!(caught.is_err());
    cluster.engine.abandon();
    cluster.engine.rebuild(cluster.now, &mut cluster.out);
}

#[test]
fn a_panic_in_a_filter_leaves_claims_and_columns_as_they_were() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    let claim = cluster.place(&pod("a", 600)).claim;
    // The panic strikes while the nominated pod is in the columns.
    cluster.add(&nominated("big", 300, 5, "n1"));
    let before = fixture::view(cluster.engine.columns());
    panics(&mut cluster, &pod("poison", 1));
    assert_eq!(fixture::view(cluster.engine.columns()), before);
    assert_eq!(cluster.state(claim), Some(ClaimState::Sent));
    assert_eq!(cluster.place(&pod("c", 100)).node, "n1");
}

#[test]
fn a_panic_after_the_choice_takes_the_half_made_claim_back() {
    let permit = |pod: Pod| match pod.name.name.as_str() {
        "bad" => panic!("permit"),
        _ => PermitOutcome::Allow,
    };
    let mut cluster = Cluster::new(ProfileBuilder::new().permit("Permit", permit).build());
    cluster.add_node("n1", 1000);
    let bad = pod("bad", 600);
    panics(&mut cluster, &bad);
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
    assert_eq!(cluster.place(&pod("good", 600)).node, "n1");
}

/// The claim was given up and its room with it; the pod is told of, and others are placed.
fn gives_up_the_claim(cluster: &mut Cluster) {
    let failure = cluster.failure();
    assert_eq!(failure.reason, FailureReason::SchedulerError);
    assert!(failure.message.contains("\"Binder\": panicked"), "{}", failure.message);
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
    assert_eq!(cluster.place(&pod("good", 600)).node, "n1");
}

#[test]
fn a_panic_on_the_way_to_the_binding_takes_the_claim_back() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    cluster.place(&pod("unbindable", 600));
    gives_up_the_claim(&mut cluster);
}

#[test]
fn a_panic_on_the_way_to_the_binding_takes_back_a_claim_that_had_to_wait() {
    let mut cluster = Cluster::new(ProfileBuilder::new().volumes().build());
    cluster.add_node("n1", 1000);
    let claim = cluster.place(&pod("unbindable", 600)).claim;
    cluster
        .engine
        .pre_bind_done(claim, Ok(Box::new(())), cluster.now, &mut cluster.out);
    gives_up_the_claim(&mut cluster);
}

/// A plugin that panics at both, and one beside it that notes what it is told.
fn reserving(told: &Arc<Mutex<Vec<String>>>) -> Profile {
    let told = Arc::clone(told);
    let profile = ProfileBuilder::new().reserve("Beside", move |what| {
        told.lock().unwrap().push(what);
        Ok(())
    });
    profile.reserve("Broken", |what| panic!("{what}")).build()
}

#[test]
fn a_plugin_that_panics_at_reserve_and_again_at_unreserve_costs_its_pod_alone() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut cluster = Cluster::new(reserving(&told));
    cluster.add_node("n1", 1000);
    panics(&mut cluster, &pod("bad", 600));
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
    assert_eq!(*told.lock().unwrap(), ["reserve n1", "unreserve n1"]);
}

#[test]
fn a_change_that_ends_a_claim_is_applied_whole_although_a_plugin_panics_at_unreserve() {
    let unreserving = ProfileBuilder::new().reserve("Broken", |what| match what.strip_prefix("unreserve") {
        Some(_) => panic!("{what}"),
        None => Ok(()),
    });
    let mut cluster = Cluster::new(unreserving.build());
    cluster.add_node("n1", 1000);
    let bad = pod("bad", 600);
    cluster.place(&bad);
    cluster.said();
    let before = cluster.engine.applied();
    cluster.apply(Delta::PodDeleted(bad));
    assert_eq!(cluster.engine.applied(), before.next());
    assert_eq!(cluster.said(), ["gone", "released"]);
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
}
