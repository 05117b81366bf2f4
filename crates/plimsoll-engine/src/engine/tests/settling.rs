use super::*;

fn placed() -> (Cluster, Arc<Pod>, ClaimId) {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    cluster.add_node("n1", 1000);
    let a = pod("a", 600);
    let claim = cluster.place(&a).claim;
    assert_eq!(cluster.said(), ["send"]);
    (cluster, a, claim)
}

#[test]
fn between_the_answer_and_the_watch_the_pod_counts_exactly_once() {
    let (mut cluster, a, claim) = placed();
    cluster.answer(claim, ClaimInput::Bound);
    assert_eq!(cluster.said(), ["bound"]);
    assert_eq!(
        cluster.engine.cache_size(),
        CacheSize {
            nodes: 1,
            pods: 1,
            assumed_pods: 1
        }
    );
    assert_eq!(cluster.used("n1"), 600);
    cluster.show(&a, "n1");
    assert_eq!(cluster.said(), [""; 0]);
    assert_eq!(
        cluster.engine.cache_size(),
        CacheSize {
            nodes: 1,
            pods: 1,
            assumed_pods: 0
        }
    );
    assert_eq!(cluster.used("n1"), 600);
}

#[test]
fn a_watch_faster_than_the_answer_lets_the_answer_say_bound() {
    let (mut cluster, a, claim) = placed();
    cluster.show(&a, "n1");
    assert_eq!(cluster.said(), [""; 0]);
    assert_eq!(
        (cluster.state(claim), cluster.used("n1")),
        (Some(ClaimState::Seen), 600)
    );
    cluster.answer(claim, ClaimInput::Bound);
    assert_eq!(cluster.said(), ["bound"]);
    assert_eq!((cluster.state(claim), cluster.used("n1")), (None, 600));
}

#[test]
fn a_pod_that_somebody_else_bound_to_the_same_node_is_not_said_to_be_bound_by_us() {
    let (mut cluster, a, claim) = placed();
    cluster.show(&a, "n1");
    cluster.answer(
        claim,
        ClaimInput::NotSent {
            message: "the lease may be over".to_owned(),
        },
    );
    assert_eq!(cluster.said(), ["elsewhere"], "and no room is released");
    assert_eq!((cluster.state(claim), cluster.used("n1")), (None, 600));
}

#[test]
fn a_pod_that_the_watch_shows_elsewhere_counts_there_and_leaves_its_claim() {
    let (mut cluster, a, claim) = placed();
    cluster.add_node("n2", 1000);
    cluster.show(&a, "n2");
    assert_eq!(cluster.said(), ["elsewhere", "released"]);
    assert_eq!((cluster.used("n1"), cluster.used("n2")), (0, 600));
    assert_eq!(cluster.state(claim), None);
}

#[test]
fn a_pod_that_a_read_shows_elsewhere_counts_there_before_the_watch_shows_it() {
    let (mut cluster, a, claim) = placed();
    cluster.add_node("n2", 1000);
    cluster.answer(
        claim,
        ClaimInput::Conflict {
            message: "already assigned".to_owned(),
        },
    );
    assert_eq!(cluster.said(), ["read"]);
    cluster.answer(claim, ClaimInput::Read(ReadResult::Assigned { node: "n2".into() }));
    assert_eq!(cluster.said(), ["elsewhere", "released"]);
    assert_eq!((cluster.used("n1"), cluster.used("n2")), (0, 600));
    cluster.show(&a, "n2");
    assert_eq!(cluster.said(), [""; 0]);
    assert_eq!((cluster.used("n1"), cluster.used("n2")), (0, 600));
}

#[test]
fn a_refused_binding_goes_back_with_its_text_and_frees_the_room() {
    let (mut cluster, a, claim) = placed();
    cluster.answer(
        claim,
        ClaimInput::Refused {
            message: "forbidden".to_owned(),
        },
    );
    let failure = cluster.failure();
    assert_eq!(failure.message, r#"running Bind plugin "Binder": forbidden"#);
    assert_eq!(failure.reason, FailureReason::SchedulerError);
    assert_eq!(cluster.used("n1"), 0);
    assert!(matches!(cluster.begin(&a), Step::Done(Outcome::Placed(_))));
}

#[test]
fn an_unknown_outcome_keeps_the_room_and_is_repeated() {
    let (mut cluster, _, claim) = placed();
    cluster.answer(
        claim,
        ClaimInput::Unknown {
            settled_by: cluster.now + Duration::from_secs(5),
        },
    );
    assert_eq!(cluster.said(), [""; 0]);
    let diagnosis = cluster.refuse(&pod("b", 600));
    assert_eq!(diagnosis.message, "0/1 nodes are available: 1 Insufficient cpu.");
    cluster.wait(1);
    assert_eq!(cluster.said(), ["send"]);
    assert_eq!(cluster.engine.next_deadline(), None);
}

#[test]
fn a_deleted_pod_frees_its_room_whatever_its_claim_was_doing() {
    let (mut cluster, a, claim) = placed();
    cluster.apply(Delta::PodDeleted(a));
    assert_eq!(cluster.said(), ["gone", "released"]);
    assert_eq!((cluster.used("n1"), cluster.state(claim)), (0, None));
    assert_eq!(
        cluster.engine.cache_size(),
        CacheSize {
            nodes: 1,
            pods: 0,
            assumed_pods: 0
        }
    );
}

#[test]
fn a_pod_of_the_same_name_is_another_pod() {
    let (mut cluster, a, claim) = placed();
    let mut again = Pod::clone(&a);
    again.uid = "uid-again".into();
    let second = cluster.try_new(&Arc::new(again));
    assert!(
        matches!(second, Outcome::Unschedulable(_)),
        "the first still holds its room"
    );
    assert_eq!(cluster.state(claim), Some(ClaimState::Sent));
}

#[test]
fn a_node_that_goes_and_returns_still_carries_its_claims() {
    let (mut cluster, _, _) = placed();
    cluster.apply(Delta::NodeDeleted(node("n1", 1000)));
    cluster.add_node("n1", 1000);
    assert_eq!(cluster.used("n1"), 600);
}

#[test]
fn after_the_term_nothing_is_sent() {
    let (mut cluster, _, claim) = placed();
    cluster.engine.end_term(cluster.now, &mut cluster.out);
    cluster.answer(
        claim,
        ClaimInput::Unknown {
            settled_by: cluster.now + Duration::from_secs(5),
        },
    );
    cluster.wait(60);
    assert_eq!(cluster.said(), [""; 0]);
    assert_eq!(cluster.state(claim), Some(ClaimState::Stopped));
}
