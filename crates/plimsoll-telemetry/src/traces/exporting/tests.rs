use std::sync::Mutex;

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::error::OTelSdkError;

use super::*;
use crate::traces::Unwanted;

/// What a collector does with each batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collector {
    Takes,
    Refuses,
    Hangs,
    /// Takes a batch after ten seconds.
    IsSlow,
}

#[derive(Debug, Clone)]
struct Exporter {
    collector: Arc<Mutex<Collector>>,
    batches: Arc<Mutex<Vec<usize>>>,
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let collector = *self.collector.lock().unwrap();
        match collector {
            Collector::Hangs => std::future::pending().await,
            Collector::Refuses => return Err(OTelSdkError::InternalFailure("no".to_owned())),
            Collector::IsSlow => tokio::time::sleep(Duration::from_secs(10)).await,
            Collector::Takes => {}
        }
        self.batches.lock().unwrap().push(batch.len());
        Ok(())
    }
}

struct Fixture {
    exporter: Exporter,
    metrics: Arc<Metrics>,
    sink: SpanSink,
    exporting: Exporting,
}

impl Fixture {
    fn counted(&self) -> (u64, u64, u64, u64) {
        counted(&self.metrics)
    }
}

/// How many got out, found no room, were not taken, and were not made.
fn counted(metrics: &Metrics) -> (u64, u64, u64, u64) {
    let counted = metrics.traces().counted();
    assert_eq!(counted.records, 0);
    (
        counted.exported,
        counted.queue_full,
        counted.export_failed,
        counted.backed_off,
    )
}

const LIMITS: ExportLimits = ExportLimits {
    queue_size: 20,
    batch_size: 8,
    delay: Duration::from_secs(5),
    timeout: Duration::from_secs(30),
};

fn fixture(collector: Collector) -> Fixture {
    let exporter = Exporter {
        collector: Arc::new(Mutex::new(collector)),
        batches: Arc::default(),
    };
    let metrics = Arc::new(Metrics::new());
    let (sink, exporting) = Exporting::through(exporter.clone(), LIMITS, &metrics);
    Fixture {
        exporter,
        metrics,
        sink,
        exporting,
    }
}

fn spans(count: usize) -> Vec<SpanData> {
    let id = SpanId::from(7);
    let span = SpanData {
        span_context: SpanContext::new(TraceId::from(7), id, TraceFlags::SAMPLED, false, TraceState::default()),
        parent_span_id: SpanId::INVALID,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: "span".into(),
        start_time: std::time::UNIX_EPOCH,
        end_time: std::time::UNIX_EPOCH,
        attributes: Vec::new(),
        dropped_attributes_count: 0,
        events: opentelemetry_sdk::trace::SpanEvents::default(),
        links: opentelemetry_sdk::trace::SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: InstrumentationScope::default(),
    };
    vec![span; count]
}

/// Lets the task come as far as it can without time passing.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn spans_go_out_in_full_batches_at_once_and_the_rest_after_a_while() {
    let f = fixture(Collector::Takes);
    f.sink.submit(spans(20));
    settle().await;
    assert_eq!(*f.exporter.batches.lock().unwrap(), [8, 8]);
    tokio::time::sleep(LIMITS.delay).await;
    settle().await;
    assert_eq!(*f.exporter.batches.lock().unwrap(), [8, 8, 4]);
    assert_eq!(f.counted(), (20, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_hangs_costs_spans_and_nobody_waits_for_it() {
    let f = fixture(Collector::Hangs);
    f.sink.submit(spans(8));
    settle().await;
    // One batch is under way, and the queue takes no more than it holds.
    f.sink.submit(spans(50));
    assert_eq!(f.counted(), (0, 30, 0, 0));
    tokio::time::sleep(LIMITS.timeout).await;
    settle().await;
    let (exported, full, failed, _) = f.counted();
    assert_eq!((exported, full, failed), (0, 30, 8));
    *f.exporter.collector.lock().unwrap() = Collector::Takes;
    tokio::time::sleep(LIMITS.timeout + LIMITS.delay).await;
    settle().await;
    let (exported, full, failed, _) = f.counted();
    assert_eq!((exported + failed, full), (28, 30), "each span is counted once");
    assert!(exported >= 12, "it goes on when the collector does");
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_refuses_costs_the_batch() {
    let f = fixture(Collector::Refuses);
    f.sink.submit(spans(8));
    settle().await;
    assert_eq!(f.counted(), (0, 0, 8, 0));
    *f.exporter.collector.lock().unwrap() = Collector::Takes;
    f.sink.submit(spans(8));
    settle().await;
    assert_eq!(f.counted(), (8, 0, 8, 0));
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_refuses_again_and_again_is_left_alone_and_asked_once_after_each_rest() {
    let f = fixture(Collector::Refuses);
    f.sink.submit(spans(16));
    settle().await;
    assert_eq!((f.counted(), f.sink.unwanted()), ((0, 0, 16, 0), None));
    // The third batch begins the rest; what waits behind it is kept.
    f.sink.submit(spans(12));
    settle().await;
    assert_eq!(
        (f.counted(), f.sink.unwanted()),
        ((0, 0, 24, 0), Some(Unwanted::BackedOff))
    );
    f.sink.left_out(Unwanted::BackedOff, 5);
    assert_eq!(f.counted(), (0, 0, 24, 5));
    tokio::time::sleep(Duration::from_secs(1)).await;
    settle().await;
    assert_eq!(f.sink.unwanted(), None);
    f.sink.submit(spans(8));
    settle().await;
    assert_eq!(f.counted(), (0, 0, 32, 5), "one batch asked");
    assert_eq!(f.sink.unwanted(), Some(Unwanted::BackedOff), "a longer rest");
    *f.exporter.collector.lock().unwrap() = Collector::Takes;
    tokio::time::sleep(Duration::from_millis(1_900)).await;
    settle().await;
    assert_eq!(f.sink.unwanted(), Some(Unwanted::BackedOff));
    tokio::time::sleep(Duration::from_millis(100) + LIMITS.delay).await;
    settle().await;
    assert_eq!(
        (f.counted(), f.sink.unwanted()),
        ((4, 0, 32, 5), None),
        "what was kept has come"
    );
    // Once more three failures in a row are needed.
    *f.exporter.collector.lock().unwrap() = Collector::Refuses;
    f.sink.submit(spans(16));
    settle().await;
    assert_eq!((f.counted(), f.sink.unwanted()), ((4, 0, 48, 5), None));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_worth_being_made_while_there_is_no_room() {
    let f = fixture(Collector::Hangs);
    f.sink.submit(spans(8));
    settle().await;
    f.sink.submit(spans(19));
    assert_eq!(f.sink.unwanted(), None, "there is room for one");
    f.sink.submit(spans(1));
    assert_eq!(f.sink.unwanted(), Some(Unwanted::QueueFull));
    f.sink.left_out(Unwanted::QueueFull, 3);
    assert_eq!(f.counted(), (0, 3, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_process_does_not_wait_for_the_end_of_a_rest() {
    let f = fixture(Collector::Refuses);
    f.sink.submit(spans(20));
    settle().await;
    f.sink.submit(spans(8));
    settle().await;
    assert_eq!(f.sink.unwanted(), Some(Unwanted::BackedOff));
    *f.exporter.collector.lock().unwrap() = Collector::Takes;
    let before = Instant::now();
    f.exporting.finish(Duration::from_secs(1)).await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(counted(&f.metrics), (4, 0, 24, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_submitted_is_exported_before_the_end_if_the_collector_is_quick() {
    let f = fixture(Collector::Takes);
    f.sink.submit(spans(11));
    f.exporting.finish(Duration::from_secs(1)).await;
    assert_eq!(counted(&f.metrics), (11, 0, 0, 0));
    f.sink.submit(spans(3));
    assert_eq!(counted(&f.metrics).1, 3, "nothing is taken any more");

    let f = fixture(Collector::IsSlow);
    f.sink.submit(spans(11));
    let before = Instant::now();
    f.exporting.finish(Duration::from_secs(1)).await;
    assert_eq!(before.elapsed(), Duration::from_secs(1));
}
