//! `Evictor`: owns each preemption from its plan until the last victim is gone. What becomes of each is for
//! `Preemptions` to say; here requests are sent and news told.

mod eviction;
mod numbers;
mod preemptions;
mod request;
mod telling;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use plimsoll_client::{ApiClient, Clock, EventType, TermToken, seconds_text};
use plimsoll_engine::PreemptionPlan;
use plimsoll_model::{Moment, Pod, Timestamp, Uid};
use plimsoll_queue::Release;
use plimsoll_telemetry::Metrics;
use plimsoll_telemetry::logs::V2;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::numbers::Numbers;
use self::preemptions::{Ending, Over, Preemptions, Said};
use self::telling::Telling;
use crate::alarm::Alarm;
use crate::elector::ElectorMessage;
use crate::elector::progress::Respondent;
use crate::event_recorder::{PodEvent, RecorderMessage, report};
use crate::log_subject::trace_of;
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::scheduling_cycle::CycleMessage;
use crate::trace_context::TraceContext;
use crate::tracer::Tracing;

use self::request::Request;

pub(crate) use self::preemptions::PAUSE;
pub use self::preemptions::{Sight, VictimAwaited, VictimsAwaited};
pub use self::request::Answer;

/// As many requests are under way at most as kube-scheduler makes for one preemption.
const IN_FLIGHT: usize = 16;

/// What the Evictor hears.
#[derive(Debug)]
pub enum EvictorMessage {
    /// From the cycle: carry this out. The preemptor is held in the queue already, unless the cycle itself waits for it.
    Preempt {
        /// What to do.
        plan: Box<PreemptionPlan>,
        /// The plan's number: what is said of it later carries it.
        number: u64,
        /// Victims that the cycle has turned away in memory.
        rejected: Vec<Uid>,
        /// The preemptor's trace.
        trace: TraceContext,
        /// In it the span of the attempt that planned it, if that is told of.
        attempt: Option<u64>,
    },
    /// From the cycle, before its first pod: an earlier leader has told these victims to go.
    Adopt {
        /// Who waits for whom.
        plan: Box<PreemptionPlan>,
        /// As in [`EvictorMessage::Preempt`].
        number: u64,
    },
    /// From the cycle: what its columns show of pods that preemptions have to do with, in order.
    Seen(Vec<Sight>),
    /// From a task of its own: exactly one for each request.
    Answered {
        /// The victim.
        uid: Uid,
        /// What came back.
        answer: Box<Answer>,
        /// The victim's trace.
        trace: TraceContext,
    },
    /// From the HTTP server, through supervisor and term: for whose end does this pod wait? Answered at once.
    Victims(Uid, Reply<Option<VictimsAwaited>>),
    /// From the alarm: a request is to be repeated, or a pause is over.
    Tick,
    /// From the term: send nothing more, and answer when nothing is under way.
    Drain(Reply<()>),
    /// From the elector: are you there? Answered with [`ElectorMessage::Alive`].
    Probe(Mailbox<ElectorMessage>),
}

impl Summary for EvictorMessage {
    fn summary(&self) -> String {
        match self {
            Self::Preempt { plan, rejected, .. } => {
                let victims: Vec<&str> = plan.victims.iter().map(|victim| victim.pod.uid.as_str()).collect();
                let (preemptor, node, rejected) = (&plan.preemptor.name, &plan.node, rejected.len());
                format!(
                    "Preempt {preemptor} node={node} victims={} rejected={rejected}",
                    victims.join(",")
                )
            }
            Self::Adopt { plan, .. } => {
                let (preemptor, node, victims) = (&plan.preemptor.name, &plan.node, plan.victims.len());
                format!("Adopt {preemptor} node={node} victims={victims}")
            }
            Self::Seen(sights) => format!("Seen {}", sights.len()),
            Self::Answered { uid, answer, .. } => match answer.as_ref() {
                Answer::Marked(reply) => format!("Answered {uid} {reply:?}"),
                Answer::Removed(reply) => format!("Answered {uid} {reply:?}"),
                Answer::Read(read) => format!("Answered {uid} {}", crate::claim_input::read_kind(read)),
            },
            Self::Victims(uid, _) => format!("Victims {uid}"),
            Self::Tick => "Tick".to_owned(),
            Self::Drain(_) => "Drain".to_owned(),
            Self::Probe(_) => "Probe".to_owned(),
        }
    }
}

/// The actor; its state is [`EvictorState`].
#[derive(Debug)]
pub struct Evictor;

/// What the Evictor needs to start.
pub struct EvictorArguments {
    /// Its own mailbox.
    pub mailbox: Mailbox<EvictorMessage>,
    /// Whose pods it makes room for.
    pub cycle: Mailbox<CycleMessage>,
    /// Who tells users.
    pub recorder: Mailbox<RecorderMessage>,
    /// Requests about pods.
    pub client: ApiClient,
    /// The term that every request belongs to.
    pub token: Arc<TermToken>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Who is told of preemptions, if anybody is.
    pub tracing: Option<Tracing>,
}

/// What the Evictor owns.
///
/// **Its end.** Preemptions end with their term: what has not been sent is not sent, since the token does not allow it, and
/// nothing is remembered. The next leader knows a nomination from the pod's status, and a victim on its way out from its
/// `DisruptionTarget` condition; where it finds both it goes on waiting for the victim's end. A victim that was only marked is
/// an ordinary pod to it.
pub struct EvictorState {
    preemptions: Preemptions,
    numbers: Numbers,
    telling: Telling,
    parts: EvictorArguments,
    in_flight: usize,
    draining: Option<Reply<()>>,
    alarm: Alarm,
    tasks: TaskTracker,
    cancelled: CancellationToken,
}

impl EvictorState {
    fn begin(&mut self, (plan, number): (&PreemptionPlan, u64), rejected: &[Uid], now: Moment, said: &mut Vec<Said>) {
        let how = if plan.asynchronous { " asynchronously" } else { "" };
        tracing::info!(
            name: V2, preemptor = %plan.preemptor.name, node = %plan.node, numVictims = plan.victims.len(),
            numVictimsToDelete = plan.victims.len().saturating_sub(rejected.len()), trace_id = %trace_of(&plan.preemptor),
            "Start the preemption{how}"
        );
        self.numbers.begin(&plan.preemptor, number);
        self.preemptions.open(plan, rejected, now, said);
    }

    fn act_on(&mut self, said: Vec<Said>) {
        for said in said {
            match said {
                Said::Preempted {
                    victim,
                    preemptor,
                    node,
                    in_memory,
                } => self.tell_of_victim(&victim, &preemptor, &node, in_memory),
                Said::Executed {
                    preemptor,
                    asynchronous: true,
                    result,
                    took,
                } => self.count_execution(&preemptor, result.is_ok(), took),
                Said::Executed {
                    preemptor,
                    asynchronous: false,
                    result,
                    ..
                } => {
                    let trace = self.numbers.trace_of(&preemptor);
                    self.parts.cycle.tell(CycleMessage::PreemptionExecuted {
                        preemptor,
                        result,
                        trace,
                    });
                }
                Said::Going(preemptor) => {
                    let plan = self.numbers.of(&preemptor);
                    self.parts.cycle.tell(CycleMessage::VictimsGoing { preemptor, plan });
                }
                Said::Over(over) => self.tell_of_end(over),
            }
        }
    }

    fn tell_of_victim(&self, victim: &Arc<Pod>, preemptor: &Arc<Pod>, node: &str, in_memory: bool) {
        tracing::info!(
            name: V2, preemptor = %preemptor.name, victim = %victim.name, %node, trace_id = %trace_of(preemptor),
            "Preemptor Pod preempted victim Pod"
        );
        let suffix = if in_memory { " (in kube-scheduler memory)." } else { "" };
        let text = format!("Preempted by pod {} on node {node}{suffix}", preemptor.uid);
        let parts = &self.parts;
        report(
            &parts.recorder,
            &parts.metrics,
            (trace_of(victim), &parts.token),
            || {
                let wall = parts.clock.wall();
                PodEvent::about(victim, EventType::Normal, "Preempted", "Preempting", text, wall).because_of(preemptor)
            },
        );
    }

    fn count_execution(&self, preemptor: &Uid, succeeded: bool, took: Duration) {
        let result = if succeeded { "success" } else { "error" };
        tracing::info!(
            name: V2, preemptor = preemptor.as_str(), result, "Async Preemption finished completely"
        );
        self.parts.metrics.preemption().executed(succeeded, took);
    }

    fn tell_of_end(&mut self, over: Over) {
        self.telling.end(&over, self.parts.clock.now());
        let Over {
            preemptor,
            asynchronous,
            ending,
            named,
            spared,
        } = over;
        self.parts.metrics.preemption().ended(ending.as_str());
        let release = match ending {
            Ending::Failed if asynchronous => Some(Release::AtOnce),
            Ending::Done | Ending::NotNeeded => Some(Release::AfterBackoff),
            Ending::Failed | Ending::Replaced => None,
        };
        let plan = self.numbers.end(&preemptor, ending == Ending::Replaced);
        self.parts.cycle.tell(CycleMessage::PreemptionOver {
            preemptor,
            plan,
            release,
            named,
            spared,
        });
    }

    fn send_next(&mut self) {
        let wall = Timestamp::new(seconds_text(self.parts.clock.wall()));
        while self.in_flight < IN_FLIGHT
            && let Some((uid, request)) = self.preemptions.next_request(&wall)
        {
            self.in_flight += 1;
            self.telling.sent(&uid, &request.what, self.parts.clock.now());
            let client = self.parts.client.clone();
            let token = Arc::clone(&self.parts.token);
            let mailbox = self.parts.mailbox.clone();
            let cancelled = self.cancelled.clone();
            self.tasks.spawn(async move {
                // Answers on every path: the victim would otherwise wait for ever.
                let performing = AssertUnwindSafe(request.perform(&client, &token)).catch_unwind();
                if let Some(performed) = cancelled.run_until_cancelled(performing).await {
                    let answer = Box::new(performed.unwrap_or_else(|_| Request::lost(&request.what)));
                    let trace = TraceContext::of(&request.victim);
                    mailbox.tell(EvictorMessage::Answered { uid, answer, trace });
                }
            });
        }
    }

    fn finish_turn(&mut self, now: Moment) {
        self.send_next();
        if self.in_flight == 0
            && let Some(reply) = self.draining.take()
        {
            reply.send(());
        }
        self.parts.metrics.preemption().under_way(self.preemptions.len());
        let deadline = self.preemptions.next_deadline();
        self.alarm
            .arm(&self.parts.mailbox, deadline, now, || EvictorMessage::Tick);
    }
}

impl Drop for EvictorState {
    fn drop(&mut self) {
        // What is under way then has no answer, which the token knows.
        self.cancelled.cancel();
        self.parts.metrics.preemption().under_way(0);
    }
}

impl Actor for Evictor {
    type Msg = EvictorMessage;
    type State = EvictorState;
    type Arguments = EvictorArguments;

    async fn pre_start(
        &self,
        _: ActorRef<EvictorMessage>,
        parts: EvictorArguments,
    ) -> Result<EvictorState, ActorProcessingErr> {
        Ok(EvictorState {
            preemptions: Preemptions::default(),
            numbers: Numbers::default(),
            telling: Telling::to(parts.tracing.clone(), parts.token.number()),
            parts,
            in_flight: 0,
            draining: None,
            alarm: Alarm::default(),
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        })
    }

    async fn handle(
        &self,
        _: ActorRef<EvictorMessage>,
        message: EvictorMessage,
        state: &mut EvictorState,
    ) -> Result<(), ActorProcessingErr> {
        state.parts.mailbox.depth().taken();
        let now = state.parts.clock.now();
        let mut said = Vec::new();
        match message {
            EvictorMessage::Preempt {
                plan,
                number,
                rejected,
                trace,
                attempt,
            } => trace.span("Preempt").in_scope(|| {
                state.telling.begin(&plan, &rejected, attempt, now);
                state.begin((&plan, number), &rejected, now, &mut said);
            }),
            EvictorMessage::Adopt { plan, number } => {
                tracing::info!(
                    name: V2, preemptor = %plan.preemptor.name, node = %plan.node, numVictims = plan.victims.len(),
                    trace_id = %trace_of(&plan.preemptor),
                    "An earlier leader has begun the preemption; waiting for its victims"
                );
                state.telling.begin(&plan, &[], None, now);
                state.numbers.begin(&plan.preemptor, number);
                state.preemptions.adopt(&plan, now, &mut said);
            }
            EvictorMessage::Seen(sights) => {
                for sight in &sights {
                    if let Sight::Gone(uid) = sight {
                        state.telling.gone(uid, now);
                    }
                    state.preemptions.see(sight, now, &mut said);
                }
            }
            EvictorMessage::Answered { uid, answer, trace } => {
                state.in_flight = state.in_flight.saturating_sub(1);
                state.telling.answered(&uid, &answer, now);
                let preemptions = &mut state.preemptions;
                trace
                    .span("Answered")
                    .in_scope(|| preemptions.answered(&uid, *answer, now, &mut said));
            }
            EvictorMessage::Victims(preemptor, reply) => {
                reply.send(state.preemptions.awaited_by(&preemptor));
            }
            EvictorMessage::Tick => {
                state.alarm.rang();
                state.preemptions.tick(now, &mut said);
            }
            EvictorMessage::Drain(reply) => {
                state.preemptions.stop();
                state.draining = Some(reply);
            }
            EvictorMessage::Probe(elector) => {
                elector.tell(ElectorMessage::Alive(Respondent::Evictor));
            }
        }
        state.act_on(said);
        state.finish_turn(now);
        Ok(())
    }
}
