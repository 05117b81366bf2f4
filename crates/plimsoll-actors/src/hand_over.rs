//! One hand-over, from winning the lease to the first binding: each stage is told as a metric, a span and a line in the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_client::Clock;
use plimsoll_model::Moment;
use plimsoll_telemetry::{HandOverStage, Metrics};
use tracing::Span;
use tracing::field::Empty;

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
    under_way: Mutex<Option<UnderWay>>,
}

/// The stage that is being worked on.
#[derive(Debug)]
struct UnderWay {
    stage: HandOverStage,
    span: Span,
    whole: Span,
}

impl HandOver {
    /// The lease was won at this moment.
    pub(crate) fn begin(term: u64, won: Moment, clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        metrics.hand_over().begun();
        let whole = tracing::info_span!(parent: None, "hand_over", term, stage = Empty, seconds = Empty);
        let first = HandOverStage::VersionRead;
        let under_way = UnderWay {
            stage: first,
            span: stage_span(&whole, term, first),
            whole,
        };
        let shared = Shared {
            term,
            won,
            clock,
            metrics,
            under_way: Mutex::new(Some(under_way)),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// A stage is reached, after all that come before it. Saying so again, or out of turn, changes nothing.
    pub(crate) fn reached(&self, stage: HandOverStage) {
        let shared = &self.shared;
        let Some(done) = self.take(stage) else { return };
        let took = shared.clock.now().since(shared.won);
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
    fn take(&self, stage: HandOverStage) -> Option<UnderWay> {
        let shared = &self.shared;
        let mut under_way = shared.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let done = under_way.take_if(|under_way| under_way.stage == stage)?;
        *under_way = stage.next().map(|next| UnderWay {
            stage: next,
            span: stage_span(&done.whole, shared.term, next),
            whole: done.whole.clone(),
        });
        Some(done)
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
