//! How far a pod has come, as it is told to whoever asks.

use plimsoll_framework::{Membership, PermitOutcome};
use plimsoll_model::Uid;

use super::*;
use crate::{Awaits, PreBinding};

#[test]
fn a_pod_that_waits_at_permit_stands_there_and_then_at_its_pre_bind_work_and_its_binding() {
    let profile = ProfileBuilder::new()
        .permit("Gang", |_| PermitOutcome::Wait(Duration::from_mins(1)))
        .volumes();
    let mut cluster = Cluster::new(profile.build());
    cluster.add_node("n1", 1000);
    cluster.wait(5);
    let placement = cluster.place(&pod("p", 100));
    let uid = Uid::new("uid-p");
    let standing = cluster.engine.standing_of(&uid).unwrap();
    assert_eq!((standing.node.as_str(), standing.since), ("n1", cluster.now));
    assert_eq!(standing.permits[0].plugin, "Gang");
    assert_eq!((standing.pre_bind, standing.state), (None, ClaimState::Waiting));
    cluster.engine.allow(&uid, "Gang", cluster.now, &mut cluster.out);
    let standing = cluster.engine.standing_of(&uid).unwrap();
    assert!(standing.permits.is_empty());
    assert_eq!(standing.pre_bind, Some(("Volumes", PreBinding::Work)));
    cluster
        .engine
        .pre_bind_done(placement.claim, Ok(Box::new(())), cluster.now, &mut cluster.out);
    let standing = cluster.engine.standing_of(&uid).unwrap();
    assert_eq!((standing.pre_bind, standing.state), (None, ClaimState::Sent));
    assert_eq!(cluster.engine.standing_of(&Uid::new("other")), None);
}

#[test]
fn the_pod_whose_cycle_waits_is_told_for_what() {
    let mut cluster = Cluster::new(ProfileBuilder::new().oracle().build());
    cluster.add_node("n1", 1000);
    let waiting = pod("p", 100);
    cluster.add(&waiting);
    assert!(matches!(cluster.begin(&waiting), Step::Needs(_)));
    assert_eq!(cluster.engine.awaited_for(&waiting.uid), Some(Awaits::Plugin("Oracle")));
    assert_eq!(cluster.engine.awaited_for(&Uid::new("other")), None);
    let _ = cluster.resume(Ok(Box::new(Vec::<&str>::new())));
    assert_eq!(cluster.engine.awaited_for(&waiting.uid), None);
}

#[test]
fn it_is_told_which_profile_takes_a_pod() {
    let cluster = Cluster::new(ProfileBuilder::new().build());
    let mut foreign = Pod::clone(&pod("p", 100));
    assert_eq!(cluster.engine.membership(&foreign), Membership::Of(0));
    foreign.spec.scheduler_name = "other".into();
    assert_eq!(cluster.engine.membership(&foreign), Membership::Foreign);
}
