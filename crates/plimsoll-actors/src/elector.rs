//! `Elector`: owns the Lease and the number of the term.
//!
//! It renews while the term's actors answer, and gives leadership up when they do not. Cancelling the token comes first
//! in every way out: from then on nothing of the term can be sent. It is a candidate again only after the term has
//! stopped and each of its writes is decided, so that two terms of one replica never overlap.

pub mod candidacy;
mod coordination;
pub mod election;
mod health;
mod last_words;
mod message;
pub mod progress;
mod sightings;
mod telling;
mod terms;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{
    Clock, EventRecord, EventType, LeaseCandidateClient, LeaseClient, LeaseReply, ObjectReference, TermToken,
};
use plimsoll_config::ElectionConfig;
use plimsoll_model::{Moment, ObjectName};
use plimsoll_telemetry::Metrics;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use rand_chacha::ChaCha8Rng;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::candidacy::Candidacy;
use self::coordination::Coordination;
use self::election::{Answer, Election, Next, Request};
pub use self::health::ElectorView;
pub use self::message::{ElectorMessage, StepDown, TermActors};
use self::progress::Progress;
use self::telling::Telling;
use crate::alarm::Alarm;
use crate::event_recorder::RecorderMessage;
use crate::informer_cache::CacheMessage;
use crate::mailbox::Mailbox;
use crate::supervisor::SupervisorMessage;
use crate::tracer::Tracing;

/// The actor; its state is [`ElectorState`].
#[derive(Debug)]
pub struct Elector;

/// What the elector needs to start.
pub struct ElectorArguments {
    /// `<hostname>_<uuid>`.
    pub identity: String,
    /// Name, durations, whether to elect at all.
    pub config: ElectionConfig,
    /// The Lease, through a client of its own.
    pub lease: LeaseClient,
    /// Our `LeaseCandidate`, when a coordinator says who leads.
    pub candidate: Option<LeaseCandidateClient>,
    /// For jitter.
    pub random: ChaCha8Rng,
    /// Its own mailbox.
    pub mailbox: Mailbox<ElectorMessage>,
    /// Who starts and stops terms.
    pub supervisor: Mailbox<SupervisorMessage>,
    /// What every term reads from.
    pub cache: Mailbox<CacheMessage>,
    /// Who tells users.
    pub recorder: Mailbox<RecorderMessage>,
    /// Reporting controller of `LeaderElection` events: the first profile's scheduler name.
    pub controller: String,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Gauges and counters.
    pub metrics: Arc<Metrics>,
    /// Who is told of elections and terms, if anybody is.
    pub tracing: Option<Tracing>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The caches are not filled yet.
    NotStarted,
    /// Candidate or leader, with tries going on.
    Standing,
    /// The term is being stopped; no tries meanwhile.
    Ending,
    /// The lease is read and written one last time, once every write of the term is decided.
    Releasing,
    /// Nothing more will happen.
    Done,
}

/// What the elector owns.
pub struct ElectorState {
    election: Election,
    coordination: Option<Coordination>,
    config: ElectionConfig,
    lease: LeaseClient,
    mailbox: Mailbox<ElectorMessage>,
    supervisor: Mailbox<SupervisorMessage>,
    cache: Mailbox<CacheMessage>,
    recorder: Mailbox<RecorderMessage>,
    controller: String,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    telling: Telling,
    phase: Phase,
    /// The token of the term, until each of its writes is decided.
    token: Option<Arc<TermToken>>,
    terms: u64,
    attempt: u64,
    asking: bool,
    next_try: Moment,
    /// Standing aside: no try before then, whatever is seen.
    not_before: Moment,
    /// When to try by what was seen of the lease during the try under way.
    sighted: Option<Moment>,
    /// How long the machine had been suspended in all when it was last looked at.
    suspended: Duration,
    /// Since when nobody held the lease that is being taken.
    vacant_since: Option<Moment>,
    stepping_down: Option<StepDown>,
    running: Option<Box<TermActors>>,
    /// Of the term, while it goes on.
    progress: Option<Progress>,
    slow_paths: u64,
    /// The supervisor has been told, or will be, that all is done.
    released: bool,
    alarm: Alarm,
    tasks: TaskTracker,
    cancelled: CancellationToken,
}

impl Drop for ElectorState {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
        self.cancelled.cancel();
    }
}

impl ElectorState {
    fn ask(&mut self, request: Request) {
        self.asking = true;
        let attempt = self.attempt;
        let lease = self.lease.clone();
        let mailbox = self.mailbox.clone();
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            let asking = async {
                match request {
                    Request::Get => lease.get().await,
                    Request::Create(record) => lease.create(&record).await,
                    Request::Update { record, stored } => lease.update(&stored, &record).await,
                }
            };
            if let Some(reply) = cancelled.run_until_cancelled(asking).await {
                mailbox.tell(ElectorMessage::Answered { attempt, reply });
            }
        });
    }

    fn try_now(&mut self, now: Moment) {
        if self.election.is_leader() && !self.term_makes_progress(now) {
            return;
        }
        if let Some(coordination) = &mut self.coordination {
            coordination.stand();
        }
        self.attempt += 1;
        let request = self.election.begin(now, self.clock.wall());
        self.ask(request);
    }

    fn take_answer(&mut self, attempt: u64, reply: LeaseReply, now: Moment) {
        if attempt != self.attempt {
            return;
        }
        self.asking = false;
        match self.phase {
            Phase::Standing => {
                let answer = match reply {
                    LeaseReply::Lease(lease) => Answer::Lease(lease),
                    LeaseReply::NotFound => Answer::NotFound,
                    other => Answer::Failed(format!("{other:?}")),
                };
                let next = self.election.answer(answer, now, self.clock.wall());
                self.follow(next, now);
            }
            Phase::Releasing => self.continue_release(&reply, now),
            Phase::NotStarted | Phase::Ending | Phase::Done => {}
        }
    }

    fn follow(&mut self, next: Next, now: Moment) {
        let slow_paths = self.election.slow_paths();
        if slow_paths > self.slow_paths {
            self.metrics.election().slow_paths(slow_paths - self.slow_paths);
            self.slow_paths = slow_paths;
        }
        match next {
            Next::Ask(request) => {
                self.vacant_since = self.election.vacant_since(now);
                self.ask(request);
            }
            Next::Held { won, sent_at, retry_at } => {
                self.next_try = retry_at;
                if won && let Some(since) = self.vacant_since {
                    self.metrics.hand_over().vacant_for(now.since(since));
                }
                match &self.token {
                    Some(token) if !won => token.renewed(sent_at),
                    _ => self.begin_term(sent_at),
                }
            }
            Next::NotHeld { retry_at } => self.try_again(retry_at),
            Next::Lost { reason } => self.end_term(&reason, now),
            Next::EndOfTerm { preferred } => self.step_down(StepDown::EndOfTerm(preferred), now),
        }
    }

    fn tick(&mut self, now: Moment) {
        self.alarm.rang();
        if self.phase == Phase::Standing && self.election.expire(now) {
            self.end_term("the lease was not renewed within the renew deadline", now);
        }
        if self.asking || now < self.next_try {
            return;
        }
        match self.phase {
            Phase::Standing if self.config.leader_elect => self.try_now(now),
            Phase::Standing if self.token.is_none() => self.begin_term(now),
            // There is no lease to renew, and a term that does not get on is ended all the same.
            Phase::Standing => {
                self.next_try = now + self.config.retry_period;
                self.term_makes_progress(now);
            }
            Phase::Releasing => self.release_when_decided(now),
            _ => {}
        }
    }

    fn next_look(&self, now: Moment) -> Option<Moment> {
        match self.phase {
            Phase::Standing if self.asking => self.election.deadline(),
            Phase::Standing => Some(
                self.election
                    .deadline()
                    .map_or(self.next_try, |at| at.min(self.next_try))
                    .max(now),
            ),
            Phase::Releasing if !self.asking => Some(self.next_try.max(now)),
            _ => None,
        }
    }

    /// When to look again, also after the candidate.
    fn next_alarm(&self, now: Moment) -> Option<Moment> {
        let candidate = self.coordination.as_ref().and_then(Coordination::due);
        let candidate = candidate.map(|due| due.max(now));
        self.next_look(now).into_iter().chain(candidate).min()
    }

    fn tell_users(&self, what: &str) {
        if self.election.observed().is_some() {
            self.announce(EventType::Normal, "LeaderElection", what);
        }
    }

    fn announce(&self, event_type: EventType, reason: &str, what: &str) {
        // Without an election there is no lease, and its place in the API still says whose event it is.
        let lease = self.election.observed();
        let record = EventRecord {
            event_type,
            reason: reason.into(),
            action: "".into(),
            note: format!("{} {what}", self.election.identity()),
            regarding: ObjectReference {
                api_version: "coordination.k8s.io/v1".into(),
                kind: "Lease".into(),
                name: ObjectName::new(self.lease.namespace(), self.lease.name()),
                uid: lease.map_or_else(|| "".into(), |lease| lease.uid.clone()),
                resource_version: lease.map_or_else(Default::default, |lease| lease.resource_version.as_str().into()),
            },
            related: None,
            reporting_controller: self.controller.as_str().into(),
            reporting_instance: "".into(),
            event_time: self.clock.wall(),
        };
        self.recorder.tell(RecorderMessage::Lease(Box::new(record)));
    }
}

impl Actor for Elector {
    type Msg = ElectorMessage;
    type State = ElectorState;
    type Arguments = ElectorArguments;

    async fn pre_start(
        &self,
        _: ActorRef<ElectorMessage>,
        arguments: ElectorArguments,
    ) -> Result<ElectorState, ActorProcessingErr> {
        if arguments.config.leader_elect {
            arguments.metrics.election().leading(false);
        }
        let suspended = arguments.clock.suspended();
        let mut of_the_watch = arguments.random.clone();
        of_the_watch.set_stream(1);
        let mut election = Election::new(arguments.identity, arguments.config.clone(), arguments.random);
        if arguments.candidate.is_some() {
            election = election.coordinated();
        }
        let candidacy = Candidacy::new(arguments.config.retry_period);
        let coordination = arguments.candidate.map(|client| Coordination::new(client, candidacy));
        let state = ElectorState {
            election,
            coordination,
            config: arguments.config,
            lease: arguments.lease,
            mailbox: arguments.mailbox,
            supervisor: arguments.supervisor,
            cache: arguments.cache,
            recorder: arguments.recorder,
            controller: arguments.controller,
            clock: arguments.clock,
            metrics: arguments.metrics,
            phase: Phase::NotStarted,
            token: None,
            terms: 0,
            attempt: 0,
            asking: false,
            next_try: Moment::ZERO,
            not_before: Moment::ZERO,
            sighted: None,
            suspended,
            telling: Telling::to(arguments.tracing),
            vacant_since: None,
            stepping_down: None,
            running: None,
            progress: None,
            slow_paths: 0,
            released: false,
            alarm: Alarm::default(),
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        };
        if state.config.leader_elect && state.coordination.is_none() {
            state.watch_lease(of_the_watch);
        }
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<ElectorMessage>,
        message: ElectorMessage,
        state: &mut ElectorState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        let now = state.clock.now();
        state.wake();
        match message {
            ElectorMessage::Begin if state.phase == Phase::NotStarted => {
                tracing::info!(lease = state.lease.name(), "Attempting to acquire leader lease...");
                state.phase = Phase::Standing;
                state.next_try = now;
                state.tick(now);
            }
            ElectorMessage::Running(actors) => state.term_runs(actors),
            ElectorMessage::Alive(actor) => {
                if let Some(progress) = &mut state.progress {
                    progress.answered(actor);
                }
            }
            ElectorMessage::Watching(counts) => {
                if let Some(progress) = &mut state.progress {
                    progress.take_watches(&counts);
                }
            }
            ElectorMessage::StepDown(why) => state.step_down(why, now),
            ElectorMessage::TermEnded(term) if state.is_ending(term) => state.term_ended(now),
            // Said twice, or too late to matter.
            ElectorMessage::Begin | ElectorMessage::TermEnded(_) => {}
            ElectorMessage::Announce {
                event_type,
                reason,
                note,
            } => state.announce(event_type, reason, &note),
            ElectorMessage::Answered { attempt, reply } => state.take_answer(attempt, reply, now),
            ElectorMessage::CandidateAnswered { attempt, reply } => state.take_candidate_answer(attempt, reply, now),
            ElectorMessage::Seen(lease) => state.take_sight(lease, now),
            ElectorMessage::Tick => state.tick(now),
            ElectorMessage::View(reply) => {
                reply.send(state.view(now));
            }
            ElectorMessage::Ping(reply) => {
                reply.send(());
            }
        }
        state.keep_candidate(now);
        state.say_released();
        state
            .alarm
            .arm(&state.mailbox, state.next_alarm(now), now, || ElectorMessage::Tick);
        Ok(())
    }
}
