use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry_sdk::trace::SpanData;
use tokio::sync::mpsc;

use crate::Metrics;

/// Takes finished spans, never waits, and counts what it has to drop.
#[derive(Debug, Clone)]
pub struct SpanSink {
    queue: mpsc::Sender<SpanData>,
    resting: Resting,
    metrics: Arc<Metrics>,
}

/// Whether the collector is left alone for a while, as whoever exports says.
#[derive(Debug, Clone, Default)]
pub(super) struct Resting(Arc<AtomicBool>);

/// Why spans are not worth being made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwanted {
    /// There is no room for any.
    QueueFull,
    /// The collector has failed again and again, and is left alone for a while.
    BackedOff,
}

impl Resting {
    // Nothing else hangs on it: a span more or less may be made.
    pub(super) fn set(&self, resting: bool) {
        self.0.store(resting, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl SpanSink {
    /// A sink that holds so many spans, and where they come out.
    pub fn new(capacity: usize, metrics: Arc<Metrics>) -> (Self, mpsc::Receiver<SpanData>) {
        let (queue, spans) = mpsc::channel(capacity.max(1));
        let resting = Resting::default();
        let sink = Self {
            queue,
            resting,
            metrics,
        };
        (sink, spans)
    }

    /// By which it is told that the collector is left alone.
    pub(super) fn resting(&self) -> Resting {
        self.resting.clone()
    }

    /// Whether spans that were made now would be dropped, and why.
    pub fn unwanted(&self) -> Option<Unwanted> {
        if self.resting.get() {
            Some(Unwanted::BackedOff)
        } else if self.queue.capacity() == 0 {
            Some(Unwanted::QueueFull)
        } else {
            None
        }
    }

    /// Takes these spans, or as many of the first of them as there is room for.
    pub fn submit(&self, spans: Vec<SpanData>) {
        let mut spans = spans.into_iter();
        while let Some(span) = spans.next() {
            if self.queue.try_send(span).is_err() {
                self.left_out(Unwanted::QueueFull, 1 + spans.len());
                return;
            }
        }
    }

    /// Counts spans that were not made, since nobody would have taken them.
    pub fn left_out(&self, why: Unwanted, spans: usize) {
        match why {
            Unwanted::QueueFull => self.metrics.traces().queue_was_full(spans),
            Unwanted::BackedOff => self.metrics.traces().backed_off(spans),
        }
    }
}
