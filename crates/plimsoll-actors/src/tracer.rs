//! `Tracer`: turns what is known of an attempt, once its outcome is, into finished spans, and gives them to whoever exports
//! them.
//!
//! Nobody waits for it, and it owns nothing but the sink: what it is told is whole in itself. So a span begins and ends in
//! the past when it is made, and costs nothing before somebody knows that it is wanted.
//!
//! ```text
//! schedule pod                     the pod's scheduling life; told at its end, by whoever leads then
//! ├── queue active, queue backoff, …   each wait, with what brought the pod there
//! ├── attempt                      told when its outcome is known
//! │   ├── scheduling cycle
//! │   │   └── PreFilter, Filter, …     each extension point; below it plugins, where they were timed, and calls
//! │   ├── binding cycle
//! │   │   ├── Permit wait
//! │   │   └── PreBind, Bind, …     with the requests to the API server
//! │   ├── preemption               told when the last victim is gone, with links to the victims' traces
//! │   └── PATCH pods/status
//! ├── explain                      what somebody was told who asked why the pod is pending
//! └── preempted                    in a victim's trace, with a link to the preemption
//! ```

mod attempts;
mod building;
mod explained;
mod lives;
mod operations;
mod preemptions;

use std::sync::Arc;

use plimsoll_client::Clock;
use plimsoll_queue::Stays;
use plimsoll_telemetry::Metrics;
use plimsoll_telemetry::traces::SpanSink;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use self::building::Building;
pub use self::operations::{Operation, OperationStep};
pub use self::preemptions::{PreemptionRecord, VictimRecord};
use crate::attempt_record::{AttemptRecord, Call, PodIdentity};
use crate::explanation::Explanation;
use crate::mailbox::{Mailbox, Summary};
use crate::trace_context::TraceContext;

/// What the Tracer hears.
#[derive(Debug)]
pub enum TracerMessage {
    /// From the cycle: an attempt has ended.
    Attempt(Arc<AttemptRecord>),
    /// From the cycle: a call that belongs to an attempt, and whose answer came after its end.
    Call(Box<LateCall>),
    /// From the Evictor: a preemption is over.
    Preemption(Box<PreemptionRecord>),
    /// From the queue: a pod that was tried went while it waited to be tried again.
    Gone(Box<GoneRecord>),
    /// From whoever was asked why a pod is pending.
    Explained(Box<ExplainedRecord>),
    /// From whoever has done something that concerns no pod in particular.
    Operation(Box<Operation>),
}

impl Summary for TracerMessage {
    fn summary(&self) -> String {
        match self {
            Self::Attempt(record) => format!("Attempt {} {}", record.pod.name, record.outcome.as_str()),
            Self::Call(call) => format!("Call {} {}", call.pod.name, call.call.outcome),
            Self::Preemption(record) => format!("Preemption {} {}", record.preemptor.name, record.ending),
            Self::Gone(record) => format!("Gone {}", record.pod.name),
            Self::Explained(record) => format!("Explained {}", record.pod.name),
            Self::Operation(operation) => format!("Operation {}", operation.name),
        }
    }
}

/// A call that belongs to an attempt, and whose answer came after its end.
#[derive(Debug)]
pub struct LateCall {
    /// The pod's trace.
    pub trace: TraceContext,
    /// The attempt, as its record names it.
    pub attempt: u64,
    /// The pod.
    pub pod: PodIdentity,
    /// What was called.
    pub call: Call,
}

/// A pod that was tried and went while it waited to be tried again.
#[derive(Debug)]
pub struct GoneRecord {
    /// The pod's trace.
    pub trace: TraceContext,
    /// The pod.
    pub pod: PodIdentity,
    /// The profile that it was tried with.
    pub profile: String,
    /// How often it was tried.
    pub attempts: u32,
    /// When the queue first heard of it.
    pub added: plimsoll_model::Moment,
    /// Where it had waited since its last attempt.
    pub stays: Stays,
    /// When it went.
    pub at: plimsoll_model::Moment,
}

/// What somebody was told of a pod.
#[derive(Debug)]
pub struct ExplainedRecord {
    /// The pod's trace.
    pub trace: TraceContext,
    /// The pod.
    pub pod: PodIdentity,
    /// When this was so.
    pub at: plimsoll_model::Moment,
    /// What was told.
    pub explanation: Explanation,
}

/// So many records may wait for the Tracer; each is some kilobytes.
const MOST_WAITING: i64 = 4_096;

/// The way to the Tracer, for those who have something to tell.
#[derive(Debug, Clone)]
pub struct Tracing {
    mailbox: Mailbox<TracerMessage>,
    metrics: Arc<Metrics>,
    /// The share of pods that are told of though nothing goes wrong with them, unless their profile says another.
    ratio: f64,
}

impl Tracing {
    pub(crate) fn new(mailbox: Mailbox<TracerMessage>, metrics: Arc<Metrics>, ratio: f64) -> Self {
        Self {
            mailbox,
            metrics,
            ratio,
        }
    }

    /// Tells the Tracer, unless too much waits for it already.
    pub(crate) fn tell(&self, message: TracerMessage) {
        if self.mailbox.depth().get() >= MOST_WAITING {
            self.metrics.traces().record_dropped();
        } else {
            self.mailbox.tell(message);
        }
    }

    /// Whether this pod is told of though nothing goes wrong with it.
    pub(crate) fn is_sampled(&self, trace: TraceContext, of_profile: Option<f64>) -> bool {
        trace.is_sampled(of_profile.unwrap_or(self.ratio))
    }
}

/// The actor; its state is [`TracerState`].
#[derive(Debug)]
pub struct Tracer;

/// What the Tracer needs to start.
pub struct TracerArguments {
    /// Its own mailbox.
    pub mailbox: Mailbox<TracerMessage>,
    /// Who takes spans.
    pub sink: SpanSink,
    /// `<hostname>_<uuid>`, the identity in the lease.
    pub identity: String,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// What the Tracer owns.
pub struct TracerState {
    parts: TracerArguments,
}

impl Actor for Tracer {
    type Msg = TracerMessage;
    type State = TracerState;
    type Arguments = TracerArguments;

    async fn pre_start(
        &self,
        _: ActorRef<TracerMessage>,
        parts: TracerArguments,
    ) -> Result<TracerState, ActorProcessingErr> {
        Ok(TracerState { parts })
    }

    async fn handle(
        &self,
        _: ActorRef<TracerMessage>,
        message: TracerMessage,
        state: &mut TracerState,
    ) -> Result<(), ActorProcessingErr> {
        let parts = &state.parts;
        parts.mailbox.depth().taken();
        let mut building = Building::at(&parts.identity, parts.clock.now(), parts.clock.wall());
        let unwanted = parts.sink.unwanted();
        if unwanted.is_some() {
            building = building.counting();
        }
        match &message {
            TracerMessage::Attempt(record) => attempts::attempt(record, &mut building),
            TracerMessage::Call(call) => attempts::late_call(call, &mut building),
            TracerMessage::Preemption(record) => preemptions::preemption(record, &mut building),
            TracerMessage::Gone(record) => lives::gone(record, &mut building),
            TracerMessage::Explained(record) => explained::explained(record, &mut building),
            TracerMessage::Operation(operation) => operations::operation(operation, &parts.identity, &mut building),
        }
        match unwanted {
            Some(why) => parts.sink.left_out(why, building.left_out()),
            None => parts.sink.submit(building.into_spans()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
