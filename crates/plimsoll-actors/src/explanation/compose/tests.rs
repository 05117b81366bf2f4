use std::time::Duration;

use plimsoll_engine::{Awaits, Lack, PreBinding, Standing};
use plimsoll_framework::{ClusterEvent, PermitWait, Status};
use plimsoll_model::testing::{PodBuilder, pod};
use smallvec::SmallVec;

use super::*;
use crate::attempt_record::{PlannedPreemption, PodIdentity};
use crate::evictor::VictimAwaited;

fn second(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

/// A pod of ours at 100 s, 1970-01-01T00:01:40Z, of which nobody knows anything.
fn facts(pod: PodBuilder) -> Facts {
    Facts {
        pod: Arc::new(pod.build()),
        account: None,
        cycle: CycleAccount {
            at: second(100),
            wall: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(100),
            membership: Membership::Of(0),
            being_tried: None,
            awaits: None,
            awaits_victims: false,
            standing: None,
            nominated: None,
            attempts: Vec::new(),
            prospect: None,
        },
        victims: None,
    }
}

fn account(place: Place) -> Account {
    Account {
        place,
        since: second(90),
        cause: Some(ClusterEvent::labelled("ScheduleAttemptFailure")),
        next_look: second(400),
        retry_at: None,
        company: 1,
        ahead: None,
        added: second(40),
        attempts: 2,
        rejected_by: vec!["NodeResourcesFit"],
        pending_on: Vec::new(),
        gate: None,
        held_for_victims: false,
        victims_going: false,
        set_aside: false,
        woken: false,
    }
}

fn at(place: Place) -> Facts {
    with_account(|_| {}, place)
}

fn with_account(change: impl FnOnce(&mut Account), place: Place) -> Facts {
    let mut account = account(place);
    change(&mut account);
    Facts {
        account: Some(account),
        ..facts(pod("p"))
    }
}

fn with_cycle(pod: PodBuilder, change: impl FnOnce(&mut CycleAccount)) -> Facts {
    let mut facts = facts(pod);
    change(&mut facts.cycle);
    facts
}

fn standing(state: ClaimState) -> Standing {
    Standing {
        node: "n1".into(),
        since: second(95),
        permits: SmallVec::default(),
        pre_bind: None,
        binder: None,
        state,
    }
}

fn state_and_summary(facts: &Facts) -> (PodState, String) {
    let explained = explain(facts);
    (explained.state, explained.summary)
}

#[test]
fn each_place_of_a_pod_has_its_sentence() {
    let active = |ahead| with_account(|account| account.ahead = ahead, Place::Active);
    let next = "1970-01-01T00:06:40Z";
    let cases = [
        (at(Place::Active), PodState::Active, "it waits for its turn".to_owned()),
        (
            active(Some(0)),
            PodState::Active,
            "it is the next to be tried".to_owned(),
        ),
        (
            active(Some(1)),
            PodState::Active,
            "it waits for its turn; 1 pod comes before it".to_owned(),
        ),
        (
            active(Some(7)),
            PodState::Active,
            "it waits for its turn; 7 pods come before it".to_owned(),
        ),
        (
            at(Place::Backoff),
            PodState::BackingOff,
            format!(
                "it backs off after its last attempt and is tried again at {next}, or before when no other pod is to be tried"
            ),
        ),
        (
            at(Place::ErrorBackoff),
            PodState::BackingOff,
            format!("it backs off after its last attempt and is tried again at {next}"),
        ),
        (
            at(Place::Unschedulable),
            PodState::Unschedulable,
            format!("no node would do; it is tried again when something changes that may help, or at {next}"),
        ),
        (
            with_account(|account| account.set_aside = true, Place::Unschedulable),
            PodState::Unschedulable,
            format!("deciding it panicked; it is tried again at {next}, or when it is changed"),
        ),
        (
            with_account(|account| account.woken = true, Place::Unschedulable),
            PodState::Unschedulable,
            "something has changed that may help, and it is about to be tried again".to_owned(),
        ),
        (
            facts(pod("p")),
            PodState::InTransit,
            "it is on its way between the queue and the scheduling cycle; ask again".to_owned(),
        ),
        (
            with_cycle(pod("p"), |cycle| cycle.being_tried = Some(second(99))),
            PodState::BeingTried,
            "it is being tried now".to_owned(),
        ),
    ];
    for (facts, state, summary) in cases {
        assert_eq!(state_and_summary(&facts), (state, summary));
    }
}

#[test]
fn pods_that_are_not_pending_here_are_told_as_such() {
    let foreign = |membership| with_cycle(pod("p").scheduler("other"), |cycle| cycle.membership = membership);
    let cases = [
        (facts(pod("p").on("n1")), PodState::Bound, "it is bound to node n1"),
        (
            with_cycle(pod("p"), |cycle| cycle.standing = Some(standing(ClaimState::Bound))),
            PodState::Bound,
            "it is bound to node n1",
        ),
        (
            facts(pod("p").terminating()),
            PodState::Deleting,
            "it is to be deleted, and not scheduled any more",
        ),
        (
            foreign(Membership::Foreign),
            PodState::NotOurs,
            "its spec.schedulerName is other, which is the name of no profile of this scheduler",
        ),
        (
            foreign(Membership::Unmatched),
            PodState::NotOurs,
            "no profile of scheduler other takes it: its labels and its namespace's meet none of their rules",
        ),
        (
            foreign(Membership::Undecided),
            PodState::NotOurs,
            "which profile of scheduler other takes it depends on its namespace, which is not known yet",
        ),
    ];
    for (facts, state, summary) in cases {
        let explained = explain(&facts);
        assert_eq!((explained.state, explained.summary.as_str()), (state, summary));
        assert!(explained.waits_for.is_empty() && explained.queue.is_none());
    }
    let explained = unknown(&ObjectName::new("shop", "web"));
    assert_eq!(
        (explained.pod.as_str(), explained.state),
        ("shop/web", PodState::Unknown)
    );
}

/// Kind, words, and until when.
fn waits(facts: &Facts) -> Vec<(String, String, Option<String>)> {
    let waits = explain(facts).waits_for.into_iter();
    waits.map(|wait| (wait.kind, wait.what, wait.until)).collect()
}

fn wait(kind: &str, what: &str, until: Option<&str>) -> Vec<(String, String, Option<String>)> {
    vec![(kind.to_owned(), what.to_owned(), until.map(str::to_owned))]
}

#[test]
fn whom_a_claimed_pod_waits_for_is_told() {
    let claimed = |change: &dyn Fn(&mut Standing)| {
        let mut standing = standing(ClaimState::Waiting);
        change(&mut standing);
        with_cycle(pod("p"), |cycle| cycle.standing = Some(standing))
    };
    let permit = |standing: &mut Standing| {
        standing.permits.push(PermitWait {
            plugin: "Gang",
            timeout: Duration::from_mins(1),
            until: second(155),
        });
    };
    let gang = "plugin Gang to permit it on node n1";
    let until = Some("1970-01-01T00:02:35Z");
    assert_eq!(waits(&claimed(&permit)), wait("Permit", gang, until));
    assert_eq!(
        state_and_summary(&claimed(&permit)),
        (
            PodState::BeingBound,
            format!("node n1 is chosen, and its binding is under way; it waits for {gang}")
        )
    );
    let pre_bind = |plugin, at_work| claimed(&move |standing| standing.pre_bind = Some((plugin, at_work)));
    let outside = PreBinding::Outside { until: second(155) };
    let volumes = "the volume controller to bind or provision its volumes";
    assert_eq!(
        waits(&pre_bind("VolumeBinding", outside)),
        wait("PreBind", volumes, until)
    );
    let other = "something outside that plugin Quota waits for";
    assert_eq!(waits(&pre_bind("Quota", outside)), wait("PreBind", other, until));
    let write = "the API server's answer to a write of plugin VolumeBinding";
    assert_eq!(
        waits(&pre_bind("VolumeBinding", PreBinding::Write)),
        wait("PreBind", write, None)
    );
    let sent = claimed(&|standing| standing.state = ClaimState::Sent);
    assert_eq!(
        waits(&sent),
        wait("Binding", "the API server's answer to its binding", None)
    );
    let delegated = claimed(&|standing| {
        standing.state = ClaimState::Sent;
        standing.binder = Some("http://binder".to_owned());
    });
    let extender = "extender http://binder to bind it";
    assert_eq!(waits(&delegated), wait("Binding", extender, None));
    let unknown = claimed(&|standing| standing.state = ClaimState::Unknown { send_at: second(101) });
    let again = "its binding, which is sent again at 1970-01-01T00:01:41Z";
    assert_eq!(waits(&unknown), wait("Binding", again, None));
}

#[test]
fn whom_a_pod_without_a_claim_waits_for_is_told() {
    let mut gated = with_account(
        |account| account.gate = Some("SchedulingGates".to_owned()),
        Place::Gated,
    );
    gated.pod = Arc::new(pod("p").gate("quota").gate("team").build());
    let awaited = "its scheduling gates to be removed: quota, team";
    assert_eq!(waits(&gated), wait("Gate", awaited, None));
    assert_eq!(
        state_and_summary(&gated),
        (
            PodState::Gated,
            format!("it is held back and not tried; it waits for {awaited}")
        )
    );
    let other = with_account(|account| account.gate = Some("Quota".to_owned()), Place::Gated);
    assert_eq!(
        waits(&other),
        wait("Gate", "plugin Quota to let it into the queue", None)
    );
    let mut preempting = with_account(
        |account| {
            account.held_for_victims = true;
            account.gate = Some("DefaultPreemption".to_owned());
        },
        Place::Gated,
    );
    preempting.victims = Some(VictimsAwaited {
        node: "n1".into(),
        since: second(98),
        victims: vec![VictimAwaited {
            name: ObjectName::new("shop", "low"),
            stage: "is going",
        }],
    });
    assert_eq!(
        waits(&preempting),
        wait("Victims", "its victims on node n1 to go", None)
    );
    let explained = explain(&preempting);
    assert_eq!(explained.state, PodState::Preempting);
    assert_eq!(explained.waits_for[0].pods, ["shop/low is going"]);
    assert_eq!(explained.waits_for[0].since.as_deref(), Some("1970-01-01T00:01:38Z"));
    let asked = with_cycle(pod("p"), |cycle| {
        cycle.being_tried = Some(second(99));
        cycle.awaits = Some(Awaits::Filter("http://picky".to_owned()));
    });
    let verdict = "the verdict of extender http://picky on nodes";
    assert_eq!(waits(&asked), wait("Extender", verdict, None));
    let pending = with_account(|account| account.pending_on = vec!["Devices"], Place::Unschedulable);
    let outside = "something outside that plugin Devices waits for";
    assert_eq!(waits(&pending), wait("Plugin", outside, None));
}

#[test]
fn a_place_in_the_queue_an_attempt_and_the_nearest_nodes_are_told_with_wall_times() {
    let mut facts = at(Place::Unschedulable);
    facts.cycle.attempts.push(Arc::new(AttemptRecord {
        begun: Moment::from_nanos(89_500_000_000),
        ended: second(90),
        message: "0/9 nodes are available".to_owned(),
        rejections: vec![plimsoll_engine::Rejection {
            plugin: "NodeResourcesFit",
            nodes: 9,
            examples: ["n1".into(), "n2".into()].into_iter().collect(),
            reason: "Insufficient cpu".into(),
        }],
        preemption: Some(PlannedPreemption {
            node: "n2".into(),
            victims: vec![PodIdentity::of(&pod("low").namespace("shop").build())],
        }),
        ..AttemptRecord::failed(&facts.pod.uid, 2)
    }));
    let near = |name: &str, lacks, kept_for| NearNode {
        name: name.into(),
        lacks,
        kept_for,
    };
    let short = Lack {
        plugin: "NodeResourcesFit",
        reasons: vec!["Insufficient cpu".to_owned()],
        details: vec!["cpu: needs 2, free 1.5".to_owned()],
        resolvability: Resolvability::Resolvable,
    };
    let terse = Lack {
        details: Vec::new(),
        resolvability: Resolvability::Unresolvable,
        ..short.clone()
    };
    facts.cycle.prospect = Some(Prospect {
        nodes: 9,
        nearest: vec![
            near("kept", Vec::new(), vec![ObjectName::new("shop", "first")]),
            near("short", vec![short], Vec::new()),
            near("terse", vec![terse], Vec::new()),
        ],
        ..Prospect::default()
    });
    let explained = explain(&facts);
    let queue = explained.queue.unwrap();
    assert_eq!(
        (queue.place.as_str(), queue.since.as_str(), queue.next_look.as_deref()),
        ("unschedulable", "1970-01-01T00:01:30Z", Some("1970-01-01T00:06:40Z"))
    );
    assert_eq!(
        (queue.event.as_deref(), queue.attempts, queue.added.as_str()),
        (Some("ScheduleAttemptFailure"), 2, "1970-01-01T00:00:40Z")
    );
    let attempt = &explained.attempts[0];
    assert_eq!(
        (attempt.attempt, attempt.ended.as_str(), attempt.reason.as_str()),
        (2, "1970-01-01T00:01:30Z", "Unschedulable")
    );
    assert!((attempt.seconds - 0.5).abs() < 1e-9);
    assert_eq!(attempt.rejections[0].examples, ["n1", "n2"]);
    assert_eq!(
        (attempt.nominated_node.as_deref(), attempt.victims.as_slice()),
        (Some("n2"), ["shop/low".to_owned()].as_slice())
    );
    let nearest = explained.would_help.unwrap().nearest;
    let told: Vec<_> = nearest
        .iter()
        .map(|near| {
            (
                near.node.as_str(),
                near.lacks[0].what.as_str(),
                near.lacks[0].preemptible,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("kept", "room is kept for shop/first", false),
            ("short", "cpu: needs 2, free 1.5", true),
            ("terse", "Insufficient cpu", false)
        ]
    );
    assert_eq!(explained.waits_for[0].kind, "Nomination");
    assert_eq!(explained.waits_for[0].pods, ["shop/first"]);
}

#[test]
fn where_no_node_by_itself_would_help_that_is_said() {
    let noted = |prospect: Prospect| would_help(&prospect).note;
    let nodes = || Prospect {
        nodes: 9,
        ..Prospect::default()
    };
    assert_eq!(noted(Prospect::default()).as_deref(), Some("there are no nodes"));
    assert_eq!(noted(nodes()), None);
    let rejection = Some(Status::new(
        plimsoll_framework::Code::UnschedulableAndUnresolvable,
        "VolumeBinding",
        "no claim",
    ));
    assert_eq!(
        noted(Prospect { rejection, ..nodes() }).as_deref(),
        Some("no node would help; plugin VolumeBinding says: no claim")
    );
    let restricted = Some((vec!["NodeAffinity"], 1));
    assert_eq!(
        noted(Prospect { restricted, ..nodes() }).as_deref(),
        Some("NodeAffinity leaves 1 of 9 nodes")
    );
    let failure = Some("running \"X\" filter plugin: lost".to_owned());
    assert_eq!(
        noted(Prospect { failure, ..nodes() }).as_deref(),
        Some("judging it fails: running \"X\" filter plugin: lost")
    );
}

#[test]
fn an_explanation_survives_its_json() {
    let mut facts = at(Place::Unschedulable);
    facts.cycle.nominated = Some("n1".into());
    let explained = explain(&facts);
    let json = serde_json::to_string(&explained).unwrap();
    assert_eq!(serde_json::from_str::<Explanation>(&json).unwrap(), explained);
}

#[test]
fn a_pod_that_time_alone_may_help_is_told_with_when_it_is_tried_again() {
    let of = |place, woken| {
        let facts = with_account(
            |account| {
                account.retry_at = Some(second(110));
                account.next_look = second(110);
                account.woken = woken;
            },
            place,
        );
        explain(&facts)
    };
    let told = of(Place::Unschedulable, false);
    assert!(told.summary.ends_with("or at 1970-01-01T00:01:50Z"), "{}", told.summary);
    let retry = |told: Explanation| told.queue.unwrap().retry_at;
    assert_eq!(retry(told).as_deref(), Some("1970-01-01T00:01:50Z"));
    assert_eq!(retry(of(Place::Unschedulable, true)), None, "its turn comes anyway");
    assert_eq!(retry(explain(&at(Place::Unschedulable))), None);
}
