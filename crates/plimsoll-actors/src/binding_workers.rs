//! `BindingWorkers`: a factory whose size bounds the API writes about pods that are in flight.
//!
//! A worker does one request and reports what came back; it never waits for anything else. What an answer means is for
//! the claim's table of states to say, in the cycle.
//!
//! A binding through an extender keeps no worker busy: a slow extender holds nobody else up.

mod through_extenders;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_client::{
    ApiClient, BindReply, Clock, PatchReply, PodRead, PodStatusPatch, Pulse, TermToken, VolumeReply,
};
use plimsoll_config::SchedulerConfig;
use plimsoll_engine::ClaimId;
use plimsoll_framework::Extender;
use plimsoll_model::storage::VolumeWrite;
use plimsoll_model::{ObjectName, Pod, Uid};
use ractor::factory::queues::{PriorityManager, PriorityQueue, StandardPriority};
use ractor::factory::{Factory, FactoryArguments, FactoryMessage, FactoryRef, Job, Worker, WorkerBuilder, WorkerId};
use ractor::factory::{discard::DiscardSettings, routing::QueuerRouting};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr};

pub use self::through_extenders::ExtenderBindReply;
use self::through_extenders::ThroughExtenders;
use crate::bind_pace::BindPace;
use crate::effects::Effects;
use crate::elector::ElectorMessage;
use crate::elector::progress::Respondent;
use crate::mailbox::Mailbox;
use crate::scheduling_cycle::CycleMessage;
use crate::trace_context::TraceContext;

/// One request to make.
#[derive(Debug)]
pub enum WriteJob {
    /// POST the binding; answered with [`CycleMessage::BindAnswered`].
    Bind {
        /// The claim it is for.
        claim: ClaimId,
        /// The pod to bind.
        pod: Arc<Pod>,
        /// Where to.
        node: Arc<str>,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// Let an extender bind the pod; answered with [`CycleMessage::ExtenderBindAnswered`].
    BindThrough {
        /// The claim it is for.
        claim: ClaimId,
        /// The pod to bind.
        pod: Arc<Pod>,
        /// Where to.
        node: Arc<str>,
        /// Who binds it.
        extender: Arc<Extender>,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// GET the pod; answered with [`CycleMessage::ReadAnswered`].
    Read {
        /// The claim it is for.
        claim: ClaimId,
        /// The pod to read.
        pod: Arc<Pod>,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// PATCH a volume or a claim; answered with [`CycleMessage::VolumeWritten`].
    Volume {
        /// The claim it is for.
        claim: ClaimId,
        /// The UID of its pod.
        uid: Uid,
        /// What to write.
        write: Box<VolumeWrite>,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// PATCH the pod's status; answered with [`CycleMessage::StatusAnswered`].
    Status {
        /// The pod's UID.
        uid: Uid,
        /// Its name.
        name: ObjectName,
        /// What to write.
        patch: Box<PodStatusPatch>,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// From the elector: is there a worker that takes jobs? Answered with [`ElectorMessage::Alive`].
    Probe(Mailbox<ElectorMessage>),
}

impl WriteJob {
    /// One line about it, the same in each run with the same seed.
    fn summary(&self) -> String {
        match self {
            Self::Bind { claim, pod, node, .. } => format!("Bind {} {} node={node}", claim.as_u64(), pod.name),
            Self::BindThrough { claim, pod, node, .. } => {
                format!("BindThrough {} {} node={node}", claim.as_u64(), pod.name)
            }
            Self::Read { claim, .. } => format!("Read {}", claim.as_u64()),
            Self::Volume { claim, write, .. } => format!("Volume {} {}", claim.as_u64(), written_object(write)),
            Self::Status { uid, .. } => format!("Status {uid}"),
            Self::Probe(_) => "Probe".to_owned(),
        }
    }
}

/// The object that is written.
pub(crate) fn written_object(write: &VolumeWrite) -> String {
    match write {
        VolumeWrite::BindVolume { volume, .. } => format!("PersistentVolume {volume}"),
        VolumeWrite::SelectNode { claim, .. } => format!("PersistentVolumeClaim {claim}"),
    }
}

/// Key and order of jobs: what settles a placement goes before what explains a failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobKey {
    uid: Uid,
    explains: bool,
}

/// Between two signs of life of a worker that waits for the API server.
const BEAT: Duration = Duration::from_secs(2);

struct BindsFirst;

impl PriorityManager<JobKey, StandardPriority> for BindsFirst {
    fn is_discardable(&self, _: &JobKey) -> bool {
        false
    }

    fn get_priority(&self, key: &JobKey) -> Option<StandardPriority> {
        Some(if key.explains {
            StandardPriority::Normal
        } else {
            StandardPriority::Highest
        })
    }
}

/// The handle through which the cycle hands out jobs.
#[derive(Debug, Clone)]
pub struct BindingWorkers {
    factory: FactoryRef<JobKey, WriteJob>,
    through_extenders: ThroughExtenders,
    pace: Option<BindPace>,
    answers: Arc<AtomicU64>,
    cycle: Mailbox<CycleMessage>,
    pulse: Pulse,
}

/// What the workers of a term work with.
pub struct BindingWorkersArguments<'a> {
    /// How many workers, and how many bindings a second.
    pub config: &'a SchedulerConfig,
    /// Requests about pods.
    pub client: ApiClient,
    /// Who calls extenders.
    pub effects: Effects,
    /// The term that every write belongs to.
    pub token: Arc<TermToken>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Who is told what came back.
    pub cycle: Mailbox<CycleMessage>,
}

impl BindingWorkers {
    /// Starts the factory under `supervisor`, with as many workers and at the rate of binding that are configured.
    pub async fn spawn(arguments: BindingWorkersArguments<'_>, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        type Queue = PriorityQueue<JobKey, WriteJob, StandardPriority, BindsFirst, { StandardPriority::size() }>;
        type Routing = QueuerRouting<JobKey, WriteJob>;
        let BindingWorkersArguments {
            config,
            client,
            effects,
            token,
            clock,
            cycle,
        } = arguments;
        let pace = BindPace::new(config, &token);
        let answers = Arc::new(AtomicU64::new(0));
        let through_extenders =
            ThroughExtenders::new(effects, Arc::clone(&token), clock, cycle.clone(), Arc::clone(&answers));
        let pulse = Pulse::default();
        let builder = Builder {
            client,
            token,
            cycle: cycle.clone(),
            answers: Arc::clone(&answers),
            pulse: pulse.clone(),
        };
        let arguments = FactoryArguments::builder()
            .worker_builder(Box::new(builder) as Box<dyn WorkerBuilder<BindingWorker, ()>>)
            .num_initial_workers(config.binding_workers.max(1))
            .router(Routing::default())
            .queue(Queue::new(BindsFirst))
            .discard_settings(DiscardSettings::None)
            .build();
        let factory = Factory::<JobKey, WriteJob, (), BindingWorker, Routing, Queue>::default();
        let (factory, _) = Actor::spawn_linked(None, factory, arguments, supervisor).await?;
        Ok(Self {
            factory,
            through_extenders,
            pace,
            answers,
            cycle,
            pulse,
        })
    }

    /// Hands out a job, a binding in its turn; a factory that is gone answers nothing, and its term is over.
    pub fn dispatch(&self, job: WriteJob) {
        match &self.pace {
            Some(pace) if matches!(job, WriteJob::Bind { .. } | WriteJob::BindThrough { .. }) => {
                let workers = self.clone();
                pace.in_turn(move || workers.hand_out(job));
            }
            _ => self.hand_out(job),
        }
    }

    /// Jobs lie in no mailbox; they go through the tap of the actor that hands them out.
    fn hand_out(&self, job: WriteJob) {
        let workers = self.clone();
        let begin = move |job| {
            workers.begin(job);
            true
        };
        self.cycle.pass_on("BindingWorkers", job, WriteJob::summary, begin);
    }

    fn begin(&self, job: WriteJob) {
        match job {
            WriteJob::BindThrough {
                claim,
                pod,
                node,
                extender,
                trace,
            } => self.through_extenders.bind(claim, pod, &node, extender, trace),
            job => hand_out(&self.factory, job),
        }
    }

    /// Asks the pool whether a worker takes jobs. The answer goes to the elector.
    pub(crate) fn probe(&self, elector: Mailbox<ElectorMessage>) {
        self.hand_out(WriteJob::Probe(elector));
    }

    /// Beats when a job is taken up, while it waits for the API server, and when it is done.
    pub(crate) fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// How many answers have been sent to the cycle, for audits. Each is in its mailbox before it counts.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Acquire)
    }

    /// Finishes what was handed out, then stops.
    pub fn drain(&self) {
        if self.factory.drain_requests().is_err() {
            tracing::debug!("Binding workers are gone already");
        }
    }

    /// The factory itself, for supervision.
    pub fn cell(&self) -> ActorCell {
        self.factory.get_cell()
    }
}

fn hand_out(factory: &FactoryRef<JobKey, WriteJob>, job: WriteJob) {
    let key = match &job {
        WriteJob::Bind { pod, .. } | WriteJob::BindThrough { pod, .. } | WriteJob::Read { pod, .. } => JobKey {
            uid: pod.uid.clone(),
            explains: false,
        },
        WriteJob::Volume { uid, .. } => JobKey {
            uid: uid.clone(),
            explains: false,
        },
        WriteJob::Status { uid, .. } => JobKey {
            uid: uid.clone(),
            explains: true,
        },
        WriteJob::Probe(_) => JobKey {
            uid: Uid::new("probe"),
            explains: false,
        },
    };
    if factory.dispatch(key, job).is_err() {
        tracing::debug!("Binding workers are gone; the term is over");
    }
}

struct Builder {
    client: ApiClient,
    token: Arc<TermToken>,
    cycle: Mailbox<CycleMessage>,
    answers: Arc<AtomicU64>,
    pulse: Pulse,
}

impl WorkerBuilder<BindingWorker, ()> for Builder {
    fn build(&mut self, _: WorkerId) -> (BindingWorker, ()) {
        let worker = BindingWorker {
            client: self.client.clone(),
            token: Arc::clone(&self.token),
            cycle: self.cycle.clone(),
            answers: Arc::clone(&self.answers),
            pulse: self.pulse.clone(),
        };
        (worker, ())
    }
}

/// One worker of the factory.
pub struct BindingWorker {
    client: ApiClient,
    token: Arc<TermToken>,
    cycle: Mailbox<CycleMessage>,
    answers: Arc<AtomicU64>,
    pulse: Pulse,
}

/// Answers even when the worker dies in the middle of a request: the outcome is then unknown, never missing.
struct Answer {
    cycle: Mailbox<CycleMessage>,
    answers: Arc<AtomicU64>,
    if_dropped: Option<CycleMessage>,
}

impl Answer {
    fn send(mut self, message: CycleMessage) {
        self.if_dropped = Some(message);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(message) = self.if_dropped.take() {
            self.cycle.tell(message);
            self.answers.fetch_add(1, Ordering::Release);
        }
    }
}

impl BindingWorker {
    fn answer(&self, if_dropped: CycleMessage) -> Answer {
        Answer {
            cycle: self.cycle.clone(),
            answers: Arc::clone(&self.answers),
            if_dropped: Some(if_dropped),
        }
    }

    async fn work(&self, job: WriteJob) {
        const DIED: &str = "the worker stopped during the request";
        match job {
            WriteJob::Bind {
                claim,
                pod,
                node,
                trace,
            } => {
                let unknown = BindReply::Unknown { error: DIED.to_owned() };
                let bind_answered = move |reply| CycleMessage::BindAnswered { claim, reply, trace };
                let answer = self.answer(bind_answered(unknown));
                let reply = self.client.bind(&self.token, &pod, &node).await;
                answer.send(bind_answered(reply));
            }
            // Never handed to a worker.
            WriteJob::BindThrough { .. } => {}
            WriteJob::Probe(elector) => {
                elector.tell(ElectorMessage::Alive(Respondent::BindingWorkers));
            }
            WriteJob::Read { claim, pod, trace } => {
                let failed = PodRead::Failed { error: DIED.to_owned() };
                let read_answered = move |read| CycleMessage::ReadAnswered { claim, read, trace };
                let answer = self.answer(read_answered(failed));
                // Nobody acts on what it shows once the term is over, and the term must not wait for it.
                let reading = self.client.read_pod(&pod.name);
                if let Some(read) = self.token.cancellation().run_until_cancelled_owned(reading).await {
                    answer.send(read_answered(read));
                }
            }
            WriteJob::Volume {
                claim, write, trace, ..
            } => {
                let unknown = VolumeReply::Unknown { error: DIED.to_owned() };
                let written = move |reply| CycleMessage::VolumeWritten { claim, reply, trace };
                let answer = self.answer(written(unknown));
                let reply = self.client.write_volume(&self.token, &write).await;
                answer.send(written(reply));
            }
            WriteJob::Status {
                uid,
                name,
                patch,
                trace,
            } => {
                let failed = PatchReply::Refused {
                    code: 0,
                    message: DIED.to_owned(),
                };
                let answer = self.answer(CycleMessage::StatusAnswered {
                    uid: uid.clone(),
                    reply: failed,
                    trace,
                });
                let reply = self.client.patch_pod_status(&self.token, &name, &patch).await;
                answer.send(CycleMessage::StatusAnswered { uid, reply, trace });
            }
        }
    }
}

impl Worker for BindingWorker {
    type Key = JobKey;
    type Message = WriteJob;
    type State = ();
    type Arguments = ();

    async fn pre_start(
        &self,
        _: WorkerId,
        _: &ActorRef<FactoryMessage<JobKey, WriteJob>>,
        (): (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: WorkerId,
        _: &ActorRef<FactoryMessage<JobKey, WriteJob>>,
        job: Job<JobKey, WriteJob>,
        (): &mut (),
    ) -> Result<JobKey, ActorProcessingErr> {
        let Job { key, msg, .. } = job;
        self.pulse.beat();
        let mut working = Box::pin(self.work(msg));
        // Each request is bounded by itself; how long it waits for its turn is what the configuration says.
        while tokio::time::timeout(BEAT, &mut working).await.is_err() {
            self.pulse.beat();
        }
        self.pulse.beat();
        Ok(key)
    }
}
