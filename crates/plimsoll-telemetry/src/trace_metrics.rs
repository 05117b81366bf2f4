//! What is told of traces: how much of them got out.

use prometheus_client::metrics::counter::Counter;

use crate::registrar::{Registrar, plain};

/// `plimsoll_spans_*` and `plimsoll_trace_records_dropped_total`.
#[derive(Debug)]
pub struct TraceMetrics {
    exported: Counter,
    /// Since the queue was full, since the export failed, and since the collector was left alone.
    dropped: [Counter; 3],
    records_dropped: Counter,
}

impl TraceMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            exported: registrar.one(
                plain("plimsoll_spans_exported_total", "Spans that a collector has taken."),
                Counter::default(),
            ),
            dropped: registrar.fixed(
                plain(
                    "plimsoll_spans_dropped_total",
                    "Spans that were lost: the queue to the collector was full, it did not take them, or it was left alone \
                     for a while after it had failed again and again.",
                ),
                &["reason"],
                ["queue_full", "export_failed", "backed_off"],
                Counter::default,
            ),
            records_dropped: registrar.one(
                plain(
                    "plimsoll_trace_records_dropped_total",
                    "Attempts and other events that were not made into spans, since too many waited for that.",
                ),
                Counter::default(),
            ),
        }
    }

    /// A collector has taken so many.
    pub fn exported(&self, spans: usize) {
        self.exported.inc_by(spans as u64);
    }

    /// So many found no room.
    pub fn queue_was_full(&self, spans: usize) {
        self.dropped[0].inc_by(spans as u64);
    }

    /// So many were not taken by a collector.
    pub fn export_failed(&self, spans: usize) {
        self.dropped[1].inc_by(spans as u64);
    }

    /// So many were not made, since the collector was left alone.
    pub fn backed_off(&self, spans: usize) {
        self.dropped[2].inc_by(spans as u64);
    }

    /// Whoever makes spans has too much to do.
    pub fn record_dropped(&self) {
        self.records_dropped.inc();
    }

    /// What has been counted.
    pub fn counted(&self) -> SpanCounts {
        let [queue_full, export_failed, backed_off] = self.dropped.each_ref().map(Counter::get);
        SpanCounts {
            exported: self.exported.get(),
            queue_full,
            export_failed,
            backed_off,
            records: self.records_dropped.get(),
        }
    }
}

/// What has become of spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// A collector has taken them.
    pub exported: u64,
    /// They found no room.
    pub queue_full: u64,
    /// A collector did not take them.
    pub export_failed: u64,
    /// They were not made, since the collector was left alone.
    pub backed_off: u64,
    /// Records that were not made into spans.
    pub records: u64,
}

impl SpanCounts {
    /// All that did not get out.
    pub fn dropped(&self) -> u64 {
        self.queue_full + self.export_failed + self.backed_off + self.records
    }
}
