//! A preemption, from its plan to the last victim's end.

use compact_str::CompactString;
use plimsoll_model::Moment;
use plimsoll_telemetry::traces::opentelemetry::KeyValue;

use super::attempts;
use super::building::{Building, Whereabouts};
use crate::attempt_record::{Calls, PodIdentity};
use crate::trace_context::TraceContext;

/// A preemption that is over.
#[derive(Debug)]
pub struct PreemptionRecord {
    /// The preemptor's trace.
    pub trace: TraceContext,
    /// In which term.
    pub term: u64,
    /// The attempt that planned it; none when that was an earlier leader's.
    pub attempt: Option<u64>,
    /// For whom.
    pub preemptor: PodIdentity,
    /// Where.
    pub node: CompactString,
    /// When it was planned, or taken over.
    pub begun: Moment,
    /// When its end was known.
    pub ended: Moment,
    /// How it ended, in a word.
    pub ending: &'static str,
    /// Whether that is how it should be.
    pub failed: bool,
    /// Who had to go.
    pub victims: Vec<VictimRecord>,
}

/// A pod that had to go.
#[derive(Debug)]
pub struct VictimRecord {
    /// Its own trace.
    pub trace: TraceContext,
    /// Which.
    pub pod: PodIdentity,
    /// Whether it was no more than a claim, given up in memory.
    pub in_memory: bool,
    /// When it was seen to be gone.
    pub gone: Option<Moment>,
    /// What was asked of the API server about it.
    pub calls: Calls,
}

pub(super) fn preemption(record: &PreemptionRecord, building: &mut Building) {
    let preemptor = &record.preemptor.uid;
    // Two that want the same victim go may have been planned at one moment, and two terms may take one over at one moment.
    let number = (record.begun.as_nanos(), preemptor.as_str(), record.attempt, record.term);
    let attempt = record.attempt.map(|attempt| building.attempt(preemptor, attempt));
    let own = Whereabouts {
        trace: record.trace.trace_id(),
        span: building.id("preemption", preemptor, number),
        parent: attempt.unwrap_or_else(|| record.trace.root()),
    };
    let ends: Vec<(&VictimRecord, u64)> = record
        .victims
        .iter()
        .map(|victim| (victim, building.id("preempted", &victim.pod.uid, number)))
        .collect();
    let span = building.span("preemption", own, (record.begun, record.ended));
    span.pod(&record.preemptor).node(&record.node);
    span.set("plimsoll.preemption.ending", record.ending);
    span.count("plimsoll.preemption.victims", record.victims.len());
    if record.failed {
        span.failed("the victims stay");
    }
    for (victim, end) in &ends {
        let named = vec![
            KeyValue::new("k8s.namespace.name", victim.pod.name.namespace.to_string()),
            KeyValue::new("k8s.pod.name", victim.pod.name.name.to_string()),
            KeyValue::new("k8s.pod.uid", victim.pod.uid.as_str().to_owned()),
        ];
        span.link(victim.trace.trace_id(), *end, named);
    }
    for (victim, end) in ends {
        preempted(record, victim, (own, end), building);
    }
}

/// The victim's side, in its own trace.
fn preempted(record: &PreemptionRecord, victim: &VictimRecord, (by, end): (Whereabouts, u64), building: &mut Building) {
    let own = Whereabouts {
        trace: victim.trace.trace_id(),
        span: end,
        parent: victim.trace.root(),
    };
    let until = victim.gone.unwrap_or(record.ended);
    let span = building.span("preempted", own, (record.begun, until));
    span.pod(&victim.pod).node(&record.node);
    span.text("plimsoll.preemptor.name", &record.preemptor.name.to_string());
    span.text("plimsoll.preemptor.uid", record.preemptor.uid.as_str());
    span.set("plimsoll.preemption.in_memory", victim.in_memory);
    span.set("plimsoll.preemption.gone", victim.gone.is_some() || victim.in_memory);
    span.link(by.trace, by.span, Vec::new());
    for (number, call) in victim.calls.calls.iter().enumerate() {
        let whereabouts = Whereabouts {
            trace: own.trace,
            span: building.id("removal", &victim.pod.uid, (end, number)),
            parent: own.span,
        };
        attempts::call(call, whereabouts, building);
    }
}
