//! `InformerCache`: what the API server has told us, and the one order of changes.
//!
//! It numbers every change of every kind and sends the same stream to the queue and the cycle of the term, so that a
//! pod handed out at number *n* can be judged by columns that have seen at least *n*.
//!
//! Watch batches carry a credit. It is given back only when everyone who was sent the batch's changes has taken them
//! up, so that a slow cycle slows the watch down instead of growing a mailbox.

mod auditing;
mod dumping;
mod isolation;
mod kind;
mod message;
mod permissions;
mod raw_objects;
mod store;
mod subscription;
#[cfg(test)]
mod tests;
mod watch_counts;

use std::sync::Arc;

use plimsoll_client::{Nodes, Pods, RawDemand, WatchBatch, WatchEvent};
use plimsoll_model::storage::{StorageKind, StorageObject};
use plimsoll_model::{
    Change, Delta, DisruptionBudget, Namespace, Node, Pod, ResourceVersion, Seq, WorkloadKind, WorkloadSelector,
};
use plimsoll_telemetry::Metrics;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::OwnedSemaphorePermit;

use self::dumping::listed;
use self::isolation::Isolation;
use self::kind::{storage_position, workload_position};
use self::permissions::Permissions;
use self::raw_objects::{RawObjects, Step};
use self::store::{Store, StoreChange, Stored};
use self::subscription::Subscribers;
use crate::elector::ElectorMessage;
use crate::mailbox::{Mailbox, Reply};

pub(crate) use self::kind::for_each_kind;
pub use self::kind::{CachedKind, Holding, Holdings, Kind, Mark, Marks, OfEachKind};
pub use self::message::CacheMessage;
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

/// What the cache owns.
#[derive(Debug)]
pub struct InformerCacheState {
    mailbox: Mailbox<CacheMessage>,
    namespaces: Store<Namespace>,
    /// By [`workload_position`].
    workloads: [Store<WorkloadSelector>; WorkloadKind::ALL.len()],
    budgets: Store<DisruptionBudget>,
    /// By [`storage_position`].
    storage: [Store<StorageObject>; StorageKind::ALL.len()],
    pods: Store<Pod>,
    nodes: Store<Node>,
    /// Number of the last change that was sent.
    seq: Seq,
    /// The last term that has said anything.
    term: u64,
    subscribers: Option<Subscribers>,
    barriers: Vec<(Marks, Reply<()>)>,
    waiting_for_sync: Vec<Reply<()>>,
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
            Kind::Storage(kind) => of(&self.storage[storage_position(kind)], complete),
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
            Kind::Storage(kind) => self.storage[storage_position(kind)].synced(),
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

    fn take_storage(
        &mut self,
        kind: StorageKind,
        batch: WatchBatch<StorageObject>,
        credit: &Credit,
    ) -> Result<(), HistoryBeganAnew> {
        self.note(Kind::Storage(kind), &batch);
        let store = &mut self.storage[storage_position(kind)];
        let changes = absorb(store, Kind::Storage(kind), batch, &mut self.isolation)?;
        let deltas = changes.into_iter().map(|change| {
            let (old, new) = change.into_both();
            Delta::StorageChanged {
                old: old.as_deref().cloned(),
                new: new.as_deref().cloned(),
            }
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

    fn answer_waiting(&mut self) {
        let holdings = self.holdings();
        let mut waiting = Vec::new();
        for (marks, reply) in std::mem::take(&mut self.barriers) {
            if holdings.pass(&marks) {
                reply.send(());
            } else if !reply.is_closed() {
                waiting.push((marks, reply));
            }
        }
        self.barriers = waiting;
        if self.synced() {
            for reply in self.waiting_for_sync.drain(..) {
                reply.send(());
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
            storage: Default::default(),
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
            CacheMessage::Storage(kind, batch, credit) => state.take_storage(kind, batch, &credit)?,
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
                reply.send(state.holdings());
            }
            CacheMessage::AwaitMarks(marks, reply) => {
                state.barriers.push((*marks, reply));
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
            CacheMessage::Pod(name, reply) => {
                reply.send(state.pods.find(&name).cloned());
            }
            CacheMessage::View(reply) => {
                reply.send(CacheView {
                    pods: state.pods.len(),
                    nodes: state.nodes.len(),
                    synced: state.synced(),
                    forbidden: state.permissions.forbidden(),
                });
            }
            CacheMessage::EveryPod(reply) => {
                reply.send(state.pods.objects().cloned().collect());
            }
            CacheMessage::ListPods(page, reply) => {
                reply.send(listed(&state.pods, &page));
            }
            CacheMessage::ListNodes(page, reply) => {
                reply.send(listed(&state.nodes, &page));
            }
            CacheMessage::Dump(reply) => {
                reply.send(state.dump());
            }
            CacheMessage::Probe(elector) => {
                elector.tell(ElectorMessage::Watching(state.watch_counts()));
            }
        }
        Ok(())
    }
}
