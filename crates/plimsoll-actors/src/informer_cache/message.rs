use std::sync::Arc;

use plimsoll_client::{WatchBatch, WatchEvent};
use plimsoll_model::storage::{StorageKind, StorageObject};
use plimsoll_model::{DisruptionBudget, Namespace, Node, ObjectName, Pod, RawPolicy, WorkloadKind, WorkloadSelector};
use plimsoll_telemetry::PageOf;

use super::{CacheView, Credit, HistoryBeganAnew, Holdings, Marks};
use crate::assembled_config::AssembledConfig;
use crate::auditor::{AuditorMessage, Discrepancy};
use crate::debugging::{CacheDump, Listed};
use crate::elector::ElectorMessage;
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;

/// What the cache hears.
#[derive(Debug)]
pub enum CacheMessage {
    /// From the namespace watch, or the short watch that forces progress.
    Namespaces(WatchBatch<Namespace>, Credit),
    /// From the watch of one kind of workload, or the short watch that forces progress.
    Workloads(WorkloadKind, WatchBatch<WorkloadSelector>, Credit),
    /// From the watch of disruption budgets, or the short watch that forces progress.
    DisruptionBudgets(WatchBatch<DisruptionBudget>, Credit),
    /// From the watch of one kind of storage, or the short watch that forces progress.
    Storage(StorageKind, WatchBatch<StorageObject>, Credit),
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
    Holdings(Reply<Holdings>),
    /// From the term: answer when each kind has passed its mark.
    AwaitMarks(Box<Marks>, Reply<()>),
    /// From the term of this number: all marks are passed. The subscribers are told behind everything that they have been sent,
    /// and then this is answered.
    Begin(u64, Reply<()>),
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
    AwaitSynced(Reply<()>),
    /// From the HTTP server: is there a pod of this name? Answered at once.
    Pod(ObjectName, Reply<Option<Arc<Pod>>>),
    /// From the HTTP server. Answered at once.
    View(Reply<CacheView>),
    /// From the HTTP server: every pod. Answered at once.
    EveryPod(Reply<Vec<Arc<Pod>>>),
    /// From the HTTP server: some of the pods, in the order of their names. Answered at once.
    ListPods(PageOf, Reply<Listed<Pod>>),
    /// From the HTTP server: some of the nodes, in the order of their names. Answered at once.
    ListNodes(PageOf, Reply<Listed<Node>>),
    /// From the supervisor, for debugging: everything there is, here and, if there is a term, behind all changes that were
    /// sent, with queue and cycle.
    Dump(Reply<CacheDump>),
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
            Self::Storage(kind, objects, _) => batch(kind.as_str(), objects),
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
            Self::Pod(name, _) => format!("Pod {name}"),
            Self::View(_) => "View".to_owned(),
            Self::EveryPod(_) => "EveryPod".to_owned(),
            Self::ListPods(..) => "ListPods".to_owned(),
            Self::ListNodes(..) => "ListNodes".to_owned(),
            Self::Dump(_) => "Dump".to_owned(),
            Self::Probe(_) => "Probe".to_owned(),
        }
    }
}
