//! Spans as they are handed over.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldhash::quality::FixedState;
use plimsoll_model::{Moment, Timestamp, Uid};
use plimsoll_telemetry::traces::opentelemetry::trace::{
    Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use plimsoll_telemetry::traces::opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use plimsoll_telemetry::traces::{SpanData, SpanEvents, SpanLinks};

use crate::attempt_record::PodIdentity;
use crate::trace_context::span_id_of;

/// The longest text in an attribute, in bytes: more says no more, and backends cut it anyway.
const LONGEST_TEXT: usize = 4_096;

/// Where a span is, and below which other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whereabouts {
    pub(super) trace: u128,
    pub(super) span: u64,
    /// 0 is none.
    pub(super) parent: u64,
}

/// One span that is being made.
#[derive(Debug, Default)]
pub(super) struct Span {
    /// Nothing where spans are counted alone: then what is said of it is not even copied.
    data: Option<SpanData>,
}

impl Span {
    fn with(&mut self, change: impl FnOnce(&mut SpanData)) -> &mut Self {
        if let Some(data) = &mut self.data {
            change(data);
        }
        self
    }

    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Value>) -> &mut Self {
        self.with(|data| data.attributes.push(KeyValue::new(key, value)))
    }

    pub(super) fn text(&mut self, key: &'static str, text: &str) -> &mut Self {
        self.with(|data| data.attributes.push(KeyValue::new(key, cut(text).to_owned())))
    }

    pub(super) fn count(&mut self, key: &'static str, count: impl TryInto<i64>) -> &mut Self {
        self.set(key, count.try_into().unwrap_or(i64::MAX))
    }

    /// Which pod it is about, by the names that everybody uses.
    pub(super) fn pod(&mut self, pod: &PodIdentity) -> &mut Self {
        self.text("k8s.namespace.name", &pod.name.namespace);
        self.text("k8s.pod.name", &pod.name.name);
        self.text("k8s.pod.uid", pod.uid.as_str())
    }

    pub(super) fn node(&mut self, node: &str) -> &mut Self {
        self.text("k8s.node.name", node)
    }

    pub(super) fn asks_others(&mut self) -> &mut Self {
        self.with(|data| data.span_kind = SpanKind::Client)
    }

    pub(super) fn failed(&mut self, why: &str) -> &mut Self {
        self.with(|data| data.status = Status::error(cut(why).to_owned()))
    }

    /// Its parent is in another process.
    pub(super) fn below_remote(&mut self) -> &mut Self {
        self.with(|data| data.parent_span_is_remote = true)
    }

    pub(super) fn link(&mut self, trace: u128, span: u64, attributes: Vec<KeyValue>) -> &mut Self {
        self.with(|data| data.links.links.push(Link::new(context(trace, span), attributes, 0)))
    }

    /// Something that happened at the end of it.
    pub(super) fn event(&mut self, name: &'static str, attributes: Vec<KeyValue>) -> &mut Self {
        self.with(|data| {
            let event = Event::new(name, data.end_time, attributes, 0);
            data.events.events.push(event);
        })
    }
}

/// Several texts in one attribute.
pub(super) fn list(items: impl Iterator<Item = impl Into<StringValue>>) -> Value {
    Value::Array(Array::String(items.map(Into::into).collect()))
}

fn cut(text: &str) -> &str {
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    let mut end = LONGEST_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn context(trace: u128, span: u64) -> SpanContext {
    let (trace, span) = (TraceId::from(trace), SpanId::from(span));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default())
}

/// The spans that one message is made into, or how many they would be, and the times of day of its moments.
pub(super) struct Building {
    /// Who tells. Moments and numbers of terms and attempts are each replica's own, and may be the same as another's.
    replica: u64,
    now: Moment,
    wall: SystemTime,
    scope: InstrumentationScope,
    spans: Vec<Span>,
    /// How many spans were asked for, where nobody would take them.
    counting: Option<usize>,
}

impl Building {
    /// In the replica with this identity it is now this moment, and this time of day.
    pub(super) fn at(identity: &str, now: Moment, wall: jiff::Timestamp) -> Self {
        let scope = InstrumentationScope::builder("plimsoll").with_version(env!("CARGO_PKG_VERSION"));
        Self {
            replica: FixedState::with_seed(5).hash_one(identity),
            now,
            wall: SystemTime::from(wall),
            scope: scope.build(),
            spans: Vec::new(),
            counting: None,
        }
    }

    /// The same, but spans are only counted.
    pub(super) fn counting(mut self) -> Self {
        self.counting = Some(0);
        self.spans = vec![Span::default()];
        self
    }

    /// The id of a span of this replica's about a pod; the pod's root alone is everybody's.
    pub(super) fn id(&self, kind: &str, uid: &Uid, number: impl Hash) -> u64 {
        span_id_of(kind, uid, (self.replica, number))
    }

    /// The id of the span of an attempt, which messages name by what tells it from others of this replica.
    pub(super) fn attempt(&self, uid: &Uid, attempt: u64) -> u64 {
        self.id("attempt", uid, attempt)
    }

    /// The time of day of a moment.
    pub(super) fn time(&self, moment: Moment) -> SystemTime {
        let ahead = moment.since(self.now);
        if ahead > Duration::ZERO {
            self.wall.checked_add(ahead)
        } else {
            self.wall.checked_sub(self.now.since(moment))
        }
        .unwrap_or(UNIX_EPOCH)
    }

    /// A span from one moment to another.
    pub(super) fn span(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        whereabouts: Whereabouts,
        (from, to): (Moment, Moment),
    ) -> &mut Span {
        let times = (self.time(from), self.time(to));
        self.span_at(name, whereabouts, times)
    }

    /// A span from one time of day to another.
    pub(super) fn span_at(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        whereabouts: Whereabouts,
        (from, to): (SystemTime, SystemTime),
    ) -> &mut Span {
        if let Some(count) = &mut self.counting {
            *count += 1;
            return &mut self.spans[0];
        }
        let data = SpanData {
            span_context: context(whereabouts.trace, whereabouts.span),
            parent_span_id: SpanId::from(whereabouts.parent),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: from.min(to),
            end_time: to,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        };
        let at = self.spans.len();
        self.spans.push(Span { data: Some(data) });
        &mut self.spans[at]
    }

    /// How many spans were left out.
    pub(super) fn left_out(&self) -> usize {
        self.counting.unwrap_or_default()
    }

    pub(super) fn into_spans(self) -> Vec<SpanData> {
        self.spans.into_iter().filter_map(|span| span.data).collect()
    }
}

/// The time of day of a pod's creation.
pub(super) fn time_of(timestamp: &Timestamp) -> Option<SystemTime> {
    timestamp.as_str().parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_as_times_of_day_whichever_side_of_now_they_lie() {
        let wall = "2026-11-28T02:30:10Z".parse::<jiff::Timestamp>().unwrap();
        let at = |seconds| Moment::ZERO + Duration::from_secs(seconds);
        let building = Building::at("replica", at(100), wall);
        let time = |text: &str| SystemTime::from(text.parse::<jiff::Timestamp>().unwrap());
        assert_eq!(building.time(at(93)), time("2026-11-28T02:30:03Z"));
        assert_eq!(building.time(at(101)), time("2026-11-28T02:30:11Z"));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = "ä".repeat(LONGEST_TEXT);
        assert_eq!(cut(&long).len(), LONGEST_TEXT);
        assert_eq!(cut(&format!("a{long}")).len(), LONGEST_TEXT - 1);
    }
}
