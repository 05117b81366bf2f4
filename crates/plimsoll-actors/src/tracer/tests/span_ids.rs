//! Which spans have one id, and which have ids of their own.

use std::collections::BTreeSet;

use super::*;

#[test]
fn what_the_next_leader_tells_hangs_below_the_same_root() {
    let pod = tried();
    let failed = AttemptOutcome::Error { node: None };
    let first = spans_of(&attempted(&pod, 1, failed));
    let next = spans_of(&attempted(&pod, 2, placed("n1")));
    let (one, other) = (find(&first, "attempt"), find(&next, "attempt"));
    assert_ne!(one.span_context.span_id(), other.span_context.span_id());
    let root = find(&next, "schedule pod").span_context.span_id();
    assert_eq!((one.parent_span_id, other.parent_span_id), (root, root));
}

#[test]
fn waits_of_two_terms_at_one_moment_of_a_clock_are_spans_of_their_own() {
    let mut building = building();
    for term in [1, 2] {
        let failed = AttemptOutcome::Gone;
        attempts::attempt(&attempted(&tried(), term, failed), &mut building);
    }
    let spans = building.into_spans();
    let waits = spans.iter().filter(|span| span.name == "queue active");
    let ids: BTreeSet<_> = waits.map(|span| span.span_context.span_id().to_bytes()).collect();
    assert_eq!(ids.len(), 2);
}

#[test]
fn replicas_whose_clocks_and_terms_agree_tell_the_same_root_and_otherwise_spans_of_their_own() {
    let pod = tried();
    let told_by = |replica| {
        let mut building = building_of(replica);
        let mut record = attempted(&pod, 1, placed("n1"));
        record.calls.push(called(CallKind::Bind, 10_031, 10_049, None));
        attempts::attempt(&record, &mut building);
        let late = LateCall {
            trace: record.trace,
            attempt: record.span,
            pod: record.pod.clone(),
            call: called(CallKind::Status, 10_060, 10_070, None),
        };
        attempts::late_call(&late, &mut building);
        for attempt in [Some(record.span), None] {
            preemptions::preemption(&preempted(&pod, attempt), &mut building);
        }
        let spans = building.into_spans();
        let late = find(&spans, "PATCH pods/status");
        let attempt = find(&spans, "attempt").span_context.span_id();
        assert_eq!(late.parent_span_id, attempt);
        spans
    };
    let ids = |spans: &[SpanData]| -> BTreeSet<_> {
        spans
            .iter()
            .map(|span| span.span_context.span_id().to_bytes())
            .collect()
    };
    let (one, other) = (told_by("one"), told_by("other"));
    let (of_one, of_other) = (ids(&one), ids(&other));
    assert_eq!((of_one.len(), of_other.len()), (one.len(), other.len()));
    let both: Vec<_> = of_one.intersection(&of_other).copied().collect();
    assert_eq!(both, [TraceContext::of(&pod).root().to_be_bytes()]);
}

#[test]
fn what_begins_at_one_moment_has_traces_of_its_own() {
    let list = |kind: &str| Operation {
        name: "list",
        begun: at(1_000),
        ended: at(1_000),
        attributes: vec![("plimsoll.kind", kind.to_owned())],
        whole: true,
        steps: Vec::new(),
        error: None,
    };
    let mut building = building();
    for kind in ["pods", "nodes"] {
        operations::operation(&list(kind), "one", &mut building);
    }
    let patch = |attempt| LateCall {
        trace: TraceContext::of(&tried()),
        attempt: 7,
        pod: PodIdentity::of(&tried()),
        call: Call {
            attempt,
            ..called(CallKind::Status, 1_000, 1_000, None)
        },
    };
    for attempt in [1, 2] {
        attempts::late_call(&patch(attempt), &mut building);
    }
    let spans = building.into_spans();
    let ids: BTreeSet<_> = spans
        .iter()
        .map(|span| span.span_context.span_id().to_bytes())
        .collect();
    assert_eq!(ids.len(), 4);
    assert_ne!(spans[0].span_context.trace_id(), spans[1].span_context.trace_id());
}
