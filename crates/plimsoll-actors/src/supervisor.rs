//! `Supervisor`: the root. It starts what lives as long as the process, starts and stops terms, restarts what may be
//! restarted, and says when and how the process ends.

mod cache;
mod lifeline;
mod message;
mod replica;
mod restarts;
mod terms;
mod warm;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{EventType, TermToken};
use plimsoll_model::Moment;
use plimsoll_telemetry::logs::V3;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::lifeline::Lifeline;
pub use self::message::SupervisorMessage;
pub use self::replica::{Reconfigurer, Replica, RunningReplica};
use self::restarts::Restarts;
use self::terms::Terms;
use crate::assembled_config::AssembledConfig;
use crate::debugging::compare_and_dump;
use crate::elector::progress::Resignation;
use crate::elector::{ElectorMessage, StepDown};
use crate::event_recorder::RecorderMessage;
use crate::explanation::Explainer;
use crate::http_server::HttpMessage;
use crate::informer_cache::CacheMessage;
use crate::mailbox::Mailbox;
use crate::term::{Term, TermArguments, TermMessage, TermParts};
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
    /// How many reloads there were, those that failed among them.
    reloads: u64,
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
        let cache_is_younger = self.cells.cache.is_none();
        if cache_is_younger {
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
            cache_is_younger,
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

    fn tell_of_reload(&mut self, note: &str, error: Option<&str>, found: Option<Moment>) {
        self.reloads += 1;
        let Some(tracing) = &self.parts.tracing else { return };
        tracing.tell(TracerMessage::Operation(Box::new(Operation {
            name: "reload",
            begun: found.unwrap_or_else(|| self.now()),
            ended: self.now(),
            // Two may be found at one moment, and say the same.
            attributes: vec![
                ("plimsoll.note", note.to_owned()),
                ("plimsoll.reload", self.reloads.to_string()),
            ],
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
                    tracing: state.parts.tracing.clone(),
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
