use std::sync::Arc;
use std::time::Duration;

use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::exporter::{self, ExporterError, ServiceInstance};
use super::rest::Rest;
use super::settings::{ExportLimits, TraceSettings};
use super::sink::{Resting, SpanSink};
use crate::Metrics;

/// The task that exports spans, until it is told to finish.
#[derive(Debug)]
pub struct Exporting {
    tasks: TaskTracker,
    finishing: CancellationToken,
}

impl Exporting {
    /// Begins to export, as these settings say, what is given to the sink. To be called within a runtime.
    ///
    /// # Errors
    /// When the settings cannot be used. A collector that is not there is no error: it may come.
    pub fn start(
        settings: &TraceSettings,
        instance: &ServiceInstance,
        metrics: &Arc<Metrics>,
    ) -> Result<(SpanSink, Self), ExporterError> {
        let exporter = exporter::build(settings, instance)?;
        Ok(Self::through(exporter, settings.limits, metrics))
    }

    /// Exports through this exporter.
    pub fn through<E>(exporter: E, limits: ExportLimits, metrics: &Arc<Metrics>) -> (SpanSink, Self)
    where
        E: SpanExporter + 'static,
    {
        let (sink, spans) = SpanSink::new(limits.queue_size, Arc::clone(metrics));
        let (tasks, finishing) = (TaskTracker::new(), CancellationToken::new());
        let task = Task {
            spans,
            exporter,
            limits,
            metrics: Arc::clone(metrics),
            rest: Rest::default(),
            resting: sink.resting(),
            failing: false,
        };
        tasks.spawn(task.run(finishing.clone()));
        (sink, Self { tasks, finishing })
    }

    /// Exports what has been submitted so far, and nothing more; gives up after this time.
    pub async fn finish(self, patience: Duration) {
        self.finishing.cancel();
        self.tasks.close();
        if timeout(patience, self.tasks.wait()).await.is_err() {
            tracing::warn!("The last spans were not exported: the collector takes too long");
        }
    }
}

struct Task<E> {
    spans: mpsc::Receiver<SpanData>,
    exporter: E,
    limits: ExportLimits,
    metrics: Arc<Metrics>,
    rest: Rest,
    resting: Resting,
    /// Whether the last export failed: it is told once and not with each batch.
    failing: bool,
}

impl<E: SpanExporter> Task<E> {
    async fn run(mut self, finishing: CancellationToken) {
        loop {
            let mut batch = Vec::new();
            let filling = fill(&mut self.spans, &mut batch, self.limits);
            if finishing.run_until_cancelled(filling).await.is_none() {
                return self.empty(batch).await;
            }
            if batch.is_empty() {
                return;
            }
            let Some(rest) = self.export(batch).await else {
                continue;
            };
            // What waits is kept, to ask with afterwards.
            self.resting.set(true);
            let over = finishing.run_until_cancelled(sleep(rest)).await;
            self.resting.set(false);
            if over.is_none() {
                return self.empty(Vec::new()).await;
            }
        }
    }

    /// Exports what is in the queue, and lets nothing more in.
    async fn empty(&mut self, mut batch: Vec<SpanData>) {
        self.spans.close();
        loop {
            let missing = self.limits.batch_size.saturating_sub(batch.len());
            if missing > 0 {
                self.spans.recv_many(&mut batch, missing).await;
            }
            if batch.is_empty() {
                return;
            }
            self.export(std::mem::take(&mut batch)).await;
        }
    }

    /// Tells for how long the collector is to be left alone, if it is.
    async fn export(&mut self, batch: Vec<SpanData>) -> Option<Duration> {
        let spans = batch.len();
        let exported: Result<OTelSdkResult, _> = timeout(self.limits.timeout, self.exporter.export(batch)).await;
        let error = match exported {
            Ok(Ok(())) => {
                self.metrics.traces().exported(spans);
                self.rest.took();
                if std::mem::replace(&mut self.failing, false) {
                    tracing::info!("Spans are exported again");
                }
                return None;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        self.metrics.traces().export_failed(spans);
        if std::mem::replace(&mut self.failing, true) {
            tracing::debug!(spans, error, "Spans were not exported");
        } else {
            tracing::warn!(spans, error, "Spans were not exported; told once until they are again");
        }
        self.rest.failed()
    }
}

/// Waits for a span, and then until a batch is full or the time is over. Nothing when no more spans will come.
async fn fill(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>, limits: ExportLimits) {
    if spans.recv_many(batch, limits.batch_size).await == 0 {
        return;
    }
    let deadline = Instant::now() + limits.delay;
    while batch.len() < limits.batch_size {
        let missing = limits.batch_size - batch.len();
        match timeout_at(deadline, spans.recv_many(batch, missing)).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
