use std::sync::Arc;

use opentelemetry_sdk::trace::SpanData;
use tokio::sync::mpsc;

use crate::Metrics;

/// Takes finished spans, never waits, and counts what it has to drop.
#[derive(Debug, Clone)]
pub struct SpanSink {
    queue: mpsc::Sender<SpanData>,
    metrics: Arc<Metrics>,
}

impl SpanSink {
    /// A sink that holds so many spans, and where they come out.
    pub fn new(capacity: usize, metrics: Arc<Metrics>) -> (Self, mpsc::Receiver<SpanData>) {
        let (queue, spans) = mpsc::channel(capacity.max(1));
        (Self { queue, metrics }, spans)
    }

    /// Takes these spans, or as many of the first of them as there is room for.
    pub fn submit(&self, spans: Vec<SpanData>) {
        let mut spans = spans.into_iter();
        while let Some(span) = spans.next() {
            if self.queue.try_send(span).is_err() {
                let lost = 1 + spans.len();
                self.metrics.traces().queue_was_full(lost);
                return;
            }
        }
    }
}
