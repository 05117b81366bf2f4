//! `Supervisor`: the root. It starts what lives as long as the process, starts and stops terms, restarts what may be
//! restarted, and says when and how the process ends.

mod cache;
mod lifeline;
mod restarts;
mod terms;
mod warm;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{Connections, EventType, TermToken};
use plimsoll_config::SchedulerConfig;
use plimsoll_framework::Profile;
use plimsoll_model::Moment;
use plimsoll_telemetry::logs::V3;
use plimsoll_telemetry::traces::SpanSink;
use plimsoll_telemetry::{Document, Metrics};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::lifeline::Lifeline;
use self::restarts::Restarts;
use self::terms::Terms;
use crate::assembled_config::AssembledConfig;
use crate::auditor::AuditReport;
use crate::debugging::{TermListing, compare_and_dump};
use crate::effects::Effects;
use crate::elector::progress::Resignation;
use crate::elector::{ElectorMessage, StepDown};
use crate::event_recorder::RecorderMessage;
use crate::explanation::Explainer;
use crate::http_server::{HttpMessage, Listen};
use crate::informer_cache::{CacheMessage, Kind};
use crate::mailbox::{Mailbox, Reply, Summary, Tap};
use crate::permits::Permits;
use crate::term::{Question, Term, TermArguments, TermMessage, TermParts};
use crate::tracer::{Operation, TracerMessage};
use crate::wall_times::WallTimes;

/// How long the HTTP server may take to end: a little longer than it gives requests under way.
const SERVED: Duration = Duration::from_secs(6);
/// How long a term may take to stop, beyond the time-out of its last write.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// How the process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Asked to, and everything is in order: code 0 with leader election.
    Terminated,
    /// Something is beyond repair from inside: code 1.
    Failed(String),
}

/// What the supervisor hears.
#[derive(Debug)]
pub enum SupervisorMessage {
    /// From its own task: each kind has been listed once.
    Synced,
    /// From the elector: we lead; start the term.
    TermBegan(Arc<TermToken>),
    /// From the elector: the token is cancelled; stop the term.
    TermOver {
        /// Its number.
        term: u64,
        /// For the log.
        reason: String,
        /// If leadership was given up because something did not get on: what.
        resignation: Option<Resignation>,
    },
    /// From the term: one of its actors has died.
    TermFailed {
        /// The number of the term.
        term: u64,
        /// Which.
        resignation: Resignation,
        /// And why.
        reason: String,
    },
    /// From a task of its own: a watch has died.
    WatchEnded {
        /// The number of the cache that it fed.
        cache: u64,
        /// What it watched.
        kind: Kind,
    },
    /// From its own task: the cache of this number did not stop in time.
    CacheStuck(u64),
    /// From its own task: the term did not stop in time.
    TermStuck(u64),
    /// From the elector, after a shutdown: the lease is free, or left to run out.
    Released,
    /// From outside: go on with this configuration, in the running term and in later ones. What only a start can change
    /// (election, connections, listeners) stays as it was.
    Reconfigure {
        /// The configuration.
        assembled: Arc<AssembledConfig>,
        /// What to tell users.
        note: String,
        /// When it was found, if that is known.
        found: Option<Moment>,
    },
    /// From outside: there was another configuration and it cannot be used; tell users.
    ConfigRejected {
        /// Why not.
        reason: String,
        /// When it was found, if that is known.
        found: Option<Moment>,
    },
    /// From the HTTP server or from outside: let the term answer. Without one the question is dropped.
    Ask(Question),
    /// From outside: a way to have pods explained. Answered at once.
    Explainer(Reply<Explainer>),
    /// From outside: end the process in order. Calling it twice does no more.
    Shutdown,
    /// From its own task: the term has no undecided write, or took too long.
    Drained,
    /// From outside: are supervisor and elector there? Answered at once, by the elector.
    Ping(Reply<()>),
    /// From the HTTP server: what configuration is in use? Answered at once.
    Config(Reply<Arc<AssembledConfig>>),
    /// From the HTTP server: when did this replica lead? Answered at once.
    Terms(Reply<TermListing>),
    /// From outside: compare and dump what is known, into the log.
    Dump,
    /// From its own task: the HTTP server has ended, or takes too long.
    Silent(Exit),
}

impl Summary for SupervisorMessage {
    fn summary(&self) -> String {
        match self {
            Self::Synced => "Synced".to_owned(),
            Self::TermBegan(token) => format!("TermBegan {}", token.number()),
            Self::TermOver { reason, .. } => format!("TermOver {reason}"),
            Self::TermFailed { reason, .. } => format!("TermFailed {reason}"),
            Self::WatchEnded { cache, kind } => format!("WatchEnded {cache} {}", kind.as_str()),
            Self::CacheStuck(cache) => format!("CacheStuck {cache}"),
            Self::TermStuck(term) => format!("TermStuck {term}"),
            Self::Released => "Released".to_owned(),
            Self::Reconfigure { note, .. } => format!("Reconfigure {note}"),
            Self::ConfigRejected { reason, .. } => format!("ConfigRejected {reason}"),
            Self::Ask(question) => question.name().to_owned(),
            Self::Explainer(_) => "Explainer".to_owned(),
            Self::Shutdown => "Shutdown".to_owned(),
            Self::Drained => "Drained".to_owned(),
            Self::Ping(_) => "Ping".to_owned(),
            Self::Config(_) => "Config".to_owned(),
            Self::Terms(_) => "Terms".to_owned(),
            Self::Dump => "Dump".to_owned(),
            Self::Silent(_) => "Silent".to_owned(),
        }
    }
}

/// What a replica is made from.
pub struct Replica {
    /// `<hostname>_<uuid>`, the identity in the lease.
    pub identity: String,
    /// This machine's name.
    pub host: String,
    /// The configuration.
    pub config: SchedulerConfig,
    /// The profiles, assembled.
    pub profiles: Vec<Arc<Profile>>,
    /// Who performs plugins' effects.
    pub effects: Effects,
    /// How plugins reach the pods that wait at Permit, while this replica leads.
    pub permits: Permits,
    /// The clients.
    pub connections: Connections,
    /// Where to serve health and metrics, if at all.
    pub listen: Option<Listen>,
    /// Where others reach what is served, an `https` URL: written into the lease while this replica leads.
    pub advertised: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// Time.
    pub clock: Arc<dyn plimsoll_client::Clock>,
    /// Gauges and counters.
    pub metrics: Arc<Metrics>,
    /// Where spans go, if anywhere, and the share of pods that are traced though nothing goes wrong with them, unless their
    /// profile says another.
    pub traces: Option<(SpanSink, f64)>,
    /// Sees messages, in simulations.
    pub tap: Option<Arc<dyn Tap>>,
}

/// Gives a running replica other configurations.
#[derive(Clone)]
pub struct Reconfigurer {
    supervisor: Mailbox<SupervisorMessage>,
    found: Option<Moment>,
}

impl Reconfigurer {
    /// Lets the replica go on with another configuration, without a restart: between two cycles, as a whole. Election,
    /// connections and listeners stay as they were. `note` is told to users.
    pub fn reconfigure(&self, assembled: AssembledConfig, note: String) {
        let (assembled, found) = (Arc::new(assembled), self.found);
        self.supervisor
            .tell(SupervisorMessage::Reconfigure { assembled, note, found });
    }

    /// Tells users that another configuration was found and cannot be used.
    pub fn reject(&self, reason: String) {
        let found = self.found;
        self.supervisor
            .tell(SupervisorMessage::ConfigRejected { reason, found });
    }

    /// The same for a configuration that was found then.
    #[must_use]
    pub fn found(&self, at: Moment) -> Self {
        Self {
            supervisor: self.supervisor.clone(),
            found: Some(at),
        }
    }
}

/// A running replica.
pub struct RunningReplica {
    supervisor: Mailbox<SupervisorMessage>,
    cell: ActorCell,
    cancelled: CancellationToken,
    exit: oneshot::Receiver<Exit>,
}

impl RunningReplica {
    /// Asks for an orderly end.
    pub fn shutdown(&self) {
        self.supervisor.tell(SupervisorMessage::Shutdown);
    }

    /// Has everything that is known of nodes and pods compared and written to the log.
    pub fn dump(&self) {
        self.supervisor.tell(SupervisorMessage::Dump);
    }

    /// A way to give it other configurations.
    pub fn reconfigurer(&self) -> Reconfigurer {
        Reconfigurer {
            supervisor: self.supervisor.clone(),
            found: None,
        }
    }

    /// A way to see whether it still lives.
    pub fn lifeline(&self) -> Lifeline {
        Lifeline::of(self.supervisor.clone())
    }

    /// An audit of the pending pods, made now; nothing while this replica does not lead.
    pub async fn audit(&self) -> Option<AuditReport> {
        let audit = |reply| SupervisorMessage::Ask(Question::Audit(reply));
        self.supervisor.ask("Outside", audit).await.ok()
    }

    /// What `/debug/explain` answers of this pod, `namespace/name`; nothing when the replica has ended.
    pub async fn explain(&self, pod: &str) -> Option<Document> {
        let explainer = self
            .supervisor
            .ask("Outside", SupervisorMessage::Explainer)
            .await
            .ok()?;
        Some(explainer.answer(Some(pod)).await)
    }

    /// Ends everything at once, as if the process had died; for simulations.
    pub fn kill(&self) {
        self.cancelled.cancel();
        kill_tree(&self.cell);
    }

    /// Waits for the end.
    pub async fn ended(&mut self) -> Exit {
        (&mut self.exit)
            .await
            .unwrap_or_else(|_| Exit::Failed("the supervisor died".to_owned()))
    }
}

fn kill_tree(cell: &ActorCell) {
    for child in cell.get_children() {
        kill_tree(&child);
    }
    cell.kill();
}

impl Replica {
    /// Starts the replica on the current runtime.
    pub async fn start(self) -> Result<RunningReplica, ractor::SpawnErr> {
        let (sender, exit) = oneshot::channel();
        let cancelled = CancellationToken::new();
        let supervisor = Mailbox::new("Supervisor", self.tap.clone());
        let arguments = SupervisorArguments {
            replica: self,
            mailbox: supervisor.clone(),
            exit: sender,
            cancelled: cancelled.clone(),
        };
        let (actor, _) = Actor::spawn(None, Supervisor, arguments).await?;
        Ok(RunningReplica {
            supervisor,
            cell: actor.get_cell(),
            cancelled,
            exit,
        })
    }
}

/// The actor; its state is [`SupervisorState`].
#[derive(Debug)]
pub struct Supervisor;

/// What the supervisor needs to start.
pub struct SupervisorArguments {
    replica: Replica,
    mailbox: Mailbox<SupervisorMessage>,
    exit: oneshot::Sender<Exit>,
    cancelled: CancellationToken,
}

/// Mailboxes of the actors that live as long as the process.
#[derive(Clone)]
struct Warm {
    cache: Mailbox<CacheMessage>,
    elector: Mailbox<ElectorMessage>,
    recorder: Mailbox<RecorderMessage>,
    http: Mailbox<HttpMessage>,
    tracer: Mailbox<TracerMessage>,
}

/// What the supervisor owns.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct SupervisorState {
    replica: Replica,
    mailbox: Mailbox<SupervisorMessage>,
    exit: Option<oneshot::Sender<Exit>>,
    warm: Warm,
    cells: warm::Cells,
    parts: TermParts,
    term: Option<(u64, Mailbox<TermMessage>, ActorCell)>,
    /// For debugging.
    terms: Terms,
    /// The elector has ended the term; it need not be told that the term is failing.
    term_is_over: bool,
    /// What the cache holds may be stale: none begins with it any more.
    cache_is_distrusted: bool,
    /// The number of the last cache that was started.
    caches: u64,
    shutting_down: bool,
    /// It is decided how the process ends.
    ending: bool,
    restarts: Restarts,
    tasks: TaskTracker,
    /// Ends the watches of the present cache.
    watching: CancellationToken,
    cancelled: CancellationToken,
}

impl Drop for SupervisorState {
    fn drop(&mut self) {
        self.cancelled.cancel();
    }
}

impl SupervisorState {
    fn now(&self) -> Moment {
        self.replica.clock.now()
    }

    /// The process ends, once whoever asks the HTTP server for something has been answered.
    fn end(&mut self, myself: &ActorRef<SupervisorMessage>, exit: Exit) {
        if std::mem::replace(&mut self.ending, true) {
            return;
        }
        if self.cells.http.is_none() {
            self.finish(myself, exit);
            return;
        }
        let stopped = self.warm.http.ask("Supervisor", HttpMessage::Stop);
        let mailbox = self.mailbox.clone();
        self.tasks.spawn(async move {
            let _ = tokio::time::timeout(SERVED, stopped).await;
            mailbox.tell(SupervisorMessage::Silent(exit));
        });
    }

    fn finish(&mut self, myself: &ActorRef<SupervisorMessage>, exit: Exit) {
        if let Some(sender) = self.exit.take() {
            let _ = sender.send(exit);
        }
        self.cancelled.cancel();
        myself.stop(None);
    }

    async fn begin_term(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
        token: Arc<TermToken>,
    ) -> Result<(), ActorProcessingErr> {
        if self.cells.cache.is_none() {
            self.start_cache(myself).await?;
        }
        let mailbox = Mailbox::new("Term", self.replica.tap.clone());
        let number = token.number();
        if let Some(tap) = &self.replica.tap {
            tap.term_began(&token);
        }
        let arguments = TermArguments {
            // Whatever this term still says to a cache when it is over must not reach the one that comes after it.
            parts: TermParts {
                cache: self.parts.cache.pinned(),
                ..self.parts.clone()
            },
            token,
            mailbox: mailbox.clone(),
        };
        let (term, _) = Actor::spawn_linked(None, Term, arguments, myself.get_cell()).await?;
        self.term = Some((number, mailbox, term.get_cell()));
        self.terms.began(number, self.now());
        self.term_is_over = false;
        Ok(())
    }

    async fn end_term(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
        over: u64,
        resignation: Option<Resignation>,
    ) -> Result<(), ActorProcessingErr> {
        self.term_is_over = true;
        self.cache_is_distrusted |= resignation.is_some_and(Resignation::distrusts_cache);
        let Some((number, term, _)) = &self.term else {
            return self.term_gone(myself, over).await;
        };
        term.tell(TermMessage::Stop);
        let number = *number;
        let bound = self.replica.config.leader_election.write_timeout() + STOP_GRACE;
        let mailbox = self.mailbox.clone();
        self.later(bound, move || {
            mailbox.tell(SupervisorMessage::TermStuck(number));
        });
        Ok(())
    }

    fn is_present(&self, number: u64) -> bool {
        self.term.as_ref().is_some_and(|(term, _, _)| *term == number)
    }

    fn resign(&self, resignation: Resignation, words: String) {
        let why = StepDown::Resign(resignation, words);
        self.warm.elector.tell(ElectorMessage::StepDown(why));
    }

    fn reconfigure(&mut self, assembled: Arc<AssembledConfig>, note: String, found: Option<Moment>) {
        self.tell_of_reload(&note, None, found);
        self.parts.assembled = Arc::clone(&assembled);
        // A standby gets ready for it too.
        self.warm.cache.tell(CacheMessage::Keep(assembled.raw_policy()));
        if let Some((_, term, _)) = &self.term {
            term.tell(TermMessage::Reconfigure(assembled));
        }
        self.announce(EventType::Normal, "ConfigReloaded", note);
    }

    fn tell_of_reload(&self, note: &str, error: Option<&str>, found: Option<Moment>) {
        let Some(tracing) = &self.parts.tracing else { return };
        tracing.tell(TracerMessage::Operation(Box::new(Operation {
            name: "reload",
            begun: found.unwrap_or_else(|| self.now()),
            ended: self.now(),
            attributes: vec![("plimsoll.note", note.to_owned())],
            whole: true,
            steps: Vec::new(),
            error: error.map(str::to_owned),
        })));
    }

    fn announce(&self, event_type: EventType, reason: &'static str, note: String) {
        self.warm.elector.tell(ElectorMessage::Announce {
            event_type,
            reason,
            note,
        });
    }

    fn shut_down(&mut self) {
        if std::mem::replace(&mut self.shutting_down, true) {
            return;
        }
        tracing::info!("Requested to terminate, exiting");
        if self.cells.http.is_some() {
            self.warm.http.tell(HttpMessage::ShuttingDown);
        }
        let Some((_, term, _)) = &self.term else {
            self.warm.elector.tell(ElectorMessage::StepDown(StepDown::Shutdown));
            return;
        };
        let drained = term.ask("Supervisor", TermMessage::Drain);
        let bound = self.replica.config.leader_election.write_timeout() + STOP_GRACE;
        let mailbox = self.mailbox.clone();
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            // Leadership is kept meanwhile. What is still undecided after the bound is left to its time-out.
            if cancelled
                .run_until_cancelled(tokio::time::timeout(bound, drained))
                .await
                .is_some()
            {
                mailbox.tell(SupervisorMessage::Drained);
            }
        });
    }

    fn later(&self, wait: Duration, then: impl FnOnce() + Send + 'static) {
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            if cancelled.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
                then();
            }
        });
    }

    async fn child_ended(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
        child: &ActorCell,
        why: &str,
    ) -> Result<(), ActorProcessingErr> {
        if self.ending {
            return Ok(());
        }
        if let Some((number, _, term)) = &self.term
            && term.get_id() == child.get_id()
        {
            let number = *number;
            if !self.term_is_over {
                self.resign(Resignation::Term, format!("the term died: {why}"));
            }
            return self.term_gone(myself, number).await;
        }
        if self.cells.cache_stopped(child) {
            return Ok(());
        }
        let now = self.now();
        tracing::error!(error = why, "A supervised actor has died");
        if self.restarts.book(now).is_err() {
            self.end(
                myself,
                Exit::Failed(format!("actors keep dying, the last one of: {why}")),
            );
            return Ok(());
        }
        if child.get_id() == self.cells.recorder.get_id() {
            self.start_recorder(myself).await
        } else if self.cells.cache_died(child) {
            let words = format!("the informer cache died: {why}");
            self.cache_lost(myself, Resignation::Cache, words).await
        } else if self
            .cells
            .http
            .as_ref()
            .is_some_and(|http| http.get_id() == child.get_id())
        {
            self.start_http(myself).await
        } else if self.cells.tracer_died(child) {
            self.start_tracer(myself).await
        } else {
            self.end(myself, Exit::Failed(format!("the elector died: {why}")));
            Ok(())
        }
    }
}

impl Actor for Supervisor {
    type Msg = SupervisorMessage;
    type State = SupervisorState;
    type Arguments = SupervisorArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<SupervisorMessage>,
        arguments: SupervisorArguments,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        arguments.mailbox.bind(myself.clone());
        Box::pin(SupervisorState::start(myself, arguments)).await
    }

    async fn handle(
        &self,
        myself: ActorRef<SupervisorMessage>,
        message: SupervisorMessage,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        match message {
            SupervisorMessage::Synced => {
                tracing::debug!(name: V3, "Handlers synced");
                state.warm.elector.tell(ElectorMessage::Begin);
            }
            SupervisorMessage::TermBegan(token) => Box::pin(state.begin_term(&myself, token)).await?,
            SupervisorMessage::TermOver {
                term,
                reason,
                resignation,
            } => {
                tracing::info!(reason, "Stopping the term");
                state.terms.over(term, state.now(), reason);
                Box::pin(state.end_term(&myself, term, resignation)).await?;
            }
            SupervisorMessage::TermFailed {
                term,
                resignation,
                reason,
            } => {
                if state.is_present(term) {
                    tracing::error!(reason, "The term cannot go on");
                    state.resign(resignation, reason);
                }
            }
            SupervisorMessage::WatchEnded { cache, kind } => {
                Box::pin(state.watch_ended(&myself, cache, kind)).await?;
            }
            SupervisorMessage::CacheStuck(cache) => {
                if state.cells.is_stopping(cache) {
                    let what = "the informer cache did not stop in time".to_owned();
                    state.end(&myself, Exit::Failed(what));
                }
            }
            SupervisorMessage::Ping(reply) => {
                state.warm.elector.tell(ElectorMessage::Ping(reply));
            }
            SupervisorMessage::TermStuck(number) => {
                if state.is_present(number) {
                    state.end(&myself, Exit::Failed(format!("term {number} did not stop in time")));
                }
            }
            SupervisorMessage::Released => state.end(&myself, Exit::Terminated),
            SupervisorMessage::Reconfigure { assembled, note, found } => state.reconfigure(assembled, note, found),
            SupervisorMessage::ConfigRejected { reason, found } => {
                state.tell_of_reload(&reason, Some("the configuration cannot be used"), found);
                state.announce(EventType::Warning, "ConfigRejected", reason);
            }
            SupervisorMessage::Explainer(reply) => {
                reply.send(Explainer {
                    cache: state.warm.cache.clone(),
                    elector: state.warm.elector.clone(),
                    supervisor: state.mailbox.clone(),
                });
            }
            SupervisorMessage::Ask(question) => {
                if let Some((_, term, _)) = &state.term {
                    term.tell(TermMessage::Ask(question));
                }
            }
            SupervisorMessage::Shutdown => state.shut_down(),
            SupervisorMessage::Config(reply) => {
                reply.send(Arc::clone(&state.parts.assembled));
            }
            SupervisorMessage::Terms(reply) => {
                let times = WallTimes::new(state.now(), state.replica.clock.wall());
                reply.send(state.terms.listing(times));
            }
            SupervisorMessage::Dump => {
                let cancelled = state.cancelled.clone();
                let dumping = compare_and_dump(state.warm.cache.clone());
                state
                    .tasks
                    .spawn(async move { cancelled.run_until_cancelled(dumping).await });
            }
            SupervisorMessage::Silent(exit) => state.finish(&myself, exit),
            SupervisorMessage::Drained => {
                state.warm.elector.tell(ElectorMessage::StepDown(StepDown::Shutdown));
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<SupervisorMessage>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, _, reason) => {
                Box::pin(state.child_ended(&myself, &child, reason.as_deref().unwrap_or("stopped"))).await
            }
            SupervisionEvent::ActorFailed(child, error) => {
                Box::pin(state.child_ended(&myself, &child, &error.to_string())).await
            }
            _ => Ok(()),
        }
    }
}
