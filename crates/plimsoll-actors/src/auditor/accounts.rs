use std::sync::Arc;

use plimsoll_engine::{ClaimId, ClaimState};
use plimsoll_model::{Moment, Pod, Seq, Uid};
use plimsoll_queue::Place;

use super::AuditorMessage;
use crate::mailbox::Mailbox;

/// What goes round: from the cache at one number of the stream to the queue, on to the cycle behind every pod that the queue
/// has handed out, and back to the queue behind every pod that the cycle has settled. Each tells what it owns when the
/// marker comes by.
#[derive(Debug, Clone)]
pub struct AuditMarker {
    /// Which audit.
    pub number: u64,
    /// The last change that was sent before it.
    pub seq: Seq,
    /// Who compares.
    pub auditor: Mailbox<AuditorMessage>,
}

impl AuditMarker {
    pub(crate) fn tell(&self, account: Account) {
        let number = self.number;
        self.auditor.tell(AuditorMessage::Told { number, account });
    }
}

/// What one stage of an audit tells.
#[derive(Debug, Clone)]
pub enum Account {
    /// From the cache.
    Cache(CacheAccount),
    /// From the queue, when the marker comes from the cache.
    Queue(QueueAccount),
    /// From the cycle, for itself and for the binding workers.
    Cycle(CycleAccount),
    /// From the queue, when the marker comes back from the cycle.
    Return(ReturnAccount),
}

/// Which pods wait for a node, as the API server has told.
#[derive(Debug, Clone, Default)]
pub struct CacheAccount {
    /// The last change before the marker.
    pub seq: Seq,
    /// Every pod without a node.
    pub unassigned: Vec<Unassigned>,
}

/// A pod without a node.
#[derive(Debug, Clone)]
pub struct Unassigned {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Whether a profile takes it.
    pub ours: bool,
}

/// What the queue has, and where.
#[derive(Debug, Clone, Default)]
pub struct QueueAccount {
    /// When.
    pub at: Moment,
    /// Each pod, its place, and when it is looked at next; for active pods and those in flight since when it is somebody's
    /// turn.
    pub pods: Vec<(Uid, Place, Moment)>,
    /// How many pods have been handed out to the cycle so far.
    pub handed_out: u64,
}

/// What the cycle has.
#[derive(Debug, Clone, Default)]
pub struct CycleAccount {
    /// When.
    pub at: Moment,
    /// The last change in the columns. It may be short of the marker's while a cycle waits for an effect.
    pub applied: Seq,
    /// Pods that are being decided, or wait for the columns to catch up.
    pub attempts: Vec<Uid>,
    /// Every claim.
    pub claims: Vec<ClaimAccount>,
    /// The pods for which volumes are reserved in the columns; nothing while a cycle waits for an effect.
    pub reserving: Option<Vec<Uid>>,
    /// Every pod without a node and without a claim that it has heard of.
    pub waiting: Vec<Uid>,
    /// It has begun, decides nothing, and would take a pod.
    pub idle: bool,
    /// The workers have sent more answers than have come, and than wait in the mailbox.
    pub answers_lost: bool,
}

/// What the cycle knows of one claim.
#[derive(Debug, Clone)]
pub struct ClaimAccount {
    /// The claim.
    pub id: ClaimId,
    /// Its pod.
    pub uid: Uid,
    /// Where it stands.
    pub state: ClaimState,
    /// Since when a request about it has been out at the workers, or held back for a status patch.
    pub asked: Option<Moment>,
    /// It waits for the answer to a write to a volume or a claim.
    pub writes_volume: bool,
    /// It holds volumes.
    pub holds_volumes: bool,
}

/// What came to the queue between its own account and the cycle's.
#[derive(Debug, Clone, Default)]
pub struct ReturnAccount {
    /// Pods that were settled meanwhile.
    pub settled: Vec<Uid>,
    /// How many pods have been handed out to the cycle so far.
    pub handed_out: u64,
    /// Whether the cycle has asked for a pod and not got one yet.
    pub asked: bool,
    /// Whether pods are handed out at all.
    pub popping: bool,
}

/// What all have told.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// The cache.
    pub cache: CacheAccount,
    /// The queue.
    pub queue: QueueAccount,
    /// The cycle.
    pub cycle: CycleAccount,
    /// The queue again.
    pub back: ReturnAccount,
}

/// Collects the accounts of one audit.
#[derive(Debug, Default)]
pub(super) struct Collected {
    cache: Option<CacheAccount>,
    queue: Option<QueueAccount>,
    cycle: Option<CycleAccount>,
    back: Option<ReturnAccount>,
}

impl Collected {
    pub(super) fn add(&mut self, account: Account) {
        match account {
            Account::Cache(cache) => self.cache = Some(cache),
            Account::Queue(queue) => self.queue = Some(queue),
            Account::Cycle(cycle) => self.cycle = Some(cycle),
            Account::Return(back) => self.back = Some(back),
        }
    }

    /// All of them, once they are there.
    pub(super) fn take(&mut self) -> Option<Accounts> {
        if self.cache.is_none() || self.queue.is_none() || self.cycle.is_none() || self.back.is_none() {
            return None;
        }
        Some(Accounts {
            cache: self.cache.take()?,
            queue: self.queue.take()?,
            cycle: self.cycle.take()?,
            back: self.back.take()?,
        })
    }
}
