//! Extenders that bind: a pod is certainly not bound before it is tried again.

use super::*;

/// Places a pod that an extender is to bind.
fn sent_through(cluster: &mut Cluster, name: &str) -> (ClaimId, Arc<Pod>) {
    let pod = pod(name, 100);
    let placement = cluster.place(&pod);
    assert_eq!(cluster.said(), ["bind-through"]);
    (placement.claim, pod)
}

fn bind_failed(settled_by: Moment) -> ClaimInput {
    ClaimInput::ExtenderFailed {
        message: "binding rejected: no device".to_owned(),
        settled_by,
    }
}

#[test]
fn the_extender_that_binds_is_asked_in_place_of_the_bind_plugins() {
    let mut cluster = cluster(&[extender("a", binds(false))]);
    let (claim, pod) = sent_through(&mut cluster, "p");
    cluster.answer(claim, ClaimInput::Bound);
    assert_eq!(cluster.said(), ["bound"]);
    cluster.show(&pod, "n3");
    assert_eq!(cluster.state(claim), None);
}

#[test]
fn a_binding_that_the_extender_failed_at_is_told_in_its_words_once_it_is_certain() {
    let mut cluster = cluster(&[extender("a", binds(false))]);
    let (claim, _) = sent_through(&mut cluster, "p");
    let settled_by = cluster.now + Duration::from_secs(5);
    cluster.answer(claim, bind_failed(settled_by));
    assert!(cluster.said().is_empty());
    assert_eq!(cluster.used("n3"), 100, "its room is kept");
    cluster.wait(5);
    assert_eq!(cluster.said(), ["read"]);
    cluster.answer(claim, ClaimInput::Read(ReadResult::Unassigned));
    let failure = cluster.failure();
    assert_eq!(failure.message, "binding rejected: no device");
    assert_eq!(failure.reason, FailureReason::SchedulerError);
    assert_eq!(cluster.used("n3"), 0);
}

#[test]
fn where_the_extender_may_fail_the_plugin_binds_after_it() {
    let mut cluster = cluster(&[extender("a", binds(true))]);
    let (claim, _) = sent_through(&mut cluster, "p");
    cluster.answer(claim, bind_failed(cluster.now));
    assert_eq!(cluster.said(), ["read"]);
    cluster.answer(claim, ClaimInput::Read(ReadResult::Unassigned));
    assert_eq!(cluster.said(), ["ignored", "send"]);
    cluster.answer(
        claim,
        ClaimInput::Refused {
            message: "forbidden".to_owned(),
        },
    );
    assert_eq!(cluster.failure().message, r#"running Bind plugin "Binder": forbidden"#);
}

#[test]
fn reserves_are_undone_once_when_the_extender_certainly_has_not_bound_and_never_when_it_has() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&told);
    let profile = asking(&[extender("a", binds(false))]).reserve("Holds", move |word| {
        note.lock().unwrap().push(word);
        Ok(())
    });
    let mut cluster = cluster_of(profile.build());
    let (claim, _) = sent_through(&mut cluster, "p");
    cluster.answer(claim, bind_failed(cluster.now));
    assert_eq!(*told.lock().unwrap(), ["reserve n3"], "it may be bound");
    cluster.answer(claim, ClaimInput::Read(ReadResult::Unassigned));
    assert_eq!(*told.lock().unwrap(), ["reserve n3", "unreserve n3"]);
    cluster.said();

    let (claim, _) = sent_through(&mut cluster, "q");
    cluster.answer(claim, bind_failed(cluster.now));
    cluster.answer(claim, ClaimInput::Read(ReadResult::Assigned { node: "n3".into() }));
    assert_eq!(cluster.said(), ["read", "bound"]);
    assert_eq!(told.lock().unwrap().len(), 3, "only the reserve");
}

#[test]
fn at_the_end_of_the_term_a_call_under_way_is_awaited_and_nothing_follows() {
    let mut cluster = cluster(&[extender("a", binds(true))]);
    let (claim, _) = sent_through(&mut cluster, "p");
    cluster.engine.end_term(cluster.now, &mut cluster.out);
    cluster.answer(claim, bind_failed(cluster.now + Duration::from_secs(5)));
    cluster.wait(10);
    assert!(cluster.said().is_empty());
    assert_eq!(cluster.state(claim), Some(ClaimState::Stopped));
    assert_eq!(cluster.used("n3"), 100);
}
