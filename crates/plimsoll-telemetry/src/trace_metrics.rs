//! What is told of traces: how much of them got out.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

const QUEUE_FULL: Reason = Reason { reason: "queue_full" };
const EXPORT_FAILED: Reason = Reason {
    reason: "export_failed",
};

/// `plimsoll_spans_*` and `plimsoll_trace_records_dropped_total`.
#[derive(Debug, Default)]
pub struct TraceMetrics {
    exported: Counter,
    dropped: Family<Reason, Counter>,
    records_dropped: Counter,
}

impl TraceMetrics {
    pub(crate) fn register(&self, own: &mut Registry) {
        for reason in [QUEUE_FULL, EXPORT_FAILED] {
            drop(self.dropped.get_or_create(&reason));
        }
        own.register(
            "spans_exported",
            "Spans that a collector has taken",
            self.exported.clone(),
        );
        own.register(
            "spans_dropped",
            "Spans that were lost, since the queue to the collector was full or the collector did not take them",
            self.dropped.clone(),
        );
        own.register(
            "trace_records_dropped",
            "Attempts and other events that were not made into spans, since too many waited for that",
            self.records_dropped.clone(),
        );
    }

    /// A collector has taken so many.
    pub fn exported(&self, spans: usize) {
        self.exported.inc_by(spans as u64);
    }

    /// So many found no room.
    pub fn queue_was_full(&self, spans: usize) {
        self.dropped.get_or_create(&QUEUE_FULL).inc_by(spans as u64);
    }

    /// So many were not taken by a collector.
    pub fn export_failed(&self, spans: usize) {
        self.dropped.get_or_create(&EXPORT_FAILED).inc_by(spans as u64);
    }

    /// Whoever makes spans has too much to do.
    pub fn record_dropped(&self) {
        self.records_dropped.inc();
    }

    /// How many spans got out, found no room, and were not taken; and how many records were not made into spans.
    pub fn counted(&self) -> (u64, u64, u64, u64) {
        let dropped = |reason| self.dropped.get_or_create(reason).get();
        (
            self.exported.get(),
            dropped(&QUEUE_FULL),
            dropped(&EXPORT_FAILED),
            self.records_dropped.get(),
        )
    }
}
