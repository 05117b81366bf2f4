//! `Term`: the time of one leadership. It holds the token and everything that can write, so that leadership and the
//! ability to bind begin and end together.
//!
//! A term starts with the barrier: what the API server held after we won must have come through our own watches before
//! the first pod is decided. Its actors are started at once all the same, and build columns and queue from what is known
//! already; they decide nothing before the cache tells them to begin.

mod barrier;
mod children;
mod marks;

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_client::{ApiClient, Clock, RawPolicies, TermToken};
use plimsoll_model::{Pod, Uid};
use plimsoll_queue::Account;
use plimsoll_telemetry::{HandOverStage, Metrics, PageOf};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assembled_config::AssembledConfig;
use crate::auditor::{AuditReport, AuditorMessage};
use crate::debugging::{NodeListing, QueueListing};
use crate::effects::Effects;
use crate::elector::{ElectorMessage, TermActors};
use crate::event_recorder::RecorderMessage;
use crate::evictor::{EvictorMessage, VictimsAwaited};
use crate::hand_over::HandOver;
use crate::informer_cache::{CacheMessage, WatchPulses};
use crate::mailbox::{Mailbox, Reply, Summary, Tap};
use crate::permits::{Permits, WaitingReport};
use crate::scheduling_cycle::{CycleAccount, CycleMessage};
use crate::scheduling_queue::QueueMessage;
use crate::supervisor::SupervisorMessage;
use crate::tracer::Tracing;

use self::barrier::barrier;
use self::children::{ChildEnd, Running, start_auditor};

/// What the term hears.
#[derive(Debug)]
pub enum TermMessage {
    /// From itself: start the actors.
    Build,
    /// From its own task: the caches have what the API server held after we won.
    CaughtUp,
    /// From its own task: the cache has told the actors that they may act.
    Begun,
    /// From the supervisor: go on with this configuration.
    Reconfigure(Arc<AssembledConfig>),
    /// From the HTTP server, through the supervisor: let the actor that knows answer.
    Ask(Question),
    /// From the supervisor: take no more pods, and answer when no write is undecided, or there never was one.
    Drain(Reply<()>),
    /// From the supervisor: the token is cancelled, stop. The term ends when its workers have.
    Stop,
}

impl Summary for TermMessage {
    fn summary(&self) -> String {
        match self {
            Self::Build => "Build",
            Self::CaughtUp => "CaughtUp",
            Self::Begun => "Begun",
            Self::Reconfigure(_) => "Reconfigure",
            Self::Ask(question) => question.name(),
            Self::Drain(_) => "Drain",
            Self::Stop => "Stop",
        }
        .to_owned()
    }
}

/// What only a running term can answer. Without one nobody does.
#[derive(Debug)]
pub enum Question {
    /// An audit made now.
    Audit(Reply<AuditReport>),
    /// The events that the queue keeps for attempts under way, and these.
    InFlightEvents(Reply<BTreeMap<String, u64>>),
    /// The pods that wait at Permit.
    WaitingPods(Reply<WaitingReport>),
    /// The queue's account of a pod.
    Account(Uid, Reply<Option<Box<Account>>>),
    /// The cycle's account of a pod.
    Explain(Arc<Pod>, Reply<Box<CycleAccount>>),
    /// For whose end a pod waits.
    Victims(Uid, Reply<Option<VictimsAwaited>>),
    /// Some of the pods in the queue.
    Queue(PageOf, Reply<QueueListing>),
    /// What there is on some of the nodes.
    Nodes(PageOf, Reply<NodeListing>),
}

impl Question {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Audit(_) => "Ask Audit",
            Self::InFlightEvents(_) => "Ask InFlightEvents",
            Self::WaitingPods(_) => "Ask WaitingPods",
            Self::Account(..) => "Ask Account",
            Self::Explain(..) => "Ask Explain",
            Self::Victims(..) => "Ask Victims",
            Self::Queue(..) => "Ask Queue",
            Self::Nodes(..) => "Ask Nodes",
        }
    }
}

/// The actor; its state is [`TermState`].
#[derive(Debug)]
pub struct Term;

/// What every term of a process is made from.
#[derive(Clone)]
pub struct TermParts {
    /// Profiles, backoffs, worker count.
    pub assembled: Arc<AssembledConfig>,
    /// Who performs effects.
    pub effects: Effects,
    /// How plugins reach the pods that wait at Permit.
    pub permits: Permits,
    /// Requests about pods and nodes.
    pub client: ApiClient,
    /// The warm cache.
    pub cache: Mailbox<CacheMessage>,
    /// What the cache keeps of objects.
    pub raw: RawPolicies,
    /// What its watches show beside what they deliver.
    pub watches: WatchPulses,
    /// Who tells users.
    pub recorder: Mailbox<RecorderMessage>,
    /// Whose renewal depends on our answers.
    pub elector: Mailbox<ElectorMessage>,
    /// Who stops us.
    pub supervisor: Mailbox<SupervisorMessage>,
    /// Seed of tie breaking; each term adds its number.
    pub seed: u64,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Gauges and counters.
    pub metrics: Arc<Metrics>,
    /// Who is told what is to become a trace, if anybody is.
    pub tracing: Option<Tracing>,
    /// Sees messages, in simulations.
    pub tap: Option<Arc<dyn Tap>>,
}

/// What a term needs to start.
pub struct TermArguments {
    /// What every term is made from.
    pub parts: TermParts,
    /// The right to write.
    pub token: Arc<TermToken>,
    /// The cache was started when the term had begun, so that all of its lists are younger.
    pub cache_is_younger: bool,
    /// Its own mailbox.
    pub mailbox: Mailbox<TermMessage>,
}

/// What the term owns.
pub struct TermState {
    parts: TermParts,
    token: Arc<TermToken>,
    mailbox: Mailbox<TermMessage>,
    running: Option<Running>,
    hand_over: HandOver,
    /// The caches have what the API server held after we won.
    caught_up: bool,
    stopping: bool,
    /// One of its actors has died, and the supervisor was told.
    failed: bool,
    tasks: TaskTracker,
    cancelled: CancellationToken,
}

impl Drop for TermState {
    fn drop(&mut self) {
        self.token.cancel();
        self.cancelled.cancel();
    }
}

impl TermState {
    /// Queue and cycle hear of it through the cache, so that both switch at one number of the stream.
    fn reconfigure(&mut self, assembled: Arc<AssembledConfig>) {
        if self.running.is_some() && !self.stopping {
            self.parts.cache.tell(CacheMessage::Reconfigure {
                term: self.token.number(),
                assembled: Arc::clone(&assembled),
            });
        }
        self.parts.assembled = assembled;
    }

    fn ask(&self, question: Question) {
        let Some(running) = self.running.as_ref().filter(|_| self.caught_up && !self.stopping) else {
            return;
        };
        match question {
            Question::Audit(reply) => {
                if let Some((auditor, _)) = &running.auditor {
                    auditor.tell(AuditorMessage::Ask(reply));
                }
            }
            Question::InFlightEvents(reply) => {
                running.queue.0.tell(QueueMessage::InFlightEvents(reply));
            }
            Question::WaitingPods(reply) => {
                running.cycle.0.tell(CycleMessage::WaitingPods(reply));
            }
            Question::Account(uid, reply) => {
                running.queue.0.tell(QueueMessage::Account(uid, reply));
            }
            Question::Explain(pod, reply) => {
                running.cycle.0.tell(CycleMessage::Explain(pod, reply));
            }
            Question::Victims(uid, reply) => {
                running.evictor.0.tell(EvictorMessage::Victims(uid, reply));
            }
            Question::Queue(page, reply) => {
                running.queue.0.tell(QueueMessage::List(page, reply));
            }
            Question::Nodes(page, reply) => {
                running.cycle.0.tell(CycleMessage::ListNodes(page, reply));
            }
        }
    }

    fn drain(&self, reply: Reply<()>) {
        match &self.running {
            Some(running) if !self.stopping => {
                running.queue.0.tell(QueueMessage::StopPopping);
                let cycle_drained = running.cycle.0.ask("Term", CycleMessage::Drain);
                let evictor_drained = running.evictor.0.ask("Term", EvictorMessage::Drain);
                let cancelled = self.cancelled.clone();
                self.tasks.spawn(async move {
                    let drained = futures::future::join(cycle_drained, evictor_drained);
                    if let Some((Ok(()), Ok(()))) = cancelled.run_until_cancelled(drained).await {
                        reply.send(());
                    }
                });
            }
            _ => {
                reply.send(());
            }
        }
    }

    /// Nothing more may be written. The workers finish what is under way; when they are gone the rest goes.
    fn stop(&mut self, myself: &ActorRef<TermMessage>) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        self.token.cancel();
        self.cancelled.cancel();
        self.parts.cache.tell(CacheMessage::Unsubscribe(self.token.number()));
        match &self.running {
            Some(running) => {
                if let Some((_, auditor)) = &running.auditor {
                    auditor.stop(None);
                }
                running.queue.0.tell(QueueMessage::StopPopping);
                running.workers.drain();
            }
            None => myself.stop(None),
        }
    }

    /// The caches have what the API server held after we won: the actors may act, behind what the cache has sent them.
    async fn begin(&mut self, myself: &ActorRef<TermMessage>) -> Result<(), ActorProcessingErr> {
        // Usually long done.
        self.start(myself).await?;
        self.caught_up = true;
        self.hand_over.reached(HandOverStage::CaughtUp);
        let term = self.token.number();
        let begun = self.parts.cache.ask("Term", |reply| CacheMessage::Begin(term, reply));
        let mailbox = self.mailbox.clone();
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            if let Some(Ok(())) = cancelled.run_until_cancelled(begun).await {
                mailbox.tell(TermMessage::Begun);
            }
        });
        Ok(())
    }

    /// The actors may act, so from now on they are looked at. Until then the cache may have to wait for whole objects, which
    /// belongs to catching up.
    async fn begun(&mut self, myself: &ActorRef<TermMessage>) -> Result<(), ActorProcessingErr> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        self.parts.elector.tell(ElectorMessage::Running(Box::new(TermActors {
            term: self.token.number(),
            queue: running.queue.0.clone(),
            cycle: running.cycle.0.clone(),
            workers: running.workers.clone(),
            evictor: running.evictor.0.clone(),
        })));
        let auditor = Mailbox::<AuditorMessage>::new("Auditor", self.parts.tap.clone());
        let cell = start_auditor(&self.parts, &auditor, myself).await?;
        running.auditor = Some((auditor, cell));
        tracing::info!(term = self.token.number(), "Scheduling begins");
        Ok(())
    }
}

impl Actor for Term {
    type Msg = TermMessage;
    type State = TermState;
    type Arguments = TermArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<TermMessage>,
        arguments: TermArguments,
    ) -> Result<TermState, ActorProcessingErr> {
        let TermArguments {
            parts,
            token,
            cache_is_younger,
            mailbox,
        } = arguments;
        mailbox.bind(myself);
        let (clock, metrics) = (Arc::clone(&parts.clock), Arc::clone(&parts.metrics));
        let hand_over = HandOver::begin(token.number(), parts.clock.now(), clock, metrics, parts.tracing.clone());
        let state = TermState {
            parts,
            token,
            mailbox,
            running: None,
            hand_over,
            caught_up: false,
            stopping: false,
            failed: false,
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        };
        let mailbox = state.mailbox.clone();
        let cancelled = state.cancelled.clone();
        let catching_up = barrier(state.parts.clone(), cache_is_younger, state.hand_over.clone());
        state.tasks.spawn(async move {
            if cancelled.run_until_cancelled(catching_up).await.is_some() {
                mailbox.tell(TermMessage::CaughtUp);
            }
        });
        state.mailbox.tell(TermMessage::Build);
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<TermMessage>,
        message: TermMessage,
        state: &mut TermState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        match message {
            TermMessage::Build | TermMessage::CaughtUp | TermMessage::Begun if state.stopping => {}
            TermMessage::Build => Box::pin(state.start(&myself)).await?,
            TermMessage::CaughtUp => Box::pin(state.begin(&myself)).await?,
            TermMessage::Begun => Box::pin(state.begun(&myself)).await?,
            TermMessage::Reconfigure(assembled) => state.reconfigure(assembled),
            TermMessage::Ask(question) => state.ask(question),
            TermMessage::Drain(reply) => state.drain(reply),
            TermMessage::Stop => state.stop(&myself),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<TermMessage>,
        event: SupervisionEvent,
        state: &mut TermState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, _, reason) => {
                let end = ChildEnd::stopped(reason.as_deref());
                state.child_ended(&myself, &child, end).await;
            }
            SupervisionEvent::ActorFailed(child, error) => {
                let why = error.to_string();
                let end = ChildEnd::failed(&why, &error);
                state.child_ended(&myself, &child, end).await;
            }
            _ => {}
        }
        Ok(())
    }
}
