//! `Term`: the time of one leadership. It holds the token and everything that can write, so that leadership and the
//! ability to bind begin and end together.
//!
//! A term starts with the barrier: what the API server held after we won must have come through our own watches before
//! the first pod is decided.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use plimsoll_client::{
    ApiClient, BarrierError, Clock, Namespaces, Nodes, Pods, RawPolicies, ReplicaSets, ReplicationControllers,
    Services, StatefulSets, TermToken, consistent_list, consistent_version, force_progress,
};
use plimsoll_engine::Engine;
use plimsoll_model::ResourceVersion;
use plimsoll_queue::SchedulingQueue as Queue;
use plimsoll_telemetry::{HandOverStage, Metrics};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assembled_config::AssembledConfig;
use crate::auditor::{AuditReport, Auditor, AuditorArguments, AuditorMessage};
use crate::binding_workers::BindingWorkers;
use crate::effects::Effects;
use crate::elector::ElectorMessage;
use crate::event_recorder::RecorderMessage;
use crate::informer_cache::{CacheMessage, CachedKind, Credit, HistoryBeganAnew, Kind, Versions};
use crate::mailbox::{Mailbox, Summary, Tap};
use crate::permits::{Permits, WaitingReport};
use crate::scheduling_cycle::{CycleMessage, SchedulingCycle, SchedulingCycleArguments};
use crate::scheduling_queue::{QueueMessage, SchedulingQueue, SchedulingQueueArguments};
use crate::supervisor::SupervisorMessage;
use crate::watch_feed;

/// Several API servers may stand behind one address, and a short watch may hit one that lags behind for as long as it
/// likes. A kind that gets no further for this long is listed, which is always up to date.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two tries to read what the API server holds.
const BARRIER_RETRY: Duration = Duration::from_millis(500);

/// What the term hears.
#[derive(Debug)]
pub enum TermMessage {
    /// From its own task: the caches have what the API server held after we won.
    CaughtUp,
    /// From the supervisor: go on with this configuration.
    Reconfigure(Arc<AssembledConfig>),
    /// From the HTTP server, through the supervisor: let the actor that knows answer.
    Ask(Question),
    /// From the supervisor: take no more pods, and answer when no write is undecided, or there never was one.
    Drain(oneshot::Sender<()>),
    /// From the supervisor: the token is cancelled, stop. The term ends when its workers have.
    Stop,
}

impl Summary for TermMessage {
    fn summary(&self) -> String {
        match self {
            Self::CaughtUp => "CaughtUp",
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
    Audit(oneshot::Sender<AuditReport>),
    /// The events that the queue keeps for attempts under way, and these.
    InFlightEvents(oneshot::Sender<BTreeMap<String, u64>>),
    /// The pods that wait at Permit.
    WaitingPods(oneshot::Sender<WaitingReport>),
}

impl Question {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Audit(_) => "Ask Audit",
            Self::InFlightEvents(_) => "Ask InFlightEvents",
            Self::WaitingPods(_) => "Ask WaitingPods",
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
    /// Sees messages, in simulations.
    pub tap: Option<Arc<dyn Tap>>,
}

/// What a term needs to start.
pub struct TermArguments {
    /// What every term is made from.
    pub parts: TermParts,
    /// The right to write.
    pub token: Arc<TermToken>,
    /// Its own mailbox.
    pub mailbox: Mailbox<TermMessage>,
}

struct Running {
    queue: (Mailbox<QueueMessage>, ActorCell),
    cycle: (Mailbox<CycleMessage>, ActorCell),
    workers: BindingWorkers,
    auditor: (Mailbox<AuditorMessage>, ActorCell),
}

/// What the term owns.
pub struct TermState {
    parts: TermParts,
    token: Arc<TermToken>,
    mailbox: Mailbox<TermMessage>,
    running: Option<Running>,
    stopping: bool,
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
    async fn start(&mut self, myself: &ActorRef<TermMessage>) -> Result<(), ActorProcessingErr> {
        let parts = &self.parts;
        let assembled = &parts.assembled;
        let cycle = Mailbox::<CycleMessage>::new("SchedulingCycle", parts.tap.clone());
        let queue = Mailbox::<QueueMessage>::new("SchedulingQueue", parts.tap.clone());
        let queue_arguments = SchedulingQueueArguments {
            queue: Queue::new(assembled.queue(), &assembled.profiles),
            mailbox: queue.clone(),
            cycle: cycle.clone(),
            clock: Arc::clone(&parts.clock),
            metrics: Arc::clone(&parts.metrics),
        };
        let (queue_ref, _) = Actor::spawn_linked(None, SchedulingQueue, queue_arguments, myself.get_cell()).await?;
        let workers = BindingWorkers::spawn(
            &assembled.config,
            parts.client.clone(),
            Arc::clone(&self.token),
            cycle.clone(),
            myself.get_cell(),
        )
        .await?;
        let cycle_arguments = SchedulingCycleArguments {
            engine: Engine::new(assembled.profiles.clone(), parts.seed.wrapping_add(self.token.number())),
            mailbox: cycle.clone(),
            queue: queue.clone(),
            workers: workers.clone(),
            recorder: parts.recorder.clone(),
            effects: parts.effects.clone(),
            token: Arc::clone(&self.token),
            clock: Arc::clone(&parts.clock),
            metrics: Arc::clone(&parts.metrics),
        };
        let spawning = Actor::spawn_linked(None, SchedulingCycle, cycle_arguments, myself.get_cell());
        let (cycle_ref, _) = Box::pin(spawning).await?;
        queue.bind(queue_ref.clone());
        cycle.bind(cycle_ref.clone());
        parts.permits.bind(cycle.clone());
        parts.metrics.watch_mailbox(queue.name(), {
            let depth = queue.depth().clone();
            move || depth.get()
        });
        parts.metrics.watch_mailbox(cycle.name(), {
            let depth = cycle.depth().clone();
            move || depth.get()
        });
        parts.cache.tell(CacheMessage::Subscribe {
            queue: queue.clone(),
            cycle: cycle.clone(),
            assembled: Arc::clone(assembled),
        });
        cycle.tell(CycleMessage::Start);
        parts.elector.tell(ElectorMessage::Running {
            queue: queue.clone(),
            cycle: cycle.clone(),
        });
        let auditor = Mailbox::<AuditorMessage>::new("Auditor", parts.tap.clone());
        let auditor_cell = start_auditor(parts, &auditor, myself).await?;
        tracing::info!(term = self.token.number(), "Scheduling begins");
        self.running = Some(Running {
            auditor: (auditor, auditor_cell),
            queue: (queue, queue_ref.get_cell()),
            cycle: (cycle, cycle_ref.get_cell()),
            workers,
        });
        Ok(())
    }

    /// Queue and cycle hear of it through the cache, so that both switch at one number of the stream.
    fn reconfigure(&mut self, assembled: Arc<AssembledConfig>) {
        if self.running.is_some() && !self.stopping {
            self.parts.cache.tell(CacheMessage::Reconfigure(Arc::clone(&assembled)));
        }
        self.parts.assembled = assembled;
    }

    fn ask(&self, question: Question) {
        let Some(running) = self.running.as_ref().filter(|_| !self.stopping) else {
            return;
        };
        match question {
            Question::Audit(reply) => {
                running.auditor.0.tell(AuditorMessage::Ask(reply));
            }
            Question::InFlightEvents(reply) => {
                running.queue.0.tell(QueueMessage::InFlightEvents(reply));
            }
            Question::WaitingPods(reply) => {
                running.cycle.0.tell(CycleMessage::WaitingPods(reply));
            }
        }
    }

    fn drain(&self, reply: oneshot::Sender<()>) {
        match &self.running {
            Some(running) if !self.stopping => {
                running.queue.0.tell(QueueMessage::StopPopping);
                running.cycle.0.tell(CycleMessage::Drain(reply));
            }
            _ => {
                let _ = reply.send(());
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
        self.parts.cache.tell(CacheMessage::Unsubscribe);
        match &self.running {
            Some(running) => {
                running.auditor.1.stop(None);
                running.queue.0.tell(QueueMessage::StopPopping);
                running.workers.drain();
            }
            None => myself.stop(None),
        }
    }

    async fn child_ended(&mut self, myself: &ActorRef<TermMessage>, child: &ActorCell, why: &str) {
        let Some(running) = &mut self.running else { return };
        if child.get_id() == running.auditor.1.get_id() {
            if !self.stopping {
                tracing::error!(
                    error = why,
                    "The auditor has died; pods are scheduled all the same, and it is started anew"
                );
                if let Ok(cell) = start_auditor(&self.parts, &running.auditor.0, myself).await {
                    running.auditor.1 = cell;
                }
            }
        } else if child.get_id() == running.workers.cell().get_id() {
            running.cycle.1.stop(None);
            running.queue.1.stop(None);
            if !self.stopping {
                self.parts.supervisor.tell(SupervisorMessage::TermFailed {
                    reason: format!("binding workers: {why}"),
                });
            }
            myself.stop(None);
        } else if !self.stopping {
            let actor = if child.get_id() == running.cycle.1.get_id() {
                "scheduling cycle"
            } else {
                "scheduling queue"
            };
            self.token.cancel();
            self.parts.supervisor.tell(SupervisorMessage::TermFailed {
                reason: format!("{actor}: {why}"),
            });
        }
    }
}

/// Starts the auditor, for the first time or again: what an earlier one has found is found again.
async fn start_auditor(
    parts: &TermParts,
    mailbox: &Mailbox<AuditorMessage>,
    myself: &ActorRef<TermMessage>,
) -> Result<ActorCell, ActorProcessingErr> {
    let arguments = AuditorArguments {
        mailbox: mailbox.clone(),
        cache: parts.cache.clone(),
        clock: Arc::clone(&parts.clock),
        metrics: Arc::clone(&parts.metrics),
    };
    let (auditor, _) = Actor::spawn_linked(None, Auditor, arguments, myself.get_cell()).await?;
    let cell = auditor.get_cell();
    mailbox.bind(auditor);
    let depth = mailbox.depth().clone();
    parts.metrics.watch_mailbox(mailbox.name(), move || depth.get());
    Ok(cell)
}

/// Waits until the cache has everything that the API server held when this was called, for each kind by that kind's own
/// versions. A quiet kind's watch would say so only once a minute, so a short second watch makes it.
async fn barrier(parts: TermParts) {
    let begun = parts.clock.now();
    let Some(seen) = cached_versions(&parts).await else {
        return std::future::pending().await;
    };
    let wanted = loop {
        match read_versions(&parts.client).await {
            Ok(versions) => break versions,
            Err(error) => {
                tracing::warn!(%error, "Reading the version to catch up with failed; trying again");
                tokio::time::sleep(BARRIER_RETRY).await;
            }
        }
    };
    parts
        .metrics
        .hand_over(HandOverStage::VersionRead, parts.clock.now().since(begun));
    let (reply, reached) = oneshot::channel();
    parts.cache.tell(CacheMessage::AwaitVersions(wanted, reply));
    let forcing = futures::future::join_all([
        force::<Namespaces>(&parts, &seen, &wanted).boxed(),
        force::<Services>(&parts, &seen, &wanted).boxed(),
        force::<ReplicationControllers>(&parts, &seen, &wanted).boxed(),
        force::<ReplicaSets>(&parts, &seen, &wanted).boxed(),
        force::<StatefulSets>(&parts, &seen, &wanted).boxed(),
        force::<Nodes>(&parts, &seen, &wanted).boxed(),
        force::<Pods>(&parts, &seen, &wanted).boxed(),
    ]);
    let reached = async {
        if reached.await.is_err() {
            // The cache has died and has not caught up with anything; its supervisor ends the term.
            std::future::pending::<()>().await;
        }
    };
    // Whether a stream moved by itself or had to be forced is all the same; the cache says when it has all.
    futures::future::select(
        Box::pin(reached),
        Box::pin(async {
            forcing.await;
            std::future::pending::<()>().await;
        }),
    )
    .await;
    parts
        .metrics
        .hand_over(HandOverStage::CaughtUp, parts.clock.now().since(begun));
}

/// What the API server holds of each kind now.
async fn read_versions(client: &ApiClient) -> Result<Versions, BarrierError> {
    async fn read<K: CachedKind>(client: &ApiClient) -> Result<(Kind, ResourceVersion), BarrierError> {
        Ok((K::KIND, consistent_version::<K>(client).await?))
    }
    let read = futures::future::try_join_all([
        read::<Namespaces>(client).boxed(),
        read::<Services>(client).boxed(),
        read::<ReplicationControllers>(client).boxed(),
        read::<ReplicaSets>(client).boxed(),
        read::<StatefulSets>(client).boxed(),
        read::<Nodes>(client).boxed(),
        read::<Pods>(client).boxed(),
    ])
    .await?;
    let of = |kind| read.iter().find(|(known, _)| *known == kind);
    Ok(Versions::of_each(|kind| {
        of(kind).map_or(ResourceVersion::new(0), |(_, version)| *version)
    }))
}

/// What the cache has; nothing when it has died.
async fn cached_versions(parts: &TermParts) -> Option<Versions> {
    let (reply, answer) = oneshot::channel();
    parts.cache.tell(CacheMessage::Versions(reply));
    answer.await.ok()
}

/// Brings one kind forward until the cache has passed what is wanted. `seen` was there before that was read.
async fn force<K: CachedKind>(parts: &TermParts, seen: &Versions, wanted: &Versions) {
    let (seen, wanted) = (seen.of(K::KIND), wanted.of(K::KIND));
    if wanted < seen {
        parts.cache.tell(CacheMessage::HistoryBeganAnew(HistoryBeganAnew {
            kind: K::NAME,
            seen,
            version: wanted,
        }));
        return;
    }
    let mut reached = seen;
    let mut moved = parts.clock.now();
    loop {
        let Some(versions) = cached_versions(parts).await else {
            return;
        };
        let from = versions.of(K::KIND);
        let now = parts.clock.now();
        if from >= wanted {
            return;
        }
        if from > reached {
            (reached, moved) = (from, now);
        }
        let brought = if now.since(moved) >= PATIENCE {
            moved = now;
            list::<K>(parts, from).await
        } else {
            watch_shortly::<K>(parts, from).await
        };
        if let Err(error) = brought {
            tracing::warn!(%error, kind = K::NAME, "Catching up with the API server failed; trying again");
            tokio::time::sleep(BARRIER_RETRY).await;
        }
    }
}

async fn watch_shortly<K: CachedKind>(parts: &TermParts, from: ResourceVersion) -> Result<(), BarrierError> {
    let (sink, batches) = mpsc::channel(watch_feed::CHANNEL);
    let watching = async move { force_progress::<K>(&parts.client, from, &parts.raw, &sink).await };
    let feeding = watch_feed::feed(batches, parts.cache.clone(), K::message);
    let (watched, ()) = futures::future::join(watching, feeding).await;
    watched.map(drop)
}

async fn list<K: CachedKind>(parts: &TermParts, seen: ResourceVersion) -> Result<(), BarrierError> {
    tracing::info!(kind = K::NAME, %seen, "The watch gets no further; listing");
    let batch = consistent_list::<K>(&parts.client, seen, &parts.raw).await?;
    parts.cache.tell(K::message(batch, Credit::none()));
    Ok(())
}

impl Actor for Term {
    type Msg = TermMessage;
    type State = TermState;
    type Arguments = TermArguments;

    async fn pre_start(
        &self,
        _: ActorRef<TermMessage>,
        arguments: TermArguments,
    ) -> Result<TermState, ActorProcessingErr> {
        let state = TermState {
            parts: arguments.parts,
            token: arguments.token,
            mailbox: arguments.mailbox,
            running: None,
            stopping: false,
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        };
        let mailbox = state.mailbox.clone();
        let cancelled = state.cancelled.clone();
        let catching_up = barrier(state.parts.clone());
        state.tasks.spawn(async move {
            if cancelled.run_until_cancelled(catching_up).await.is_some() {
                mailbox.tell(TermMessage::CaughtUp);
            }
        });
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
            TermMessage::CaughtUp if state.stopping => {}
            TermMessage::CaughtUp => Box::pin(state.start(&myself)).await?,
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
                let why = reason.as_deref().unwrap_or("stopped");
                state.child_ended(&myself, &child, why).await;
            }
            SupervisionEvent::ActorFailed(child, error) => {
                state.child_ended(&myself, &child, &error.to_string()).await;
            }
            _ => {}
        }
        Ok(())
    }
}
