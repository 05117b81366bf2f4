//! Who hears of changes: the queue and the cycle of one term at a time, and what they are told to begin with.

use std::sync::Arc;

use plimsoll_model::storage::StorageObject;
use plimsoll_model::{Change, Delta, Seq};

use super::raw_objects::Step;
use super::store::Store;
use super::{Changes, Credit, InformerCacheState};
use crate::assembled_config::AssembledConfig;
use crate::mailbox::Mailbox;
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;

/// A new term hears of what is known in portions of so many objects: it is at work on one while the next is put together.
const PORTION: usize = 4096;

/// Who hears of changes.
#[derive(Debug)]
pub(super) struct Subscribers {
    pub(super) queue: Mailbox<QueueMessage>,
    pub(super) cycle: Mailbox<CycleMessage>,
    /// The configuration that they have at this number of the stream.
    pub(super) assembled: Arc<AssembledConfig>,
}

impl InformerCacheState {
    pub(super) fn send(&self, changes: Changes) {
        if let Some(Subscribers { queue, cycle, .. }) = &self.subscribers {
            queue.tell(QueueMessage::Changes(changes.clone()));
            cycle.tell(CycleMessage::Changes(changes));
        }
    }

    /// Whether a term is the last one that has said anything. One that says something for the first time ends the earlier.
    pub(super) fn hears(&mut self, term: u64) -> bool {
        if term > self.term {
            self.term = term;
            self.leave();
        }
        term == self.term
    }

    pub(super) fn follow(&mut self, term: u64, step: Step) {
        if self.hears(term) {
            self.raw.push(step);
            self.take_steps();
        }
    }

    pub(super) fn leave(&mut self) {
        self.subscribers = None;
        self.raw.forget_steps();
    }

    /// A term starts with what is known: what pods refer to first, so that no pod is counted on a node that is not there or
    /// with a claim that is not known.
    pub(super) fn subscribe(&mut self, subscribers: Subscribers) {
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
        let storage = self.storage.iter().flat_map(Store::objects);
        let storage = storage.map(|object| Delta::StorageChanged {
            old: None,
            new: Some(StorageObject::clone(object)),
        });
        let nodes = self.nodes.objects().cloned().map(Delta::NodeAdded);
        let pods = self.pods.objects().cloned().map(Delta::PodAdded);
        let mut deltas = namespaces
            .chain(workloads)
            .chain(budgets)
            .chain(storage)
            .chain(nodes)
            .chain(pods);
        let mut seq = Seq::default();
        let portions = std::iter::from_fn(|| {
            let portion = deltas.by_ref().take(PORTION).map(|delta| {
                seq = seq.next();
                Change { seq, delta }
            });
            let portion: Arc<[Change]> = portion.collect();
            (!portion.is_empty()).then_some(portion)
        });
        for changes in portions {
            let changes = Changes {
                changes,
                credit: Credit::none(),
            };
            subscribers.queue.tell(QueueMessage::Changes(changes.clone()));
            subscribers.cycle.tell(CycleMessage::Changes(changes));
        }
        self.seq = seq;
        self.subscribers = Some(subscribers);
    }

    /// What the subscribers have been sent is what a new leader must know.
    pub(super) fn begin(&self) {
        if let Some(Subscribers { queue, cycle, .. }) = &self.subscribers {
            queue.tell(QueueMessage::Begin);
            cycle.tell(CycleMessage::Begin);
        }
    }

    /// The switch takes a number of its own in the stream. The queue hears of it first, so that it has switched before
    /// anything can reach it that the cycle decided after the switch; and it is told every pod without a node, since it
    /// has kept none whose scheduler name was nobody's.
    pub(super) fn reconfigure(&mut self, assembled: &Arc<AssembledConfig>) {
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
}
