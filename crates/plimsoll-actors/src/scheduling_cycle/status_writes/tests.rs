use plimsoll_client::NominationPatch;
use plimsoll_model::testing::pod;

use super::*;

fn patch(node: &str) -> PodStatusPatch {
    PodStatusPatch {
        condition: None,
        nominated_node_name: NominationPatch::Set(node.to_owned()),
        ..PodStatusPatch::default()
    }
}

fn what(job: &WriteJob) -> String {
    match job {
        WriteJob::Status { patch, .. } => format!("{:?}", patch.nominated_node_name),
        WriteJob::Bind { node, .. } | WriteJob::BindThrough { node, .. } => format!("bind to {node}"),
        WriteJob::Read { .. } => "read".to_owned(),
        WriteJob::Probe(_) => "probe".to_owned(),
        WriteJob::Volume { .. } => "volume".to_owned(),
    }
}

struct Fixture {
    writes: StatusWrites,
    uid: Uid,
    pod: Pod,
}

impl Fixture {
    fn new() -> Self {
        let pod = pod("a").build();
        Self {
            writes: StatusWrites::default(),
            uid: pod.uid.clone(),
            pod,
        }
    }

    fn submit(&mut self, node: &str) -> Option<String> {
        self.writes.submit(&self.pod, patch(node)).as_ref().map(what)
    }

    fn answered(&mut self, reply: &PatchReply) -> Vec<String> {
        self.writes
            .answered(&self.uid, reply, Moment::ZERO)
            .iter()
            .map(what)
            .collect()
    }

    fn binding() -> WriteJob {
        let claim = plimsoll_engine::ClaimId::new(1);
        let pod = std::sync::Arc::new(pod("a").build());
        WriteJob::Bind {
            claim,
            trace: TraceContext::of(&pod),
            pod,
            node: "n".into(),
        }
    }
}

#[test]
fn one_patch_of_a_pod_is_under_way_and_the_newest_follows() {
    let mut f = Fixture::new();
    assert_eq!(f.submit("one").unwrap(), r#"Set("one")"#);
    assert_eq!(f.submit("two"), None);
    assert_eq!(f.submit("three"), None);
    assert_eq!(f.answered(&PatchReply::Patched), [r#"Set("three")"#]);
    assert!(f.answered(&PatchReply::Patched).is_empty());
    assert!(f.writes.is_empty());
}

#[test]
fn a_failed_patch_is_tried_four_times_further_and_further_apart() {
    let mut f = Fixture::new();
    f.submit("one");
    let conflict = PatchReply::Conflict { message: String::new() };
    for wait in [10, 50, 250] {
        assert!(f.answered(&conflict).is_empty());
        let due = Moment::ZERO + Duration::from_millis(wait);
        assert_eq!(f.writes.next_deadline(), Some(due));
        assert_eq!(f.writes.due(due).len(), 1);
    }
    assert!(f.answered(&conflict).is_empty());
    assert!(f.writes.is_empty());
}

#[test]
fn a_binding_does_not_overtake_what_explains_why_there_was_none() {
    let mut f = Fixture::new();
    assert!(f.writes.after(&f.uid.clone(), Fixture::binding()).is_some());
    f.submit("one");
    f.submit("outdated");
    assert!(f.writes.after(&f.uid.clone(), Fixture::binding()).is_none());
    let conflict = PatchReply::Conflict { message: String::new() };
    assert_eq!(f.answered(&conflict), ["bind to n"]);
    assert!(f.writes.is_empty());
}

#[test]
fn a_binding_does_not_wait_for_a_patch_that_waits_itself() {
    let mut f = Fixture::new();
    f.submit("one");
    let throttled = PatchReply::Throttled {
        retry_after: Duration::from_secs(30),
    };
    assert!(f.answered(&throttled).is_empty());
    assert!(f.writes.after(&f.uid.clone(), Fixture::binding()).is_some());
    assert!(f.writes.is_empty());
    assert_eq!(f.writes.next_deadline(), None);
}

#[test]
fn a_patch_that_a_binding_takes_the_place_of_is_not_taken_for_what_the_pod_shows() {
    let throttled = PatchReply::Throttled {
        retry_after: Duration::from_secs(30),
    };
    let shown = |f: &Fixture| f.writes.shown(&f.pod).status.nominated_node_name.clone();
    let mut f = Fixture::new();
    f.submit("waits for its next try");
    f.answered(&throttled);
    f.writes.after(&f.uid.clone(), Fixture::binding());
    assert_eq!(shown(&f), None);

    let mut f = Fixture::new();
    f.submit("written");
    f.answered(&PatchReply::Patched);
    f.submit("under way");
    f.submit("behind it");
    assert_eq!(shown(&f).as_deref(), Some("behind it"));
    f.writes.after(&f.uid.clone(), Fixture::binding());
    assert_eq!(shown(&f).as_deref(), Some("under way"));
    f.answered(&throttled);
    assert_eq!(shown(&f).as_deref(), Some("written"));
}

#[test]
fn what_others_write_after_it_was_seen_is_what_the_pod_shows() {
    let mut f = Fixture::new();
    f.submit("n1");
    f.answered(&PatchReply::Patched);
    let [ours, theirs] = [(8, "n1"), (9, "n2")].map(|(version, node)| {
        let pod = pod("a").nominated(node).resource_version(version);
        std::sync::Arc::new(pod.build())
    });
    for new in [&ours, &theirs] {
        let old = std::sync::Arc::new(f.pod.clone());
        let new = std::sync::Arc::clone(new);
        f.writes.see(&Delta::PodUpdated { old, new });
    }
    f.writes.handed_out(&f.pod.clone());
    assert_eq!(
        f.writes.shown(&f.pod).status.nominated_node_name.as_deref(),
        Some("n1"),
        "the queue hands out what it had before"
    );
    f.writes.handed_out(&theirs);
    assert_eq!(
        f.writes.shown(&theirs).status.nominated_node_name.as_deref(),
        Some("n2")
    );
}

#[test]
fn patches_that_wait_behind_one_another_become_one() {
    let mut f = Fixture::new();
    f.submit("one");
    f.submit("two");
    let nothing = PodStatusPatch::default();
    assert!(f.writes.submit(&f.pod, nothing).is_none());
    assert_eq!(f.answered(&PatchReply::Patched), [r#"Set("two")"#]);
}

#[test]
fn a_pod_that_is_tried_again_before_the_stream_shows_its_last_patch_is_taken_as_that_left_it() {
    let mut fixture = Fixture::new();
    let judged = pod("a").build();
    fixture.submit("n1");
    let shown = |fixture: &Fixture, pod: &Pod| fixture.writes.shown(pod).status.nominated_node_name.clone();
    assert_eq!(shown(&fixture, &judged).as_deref(), Some("n1"));
    assert!(fixture.answered(&PatchReply::Patched).is_empty());
    fixture.writes.handed_out(&judged);
    assert_eq!(
        shown(&fixture, &judged).as_deref(),
        Some("n1"),
        "it may still be on its way"
    );
    fixture.writes.handed_out(&pod("a").nominated("n1").build());
    assert_eq!(
        shown(&fixture, &judged),
        None,
        "it was seen, and what comes after it is true"
    );
}

#[test]
fn a_patch_that_was_not_written_is_not_taken_for_what_the_pod_shows() {
    let mut fixture = Fixture::new();
    fixture.submit("n1");
    let refused = PatchReply::Refused {
        code: 403,
        message: String::new(),
    };
    fixture.answered(&refused);
    assert_eq!(fixture.writes.shown(&pod("a").build()).status.nominated_node_name, None);
}

#[test]
fn nothing_is_kept_of_pods_that_are_bound_or_gone() {
    for end in [
        Delta::PodDeleted(std::sync::Arc::new(pod("a").build())),
        Delta::PodAdded(std::sync::Arc::new(pod("a").on("n2").build())),
    ] {
        for is_answered_before in [true, false] {
            let mut fixture = Fixture::new();
            fixture.submit("n1");
            if is_answered_before {
                fixture.answered(&PatchReply::Patched);
            }
            fixture.writes.see(&end);
            fixture.answered(&PatchReply::Patched);
            assert_eq!(fixture.writes.shown(&pod("a").build()).status.nominated_node_name, None);
        }
    }
}
