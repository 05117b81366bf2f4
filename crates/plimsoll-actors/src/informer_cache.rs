//! `InformerCache`: what the API server has told us, and the one order of changes.
//!
//! It numbers every change of every kind and sends the same stream to the queue and the cycle of the term, so that a
//! pod handed out at number *n* can be judged by columns that have seen at least *n*.
//!
//! Watch batches carry a credit. It is given back only when everyone who was sent the batch's changes has taken them
//! up, so that a slow cycle slows the watch down instead of growing a mailbox.

mod auditing;
mod isolation;
mod kind;
mod permissions;
mod raw_objects;
mod store;
#[cfg(test)]
mod tests;
mod watch_counts;

use std::sync::Arc;

use plimsoll_client::{Nodes, Pods, RawDemand, WatchBatch, WatchEvent};
use plimsoll_model::{
    Change, Delta, DisruptionBudget, Namespace, Node, Pod, RawPolicy, ResourceVersion, Seq, WorkloadKind,
    WorkloadSelector,
};
use plimsoll_telemetry::Metrics;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use self::isolation::Isolation;
use self::kind::workload_position;
use self::permissions::Permissions;
use self::raw_objects::{RawObjects, Step};
use self::store::{Store, StoreChange, Stored};
use crate::assembled_config::AssembledConfig;
use crate::auditor::{AuditorMessage, Discrepancy};
use crate::elector::ElectorMessage;
use crate::mailbox::{Mailbox, Summary};
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;

pub use self::kind::{CachedKind, Holding, Holdings, Kind, Mark, Marks, OfEachKind};
pub use self::watch_counts::{WatchCounts, WatchPulses};

/// Room in the pipeline from watch to columns, held by whoever still has to look at a batch.
#[derive(Debug, Clone)]
pub struct Credit {
    _permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl Credit {
    /// The credit of a batch that was let in with this permit.
    pub fn new(permit: OwnedSemaphorePermit) -> Self {
        Self {
            _permit: Some(Arc::new(permit)),
        }
    }

    /// For changes that nothing waits for.
    pub fn none() -> Self {
        Self { _permit: None }
    }
}

/// Numbered changes in order, shared by all who hear them.
#[derive(Debug, Clone)]
pub struct Changes {
    /// In order, without gaps.
    pub changes: Arc<[Change]>,
    /// Dropped when taken up.
    pub credit: Credit,
}

/// What the cache holds, for gauges and health checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheView {
    /// Pods known.
    pub pods: usize,
    /// Nodes known.
    pub nodes: usize,
    /// Whether each kind has been listed once.
    pub synced: bool,
    /// Kinds that the API server does not let us read, and what it said.
    pub forbidden: Vec<(Kind, String)>,
}

/// What the cache hears.
#[derive(Debug)]
pub enum CacheMessage {
    /// From the namespace watch, or the short watch that forces progress.
    Namespaces(WatchBatch<Namespace>, Credit),
    /// From the watch of one kind of workload, or the short watch that forces progress.
    Workloads(WorkloadKind, WatchBatch<WorkloadSelector>, Credit),
    /// From the watch of disruption budgets, or the short watch that forces progress.
    DisruptionBudgets(WatchBatch<DisruptionBudget>, Credit),
    /// From the pod watch, or the short watch that forces progress.
    Pods(WatchBatch<Pod>, Credit),
    /// From the node watch, or the short watch that forces progress.
    Nodes(WatchBatch<Node>, Credit),
    /// From the term: send everything known as additions, then every change, to these two. Replaces those of earlier terms.
    /// What a term says to the cache is heard only until a later one has said something: it may have been long on its way.
    Subscribe {
        /// The number of the term.
        term: u64,
        /// The term's queue.
        queue: Mailbox<QueueMessage>,
        /// The term's cycle.
        cycle: Mailbox<CycleMessage>,
        /// What they begin with.
        assembled: Arc<AssembledConfig>,
    },
    /// From the term: tell the subscribers to switch to this configuration at one number of the stream. If it needs whole
    /// objects that are not there, that is once they are.
    Reconfigure {
        /// The number of the term.
        term: u64,
        /// What they go on with.
        assembled: Arc<AssembledConfig>,
    },
    /// From the supervisor: keep the whole of these objects too from now on.
    Keep(RawPolicy),
    /// From the term of this number: it is over.
    Unsubscribe(u64),
    /// From the term: what is in the cache? Answered at once.
    Holdings(oneshot::Sender<Holdings>),
    /// From the term: answer when each kind has passed its mark.
    AwaitMarks(Marks, oneshot::Sender<()>),
    /// From the term of this number: all marks are passed. The subscribers are told behind everything that they have been sent,
    /// and then this is answered.
    Begin(u64, oneshot::Sender<()>),
    /// From the term: a consistent read lies behind what is cached.
    HistoryBeganAnew(HistoryBeganAnew),
    /// From the auditor: tell which pods wait for a node, and send the marker round.
    Audit {
        /// Which audit.
        number: u64,
        /// Who asks.
        auditor: Mailbox<AuditorMessage>,
    },
    /// From the auditor: tell the subscribers the truth about the pods that something is wrong with.
    Restate(Vec<Discrepancy>),
    /// From the supervisor: answer when each kind has been listed once.
    AwaitSynced(oneshot::Sender<()>),
    /// From the HTTP server. Answered at once.
    View(oneshot::Sender<CacheView>),
    /// From the elector: are you there, and do the watches work? Answered with [`ElectorMessage::Watching`].
    Probe(Mailbox<ElectorMessage>),
}

impl Summary for CacheMessage {
    fn summary(&self) -> String {
        fn batch<T>(kind: &str, batch: &WatchBatch<T>) -> String {
            let mut replace = 0;
            let mut upsert = 0;
            let mut delete = 0;
            for event in &batch.events {
                match event {
                    WatchEvent::Replace { objects, .. } => replace += objects.len(),
                    WatchEvent::Upsert(_) => upsert += 1,
                    WatchEvent::Delete { .. } => delete += 1,
                    WatchEvent::Undecodable(_) | WatchEvent::Progress(_) | WatchEvent::Forbidden { .. } => {}
                }
            }
            format!("{kind} replace={replace} upsert={upsert} delete={delete}")
        }
        match self {
            Self::Namespaces(namespaces, _) => batch("Namespaces", namespaces),
            Self::Workloads(kind, workloads, _) => batch(kind.as_str(), workloads),
            Self::DisruptionBudgets(budgets, _) => batch("DisruptionBudgets", budgets),
            Self::Pods(pods, _) => batch("Pods", pods),
            Self::Nodes(nodes, _) => batch("Nodes", nodes),
            Self::Subscribe { .. } => "Subscribe".to_owned(),
            Self::Reconfigure { assembled, .. } => format!("Reconfigure {}", assembled.scheduler_names()),
            Self::Keep(policy) => format!("Keep {policy:?}"),
            Self::Unsubscribe(_) => "Unsubscribe".to_owned(),
            Self::Holdings(_) => "Holdings".to_owned(),
            Self::AwaitMarks(marks, _) => format!("AwaitMarks {marks:?}"),
            Self::Begin(..) => "Begin".to_owned(),
            Self::HistoryBeganAnew(anew) => format!("HistoryBeganAnew {}", anew.kind),
            Self::Audit { number, .. } => format!("Audit {number}"),
            Self::Restate(wrong) => format!("Restate {}", wrong.len()),
            Self::AwaitSynced(_) => "AwaitSynced".to_owned(),
            Self::View(_) => "View".to_owned(),
            Self::Probe(_) => "Probe".to_owned(),
        }
    }
}

/// The actor; its state is [`InformerCacheState`].
#[derive(Debug)]
pub struct InformerCache;

/// What the cache needs to start.
#[derive(Debug)]
pub struct InformerCacheArguments {
    /// Its own mailbox, to be counted down.
    pub mailbox: Mailbox<CacheMessage>,
    /// Who tells users of kinds that may not be read.
    pub elector: Mailbox<ElectorMessage>,
    /// Where its watches look which objects to keep whole.
    pub raw: RawDemand,
    /// What its watches show beside what they deliver.
    pub watches: WatchPulses,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// Who hears of changes.
#[derive(Debug)]
struct Subscribers {
    queue: Mailbox<QueueMessage>,
    cycle: Mailbox<CycleMessage>,
    /// The configuration that they have at this number of the stream.
    assembled: Arc<AssembledConfig>,
}

/// What the cache owns.
#[derive(Debug)]
pub struct InformerCacheState {
    mailbox: Mailbox<CacheMessage>,
    namespaces: Store<Namespace>,
    /// By [`workload_position`].
    workloads: [Store<WorkloadSelector>; WorkloadKind::ALL.len()],
    budgets: Store<DisruptionBudget>,
    pods: Store<Pod>,
    nodes: Store<Node>,
    /// Number of the last change that was sent.
    seq: Seq,
    /// The last term that has said anything.
    term: u64,
    subscribers: Option<Subscribers>,
    barriers: Vec<(Marks, oneshot::Sender<()>)>,
    waiting_for_sync: Vec<oneshot::Sender<()>>,
    isolation: Isolation,
    permissions: Permissions,
    raw: RawObjects,
    watches: WatchPulses,
    /// How many batches of each kind have come, by their position.
    delivered: [u64; Kind::ALL.len()],
}

impl InformerCacheState {
    fn number(&mut self, delta: Delta) -> Change {
        self.seq = self.seq.next();
        Change { seq: self.seq, delta }
    }

    fn holding(&self, kind: Kind) -> Holding {
        fn of<T: Stored>(store: &Store<T>, complete: bool) -> Holding {
            Holding {
                applied: store.applied(),
                count: store.len(),
                complete,
            }
        }
        let complete = self.isolation.is_empty(kind);
        match kind {
            Kind::Namespaces => of(&self.namespaces, complete),
            Kind::Workloads(kind) => of(&self.workloads[workload_position(kind)], complete),
            Kind::DisruptionBudgets => of(&self.budgets, complete),
            Kind::Nodes => of(&self.nodes, complete),
            Kind::Pods => of(&self.pods, complete),
        }
    }

    fn holdings(&self) -> Holdings {
        Holdings::of_each(|kind| self.holding(kind))
    }

    fn synced(&self) -> bool {
        Kind::ALL.into_iter().all(|kind| self.is_synced(kind))
    }

    fn is_synced(&self, kind: Kind) -> bool {
        match kind {
            Kind::Namespaces => self.namespaces.synced(),
            Kind::Workloads(kind) => self.workloads[workload_position(kind)].synced(),
            Kind::DisruptionBudgets => self.budgets.synced(),
            Kind::Nodes => self.nodes.synced(),
            Kind::Pods => self.pods.synced(),
        }
    }

    fn note<T>(&mut self, kind: Kind, batch: &WatchBatch<T>) {
        self.delivered[kind.position()] += 1;
        self.permissions.note(kind, batch);
    }

    fn watch_counts(&self) -> Box<[(Kind, WatchCounts)]> {
        let counts = Kind::ALL.map(|kind| {
            let pulse = self.watches.of(kind);
            let holding = self.holding(kind);
            let passed = |marks: &Marks| marks.of(kind).is_passed_by(holding);
            let counts = WatchCounts {
                delivered: self.delivered[kind.position()],
                listed: pulse.listing.count(),
                excused: pulse.excused.count(),
                marked: self.watches.mark(kind).count(),
                forbidden: self.permissions.forbids(kind),
                applied: holding.applied,
                behind: !self.is_synced(kind)
                    || self.raw.hold_up(kind)
                    || !self.barriers.iter().all(|(marks, _)| passed(marks)),
            };
            (kind, counts)
        });
        Box::new(counts)
    }

    fn take_namespaces(&mut self, batch: WatchBatch<Namespace>, credit: &Credit) -> Result<(), HistoryBeganAnew> {
        self.note(Kind::Namespaces, &batch);
        let changes = absorb(&mut self.namespaces, Kind::Namespaces, batch, &mut self.isolation)?;
        let deltas = changes.into_iter().map(|change| {
            let (old, new) = change.into_both();
            Delta::NamespaceChanged { old, new }
        });
        self.publish(deltas.collect(), credit);
        Ok(())
    }

    fn take_workloads(
        &mut self,
        kind: WorkloadKind,
        batch: WatchBatch<WorkloadSelector>,
        credit: &Credit,
    ) -> Result<(), HistoryBeganAnew> {
        self.note(Kind::Workloads(kind), &batch);
        let store = &mut self.workloads[workload_position(kind)];
        let changes = absorb(store, Kind::Workloads(kind), batch, &mut self.isolation)?;
        let deltas = changes.into_iter().map(|change| {
            let (old, new) = change.into_both();
            Delta::WorkloadSelectorChanged { old, new }
        });
        self.publish(deltas.collect(), credit);
        Ok(())
    }

    fn take_budgets(&mut self, batch: WatchBatch<DisruptionBudget>, credit: &Credit) -> Result<(), HistoryBeganAnew> {
        self.note(Kind::DisruptionBudgets, &batch);
        let changes = absorb(&mut self.budgets, Kind::DisruptionBudgets, batch, &mut self.isolation)?;
        let deltas = changes.into_iter().map(|change| {
            let (old, new) = change.into_both();
            Delta::DisruptionBudgetChanged { old, new }
        });
        self.publish(deltas.collect(), credit);
        Ok(())
    }

    fn take_pods(&mut self, batch: WatchBatch<Pod>, credit: &Credit) -> Result<(), HistoryBeganAnew> {
        self.note(Kind::Pods, &batch);
        self.raw.note::<Pods>(&batch);
        let changes = absorb(&mut self.pods, Kind::Pods, batch, &mut self.isolation)?;
        let deltas = changes.into_iter().map(|change| match change {
            StoreChange::Added(pod) => Delta::PodAdded(pod),
            StoreChange::Updated { old, new } => Delta::PodUpdated { old, new },
            StoreChange::Deleted(pod) => Delta::PodDeleted(pod),
        });
        self.publish(deltas.collect(), credit);
        Ok(())
    }

    fn take_nodes(&mut self, batch: WatchBatch<Node>, credit: &Credit) -> Result<(), HistoryBeganAnew> {
        self.note(Kind::Nodes, &batch);
        self.raw.note::<Nodes>(&batch);
        let changes = absorb(&mut self.nodes, Kind::Nodes, batch, &mut self.isolation)?;
        let deltas = changes.into_iter().map(|change| match change {
            StoreChange::Added(node) => Delta::NodeAdded(node),
            StoreChange::Updated { old, new } => Delta::NodeUpdated { old, new },
            StoreChange::Deleted(node) => Delta::NodeDeleted(node),
        });
        self.publish(deltas.collect(), credit);
        Ok(())
    }

    fn publish(&mut self, deltas: Vec<Delta>, credit: &Credit) {
        if !deltas.is_empty() && self.subscribers.is_some() {
            let changes: Arc<[Change]> = deltas.into_iter().map(|delta| self.number(delta)).collect();
            self.send(Changes {
                changes,
                credit: credit.clone(),
            });
        }
        self.answer_waiting();
        self.take_steps();
    }

    fn send(&self, changes: Changes) {
        if let Some(Subscribers { queue, cycle, .. }) = &self.subscribers {
            queue.tell(QueueMessage::Changes(changes.clone()));
            cycle.tell(CycleMessage::Changes(changes));
        }
    }

    /// Whether a term is the last one that has said anything. One that says something for the first time ends the earlier.
    fn hears(&mut self, term: u64) -> bool {
        if term > self.term {
            self.term = term;
            self.leave();
        }
        term == self.term
    }

    fn follow(&mut self, term: u64, step: Step) {
        if self.hears(term) {
            self.raw.push(step);
            self.take_steps();
        }
    }

    fn leave(&mut self) {
        self.subscribers = None;
        self.raw.forget_steps();
    }

    /// A term starts with what is known: what pods refer to first, so that no pod is counted on a node that is not there.
    fn subscribe(&mut self, subscribers: Subscribers) {
        let namespaces = self.namespaces.objects().map(|namespace| Delta::NamespaceChanged {
            old: None,
            new: Some(Arc::clone(namespace)),
        });
        let workloads = self.workloads.iter().flat_map(Store::objects);
        let workloads = workloads.map(|workload| Delta::WorkloadSelectorChanged {
            old: None,
            new: Some(Arc::clone(workload)),
        });
        let budgets = self.budgets.objects().map(|budget| Delta::DisruptionBudgetChanged {
            old: None,
            new: Some(Arc::clone(budget)),
        });
        let nodes = self.nodes.objects().cloned().map(Delta::NodeAdded);
        let pods = self.pods.objects().cloned().map(Delta::PodAdded);
        let deltas: Vec<Delta> = namespaces
            .chain(workloads)
            .chain(budgets)
            .chain(nodes)
            .chain(pods)
            .collect();
        self.subscribers = Some(subscribers);
        self.seq = Seq::default();
        let changes: Arc<[Change]> = deltas.into_iter().map(|delta| self.number(delta)).collect();
        self.send(Changes {
            changes,
            credit: Credit::none(),
        });
    }

    /// What the subscribers have been sent is what a new leader must know.
    fn begin(&self) {
        if let Some(Subscribers { queue, cycle, .. }) = &self.subscribers {
            queue.tell(QueueMessage::Begin);
            cycle.tell(CycleMessage::Begin);
        }
    }

    /// The switch takes a number of its own in the stream. The queue hears of it first, so that it has switched before
    /// anything can reach it that the cycle decided after the switch; and it is told every pod without a node, since it
    /// has kept none whose scheduler name was nobody's.
    fn reconfigure(&mut self, assembled: &Arc<AssembledConfig>) {
        let Some(subscribers) = &mut self.subscribers else {
            return;
        };
        subscribers.assembled = Arc::clone(assembled);
        self.seq = self.seq.next();
        let unassigned = self.pods.objects().filter(|pod| pod.node_name().is_none());
        subscribers.queue.tell(QueueMessage::Reconfigure {
            assembled: Arc::clone(assembled),
            seq: self.seq,
            unassigned: unassigned.cloned().collect(),
        });
        subscribers.cycle.tell(CycleMessage::Reconfigure {
            assembled: Arc::clone(assembled),
            seq: self.seq,
        });
    }

    fn answer_waiting(&mut self) {
        let holdings = self.holdings();
        let mut waiting = Vec::new();
        for (marks, reply) in std::mem::take(&mut self.barriers) {
            if holdings.pass(&marks) {
                let _ = reply.send(());
            } else if !reply.is_closed() {
                waiting.push((marks, reply));
            }
        }
        self.barriers = waiting;
        if self.synced() {
            for reply in self.waiting_for_sync.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}

/// What is known belongs to a history that has not happened. The cache dies of it: its supervisor ends the term, whose
/// columns and claims are as untrue, and starts the cache anew and empty.
#[derive(Debug, thiserror::Error)]
#[error(
    "the history of {kind} began anew: the API server is at version {version} and was at {seen} before, as after a restore \
     of its store from a backup"
)]
pub struct HistoryBeganAnew {
    /// Where it was noticed.
    pub kind: &'static str,
    /// What was known.
    pub seen: ResourceVersion,
    /// What there is.
    pub version: ResourceVersion,
}

/// Brings a batch into the store and says what it changed.
fn absorb<T: Stored>(
    store: &mut Store<T>,
    kind: Kind,
    batch: WatchBatch<T>,
    isolation: &mut Isolation,
) -> Result<Vec<StoreChange<T>>, HistoryBeganAnew> {
    let mut changes = Vec::new();
    for event in batch.events {
        match event {
            WatchEvent::Replace {
                objects,
                undecodable,
                version,
                history_began_anew,
                raw: _,
            } => {
                if history_began_anew {
                    return Err(HistoryBeganAnew {
                        kind: kind.as_str(),
                        seen: store.applied(),
                        version,
                    });
                }
                // A list that is older than what is known says nothing about now.
                if undecodable.is_empty() && version >= store.applied() {
                    isolation.release(kind);
                }
                let keep = isolation.take(kind, undecodable);
                store.replace(objects, &keep, version, &mut changes);
            }
            WatchEvent::Upsert(object) => store.upsert(object, &mut changes),
            WatchEvent::Delete { name, version, .. } => store.delete(&name, version, &mut changes),
            WatchEvent::Undecodable(object) => {
                store.progress(object.version);
                isolation.take(kind, vec![object]);
            }
            WatchEvent::Progress(version) => store.progress(version),
            WatchEvent::Forbidden { .. } => {}
        }
    }
    Ok(changes)
}

impl Actor for InformerCache {
    type Msg = CacheMessage;
    type State = InformerCacheState;
    type Arguments = InformerCacheArguments;

    async fn pre_start(
        &self,
        _: ActorRef<CacheMessage>,
        arguments: InformerCacheArguments,
    ) -> Result<InformerCacheState, ActorProcessingErr> {
        Ok(InformerCacheState {
            mailbox: arguments.mailbox,
            namespaces: Store::default(),
            workloads: Default::default(),
            budgets: Store::default(),
            pods: Store::default(),
            nodes: Store::default(),
            seq: Seq::default(),
            term: 0,
            subscribers: None,
            barriers: Vec::new(),
            waiting_for_sync: Vec::new(),
            isolation: Isolation::new(arguments.metrics),
            permissions: Permissions::new(arguments.elector),
            raw: RawObjects::new(arguments.raw),
            watches: arguments.watches,
            delivered: [0; Kind::ALL.len()],
        })
    }

    async fn handle(
        &self,
        _: ActorRef<CacheMessage>,
        message: CacheMessage,
        state: &mut InformerCacheState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        match message {
            CacheMessage::Namespaces(batch, credit) => state.take_namespaces(batch, &credit)?,
            CacheMessage::Workloads(kind, batch, credit) => state.take_workloads(kind, batch, &credit)?,
            CacheMessage::DisruptionBudgets(batch, credit) => state.take_budgets(batch, &credit)?,
            CacheMessage::Pods(batch, credit) => state.take_pods(batch, &credit)?,
            CacheMessage::Nodes(batch, credit) => state.take_nodes(batch, &credit)?,
            CacheMessage::Subscribe {
                term,
                queue,
                cycle,
                assembled,
            } => {
                let subscribers = Subscribers {
                    queue,
                    cycle,
                    assembled,
                };
                state.follow(term, Step::Subscribe(subscribers));
            }
            CacheMessage::Reconfigure { term, assembled } => state.follow(term, Step::Reconfigure(assembled)),
            CacheMessage::Keep(policy) => state.raw.ask(policy),
            CacheMessage::Unsubscribe(term) => {
                if state.hears(term) {
                    state.leave();
                }
            }
            CacheMessage::Holdings(reply) => {
                let _ = reply.send(state.holdings());
            }
            CacheMessage::AwaitMarks(marks, reply) => {
                state.barriers.push((marks, reply));
                state.answer_waiting();
            }
            CacheMessage::Begin(term, begun) => state.follow(term, Step::Begin(begun)),
            CacheMessage::HistoryBeganAnew(anew) => return Err(anew.into()),
            CacheMessage::Audit { number, auditor } => state.audit(number, auditor),
            CacheMessage::Restate(wrong) => state.restate(&wrong),
            CacheMessage::AwaitSynced(reply) => {
                state.waiting_for_sync.push(reply);
                state.answer_waiting();
            }
            CacheMessage::View(reply) => {
                let _ = reply.send(CacheView {
                    pods: state.pods.len(),
                    nodes: state.nodes.len(),
                    synced: state.synced(),
                    forbidden: state.permissions.forbidden(),
                });
            }
            CacheMessage::Probe(elector) => {
                elector.tell(ElectorMessage::Watching(state.watch_counts()));
            }
        }
        Ok(())
    }
}
