//! A pod's scheduling life: the root of its trace, and the waits in it.

use std::time::SystemTime;

use plimsoll_model::Moment;
use plimsoll_queue::{Place, Stays};

use super::GoneRecord;
use super::building::{Building, Whereabouts, time_of};
use crate::attempt_record::PodIdentity;
use crate::trace_context::TraceContext;

/// How a life ended.
pub(super) struct End<'a> {
    pub(super) outcome: &'static str,
    pub(super) node: Option<&'a str>,
    pub(super) profile: &'a str,
    pub(super) attempts: u32,
    pub(super) at: Moment,
}

/// The root: from the pod's creation, which every leader knows alike, to the end of its scheduling. It is told once, by
/// whoever leads as it ends: a leader that wakes past its lease and sees it too, or only then, leaves it to the next one,
/// whose caches begin behind everything that was seen in time.
pub(super) fn life(trace: TraceContext, pod: &PodIdentity, added: Moment, end: &End<'_>, building: &mut Building) {
    let creator = trace.creator();
    let whereabouts = Whereabouts {
        trace: trace.trace_id(),
        span: trace.root(),
        parent: creator.unwrap_or_default(),
    };
    let times = (began(pod, added, building), building.time(end.at));
    let span = building.span_at("schedule pod", whereabouts, times);
    span.pod(pod).text("plimsoll.profile", end.profile);
    span.set("plimsoll.outcome", end.outcome)
        .count("plimsoll.attempts", end.attempts);
    if let Some(node) = end.node {
        span.node(node);
    }
    if creator.is_some() {
        span.below_remote();
    }
}

/// The API server tells whole seconds only, so the queue may have heard of the pod in the same one.
fn began(pod: &PodIdentity, added: Moment, building: &Building) -> SystemTime {
    let heard = building.time(added);
    let created = pod.created.as_ref().and_then(time_of);
    created.map_or(heard, |created| created.min(heard))
}

/// Each wait before the attempt with this span, since the one before it. The attempt tells terms apart, in which clock and
/// counts may be the same.
pub(super) fn waits(trace: TraceContext, pod: &PodIdentity, (stays, attempt): (&Stays, u64), building: &mut Building) {
    for (number, stay) in stays.stays.iter().enumerate() {
        let name = match stay.place {
            Place::Active => "queue active",
            Place::Backoff => "queue backoff",
            Place::ErrorBackoff => "queue error backoff",
            Place::Unschedulable => "queue unschedulable",
            // Held back by a pre-enqueue plugin.
            Place::Gated => "PreEnqueue",
            Place::InFlight | Place::Placed => continue,
        };
        let whereabouts = Whereabouts {
            trace: trace.trace_id(),
            span: building.id("wait", &pod.uid, (stay.from.as_nanos(), attempt, number)),
            parent: trace.root(),
        };
        let span = building.span(name, whereabouts, (stay.from, stay.to));
        span.pod(pod).set("plimsoll.queue", stay.place.name());
        span.text("plimsoll.queue.cause", &stay.cause.to_string());
        if let Some(gate) = stay.gate {
            span.set("plimsoll.plugin", gate);
        }
        if stays.left_out > 0 {
            span.count("plimsoll.queue.left_out", stays.left_out);
        }
    }
}

/// A pod that was tried went while it waited.
pub(super) fn gone(record: &GoneRecord, building: &mut Building) {
    // There is no such attempt, and a pod goes once.
    let attempt = building.id("gone", &record.pod.uid, record.at.as_nanos());
    waits(record.trace, &record.pod, (&record.stays, attempt), building);
    let end = End {
        outcome: "gone",
        node: None,
        profile: &record.profile,
        attempts: record.attempts,
        at: record.at,
    };
    life(record.trace, &record.pod, record.added, &end, building);
}
