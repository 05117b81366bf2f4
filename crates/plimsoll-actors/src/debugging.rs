//! What owners of state show to whoever debugs them: pages of JSON, and the comparison and the dump in the log that SIGUSR2
//! asks for.

mod comparer;
mod dumper;
mod pages;

use std::sync::Arc;

use plimsoll_engine::NodeDump;
use plimsoll_model::{Moment, Node, Pod};
use plimsoll_queue::{Counts, QueuedPod};
use tokio::sync::oneshot;

use crate::informer_cache::CacheMessage;
use crate::mailbox::Mailbox;
use crate::wall_times::WallTimes;

/// A page of the objects of one kind.
#[derive(Debug)]
pub struct Listed<T> {
    /// How many there are in all.
    pub total: usize,
    /// These, in the order of their names.
    pub items: Vec<Arc<T>>,
    /// Behind which name the next page begins, if there is more.
    pub next: Option<String>,
}

/// A page of the pods in the queue.
#[derive(Debug)]
pub struct QueueListing {
    /// How many there are in each place.
    pub counts: Counts,
    /// These.
    pub pods: Vec<QueuedPod>,
    /// Where the next page starts, if there is more.
    pub next: Option<usize>,
    /// Tells their moments.
    pub times: WallTimes,
}

/// A page of what there is on nodes.
#[derive(Debug)]
pub struct NodeListing {
    /// How many nodes there are in all.
    pub total: usize,
    /// These, in the order of their names.
    pub nodes: Vec<NodeDump>,
    /// How many were asked for.
    pub limit: usize,
}

/// One time of leadership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermRecord {
    /// Its number.
    pub number: u64,
    /// When it began.
    pub began: Moment,
    /// When and why it was over, if it is.
    pub over: Option<(Moment, String)>,
}

/// The last times of leadership of this replica.
#[derive(Debug)]
pub struct TermListing {
    /// The newest first.
    pub terms: Vec<TermRecord>,
    /// Tells their moments.
    pub times: WallTimes,
}

/// Everything that the cache knows of nodes and pods, and where the term's part is to come.
#[derive(Debug)]
pub struct CacheDump {
    /// Every node.
    pub nodes: Vec<Arc<Node>>,
    /// Every pod but those of other schedulers that have no node.
    pub pods: Vec<Arc<Pod>>,
    /// Nothing while this replica does not lead.
    pub term: Option<TermDump>,
}

/// What a term knows.
#[derive(Debug)]
pub struct TermDump {
    /// The answer of the queue.
    pub queue: oneshot::Receiver<QueueDump>,
    /// The answer of the cycle.
    pub cycle: oneshot::Receiver<Vec<NodeDump>>,
}

/// Everything in the queue.
#[derive(Debug)]
pub struct QueueDump {
    /// How many pods there are in each place.
    pub counts: Counts,
    /// Every pod, those in flight and placed among them.
    pub pods: Vec<QueuedPod>,
}

/// Compares what the term reckons with and what the API server has told, and writes all of it to the log: what SIGUSR2 asks
/// kube-scheduler for.
pub(crate) async fn compare_and_dump(cache: Mailbox<CacheMessage>) {
    tracing::debug!("Cache comparer started");
    let Ok(told) = cache.ask("Debugging", CacheMessage::Dump).await else {
        tracing::warn!("Nothing to compare or to dump: this replica has no cache yet");
        return;
    };
    let Some(TermDump { queue, cycle }) = told.term else {
        tracing::info!(
            nodes = told.nodes.len(),
            pods = told.pods.len(),
            "Nothing to compare or to dump: this replica does not lead, and only what the API server told is here"
        );
        return;
    };
    let (Ok(queue), Ok(nodes)) = (queue.await, cycle.await) else {
        tracing::warn!("Nothing to compare or to dump: the term has ended");
        return;
    };
    comparer::compare(&told.nodes, &told.pods, &queue, &nodes).tell();
    tracing::debug!("Cache comparer finished");
    dumper::dump(&queue, &nodes);
}
