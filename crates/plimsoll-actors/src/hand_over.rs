//! One hand-over, from winning the lease to the first binding: each stage is told as a metric, a span and a line in the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_client::Clock;
use plimsoll_model::Moment;
use plimsoll_telemetry::{HandOverStage, Metrics};
use tracing::Span;
use tracing::field::Empty;

use crate::tracer::{Operation, OperationStep, TracerMessage, Tracing};

/// How far the hand-over of one term has come. Clones are about the same one.
#[derive(Debug, Clone)]
pub struct HandOver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    term: u64,
    won: Moment,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    tracing: Option<Tracing>,
    under_way: Mutex<Option<UnderWay>>,
}

/// The stage that is being worked on.
#[derive(Debug)]
struct UnderWay {
    stage: HandOverStage,
    /// Those before it, and when they were reached.
    steps: Vec<OperationStep>,
    span: Span,
    whole: Span,
}

impl HandOver {
    /// The lease was won at this moment.
    pub(crate) fn begin(
        term: u64,
        won: Moment,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        tracing: Option<Tracing>,
    ) -> Self {
        metrics.hand_over().begun();
        let whole = tracing::info_span!(parent: None, "hand_over", term, stage = Empty, seconds = Empty);
        let first = HandOverStage::VersionRead;
        let under_way = UnderWay {
            stage: first,
            steps: Vec::new(),
            span: stage_span(&whole, term, first),
            whole,
        };
        let shared = Shared {
            term,
            won,
            clock,
            metrics,
            tracing,
            under_way: Mutex::new(Some(under_way)),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// A stage is reached, after all that come before it. Saying so again, or out of turn, changes nothing.
    pub(crate) fn reached(&self, stage: HandOverStage) {
        let shared = &self.shared;
        let now = shared.clock.now();
        let Some((done, step)) = self.take(stage, now) else {
            return;
        };
        let took = now.since(shared.won);
        self.tell(stage, &done, step);
        shared.metrics.hand_over().reached(stage, took);
        record(&done.span, stage, took);
        // Where the whole has come to, in case it never comes further.
        record(&done.whole, stage, took);
        done.span.in_scope(|| {
            tracing::info!(
                term = shared.term,
                stage = stage.as_str(),
                seconds = took.as_secs_f64(),
                "Hand-over"
            );
        });
    }

    /// Ends the stage under way if it is this one, and begins the next.
    fn take(&self, stage: HandOverStage, now: Moment) -> Option<(UnderWay, OperationStep)> {
        let shared = &self.shared;
        let mut under_way = shared.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let done = under_way.take_if(|under_way| under_way.stage == stage)?;
        let step = OperationStep {
            name: stage.as_str(),
            begun: done.steps.last().map_or(shared.won, |step| step.ended),
            ended: now,
        };
        let steps: Vec<OperationStep> = done.steps.iter().copied().chain([step]).collect();
        *under_way = stage.next().map(|next| UnderWay {
            stage: next,
            steps,
            span: stage_span(&done.whole, shared.term, next),
            whole: done.whole.clone(),
        });
        Some((done, step))
    }

    /// The hand-over is over when the first pod may be tried; the first binding, which may come much later or never, is told
    /// as a part of it when it comes.
    fn tell(&self, stage: HandOverStage, done: &UnderWay, step: OperationStep) {
        let shared = &self.shared;
        let Some(tracing) = &shared.tracing else { return };
        let steps = done.steps.iter().copied().chain([step]);
        let (whole, steps) = match stage {
            HandOverStage::VersionRead | HandOverStage::CaughtUp => return,
            HandOverStage::QueueBuilt => (true, steps.enumerate().collect()),
            HandOverStage::FirstBind => (false, vec![(done.steps.len(), step)]),
        };
        tracing.tell(TracerMessage::Operation(Box::new(Operation {
            name: "hand-over",
            begun: shared.won,
            ended: step.ended,
            attributes: vec![("plimsoll.term", shared.term.to_string())],
            whole,
            steps,
            error: None,
        })));
    }
}

fn stage_span(whole: &Span, term: u64, stage: HandOverStage) -> Span {
    tracing::info_span!(parent: whole, "hand_over_stage", term, stage = stage.as_str(), seconds = Empty)
}

fn record(span: &Span, stage: HandOverStage, took: Duration) {
    span.record("stage", stage.as_str());
    span.record("seconds", took.as_secs_f64());
}

#[cfg(test)]
mod tests;
