//! `SchedulingQueue`: moves messages around the queue's state machine; every rule is in `plimsoll-queue`.

mod auditing;
mod change_lines;
mod listing;
mod measuring;

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_client::{Clock, TermToken};
use plimsoll_framework::{ClusterEvent, EventObjects};
use plimsoll_model::{Moment, Pod, Seq, Uid};
use plimsoll_queue::{Account, Outcome, PoppedPod, Release, SchedulingQueue as Queue};
use plimsoll_telemetry::logs::V2;
use plimsoll_telemetry::{HandOverStage, Metrics, PageOf};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use self::measuring::QueueHandles;
use crate::alarm::Alarm;
use crate::assembled_config::AssembledConfig;
use crate::attempt_record::PodIdentity;
use crate::auditor::{AuditMarker, Restatements};
use crate::debugging::{QueueDump, QueueListing};
use crate::elector::ElectorMessage;
use crate::elector::progress::Respondent;
use crate::hand_over::HandOver;
use crate::informer_cache::Changes;
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::scheduling_cycle::CycleMessage;
use crate::trace_context::TraceContext;
use crate::tracer::{GoneRecord, TracerMessage, Tracing};

/// What the queue hears.
#[derive(Debug)]
pub enum QueueMessage {
    /// From the cache, the same stream as the cycle's.
    Changes(Changes),
    /// From the cache: switch to this configuration. The cycle switches at the same number.
    Reconfigure {
        /// The configuration.
        assembled: Arc<AssembledConfig>,
        /// The number of the switch in the stream of changes.
        seq: Seq,
        /// Every pod without a node.
        unassigned: Vec<Arc<Pod>>,
    },
    /// From the cache: what came before holds everything that the API server held when the lease was won. Nothing is
    /// handed out before.
    Begin,
    /// From the cycle: it has nothing to decide. Answered with [`CycleMessage::Attempt`] as soon as there is a pod; the
    /// pod is then the cycle's until it is settled.
    Ready,
    /// From the cycle: how a pod handed out has ended.
    Settle {
        /// Which pod.
        uid: Uid,
        /// How.
        outcome: Outcome,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// From the cycle, behind the pod's settlement: try it again at this moment even if nothing happens.
    RetryAt {
        /// Which pod.
        uid: Uid,
        /// When.
        at: Moment,
    },
    /// From the cycle: something of the scheduler's own that may let a waiting pod fit, and the objects behind it.
    Observe(ClusterEvent, EventObjects),
    /// From the cycle: hold the pod back while its victims go.
    Hold(Uid),
    /// From the cycle, which has it from the Evictor: hold the pod back no longer.
    Release {
        /// Which pod.
        pod: Uid,
        /// What becomes of it.
        release: Release,
    },
    /// From plugins of a cycle that found a node: try these pods now.
    Activate(Vec<Uid>),
    /// From the alarm: a backoff or a longest wait may be over.
    Tick,
    /// From the cache: tell what there is, and send the marker on to the cycle.
    Audit(AuditMarker),
    /// From the cycle: the marker is back.
    AuditReturn(AuditMarker),
    /// From the cache: the truth about pods that an audit found something wrong with.
    Restate(Restatements),
    /// From the term: hand out nothing more.
    StopPopping,
    /// From the elector: are you there? Answered with [`ElectorMessage::Alive`].
    Probe(Mailbox<ElectorMessage>),
    /// From the HTTP server, through supervisor and term: what is known of this pod? Answered at once; with nothing if it is
    /// not pending.
    Account(Uid, Reply<Option<Box<Account>>>),
    /// From the HTTP server, through supervisor and term: the events kept for attempts under way, and these attempts.
    /// Answered at once.
    InFlightEvents(Reply<BTreeMap<String, u64>>),
    /// From the HTTP server, through supervisor and term: some of the pods. Answered at once.
    List(PageOf, Reply<QueueListing>),
    /// From the cache, for debugging: every pod. Answered at once.
    Dump(Reply<QueueDump>),
}

impl Summary for QueueMessage {
    fn summary(&self) -> String {
        match self {
            Self::Changes(changes) => format!("Changes {}", changes.changes.len()),
            Self::Reconfigure { seq, unassigned, .. } => {
                format!("Reconfigure seq={} unassigned={}", seq.as_u64(), unassigned.len())
            }
            Self::Begin => "Begin".to_owned(),
            Self::Ready => "Ready".to_owned(),
            Self::Settle { uid, outcome, .. } => format!("Settle {uid} {outcome:?}"),
            Self::RetryAt { uid, at } => format!("RetryAt {uid} {}", at.as_nanos()),
            Self::Observe(event, _) => format!("Observe {event}"),
            Self::Hold(uid) => format!("Hold {uid}"),
            Self::Release { pod, release } => format!("Release {pod} {release:?}"),
            Self::Activate(uids) => format!("Activate {uids:?}"),
            Self::Tick => "Tick".to_owned(),
            Self::Audit(marker) => format!("Audit {}", marker.number),
            Self::AuditReturn(marker) => format!("AuditReturn {}", marker.number),
            Self::Restate(restatements) => format!("Restate {}", restatements.pods.len()),
            Self::StopPopping => "StopPopping".to_owned(),
            Self::Probe(_) => "Probe".to_owned(),
            Self::Account(uid, _) => format!("Account {uid}"),
            Self::InFlightEvents(_) => "InFlightEvents".to_owned(),
            Self::List(..) => "List".to_owned(),
            Self::Dump(_) => "Dump".to_owned(),
        }
    }
}

/// A pod on its way to the cycle. Whoever holds it owns the pod.
#[derive(Debug)]
pub struct Attempt {
    /// The pod and what the queue knows of it.
    pub popped: PoppedPod,
    /// The trace that all attempts of the pod belong to.
    pub trace: TraceContext,
}

/// The actor; its state is [`SchedulingQueueState`].
#[derive(Debug)]
pub struct SchedulingQueue;

/// What the queue needs to start.
pub struct SchedulingQueueArguments {
    /// The state machine, empty.
    pub queue: Queue,
    /// Its own mailbox, to be counted down.
    pub mailbox: Mailbox<QueueMessage>,
    /// Where pods to try go.
    pub cycle: Mailbox<CycleMessage>,
    /// Told when the first pod may be tried.
    pub hand_over: HandOver,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Gauges and counters.
    pub metrics: Arc<Metrics>,
    /// Who is told of pods that go untried, if anybody is.
    pub tracing: Option<Tracing>,
    /// Until when it is this term's to tell that.
    pub token: Arc<TermToken>,
}

/// What the queue actor owns.
pub struct SchedulingQueueState {
    queue: Queue,
    mailbox: Mailbox<QueueMessage>,
    cycle: Mailbox<CycleMessage>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    tracing: Option<Tracing>,
    token: Arc<TermToken>,
    measured: QueueHandles,
    alarm: Alarm,
    /// Until the first pod may be tried.
    hand_over: Option<HandOver>,
    begun: bool,
    cycle_is_ready: bool,
    popping: bool,
    /// How many pods have been handed out.
    handed_out: u64,
    /// Pods settled since the marker of the audit under way came by.
    settled: Option<Vec<Uid>>,
}

impl Drop for SchedulingQueueState {
    fn drop(&mut self) {
        tracing::info!(name: V2, "Scheduling queue is closed");
        self.metrics.queue().emptied();
    }
}

impl SchedulingQueueState {
    fn hand_out(&mut self) {
        if !(self.begun && self.cycle_is_ready && self.popping) {
            return;
        }
        if let Some(hand_over) = self.hand_over.take() {
            hand_over.reached(HandOverStage::QueueBuilt);
        }
        let Some(popped) = self.queue.pop(self.clock.now()) else {
            return;
        };
        self.cycle_is_ready = false;
        self.handed_out += 1;
        let trace = TraceContext::of(&popped.pod);
        self.cycle.tell(CycleMessage::Attempt(Attempt { popped, trace }));
    }

    /// Of pods that were tried and have gone since, while they waited.
    fn tell_of_the_gone(&mut self, now: Moment) {
        let Some(tracing) = &self.tracing else { return };
        let ended = self.queue.take_ended();
        // The next leader sees it too, and may have tried the pod meanwhile.
        if !self.token.leads_alone(now) {
            return;
        }
        for ended in ended {
            tracing.tell(TracerMessage::Gone(Box::new(GoneRecord {
                trace: TraceContext::of(&ended.pod),
                pod: PodIdentity::of(&ended.pod),
                profile: ended.pod.spec.scheduler_name.to_string(),
                attempts: ended.attempts,
                added: ended.added,
                stays: ended.stays,
                at: now,
            })));
        }
    }

    fn settle(&mut self, uid: Uid, outcome: Outcome, now: Moment) {
        let plugins = match &outcome {
            Outcome::Rejected { plugins, .. } if tracing::enabled!(tracing::Level::DEBUG) => plugins.join(","),
            _ => String::new(),
        };
        if let Err(error) = self.queue.settle(&uid, outcome, now) {
            tracing::error!(%uid, %error, "Pod could not be taken back into the queue");
        }
        if let Some(pod) = self.queue.pod(&uid)
            && let Some(place) = self.queue.place_of(&uid)
        {
            change_lines::tell_of_return(pod, place, &plugins);
        }
        if let Some(settled) = &mut self.settled {
            settled.push(uid);
        }
    }
}

impl Actor for SchedulingQueue {
    type Msg = QueueMessage;
    type State = SchedulingQueueState;
    type Arguments = SchedulingQueueArguments;

    async fn pre_start(
        &self,
        _: ActorRef<QueueMessage>,
        mut arguments: SchedulingQueueArguments,
    ) -> Result<SchedulingQueueState, ActorProcessingErr> {
        arguments.queue.keep_stays(arguments.tracing.is_some());
        Ok(SchedulingQueueState {
            queue: arguments.queue,
            mailbox: arguments.mailbox,
            cycle: arguments.cycle,
            clock: arguments.clock,
            metrics: arguments.metrics,
            tracing: arguments.tracing,
            token: arguments.token,
            measured: QueueHandles::default(),
            alarm: Alarm::default(),
            hand_over: Some(arguments.hand_over),
            begun: false,
            cycle_is_ready: false,
            popping: true,
            handed_out: 0,
            settled: None,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<QueueMessage>,
        message: QueueMessage,
        state: &mut SchedulingQueueState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        let now = state.clock.now();
        match message {
            QueueMessage::Changes(Changes {
                changes,
                credit: _credit,
            }) => {
                let mut begun = now;
                for change in changes.iter() {
                    begun = state.apply(change, begun);
                    state.mailbox.pulse().beat();
                }
                state.tell_of_the_gone(now);
            }
            QueueMessage::Reconfigure {
                assembled,
                seq,
                unassigned,
            } => {
                let queue = &mut state.queue;
                let left = queue.reconfigure(assembled.queue(), &assembled.profiles, seq, &unassigned, now);
                for (scheduler_name, pods) in left {
                    tracing::warn!(
                        scheduler_name,
                        pods,
                        "Pods that waited are left alone: no profile takes them any more"
                    );
                }
            }
            QueueMessage::Begin => state.begun = true,
            QueueMessage::Ready => state.cycle_is_ready = true,
            QueueMessage::Settle { uid, outcome, trace } => {
                trace.span("Settle").in_scope(|| state.settle(uid, outcome, now));
            }
            QueueMessage::RetryAt { uid, at } => state.queue.retry_at(&uid, at),
            QueueMessage::Observe(event, objects) => state.queue.observe(event, objects, now),
            QueueMessage::Hold(uid) => state.queue.hold(&uid, now),
            QueueMessage::Release { pod, release } => state.queue.release(&pod, release, now),
            QueueMessage::Activate(uids) => state.queue.activate(&uids, now),
            QueueMessage::Tick => {
                state.alarm.rang();
                state.queue.tick(now);
            }
            QueueMessage::Audit(marker) => state.give_account(&marker, now),
            QueueMessage::AuditReturn(marker) => state.end_account(&marker),
            QueueMessage::Restate(restatements) => state.take_truth(&restatements, now),
            QueueMessage::StopPopping => state.popping = false,
            QueueMessage::Probe(elector) => {
                elector.tell(ElectorMessage::Alive(Respondent::SchedulingQueue));
            }
            QueueMessage::Account(uid, reply) => {
                reply.send(state.queue.account_of(&uid).map(Box::new));
            }
            QueueMessage::InFlightEvents(reply) => {
                reply.send(state.in_flight_events());
            }
            QueueMessage::List(page, reply) => {
                reply.send(state.list(&page, now));
            }
            QueueMessage::Dump(reply) => {
                reply.send(state.dump());
            }
        }
        state.hand_out();
        state.report(now);
        state
            .alarm
            .arm_or_send(&state.mailbox, state.queue.next_deadline(), now, || QueueMessage::Tick);
        Ok(())
    }
}
