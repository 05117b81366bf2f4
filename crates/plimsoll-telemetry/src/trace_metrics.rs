//! What is told of traces: how much of them got out.

use prometheus_client::metrics::counter::Counter;

use crate::registrar::{Registrar, plain};

/// `plimsoll_spans_*` and `plimsoll_trace_records_dropped_total`.
#[derive(Debug)]
pub struct TraceMetrics {
    exported: Counter,
    /// Since the queue was full, and since the export failed.
    dropped: [Counter; 2],
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
                    "Spans that were lost, since the queue to the collector was full or the collector did not take them.",
                ),
                &["reason"],
                ["queue_full", "export_failed"],
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

    /// Whoever makes spans has too much to do.
    pub fn record_dropped(&self) {
        self.records_dropped.inc();
    }

    /// How many spans got out, found no room, and were not taken; and how many records were not made into spans.
    pub fn counted(&self) -> (u64, u64, u64, u64) {
        let [full, failed] = &self.dropped;
        (
            self.exported.get(),
            full.get(),
            failed.get(),
            self.records_dropped.get(),
        )
    }
}
