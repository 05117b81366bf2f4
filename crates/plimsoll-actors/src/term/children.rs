//! The actors of a term: how they start, and what the end of one means to the others.

use std::sync::Arc;

use plimsoll_engine::Engine;
use plimsoll_framework::Stopwatch;
use plimsoll_queue::SchedulingQueue as Queue;
use plimsoll_telemetry::Metrics;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, Message};

use super::{TermMessage, TermParts, TermState};
use crate::auditor::{Auditor, AuditorArguments, AuditorMessage};
use crate::binding_workers::{BindingWorkers, BindingWorkersArguments};
use crate::clock_stopwatch::ClockStopwatch;
use crate::elector::progress::{Resignation, Respondent};
use crate::evictor::{Evictor, EvictorArguments, EvictorMessage};
use crate::informer_cache::CacheMessage;
use crate::mailbox::{Mailbox, Summary};
use crate::scheduling_cycle::{CycleMessage, SchedulingCycle, SchedulingCycleArguments, TooManyPanics};
use crate::scheduling_queue::{QueueMessage, SchedulingQueue, SchedulingQueueArguments};
use crate::supervisor::SupervisorMessage;

/// The actors of a term that has begun.
pub(super) struct Running {
    pub(super) queue: (Mailbox<QueueMessage>, ActorCell),
    pub(super) cycle: (Mailbox<CycleMessage>, ActorCell),
    pub(super) workers: BindingWorkers,
    pub(super) evictor: (Mailbox<EvictorMessage>, ActorCell),
    /// Once the caches have caught up.
    pub(super) auditor: Option<(Mailbox<AuditorMessage>, ActorCell)>,
    /// The first four of these, without those that have ended: the term is not over before the last of them, since one that
    /// is stuck keeps a thread of the process.
    left: Vec<ActorId>,
}

impl TermState {
    /// Starts the actors and lets the cache fill them, unless that is done.
    pub(super) async fn start(&mut self, myself: &ActorRef<TermMessage>) -> Result<(), ActorProcessingErr> {
        if self.running.is_some() {
            return Ok(());
        }
        let parts = &self.parts;
        let assembled = &parts.assembled;
        let cycle = Mailbox::<CycleMessage>::new("SchedulingCycle", parts.tap.clone());
        let queue = Mailbox::<QueueMessage>::new("SchedulingQueue", parts.tap.clone());
        let evictor = Mailbox::<EvictorMessage>::new("Evictor", parts.tap.clone());
        let watch: Arc<dyn Stopwatch> = Arc::new(ClockStopwatch(Arc::clone(&parts.clock)));
        let queue_arguments = SchedulingQueueArguments {
            queue: Queue::new(assembled.queue(), &assembled.profiles).timed_by(Arc::clone(&watch)),
            mailbox: queue.clone(),
            cycle: cycle.clone(),
            hand_over: self.hand_over.clone(),
            clock: Arc::clone(&parts.clock),
            metrics: Arc::clone(&parts.metrics),
            tracing: parts.tracing.clone(),
            token: Arc::clone(&self.token),
        };
        let (queue_ref, _) = Actor::spawn_linked(None, SchedulingQueue, queue_arguments, myself.get_cell()).await?;
        let workers_arguments = BindingWorkersArguments {
            config: &assembled.config,
            client: parts.client.clone(),
            effects: parts.effects.clone(),
            token: Arc::clone(&self.token),
            clock: Arc::clone(&parts.clock),
            cycle: cycle.clone(),
        };
        let workers = BindingWorkers::spawn(workers_arguments, myself.get_cell()).await?;
        let cycle_arguments = SchedulingCycleArguments {
            engine: Engine::new(assembled.profiles.clone(), parts.seed.wrapping_add(self.token.number()))
                .timed_by(Arc::clone(&watch)),
            mailbox: cycle.clone(),
            queue: queue.clone(),
            workers: workers.clone(),
            evictor: evictor.clone(),
            recorder: parts.recorder.clone(),
            effects: parts.effects.clone(),
            token: Arc::clone(&self.token),
            hand_over: self.hand_over.clone(),
            clock: Arc::clone(&parts.clock),
            metrics: Arc::clone(&parts.metrics),
            tracing: parts.tracing.clone(),
        };
        let evictor_arguments = EvictorArguments {
            mailbox: evictor.clone(),
            cycle: cycle.clone(),
            recorder: parts.recorder.clone(),
            client: parts.client.clone(),
            token: Arc::clone(&self.token),
            clock: Arc::clone(&parts.clock),
            metrics: Arc::clone(&parts.metrics),
            tracing: parts.tracing.clone(),
        };
        let (evictor_ref, _) = Actor::spawn_linked(None, Evictor, evictor_arguments, myself.get_cell()).await?;
        let spawning = Actor::spawn_linked(None, SchedulingCycle, cycle_arguments, myself.get_cell());
        let (cycle_ref, _) = Box::pin(spawning).await?;
        queue.bind(queue_ref.clone());
        cycle.bind(cycle_ref.clone());
        evictor.bind(evictor_ref.clone());
        parts.permits.bind(cycle.clone());
        watch_depth(&parts.metrics, &queue);
        watch_depth(&parts.metrics, &cycle);
        watch_depth(&parts.metrics, &evictor);
        parts.cache.tell(CacheMessage::Subscribe {
            term: self.token.number(),
            queue: queue.clone(),
            cycle: cycle.clone(),
            assembled: Arc::clone(assembled),
        });
        let cells = [
            queue_ref.get_cell(),
            cycle_ref.get_cell(),
            evictor_ref.get_cell(),
            workers.cell(),
        ];
        self.running = Some(Running {
            left: cells.iter().map(ActorCell::get_id).collect(),
            auditor: None,
            queue: (queue, queue_ref.get_cell()),
            cycle: (cycle, cycle_ref.get_cell()),
            evictor: (evictor, evictor_ref.get_cell()),
            workers,
        });
        Ok(())
    }

    pub(super) async fn child_ended(&mut self, myself: &ActorRef<TermMessage>, child: &ActorCell, end: ChildEnd<'_>) {
        let Some(running) = &mut self.running else { return };
        let why = end.why;
        if let Some((auditor, cell)) = &mut running.auditor
            && child.get_id() == cell.get_id()
        {
            if !self.stopping {
                tracing::error!(
                    error = why,
                    "The auditor has died; pods are scheduled all the same, and it is started anew"
                );
                if let Ok(started) = start_auditor(&self.parts, auditor, myself).await {
                    *cell = started;
                }
            }
            return;
        }
        running.left.retain(|left| *left != child.get_id());
        let who = if child.get_id() == running.workers.cell().get_id() {
            // What they had under way is answered, or the others hear no more of it.
            running.cycle.1.stop(None);
            running.queue.1.stop(None);
            running.evictor.1.stop(None);
            Respondent::BindingWorkers
        } else if child.get_id() == running.cycle.1.get_id() {
            Respondent::SchedulingCycle
        } else if child.get_id() == running.evictor.1.get_id() {
            Respondent::Evictor
        } else {
            Respondent::SchedulingQueue
        };
        if running.left.is_empty() {
            myself.stop(None);
        }
        if !self.stopping && !self.failed {
            self.failed = true;
            self.token.cancel();
            self.parts.supervisor.tell(SupervisorMessage::TermFailed {
                term: self.token.number(),
                resignation: end.resignation.unwrap_or_else(|| who.resignation()),
                reason: format!("{who} has died: {why}"),
            });
        }
    }
}

/// How an actor of the term came to its end.
pub(super) struct ChildEnd<'a> {
    why: &'a str,
    /// What follows, if the actor itself does not say it.
    resignation: Option<Resignation>,
}

impl<'a> ChildEnd<'a> {
    pub(super) fn stopped(why: Option<&'a str>) -> Self {
        Self {
            why: why.unwrap_or("stopped"),
            resignation: None,
        }
    }

    pub(super) fn failed(why: &'a str, error: &ActorProcessingErr) -> Self {
        let panics = error.downcast_ref::<TooManyPanics>();
        Self {
            why,
            resignation: panics.map(|TooManyPanics| Resignation::Panics),
        }
    }
}

/// Starts the auditor, for the first time or again: what an earlier one has found is found again.
pub(super) async fn start_auditor(
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
    watch_depth(&parts.metrics, mailbox);
    Ok(cell)
}

fn watch_depth<M: Message + Summary>(metrics: &Metrics, mailbox: &Mailbox<M>) {
    let depth = mailbox.depth().clone();
    metrics.watch_mailbox(mailbox.name(), move || depth.get());
}
