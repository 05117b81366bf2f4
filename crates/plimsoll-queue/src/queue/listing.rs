use std::sync::Arc;

use plimsoll_model::{Moment, Pod};

use super::SchedulingQueue;
use crate::Place;

/// A pod that the queue knows, for whoever debugs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPod {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Where it is.
    pub place: Place,
    /// Since when it waits: when it came, or came back from its last attempt.
    pub since: Moment,
    /// When it is looked at next; for active pods and those in flight, since when it is their turn.
    pub next_look: Moment,
    /// When it is tried again though nothing happens, see [`Account::retry_at`](crate::Account::retry_at).
    pub retry_at: Option<Moment>,
    /// How often it was tried.
    pub attempts: u32,
}

/// Some of the pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePage {
    /// In no order.
    pub pods: Vec<QueuedPod>,
    /// Where the next page starts, if there is more.
    pub next: Option<usize>,
}

impl SchedulingQueue {
    /// At most so many pods, of which the first page starts at 0. It costs no more with a million pods. A pod that comes or
    /// goes between two pages may make another show twice or not at all.
    pub fn page(&self, start: usize, limit: usize) -> QueuePage {
        let woken = self.groups.woken_since();
        let records = self.records.iter().skip(start).take(limit);
        let pods = records.filter_map(|record| {
            let look = woken.get(&record.group).copied();
            let look = look.unwrap_or_else(|| record.next_look(&self.config));
            let retry_at = self.retries_at(record);
            Some(QueuedPod {
                pod: Arc::clone(&record.pod),
                place: record.place()?,
                since: record.timestamp,
                next_look: retry_at.map_or(look, |at| at.min(look)),
                retry_at,
                attempts: record.attempts,
            })
        });
        let pods = pods.collect();
        let end = start.saturating_add(limit);
        let more = self.records.iter().nth(end).is_some();
        QueuePage {
            pods,
            next: more.then_some(end),
        }
    }
}
