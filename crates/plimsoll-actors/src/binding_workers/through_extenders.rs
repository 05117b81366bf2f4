//! Bindings that extenders make for us.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures::FutureExt;
use plimsoll_client::{Clock, TermToken, WriteUnderWay};
use plimsoll_engine::ClaimId;
use plimsoll_framework::{EXTENDER, Effect, EffectReply, Extender, ExtenderAnswer, ExtenderCall, ExtenderRequest};
use plimsoll_model::{Moment, Pod};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::Answer;
use crate::effects::{Effects, Gate};
use crate::mailbox::Mailbox;
use crate::scheduling_cycle::CycleMessage;
use crate::trace_context::TraceContext;

/// The outcome of one call of an extender that was to bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtenderBindReply {
    /// It says that the pod is bound.
    Bound,
    /// It has done with the call and says that the pod is not bound, or it never got the call.
    NotBound {
        /// Its words.
        message: String,
    },
    /// No answer, or none that can be made use of: the pod may be bound, now or until the call's time is up.
    Unknown {
        /// What went wrong.
        error: String,
        /// When the call's time is up.
        settled_by: Moment,
    },
    /// The extender was not asked, since the term may be over.
    NotSent,
}

/// The calls of a term. Each belongs to the term as any write does: it is not begun once that may be over, the lease is not
/// released before it is settled, and it ends with the term.
#[derive(Debug, Clone)]
pub(super) struct ThroughExtenders {
    effects: Effects,
    token: Arc<TermToken>,
    clock: Arc<dyn Clock>,
    cycle: Mailbox<CycleMessage>,
    answers: Arc<AtomicU64>,
    calls: TaskTracker,
    line: Arc<Semaphore>,
}

/// How many calls to bind may be under way. Others wait for their turn, so that an extender that hangs takes no more
/// connections than these, however many pods are placed meanwhile.
const CALLS_UNDER_WAY: usize = 256;

impl ThroughExtenders {
    pub(super) fn new(
        effects: Effects,
        token: Arc<TermToken>,
        clock: Arc<dyn Clock>,
        cycle: Mailbox<CycleMessage>,
        answers: Arc<AtomicU64>,
    ) -> Self {
        Self {
            effects,
            token,
            clock,
            cycle,
            answers,
            calls: TaskTracker::new(),
            line: Arc::new(Semaphore::new(CALLS_UNDER_WAY)),
        }
    }

    /// Lets the extender bind the pod; the cycle hears what came of it in every case.
    pub(super) fn bind(&self, claim: ClaimId, pod: Arc<Pod>, node: &str, extender: Arc<Extender>, trace: TraceContext) {
        let bind_answered = move |reply| CycleMessage::ExtenderBindAnswered { claim, reply, trace };
        let mut answer = Answer {
            cycle: self.cycle.clone(),
            answers: Arc::clone(&self.answers),
            if_dropped: Some(bind_answered(ExtenderBindReply::NotSent)),
        };
        let limit = extender.time_limit();
        let request = ExtenderRequest {
            extender,
            call: ExtenderCall::Bind { pod, node: node.into() },
        };
        let effect = Effect {
            plugin: EXTENDER,
            request: Box::new(vec![request]),
        };
        let (effects, gate) = (self.effects.clone(), self.gate());
        let (token, clock, line) = (Arc::clone(&self.token), Arc::clone(&self.clock), Arc::clone(&self.line));
        // A panic in the call, before its first wait included, is an answer too.
        let calling = AssertUnwindSafe(async move { effects.perform_while(effect, gate).await }).catch_unwind();
        let over = self.token.cancellation();
        self.calls.spawn(async move {
            let Some(Ok(_turn)) = over.run_until_cancelled(line.acquire_owned()).await else {
                return drop(answer);
            };
            let now = clock.now();
            let settled_by = now + limit;
            let Some(write) = token.begin_within(now, limit) else {
                return drop(answer);
            };
            answer.if_dropped = Some(bind_answered(unknown("the term ended during the call", settled_by)));
            let Some(called) = over.run_until_cancelled(calling).await else {
                return drop(answer);
            };
            let heard = called.map_or_else(|_| Err("the call panicked".to_owned()), the_answer);
            let reply = match heard {
                Ok(ExtenderAnswer::Bound) => definite(write, ExtenderBindReply::Bound),
                Ok(ExtenderAnswer::NotBound(message)) => definite(write, ExtenderBindReply::NotBound { message }),
                Ok(other) => unknown(&format!("an answer to another question: {other:?}"), settled_by),
                Err(error) => unknown(&error, settled_by),
            };
            answer.send(bind_answered(reply));
        });
    }

    fn gate(&self) -> Gate {
        let (token, clock) = (Arc::clone(&self.token), Arc::clone(&self.clock));
        Arc::new(move || token.may_write(clock.now()))
    }
}

fn unknown(error: &str, settled_by: Moment) -> ExtenderBindReply {
    ExtenderBindReply::Unknown {
        error: error.to_owned(),
        settled_by,
    }
}

fn definite(write: WriteUnderWay, reply: ExtenderBindReply) -> ExtenderBindReply {
    write.answered();
    reply
}

/// The answer to the one call that was made.
fn the_answer(reply: EffectReply) -> Result<ExtenderAnswer, String> {
    let answers = reply?.downcast::<Vec<Result<ExtenderAnswer, String>>>();
    let first = answers.ok().and_then(|answers| answers.into_iter().next());
    first.unwrap_or_else(|| Err("the extender was not asked".to_owned()))
}
