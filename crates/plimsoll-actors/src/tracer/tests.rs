mod explained;
mod span_ids;

use std::time::{Duration, SystemTime};

use plimsoll_engine::{ClaimTimeline, PluginRun, PointRun, Rejection, Timeline};
use plimsoll_framework::{ClusterEvent, Code, ExtensionPoint};
use plimsoll_model::testing::pod;
use plimsoll_model::{Moment, Pod, Timestamp, TraceParent, Uid};
use plimsoll_queue::{Place, Stay};
use plimsoll_telemetry::traces::SpanData;
use plimsoll_telemetry::traces::opentelemetry::trace::{SpanId, SpanKind, Status, TraceId};
use smallvec::smallvec;

use super::*;
use crate::attempt_record::{AttemptOutcome, CallKind, Calls, PermitWaited, PlannedPreemption, Reason};
use crate::trace_context::attempt_span;

const UID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn at(millis: u64) -> Moment {
    Moment::ZERO + Duration::from_millis(millis)
}

fn building() -> Building {
    building_of("replica")
}

fn building_of(replica: &str) -> Building {
    let wall = "2026-11-28T02:31:40Z".parse::<jiff::Timestamp>().unwrap();
    Building::at(replica, at(100_000), wall)
}

fn tried() -> Pod {
    let created = Timestamp::new("2026-11-28T02:30:00Z");
    pod("a")
        .uid(UID)
        .with(|pod| pod.creation_timestamp = Some(created))
        .build()
}

/// An attempt from 10 s on, the node chosen after 20 ms, over after 50 ms.
fn attempted(pod: &Pod, term: u64, outcome: AttemptOutcome) -> AttemptRecord {
    let wait = Stay {
        place: Place::Active,
        gate: None,
        cause: ClusterEvent::labelled("UnschedulablePodAdd"),
        from: at(9_000),
        to: at(10_000),
    };
    let point = |point, begun, ended| PointRun {
        point,
        begun: at(begun),
        ended: at(ended),
        code: Code::Success,
    };
    AttemptRecord {
        trace: TraceContext::of(pod),
        span: attempt_span(&pod.uid, term, at(10_000), 1),
        reason: Reason::Sampled,
        pod: PodIdentity::of(pod),
        profile: "default-scheduler".into(),
        term,
        attempt: 1,
        leads_alone: true,
        added: at(9_000),
        stays: Stays {
            stays: smallvec![wait],
            left_out: 0,
        },
        begun: at(10_000),
        decided: at(10_020),
        ended: at(10_050),
        timeline: Timeline {
            points: smallvec![
                point(ExtensionPoint::PreFilter, 10_000, 10_001),
                point(ExtensionPoint::Filter, 10_002, 10_010),
            ],
            plugins: vec![PluginRun {
                plugin: "NodeResourcesFit",
                point: ExtensionPoint::Filter,
                begun: at(10_003),
                ended: at(10_004),
                code: Code::Success,
                nodes: 5,
            }],
            sampled: true,
        },
        after_choice: ClaimTimeline {
            points: smallvec![point(ExtensionPoint::Bind, 10_030, 10_050)],
            plugins: Vec::new(),
            sampled: true,
        },
        evaluated_nodes: 5,
        feasible_nodes: 3,
        outcome,
        message: String::new(),
        rejections: Vec::new(),
        preemption: None,
        permit_wait: None,
        calls: Calls::default(),
    }
}

fn placed(node: &str) -> AttemptOutcome {
    AttemptOutcome::Scheduled { node: node.into() }
}

fn called(what: CallKind, begun: u64, ended: u64, error: Option<&str>) -> Call {
    Call {
        what,
        begun: at(begun),
        ended: at(ended),
        attempt: 1,
        outcome: "created",
        error: error.map(str::to_owned),
    }
}

fn spans_of(record: &AttemptRecord) -> Vec<SpanData> {
    let mut building = building();
    attempts::attempt(record, &mut building);
    building.into_spans()
}

/// Each span below the name of its parent, in the order in which they are told.
fn tree(spans: &[SpanData]) -> Vec<String> {
    let name_of = |id: SpanId| spans.iter().find(|span| span.span_context.span_id() == id);
    let line = |span: &SpanData| match name_of(span.parent_span_id) {
        Some(parent) => format!("{} > {}", parent.name, span.name),
        None if span.parent_span_id == SpanId::INVALID => span.name.to_string(),
        None => format!("… > {}", span.name),
    };
    spans.iter().map(line).collect()
}

fn find<'s>(spans: &'s [SpanData], name: &str) -> &'s SpanData {
    spans.iter().find(|span| span.name == name).expect(name)
}

fn attribute(span: &SpanData, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
    found.map(|attribute| attribute.value.to_string()).unwrap_or_default()
}

fn time(text: &str) -> SystemTime {
    SystemTime::from(text.parse::<jiff::Timestamp>().unwrap())
}

#[test]
fn a_pod_that_is_placed_has_one_tree_from_its_creation_to_its_binding() {
    let mut record = attempted(&tried(), 1, placed("n1"));
    record.calls.push(called(CallKind::Bind, 10_031, 10_049, None));
    record.permit_wait = Some(PermitWaited {
        from: at(10_020),
        to: at(10_030),
        code: Code::Success,
    });
    let spans = spans_of(&record);
    assert_eq!(
        tree(&spans),
        [
            "schedule pod > queue active",
            "schedule pod > attempt",
            "attempt > scheduling cycle",
            "scheduling cycle > PreFilter",
            "scheduling cycle > Filter",
            "Filter > Filter/NodeResourcesFit",
            "attempt > binding cycle",
            "binding cycle > Bind",
            "Bind > POST pods/binding",
            "binding cycle > Permit wait",
            "schedule pod",
        ]
    );
    let trace = TraceId::from(0x0f8f_ad5b_d9cb_469f_a165_7086_7728_950e);
    assert!(spans.iter().all(|span| span.span_context.trace_id() == trace));
    let ids: std::collections::BTreeSet<_> = spans
        .iter()
        .map(|span| span.span_context.span_id().to_bytes())
        .collect();
    assert_eq!(ids.len(), spans.len(), "each span has an id of its own");

    let root = find(&spans, "schedule pod");
    assert_eq!(
        (root.start_time, root.end_time),
        (time("2026-11-28T02:30:00Z"), time("2026-11-28T02:30:10.05Z"))
    );
    let told = |key| attribute(root, key);
    assert_eq!(
        (told("k8s.pod.name"), told("k8s.namespace.name")),
        ("a".into(), "default".into())
    );
    assert_eq!((told("k8s.pod.uid"), told("k8s.node.name")), (UID.into(), "n1".into()));
    let wait = find(&spans, "queue active");
    assert_eq!(attribute(wait, "plimsoll.queue.cause"), "UnschedulablePodAdd");
    let bind = find(&spans, "POST pods/binding");
    assert_eq!(
        (&bind.span_kind, attribute(bind, "http.request.method")),
        (&SpanKind::Client, "POST".to_owned())
    );
    assert_eq!(
        attribute(find(&spans, "Filter/NodeResourcesFit"), "plimsoll.nodes"),
        "5"
    );
}

#[test]
fn an_attempt_that_fails_says_why_and_leaves_the_life_open() {
    let outcome = AttemptOutcome::Unschedulable {
        plugins: vec!["NodeResourcesFit"],
        node: None,
    };
    let mut record = attempted(&tried(), 1, outcome);
    record.reason = Reason::Failed;
    record.decided = record.ended;
    record.message = "0/5 nodes are available: 5 Insufficient cpu.".to_owned();
    record.rejections.push(Rejection {
        plugin: "NodeResourcesFit",
        nodes: 5,
        examples: smallvec!["n1".into(), "n2".into()],
        reason: "Insufficient cpu".into(),
    });
    record.preemption = Some(PlannedPreemption {
        node: "n1".into(),
        victims: vec![PodIdentity::of(&pod("v").build())],
    });
    let spans = spans_of(&record);
    assert!(!tree(&spans).iter().any(|line| line.starts_with("schedule pod")));
    assert_eq!(spans[1].parent_span_id, SpanId::from(record.trace.root()));
    let attempt = find(&spans, "attempt");
    assert_eq!(attempt.status, Status::error(record.message.clone()));
    let event = &attempt.events.events[0];
    assert_eq!(event.name, "rejected");
    let told: Vec<String> = event
        .attributes
        .iter()
        .map(|attribute| attribute.value.to_string())
        .collect();
    assert_eq!(told, ["NodeResourcesFit", "5", r#"["n1","n2"]"#, "Insufficient cpu"]);
    assert_eq!(attribute(attempt, "plimsoll.preemption.victims"), "1");
    assert!(!tree(&spans).iter().any(|line| line.ends_with("binding cycle")));
}

#[test]
fn the_life_of_a_pod_whose_creator_traces_it_is_a_part_of_the_creators_span() {
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let pod = pod("a")
        .uid(UID)
        .with(|pod| pod.trace_parent = TraceParent::parse(text).map(Box::new))
        .build();
    let spans = spans_of(&attempted(&pod, 1, placed("n1")));
    let root = find(&spans, "schedule pod");
    assert_eq!(
        root.span_context.trace_id().to_string(),
        "4bf92f3577b34da6a3ce929d0e0e4736"
    );
    assert_eq!(root.parent_span_id.to_string(), "00f067aa0ba902b7");
    assert!(root.parent_span_is_remote);
}

#[test]
fn a_request_that_is_repeated_shows_each_try_and_its_answer() {
    let mut record = attempted(&tried(), 1, placed("n1"));
    record
        .calls
        .push(called(CallKind::Bind, 10_031, 10_035, Some("cut off")));
    record.calls.push(Call {
        attempt: 2,
        ..called(CallKind::Bind, 10_035, 10_049, None)
    });
    record.calls.push(called(
        CallKind::Extender {
            url: "http://x".to_owned(),
            verb: "filter",
        },
        10_005,
        10_008,
        None,
    ));
    let spans = spans_of(&record);
    let binds: Vec<&SpanData> = spans.iter().filter(|span| span.name == "POST pods/binding").collect();
    assert_eq!(binds[0].status, Status::error("cut off"));
    assert_eq!(attribute(binds[1], "http.request.resend_count"), "1");
    assert!(tree(&spans).contains(&"Filter > extender filter".to_owned()));
    assert_eq!(attribute(find(&spans, "extender filter"), "url.full"), "http://x");
}

fn victim() -> Pod {
    pod("v").uid("11111111-2222-4333-8444-555555555555").build()
}

/// A preemption for this pod that this attempt has planned, or an earlier leader.
fn preempted(preemptor: &Pod, attempt: Option<u64>) -> PreemptionRecord {
    let victim = victim();
    PreemptionRecord {
        trace: TraceContext::of(preemptor),
        term: 1,
        attempt,
        preemptor: PodIdentity::of(preemptor),
        node: "n1".into(),
        begun: at(20_000),
        ended: at(23_000),
        ending: "done",
        failed: false,
        victims: vec![VictimRecord {
            trace: TraceContext::of(&victim),
            pod: PodIdentity::of(&victim),
            in_memory: false,
            gone: Some(at(22_000)),
            calls: Calls {
                calls: smallvec![called(CallKind::RemoveVictim, 20_001, 20_010, None)],
                left_out: 0,
            },
        }],
    }
}

#[test]
fn a_preemption_and_the_end_of_its_victims_are_linked_both_ways() {
    let mut building = building();
    preemptions::preemption(&preempted(&tried(), Some(77)), &mut building);
    let spans = building.into_spans();
    assert_eq!(
        tree(&spans),
        ["… > preemption", "… > preempted", "preempted > DELETE pods"]
    );
    let (own, others) = (&spans[0], &spans[1]);
    let attempt = building_of("replica").attempt(&tried().uid, 77);
    assert_eq!(own.parent_span_id, SpanId::from(attempt));
    assert_eq!(others.parent_span_id, SpanId::from(TraceContext::of(&victim()).root()));
    assert_ne!(own.span_context.trace_id(), others.span_context.trace_id());
    let to = |span: &SpanData| {
        let context = &span.links.links[0].span_context;
        (context.trace_id(), context.span_id())
    };
    let is = |span: &SpanData| (span.span_context.trace_id(), span.span_context.span_id());
    assert_eq!((to(own), to(others)), (is(others), is(own)));
    assert_eq!(others.end_time, time("2026-11-28T02:30:22Z"));
}

#[test]
fn the_life_of_a_pod_that_goes_untried_ends_where_it_waited() {
    let pod = tried();
    let record = GoneRecord {
        trace: TraceContext::of(&pod),
        pod: PodIdentity::of(&pod),
        profile: "default-scheduler".to_owned(),
        attempts: 3,
        added: at(9_000),
        stays: attempted(&pod, 1, AttemptOutcome::Gone).stays,
        at: at(12_000),
    };
    let mut building = building();
    lives::gone(&record, &mut building);
    let spans = building.into_spans();
    assert_eq!(tree(&spans), ["schedule pod > queue active", "schedule pod"]);
    assert_eq!(
        (
            attribute(&spans[1], "plimsoll.outcome"),
            attribute(&spans[1], "plimsoll.attempts")
        ),
        ("gone".into(), "3".into())
    );
}

#[test]
fn an_operation_has_a_trace_of_its_own_to_which_more_may_be_added() {
    let step = |name, begun, ended| OperationStep {
        name,
        begun: at(begun),
        ended: at(ended),
    };
    let mut told = Operation {
        name: "hand-over",
        begun: at(1_000),
        ended: at(3_000),
        attributes: vec![("plimsoll.term", "1".to_owned())],
        whole: true,
        steps: vec![(0, step("caught_up", 1_000, 3_000))],
        error: None,
    };
    let spans = |operation: &Operation, identity| {
        let mut building = building();
        operations::operation(operation, identity, &mut building);
        building.into_spans()
    };
    let whole = spans(&told, "one");
    assert_eq!(tree(&whole), ["hand-over", "hand-over > caught_up"]);
    let other = spans(&told, "other");
    assert_ne!(whole[0].span_context.trace_id(), other[0].span_context.trace_id());
    told.whole = false;
    told.steps = vec![(1, step("first_bind", 3_000, 9_000))];
    let late = spans(&told, "one");
    assert_eq!((late.len(), late[0].name.as_ref()), (1, "first_bind"));
    assert_eq!(late[0].parent_span_id, whole[0].span_context.span_id());
    assert_ne!(late[0].span_context.span_id(), whole[1].span_context.span_id());
}

#[test]
fn an_end_that_another_leader_may_see_too_is_left_to_that_one() {
    let mut record = attempted(&tried(), 1, AttemptOutcome::Gone);
    record.leads_alone = false;
    let spans = spans_of(&record);
    assert!(tree(&spans).contains(&"… > attempt".to_owned()), "{:?}", tree(&spans));
    assert!(spans.iter().all(|span| span.name != "schedule pod"));
}

#[test]
fn spans_that_nobody_would_take_are_counted_and_not_made() {
    let mut late = attempted(&tried(), 1, AttemptOutcome::Gone);
    late.leads_alone = false;
    for record in [attempted(&tried(), 1, placed("n1")), late] {
        let made = spans_of(&record).len();
        let mut building = building().counting();
        attempts::attempt(&record, &mut building);
        assert_eq!(building.left_out(), made);
        assert!(made > 4 && building.into_spans().is_empty());
    }
}

#[test]
fn more_than_the_tracer_can_bear_is_dropped_and_counted() {
    let metrics = Arc::new(Metrics::new());
    let mailbox = Mailbox::new("Tracer", None);
    for _ in 0..MOST_WAITING {
        mailbox.depth().sent();
    }
    let tracing = Tracing::new(mailbox, Arc::clone(&metrics), 1.0);
    let record = attempted(&tried(), 1, placed("n1"));
    tracing.tell(TracerMessage::Attempt(Arc::new(record)));
    assert_eq!(metrics.traces().counted().records, 1);
}

#[test]
fn a_profile_may_have_a_share_of_its_own() {
    let tracing = Tracing::new(Mailbox::new("Tracer", None), Arc::new(Metrics::new()), 0.0);
    let trace = TraceContext::of_uid(&Uid::new(UID));
    assert!(!tracing.is_sampled(trace, None));
    assert!(tracing.is_sampled(trace, Some(1.0)));
}
