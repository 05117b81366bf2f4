//! `SchedulingCycle`: owns the engine (columns, claims, nominations) and moves messages around it.
//!
//! One pod at a time is asked of the queue. While a cycle waits for an effect, and while bindings are under way, every
//! other message is served: waiting holds nothing up here, and what waits is parked in the engine.

mod auditing;
mod claim_messages;
mod explaining;
mod measuring;
mod message;
mod outcome_report;
mod panic_budget;
mod past_attempts;
mod preempting;
mod recording;
mod status_writes;
mod volume_writes;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use foldhash::fast::FixedState;
use futures::FutureExt;
use hashbrown::HashMap;
use plimsoll_client::{Clock, TermToken};
use plimsoll_engine::{ClaimId, Engine, Notice, Step};
use plimsoll_framework::{Effect, EffectReply};
use plimsoll_model::guard::{Guard, holds};
use plimsoll_model::storage::VolumeWritten;
use plimsoll_model::{Moment, Pod, Seq, Uid};
use plimsoll_queue::{PoppedPod, Release};
use plimsoll_telemetry::logs::V3;
use plimsoll_telemetry::{AttemptResult, Metrics};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::explaining::CycleAccount;
use self::explaining::Inquiry;
use self::measuring::CycleMetrics;
pub use self::message::CycleMessage;
use self::panic_budget::PanicBudget;
pub(crate) use self::panic_budget::TooManyPanics;
use self::past_attempts::PastAttempts;
use self::preempting::{Awaited, Concerned, Plans};
use self::recording::{Asking, Attempted, ClaimEffects, Patches};
use self::status_writes::StatusWrites;
use self::volume_writes::VolumeWrites;
use crate::alarm::Alarm;
use crate::assembled_config::AssembledConfig;
use crate::binding_workers::BindingWorkers;
use crate::debugging::NodeListing;
use crate::effects::{Effects, Gate};
use crate::elector::ElectorMessage;
use crate::elector::progress::Respondent;
use crate::event_recorder::RecorderMessage;
use crate::evictor::EvictorMessage;
use crate::hand_over::HandOver;
use crate::informer_cache::{Changes, Credit};
use crate::log_subject::trace_of;
use crate::mailbox::{Mailbox, Reply};
use crate::scheduling_queue::{Attempt, QueueMessage};
use crate::trace_context::TraceContext;
use crate::tracer::Tracing;

/// The actor; its state is [`SchedulingCycleState`].
#[derive(Debug)]
pub struct SchedulingCycle;

/// What the cycle needs to start.
pub struct SchedulingCycleArguments {
    /// The state machine, empty.
    pub engine: Engine,
    /// Its own mailbox.
    pub mailbox: Mailbox<CycleMessage>,
    /// Where pods come from and are settled.
    pub queue: Mailbox<QueueMessage>,
    /// Who writes.
    pub workers: BindingWorkers,
    /// Who carries preemptions out.
    pub evictor: Mailbox<EvictorMessage>,
    /// Who tells users.
    pub recorder: Mailbox<RecorderMessage>,
    /// Who performs effects.
    pub effects: Effects,
    /// The term that every write belongs to.
    pub token: Arc<TermToken>,
    /// Told when the first pod is bound.
    pub hand_over: HandOver,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Gauges and counters.
    pub metrics: Arc<Metrics>,
    /// Who is told of attempts, if anybody is.
    pub tracing: Option<Tracing>,
}

/// What the cycle actor owns.
pub struct SchedulingCycleState {
    engine: Engine,
    mailbox: Mailbox<CycleMessage>,
    queue: Mailbox<QueueMessage>,
    workers: BindingWorkers,
    evictor: Mailbox<EvictorMessage>,
    recorder: Mailbox<RecorderMessage>,
    effects: Effects,
    token: Arc<TermToken>,
    /// Until the first pod is bound.
    hand_over: Option<HandOver>,
    /// What is to be done about what was told before the term may act; nothing holds it back once it may.
    before_begin: Option<Vec<Notice>>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    tracing: Option<Tracing>,
    measured: CycleMetrics,
    alarm: Alarm,
    /// A pod that was handed out ahead of the changes that the queue had seen.
    waiting: Option<Attempt>,
    /// The pod whose cycle waits for an effect.
    current: Option<PoppedPod>,
    /// The pod whose cycle waits for its victims.
    awaited: Option<Awaited>,
    concerned: Concerned,
    plans: Plans,
    /// What earlier terms left half done has been taken up.
    adopted: bool,
    attempted: HashMap<Uid, Attempted, FixedState>,
    /// The last attempts of pods that are pending.
    past: PastAttempts,
    /// Who asks about pods while a cycle waits.
    inquiries: Vec<Inquiry>,
    /// What the cycle that waits has asked outside.
    asking: Option<Asking>,
    /// What claims have asked outside.
    claim_effects: ClaimEffects,
    patches: Patches,
    /// Room in the pipeline for the changes that a waiting cycle must not see yet: while it waits the watch slows down,
    /// and what is held back stays bounded.
    held: Vec<Credit>,
    status_writes: StatusWrites,
    volume_writes: VolumeWrites,
    /// Since when which claim waits for an answer.
    asked: BTreeMap<ClaimId, Moment>,
    /// Answers that have come from the workers.
    answers: u64,
    panics: PanicBudget,
    draining: Option<Reply<()>>,
    stopping: bool,
    tasks: TaskTracker,
    cancelled: CancellationToken,
}

impl Drop for SchedulingCycleState {
    fn drop(&mut self) {
        self.cancelled.cancel();
        // Plugins outlive the term, and what they hold for its claims would stay held.
        self.engine.close();
    }
}

impl SchedulingCycleState {
    /// The columns hold what the API server held when the lease was won.
    fn begin_term(&mut self, now: Moment) {
        if let Some(notices) = self.before_begin.take() {
            self.act_on(notices, now);
        }
        self.ready();
    }

    fn ready(&mut self) {
        if !self.stopping {
            self.queue.tell(QueueMessage::Ready);
        }
    }

    fn take_changes(&mut self, changes: &Changes, now: Moment) -> Result<(), ActorProcessingErr> {
        if self.engine.is_waiting() {
            self.held.push(changes.credit.clone());
        }
        let mut notices = Vec::new();
        for change in changes.changes.iter() {
            self.engine.apply(change, now, &mut notices);
            self.status_writes.see(&change.delta);
            self.past.see(&change.delta);
            self.mailbox.pulse().beat();
        }
        self.pass_on(&changes.changes);
        self.act_on(notices, now);
        self.begin_waiting(now)
    }

    fn take_configuration(
        &mut self,
        assembled: &AssembledConfig,
        seq: Seq,
        now: Moment,
    ) -> Result<(), ActorProcessingErr> {
        let mut notices = Vec::new();
        self.engine.reconfigure(assembled.profiles.clone(), seq, &mut notices);
        self.disown();
        self.act_on(notices, now);
        // A pod may have been handed out by the queue's new configuration already.
        self.begin_waiting(now)
    }

    fn attempt(&mut self, attempt: Attempt, now: Moment) -> Result<(), ActorProcessingErr> {
        self.waiting = Some(attempt);
        self.begin_waiting(now)
    }

    /// Begins the cycle of the pod that was handed out, once the columns have what the queue had seen.
    fn begin_waiting(&mut self, now: Moment) -> Result<(), ActorProcessingErr> {
        let Some(attempt) = self
            .waiting
            .take_if(|attempt| attempt.popped.seq <= self.engine.applied() || !holds(Guard::SequenceCheck))
        else {
            return Ok(());
        };
        attempt
            .trace
            .span("Attempt")
            .in_scope(|| self.begin(attempt.popped, attempt.trace, now))
    }

    fn begin(&mut self, mut popped: PoppedPod, trace: TraceContext, now: Moment) -> Result<(), ActorProcessingErr> {
        if !std::mem::replace(&mut self.adopted, true) {
            self.adopt();
        }
        let pod = Arc::clone(&popped.pod);
        self.status_writes.handed_out(&pod);
        tracing::debug!(name: V3, pod = %pod.name, trace_id = %trace_of(&pod), "Attempting to schedule pod");
        self.remember(&mut popped, trace, now);
        self.current = Some(popped);
        self.decide(trace, |engine, notices| engine.begin(&pod, now, notices))
    }

    /// Runs a part of the current pod's cycle. A panic in it costs that pod a long backoff and the columns a rebuild,
    /// and nothing else.
    fn decide(
        &mut self,
        trace: TraceContext,
        part: impl FnOnce(&mut Engine, &mut Vec<Notice>) -> Step,
    ) -> Result<(), ActorProcessingErr> {
        let mut notices = Vec::new();
        let step = catch_unwind(AssertUnwindSafe(|| part(&mut self.engine, &mut notices)));
        // How long that took is what the histograms of attempts are about.
        let now = self.clock.now();
        match step {
            Ok(Step::Needs(effect)) => {
                self.asking = self.asking(&effect, now);
                self.perform(effect, move |reply| CycleMessage::EffectAnswered { reply, trace });
            }
            Ok(Step::Done(outcome)) => {
                if let Some(popped) = self.current.take() {
                    let measured = (self.engine.timeline(), self.engine.evaluations());
                    let profile = &popped.pod.spec.scheduler_name;
                    let kept = self.trace_of_cycle(&popped.pod.uid, &outcome);
                    self.measured.cycle_ended(&self.metrics, profile, measured, kept);
                    self.conclude(popped, outcome, kept, now);
                }
                if self.awaited.is_none() {
                    self.ready();
                }
            }
            Err(cause) => {
                let text = panic_text(cause.as_ref());
                self.metrics.cycle_panicked();
                self.engine.abandon();
                self.engine.rebuild(now, &mut notices);
                if let Some(popped) = self.current.take() {
                    tracing::error!(
                        pod = %popped.pod.name, panic = text, trace_id = %trace_of(&popped.pod),
                        "Deciding the pod panicked; it is set aside"
                    );
                    self.set_aside(&popped, &text, now);
                }
                self.panics.spend(now)?;
                self.ready();
            }
        }
        self.act_on(notices, now);
        Ok(())
    }

    /// What the cycle has asked outside is answered.
    fn effect_answered(&mut self, reply: &EffectReply, now: Moment) {
        let uid = self.current.as_ref().map(|popped| popped.pod.uid.clone());
        if let (Some(asking), Some(uid)) = (self.asking.take(), uid) {
            self.remember_effect(&uid, asking, reply, now);
        }
    }

    fn perform(&self, effect: Effect, answer: impl FnOnce(EffectReply) -> CycleMessage + Send + 'static) {
        let effects = self.effects.clone();
        self.answer(async move { effects.perform(effect).await }, answer);
    }

    /// The same for work that writes: it is not begun once the term may be over, and can ask before each request.
    fn perform_writes(&self, effect: Effect, answer: impl FnOnce(EffectReply) -> CycleMessage + Send + 'static) {
        let effects = self.effects.clone();
        let (token, clock) = (Arc::clone(&self.token), Arc::clone(&self.clock));
        let gate: Gate = Arc::new(move || token.may_write(clock.now()));
        self.answer(async move { effects.perform_while(effect, gate).await }, answer);
    }

    /// Answers on every path: whoever waits for the effect would otherwise wait for ever.
    fn answer(
        &self,
        performing: impl Future<Output = EffectReply> + Send + 'static,
        answer: impl FnOnce(EffectReply) -> CycleMessage + Send + 'static,
    ) {
        let performing = AssertUnwindSafe(performing).catch_unwind();
        let mailbox = self.mailbox.clone();
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            if let Some(performed) = cancelled.run_until_cancelled(performing).await {
                let panicked =
                    |cause: Box<dyn std::any::Any + Send>| Err(format!("panicked: {}", panic_text(cause.as_ref())));
                mailbox.tell(answer(performed.unwrap_or_else(panicked)));
            }
        });
    }

    fn tick(&mut self, now: Moment) {
        self.alarm.rang();
        let mut notices = Vec::new();
        self.engine.tick(now, &mut notices);
        self.act_on(notices, now);
        let Self { engine, .. } = self;
        for claim in self.volume_writes.due(now, |claim| engine.claim(claim).is_some()) {
            self.tell_written(claim, VolumeWritten::PutOff, now);
        }
        for job in self.status_writes.due(now) {
            self.workers.dispatch(job);
        }
    }

    fn finish_turn(&mut self, now: Moment) {
        if self.draining.is_some()
            && self.is_decided()
            && let Some(reply) = self.draining.take()
        {
            reply.send(());
        }
        if !self.engine.is_waiting() {
            self.held.clear();
        }
        self.answer_inquiries(now);
        let size = self.engine.cache_size();
        self.metrics.cache_size(size.nodes, size.pods, size.assumed_pods);
        self.metrics.framework().binding(self.asked.len());
        let deadlines = [
            self.engine.next_deadline(),
            self.status_writes.next_deadline(),
            self.volume_writes.next_deadline(),
        ];
        let deadline = deadlines.into_iter().flatten().min();
        self.alarm.arm(&self.mailbox, deadline, now, || CycleMessage::Tick);
    }

    fn observe_attempt(&mut self, pod: &Pod, result: AttemptResult, now: Moment) -> Option<Attempted> {
        let attempted = self.attempted.remove(&pod.uid)?;
        let trace = self.kept_trace(&attempted, result, now);
        self.measured
            .attempts(&self.metrics, &attempted.profile, result)
            .ended(now.since(attempted.begun), trace);
        Some(attempted)
    }
}

fn panic_text(cause: &(dyn std::any::Any + Send)) -> String {
    cause
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| cause.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

impl Actor for SchedulingCycle {
    type Msg = CycleMessage;
    type State = SchedulingCycleState;
    type Arguments = SchedulingCycleArguments;

    async fn pre_start(
        &self,
        _: ActorRef<CycleMessage>,
        arguments: SchedulingCycleArguments,
    ) -> Result<SchedulingCycleState, ActorProcessingErr> {
        Ok(SchedulingCycleState {
            engine: arguments.engine,
            mailbox: arguments.mailbox,
            queue: arguments.queue,
            workers: arguments.workers,
            evictor: arguments.evictor,
            recorder: arguments.recorder,
            effects: arguments.effects,
            token: arguments.token,
            hand_over: Some(arguments.hand_over),
            before_begin: Some(Vec::new()),
            clock: arguments.clock,
            metrics: arguments.metrics,
            tracing: arguments.tracing,
            measured: CycleMetrics::default(),
            alarm: Alarm::default(),
            waiting: None,
            current: None,
            awaited: None,
            concerned: Concerned::default(),
            plans: Plans::default(),
            adopted: false,
            attempted: HashMap::with_hasher(FixedState::with_seed(0)),
            past: PastAttempts::default(),
            inquiries: Vec::new(),
            asking: None,
            claim_effects: ClaimEffects::default(),
            patches: Patches::default(),
            held: Vec::new(),
            status_writes: StatusWrites::default(),
            volume_writes: VolumeWrites::default(),
            asked: BTreeMap::new(),
            answers: 0,
            panics: PanicBudget::default(),
            draining: None,
            stopping: false,
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        })
    }

    async fn handle(
        &self,
        _: ActorRef<CycleMessage>,
        message: CycleMessage,
        state: &mut SchedulingCycleState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        let now = state.clock.now();
        match message {
            CycleMessage::Changes(changes) => state.take_changes(&changes, now)?,
            CycleMessage::Reconfigure { assembled, seq } => {
                state.take_configuration(&assembled, seq, now)?;
            }
            CycleMessage::Attempt(attempt) => state.attempt(attempt, now)?,
            CycleMessage::EffectAnswered { reply, trace } => {
                state.effect_answered(&reply, now);
                trace
                    .span("EffectAnswered")
                    .in_scope(|| state.decide(trace, |engine, notices| engine.resume(reply, now, notices)))?;
                // Changes held back meanwhile are applied now; the next pod may have been waiting for them.
                state.disown();
                state.begin_waiting(now)?;
            }
            CycleMessage::PreBindAnswered { claim, reply, trace } => trace
                .span("PreBindAnswered")
                .in_scope(|| state.take_pre_bind_answer(claim, reply, now)),
            CycleMessage::BindAnswered { claim, reply, trace } => trace
                .span("BindAnswered")
                .in_scope(|| state.take_bind_answer(claim, reply, now)),
            CycleMessage::ExtenderBindAnswered { claim, reply, trace } => trace
                .span("ExtenderBindAnswered")
                .in_scope(|| state.take_extender_bind_answer(claim, reply, now)),
            CycleMessage::ReadAnswered { claim, read, trace } => trace
                .span("ReadAnswered")
                .in_scope(|| state.take_read_answer(claim, read, now)),
            CycleMessage::VolumeWritten { claim, reply, trace } => trace
                .span("VolumeWritten")
                .in_scope(|| state.take_volume_answer(claim, reply, now)),
            CycleMessage::StatusAnswered { uid, reply, trace } => trace
                .span("StatusAnswered")
                .in_scope(|| state.take_status_answer(&uid, &reply, now)),
            CycleMessage::Allow { pod, plugin } => state.take_permit(&pod, plugin, now),
            CycleMessage::Reject { pod, plugin, message } => state.take_rejection(&pod, plugin, &message, now),
            CycleMessage::WaitingPods(reply) => {
                reply.send(state.who_waits(now));
            }
            CycleMessage::Explain(pod, reply) => state.explain_pod(pod, reply, now),
            CycleMessage::ListNodes(page, reply) => {
                reply.send(NodeListing {
                    total: state.engine.cache_size().nodes,
                    nodes: state.engine.dump(page.after.as_deref(), page.limit),
                    limit: page.limit,
                });
            }
            CycleMessage::Dump(reply) => {
                reply.send(state.engine.dump(None, usize::MAX));
            }
            CycleMessage::PreemptionExecuted {
                preemptor,
                result,
                trace,
            } => trace
                .span("PreemptionExecuted")
                .in_scope(|| state.take_execution(&preemptor, result, now)),
            CycleMessage::VictimsGoing { preemptor, plan } => state.let_go(&preemptor, plan, Some(Release::Quietly)),
            CycleMessage::PreemptionOver {
                preemptor,
                plan,
                release,
                named,
                spared,
            } => {
                state.take_end_of_preemption(&named, &spared);
                state.let_go(&preemptor, plan, release);
                state.plans.end(&preemptor, plan);
            }
            CycleMessage::Tick => state.tick(now),
            CycleMessage::Audit(marker) => state.give_account(marker, now),
            CycleMessage::Restate(restatements) => state.take_truth(&restatements, now)?,
            CycleMessage::Begin => state.begin_term(now),
            CycleMessage::Drain(reply) => {
                state.stopping = true;
                state.draining = Some(reply);
            }
            CycleMessage::Probe(elector) => {
                elector.tell(ElectorMessage::Alive(Respondent::SchedulingCycle));
            }
        }
        state.finish_turn(now);
        Ok(())
    }
}
