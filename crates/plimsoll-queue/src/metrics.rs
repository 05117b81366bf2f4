use std::collections::BTreeMap;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::ClusterEvent;

/// The queues that `queue_incoming_pods_total` tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum IncomingQueue {
    /// Ready to be popped.
    Active,
    /// Either backoff queue.
    Backoff,
    /// Parked: unschedulable or gated.
    Unschedulable,
}

impl IncomingQueue {
    fn label(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
        }
    }
}

/// What the queue counted since it was last asked, in a stable order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueMetrics {
    /// Increments of `queue_incoming_pods_total` by `queue` and `event`.
    pub incoming: Vec<((&'static str, String), u64)>,
    /// Changes of the gauge `unschedulable_pods` by `plugin` and `profile`; never zero.
    pub unschedulable: Vec<((&'static str, String), i64)>,
}

/// Counts as they happen.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    incoming: HashMap<(IncomingQueue, ClusterEvent), u64, FixedState>,
    unschedulable: BTreeMap<(&'static str, u16), i64>,
    /// Of profiles whose numbers mean others by now.
    named: BTreeMap<(&'static str, String), i64>,
}

impl Tally {
    pub(crate) fn count_incoming(&mut self, queue: IncomingQueue, event: ClusterEvent) {
        *self.incoming.entry((queue, event)).or_insert(0) += 1;
    }

    pub(crate) fn add_unschedulable(&mut self, plugin: &'static str, profile: u16, difference: i64) {
        *self.unschedulable.entry((plugin, profile)).or_insert(0) += difference;
    }

    /// Replaces the profiles' numbers by their names: the numbers are going to mean others.
    pub(crate) fn settle_names(&mut self, profile_name: impl Fn(u16) -> String) {
        for ((plugin, profile), difference) in std::mem::take(&mut self.unschedulable) {
            *self.named.entry((plugin, profile_name(profile))).or_insert(0) += difference;
        }
    }

    pub(crate) fn take(&mut self, profile_name: impl Fn(u16) -> String) -> QueueMetrics {
        self.settle_names(profile_name);
        let incoming = self.incoming.drain();
        let mut incoming: Vec<_> = incoming
            .map(|((queue, event), count)| ((queue.label(), event.to_string()), count))
            .collect();
        incoming.sort_unstable();
        let changed = std::mem::take(&mut self.named).into_iter();
        let unschedulable = changed.filter(|(_, difference)| *difference != 0).collect();
        QueueMetrics {
            incoming,
            unschedulable,
        }
    }
}
