use std::panic::{AssertUnwindSafe, catch_unwind};

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

#[test]
fn a_panic_on_the_way_to_the_binding_takes_the_claim_back() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    panics(&mut cluster, &pod("unbindable", 600));
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
    assert_eq!(cluster.place(&pod("good", 600)).node, "n1");
}
