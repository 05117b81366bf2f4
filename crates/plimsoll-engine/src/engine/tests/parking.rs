use std::sync::Mutex;

use plimsoll_framework::{Code, PermitOutcome, Status};

use super::*;

fn waiting() -> Cluster {
    let mut cluster = Cluster::new(
        ProfileBuilder::new()
            .permit("Gang", |_| PermitOutcome::Wait(Duration::from_secs(10)))
            .permit("Quota", |_| PermitOutcome::Wait(Duration::from_hours(1)))
            .build(),
    );
    cluster.add_node("n1", 1000);
    cluster
}

#[test]
fn a_pod_waits_at_permit_until_every_plugin_allows_it() {
    let mut cluster = waiting();
    let placement = cluster.place(&pod("a", 600));
    assert!(placement.waits_on_permit);
    assert_eq!(cluster.said(), ["expect"]);
    assert_eq!(cluster.used("n1"), 600);
    cluster
        .engine
        .allow(&placement.pod.uid, "Gang", cluster.now, &mut cluster.out);
    assert_eq!(cluster.said(), [""; 0]);
    cluster
        .engine
        .allow(&placement.pod.uid, "Quota", cluster.now, &mut cluster.out);
    assert_eq!(cluster.said(), ["waited", "send"]);
}

#[test]
fn a_permit_that_does_not_come_in_time_turns_the_pod_away() {
    let mut cluster = waiting();
    let placement = cluster.place(&pod("a", 600));
    let judged_at = cluster.engine.applied();
    cluster.add_node("n2", 1);
    assert_eq!(
        cluster.engine.next_deadline(),
        Some(cluster.now + Duration::from_secs(10))
    );
    cluster.wait(10);
    let failure = cluster.failure();
    assert_eq!(
        failure.message,
        "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Gang."
    );
    assert_eq!(failure.plugins, ["Gang"]);
    assert_eq!(failure.judged_at, judged_at);
    assert_eq!((cluster.used("n1"), cluster.state(placement.claim)), (0, None));
    assert_eq!(cluster.engine.next_deadline(), None);
}

#[test]
fn no_permit_is_waited_for_longer_than_fifteen_minutes() {
    let mut cluster = waiting();
    let placement = cluster.place(&pod("a", 600));
    cluster
        .engine
        .allow(&placement.pod.uid, "Gang", cluster.now, &mut cluster.out);
    cluster.wait(899);
    assert_eq!(cluster.state(placement.claim), Some(ClaimState::Waiting));
    cluster.wait(1);
    let message = cluster.failure().message;
    assert!(message.contains("after waiting 15m0s at plugin Quota"), "{message}");
}

#[test]
fn a_waiting_pod_can_be_rejected_or_deleted() {
    let mut cluster = waiting();
    let first = cluster.place(&pod("a", 100));
    cluster
        .engine
        .reject(&first.pod.uid, "Gang", "too few", cluster.now, &mut cluster.out);
    assert_eq!(cluster.failure().message, "0/1 nodes are available: 1 too few.");
    let b = pod("b", 100);
    cluster.place(&b);
    cluster.said();
    cluster.apply(Delta::PodDeleted(b));
    assert_eq!(cluster.said(), ["waited", "gone", "released"]);
    assert_eq!(cluster.used("n1"), 0);
}

#[test]
fn pre_bind_work_is_done_before_the_binding_is_sent() {
    let mut cluster = Cluster::new(ProfileBuilder::new().volumes().build());
    cluster.add_node("n1", 1000);
    let placement = cluster.place(&pod("a", 600));
    assert_eq!(cluster.said(), ["expect", "pre-bind"]);
    cluster
        .engine
        .pre_bind_done(placement.claim, Ok(Box::new(())), cluster.now, &mut cluster.out);
    assert_eq!(cluster.said(), ["send"]);
    cluster
        .engine
        .pre_bind_done(placement.claim, Ok(Box::new(())), cluster.now, &mut cluster.out);
    assert_eq!(cluster.said(), [""; 0]);
}

#[test]
fn failed_pre_bind_work_fails_the_binding_and_frees_the_room() {
    let mut cluster = Cluster::new(ProfileBuilder::new().volumes().build());
    cluster.add_node("n1", 1000);
    let placement = cluster.place(&pod("a", 600));
    cluster.engine.pre_bind_done(
        placement.claim,
        Err("disk full".to_owned()),
        cluster.now,
        &mut cluster.out,
    );
    let failure = cluster.failure();
    assert_eq!(failure.message, r#"running PreBind plugin "Volumes": disk full"#);
    assert_eq!(failure.reason, FailureReason::SchedulerError);
    assert_eq!(cluster.used("n1"), 0);
}

#[test]
fn a_rejected_reservation_is_undone_in_reverse_and_explained_by_the_one_node() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str, result: fn() -> Result<(), Status>| {
        let calls = Arc::clone(&calls);
        move |call: String| {
            calls.lock().unwrap().push(format!("{name} {call}"));
            result()
        }
    };
    let full = || Err(Status::new(Code::Unschedulable, "", "no room left"));
    let mut cluster = Cluster::new(
        ProfileBuilder::new()
            .reserve("A", note("A", || Ok(())))
            .reserve("B", note("B", full))
            .build(),
    );
    cluster.add_node("n1", 1000);
    let diagnosis = cluster.refuse(&pod("a", 600));
    assert_eq!(diagnosis.message, "0/1 nodes are available: 1 no room left.");
    assert_eq!(diagnosis.plugins, ["B"]);
    assert_eq!(
        *calls.lock().unwrap(),
        ["A reserve n1", "B reserve n1", "B unreserve n1", "A unreserve n1"]
    );
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
}

#[test]
fn a_permit_failure_is_internal_unless_it_is_a_rejection() {
    let stop = |code| move |_: Pod| PermitOutcome::Stop(Status::new(code, "", "quota"));
    let mut cluster = Cluster::new(ProfileBuilder::new().permit("Quota", stop(Code::Error)).build());
    cluster.add_node("n1", 1000);
    let Outcome::Failed { message, .. } = cluster.try_new(&pod("a", 1)) else {
        panic!("not failed")
    };
    assert_eq!(message, r#"running Permit plugin "Quota": quota"#);

    let mut cluster = Cluster::new(ProfileBuilder::new().permit("Quota", stop(Code::Pending)).build());
    cluster.add_node("n1", 1000);
    let diagnosis = cluster.refuse(&pod("a", 1));
    assert_eq!(
        (diagnosis.plugins, diagnosis.pending_plugins),
        (vec!["Quota"], vec!["Quota"])
    );
}
