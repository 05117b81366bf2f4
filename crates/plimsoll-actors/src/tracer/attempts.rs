//! One attempt, from the queue to its outcome.

use plimsoll_engine::{PluginRun, PointRun, Rejection};
use plimsoll_framework::{Code, ExtensionPoint};
use plimsoll_model::Moment;
use plimsoll_telemetry::traces::opentelemetry::KeyValue;

use super::LateCall;
use super::building::{Building, Span, Whereabouts, list};
use super::lives::{self, End};
use crate::attempt_record::{AttemptOutcome, AttemptRecord, Call, CallKind, PodIdentity};
use crate::trace_context::TraceContext;

/// Numbers the spans of one attempt.
struct Parts<'a> {
    trace: TraceContext,
    pod: &'a PodIdentity,
    attempt: u64,
    made: u64,
}

impl Parts<'_> {
    fn next(&mut self, parent: u64, building: &Building) -> Whereabouts {
        self.made += 1;
        Whereabouts {
            trace: self.trace.trace_id(),
            span: building.id("part", &self.pod.uid, (self.attempt, self.made)),
            parent,
        }
    }
}

/// A stretch of an attempt in which extension points run and others are called.
struct Stretch<'a> {
    name: &'static str,
    from: Moment,
    to: Moment,
    points: &'a [PointRun],
    plugins: &'a [PluginRun],
}

pub(super) fn attempt(record: &AttemptRecord, building: &mut Building) {
    let own = building.attempt(&record.pod.uid, record.span);
    lives::waits(record.trace, &record.pod, (&record.stays, own), building);
    let whereabouts = Whereabouts {
        trace: record.trace.trace_id(),
        span: own,
        parent: record.trace.root(),
    };
    describe(
        record,
        building.span("attempt", whereabouts, (record.begun, record.ended)),
    );
    let mut parts = Parts {
        trace: record.trace,
        pod: &record.pod,
        attempt: own,
        made: 0,
    };
    let (before, after): (Vec<&Call>, Vec<&Call>) =
        record.calls.calls.iter().partition(|call| call.begun < record.decided);
    let cycle = Stretch {
        name: "scheduling cycle",
        from: record.begun,
        to: record.decided,
        points: &record.timeline.points,
        plugins: &record.timeline.plugins,
    };
    stretch(&cycle, &before, &mut parts, building);
    // Without a node there is nothing to bind. A coarse clock may see no time pass until the pod is bound.
    let bound = matches!(record.outcome, AttemptOutcome::Scheduled { .. });
    if record.outcome.node().is_some() && (bound || record.ended > record.decided) {
        let binding = Stretch {
            name: "binding cycle",
            from: record.decided,
            to: record.ended,
            points: &record.after_choice.points,
            plugins: &record.after_choice.plugins,
        };
        let span = stretch(&binding, &after, &mut parts, building);
        if let Some(wait) = record.permit_wait {
            let span = building.span("Permit wait", parts.next(span, building), (wait.from, wait.to));
            judged(span, wait.code);
        }
    }
    if record.outcome.ends_life() && record.leads_alone {
        let end = End {
            outcome: record.outcome.as_str(),
            node: record.outcome.node(),
            profile: &record.profile,
            attempts: record.attempt,
            at: record.ended,
        };
        lives::life(record.trace, &record.pod, record.added, &end, building);
    }
}

fn describe(record: &AttemptRecord, span: &mut Span) {
    span.pod(&record.pod).text("plimsoll.profile", &record.profile);
    span.count("plimsoll.attempt", record.attempt)
        .count("plimsoll.term", record.term);
    span.set("plimsoll.outcome", record.outcome.as_str());
    span.set("plimsoll.recorded_because", record.reason.as_str());
    span.count("plimsoll.nodes.evaluated", record.evaluated_nodes);
    span.count("plimsoll.nodes.feasible", record.feasible_nodes);
    if let Some(node) = record.outcome.node() {
        span.node(node);
    }
    if let AttemptOutcome::Unschedulable { plugins, .. } = &record.outcome {
        span.set("plimsoll.plugins", list(plugins.iter().copied()));
    }
    if matches!(
        record.outcome,
        AttemptOutcome::Unschedulable { .. } | AttemptOutcome::Error { .. }
    ) {
        span.failed(&record.message);
    }
    if record.calls.left_out > 0 {
        span.count("plimsoll.calls.left_out", record.calls.left_out);
    }
    if let Some(plan) = &record.preemption {
        span.text("plimsoll.preemption.node", &plan.node);
        span.count("plimsoll.preemption.victims", plan.victims.len());
    }
    for rejection in &record.rejections {
        span.event("rejected", rejected(rejection));
    }
}

fn rejected(rejection: &Rejection) -> Vec<KeyValue> {
    let examples = rejection.examples.iter().map(ToString::to_string);
    vec![
        KeyValue::new("plimsoll.plugin", rejection.plugin),
        KeyValue::new("plimsoll.nodes", i64::from(rejection.nodes)),
        KeyValue::new("plimsoll.nodes.examples", list(examples)),
        KeyValue::new("plimsoll.reason", rejection.reason.to_string()),
    ]
}

/// Makes the spans of a stretch, each below what it was a part of, and gives the stretch's own.
fn stretch(stretch: &Stretch<'_>, calls: &[&Call], parts: &mut Parts<'_>, building: &mut Building) -> u64 {
    let own = parts.next(parts.attempt, building);
    building.span(stretch.name, own, (stretch.from, stretch.to));
    let mut runs: Vec<(&PointRun, u64)> = Vec::new();
    for run in stretch.points {
        let whereabouts = parts.next(own.span, building);
        let span = building.span(run.point.as_str(), whereabouts, (run.begun, run.ended));
        judged(span, run.code);
        runs.push((run, whereabouts.span));
    }
    // What went on while a point ran was a part of it. Extenders are asked between points.
    let within = |from: Moment, to: Moment, fits: &dyn Fn(&PointRun) -> bool| {
        let mut around = runs
            .iter()
            .filter(|(run, _)| run.begun <= from && to <= run.ended && fits(run));
        around.next_back().map_or(own.span, |(_, span)| *span)
    };
    for run in stretch.plugins {
        let parent = within(run.begun, run.ended, &|point| point.point == run.point);
        let name = format!("{}/{}", run.point.as_str(), run.plugin);
        let span = building.span(name, parts.next(parent, building), (run.begun, run.ended));
        span.set("plimsoll.plugin", run.plugin)
            .count("plimsoll.nodes", run.nodes);
        judged(span, run.code);
    }
    for called in calls {
        let binds = called.what.binds();
        let parent = within(called.begun, called.ended, &|run| {
            !binds || run.point == ExtensionPoint::Bind
        });
        call(called, parts.next(parent, building), building);
    }
    own.span
}

fn judged(span: &mut Span, code: Code) {
    span.set("plimsoll.status", code.as_str());
    if code == Code::Error {
        span.failed("");
    }
}

/// A request to somebody else.
pub(super) fn call(call: &Call, whereabouts: Whereabouts, building: &mut Building) {
    let (name, method) = match &call.what {
        CallKind::Bind => ("POST pods/binding", Some("POST")),
        CallKind::Read => ("GET pods", Some("GET")),
        CallKind::Status | CallKind::MarkVictim => ("PATCH pods/status", Some("PATCH")),
        CallKind::RemoveVictim => ("DELETE pods", Some("DELETE")),
        CallKind::Volume { .. } => ("PATCH volume", Some("PATCH")),
        CallKind::Extender { verb, .. } => (
            match *verb {
                "filter" => "extender filter",
                "prioritize" => "extender prioritize",
                "preempt" => "extender preempt",
                _ => "extender bind",
            },
            Some("POST"),
        ),
        CallKind::Effect { .. } => ("effect", None),
    };
    let span = building.span(name, whereabouts, (call.begun, call.ended));
    span.asks_others().set("plimsoll.call.outcome", call.outcome);
    if let Some(method) = method {
        span.set("http.request.method", method);
    }
    if call.attempt > 1 {
        span.count("http.request.resend_count", call.attempt - 1);
    }
    match &call.what {
        CallKind::Extender { url, .. } => span.text("url.full", url),
        CallKind::Effect { plugin } => span.set("plimsoll.plugin", *plugin),
        CallKind::Volume { object } => span.text("plimsoll.object", object),
        _ => &mut *span,
    };
    if let Some(error) = &call.error {
        span.failed(error);
    }
}

/// A call whose answer came after the end of its attempt.
pub(super) fn late_call(late: &LateCall, building: &mut Building) {
    // A try may begin at the very moment at which the one before it ended.
    let number = (late.attempt, late.call.begun.as_nanos(), late.call.attempt);
    let whereabouts = Whereabouts {
        trace: late.trace.trace_id(),
        span: building.id("late", &late.pod.uid, number),
        parent: building.attempt(&late.pod.uid, late.attempt),
    };
    call(&late.call, whereabouts, building);
}
