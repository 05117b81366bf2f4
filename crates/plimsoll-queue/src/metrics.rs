use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::{ClusterEvent, Code, QueueingHint};
use plimsoll_model::{ObjectName, Pod};

use crate::PodMove;

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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueMetrics {
    /// Increments of `queue_incoming_pods_total` by `queue` and `event`.
    pub incoming: Vec<((&'static str, String), u64)>,
    /// Changes of the gauge `unschedulable_pods` by `plugin` and `profile`; never zero.
    pub unschedulable: Vec<((&'static str, String), i64)>,
    /// How often which `plugin` was asked about which `event` and gave which `hint` (`Queue`, `QueueSkip` or `Error`): the
    /// observations of `queueing_hint_execution_duration_seconds`. The queue has no clock to tell how long they took.
    pub hints: Vec<((String, String, &'static str), u64)>,
    /// Some of the hints that failed, to be logged.
    pub hint_errors: Vec<HintError>,
    /// What came of asking.
    pub wakeups: Wakeups,
    /// How long it took each time to ask all gates about a pod, by profile.
    pub gates: Vec<(String, GateRuns)>,
    /// How long some of the gates took and what they said, by plugin.
    pub gate_plugins: Vec<(&'static str, Code, Duration)>,
    /// Each move of a pod to a place where it waits for its turn, in their order; nothing unless
    /// [`SchedulingQueue::keep_moves`](crate::SchedulingQueue::keep_moves) was told to.
    pub moves: Vec<PodMove>,
}

/// How long it took each time to ask all gates of a profile about a pod.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GateRuns {
    /// One for each time.
    pub took: Vec<Duration>,
    /// Of the one that took longest.
    pub slowest: Option<SlowestGates>,
}

/// The pod about which asking the gates took longest.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowestGates {
    /// How long.
    pub took: Duration,
    /// Which pod.
    pub pod: Arc<Pod>,
    /// The share of pods that its profile wants traces of, if it says one.
    pub trace_sampling_ratio: Option<f64>,
}

impl GateRuns {
    fn add(&mut self, slowest: SlowestGates) {
        self.took.push(slowest.took);
        self.keep_slower(slowest);
    }

    fn keep_slower(&mut self, other: SlowestGates) {
        if self.slowest.as_ref().is_none_or(|slowest| slowest.took < other.took) {
            self.slowest = Some(other);
        }
    }

    fn merge(&mut self, other: Self) {
        self.took.extend(other.took);
        if let Some(slowest) = other.slowest {
            self.keep_slower(slowest);
        }
    }
}

/// What came of asking plugins about events. A pod that waits longer than it has to, and one that is tried in vain, are
/// both seen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wakeups {
    /// Hints asked for.
    pub asked: u64,
    /// Pods that an event woke and that were placed by the next attempt.
    pub useful: u64,
    /// Pods that an event woke and that were rejected again.
    pub wasted: u64,
}

/// A plugin could not say whether an event helps a pod; it was taken for a yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintError {
    /// Which plugin.
    pub plugin: &'static str,
    /// The event's label.
    pub event: String,
    /// The pod, or one of those that are like it.
    pub pod: ObjectName,
    /// What the plugin said.
    pub error: String,
}

/// Counts as they happen.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    incoming: HashMap<(IncomingQueue, ClusterEvent), u64, FixedState>,
    unschedulable: BTreeMap<(&'static str, u16), i64>,
    /// Of profiles whose numbers mean others by now.
    named: BTreeMap<(&'static str, String), i64>,
    pub(crate) hints: HintTally,
    pub(crate) gates: GateTally,
    /// Pods woken by an event that the next attempt placed.
    pub(crate) useful: u64,
    /// Pods woken by an event that the next attempt rejected.
    pub(crate) wasted: u64,
    /// Where somebody wants to know of them.
    pub(crate) moves: Option<Vec<PodMove>>,
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
        self.gates.settle_names(profile_name);
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
        let hints = std::mem::take(&mut self.hints);
        let gates = std::mem::take(&mut self.gates);
        QueueMetrics {
            incoming,
            unschedulable,
            wakeups: Wakeups {
                asked: hints.calls.values().sum(),
                useful: std::mem::take(&mut self.useful),
                wasted: std::mem::take(&mut self.wasted),
            },
            hints: hints.named(),
            hint_errors: hints.errors,
            gates: gates.named.into_iter().collect(),
            gate_plugins: gates.plugins,
            moves: self.moves.as_mut().map(std::mem::take).unwrap_or_default(),
        }
    }
}

/// What plugins answered when they were asked about events.
#[derive(Debug, Default)]
pub(crate) struct HintTally {
    calls: HashMap<(&'static str, ClusterEvent, &'static str), u64, FixedState>,
    errors: Vec<HintError>,
}

impl HintTally {
    /// No more errors than this are kept between two reports: a broken plugin must not fill the log.
    const ERRORS: usize = 8;

    pub(crate) fn count(&mut self, plugin: &'static str, event: ClusterEvent, answer: &Result<QueueingHint, String>) {
        let label = match answer {
            Ok(QueueingHint::Queue) => "Queue",
            Ok(QueueingHint::Skip) => "QueueSkip",
            Err(_) => "Error",
        };
        *self.calls.entry((plugin, event, label)).or_insert(0) += 1;
    }

    pub(crate) fn note_error(&mut self, plugin: &'static str, event: ClusterEvent, pod: &Pod, error: String) {
        if self.errors.len() < Self::ERRORS {
            self.errors.push(HintError {
                plugin,
                event: event.to_string(),
                pod: pod.name.clone(),
                error,
            });
        }
    }

    fn named(&self) -> Vec<((String, String, &'static str), u64)> {
        let mut named: Vec<_> = self
            .calls
            .iter()
            .map(|((plugin, event, hint), count)| (((*plugin).to_owned(), event.to_string(), *hint), *count))
            .collect();
        named.sort_unstable();
        named
    }
}

/// How long gates took.
#[derive(Debug, Default)]
pub(crate) struct GateTally {
    runs: BTreeMap<u16, GateRuns>,
    named: BTreeMap<String, GateRuns>,
    plugins: Vec<(&'static str, Code, Duration)>,
}

impl GateTally {
    /// All gates of a profile were asked about a pod, or those up to the first that holds it.
    pub(crate) fn ran(&mut self, profile: u16, run: SlowestGates) {
        self.runs.entry(profile).or_default().add(run);
    }

    pub(crate) fn plugin_ran(&mut self, plugin: &'static str, code: Code, took: Duration) {
        self.plugins.push((plugin, code, took));
    }

    fn settle_names(&mut self, profile_name: impl Fn(u16) -> String) {
        for (profile, runs) in std::mem::take(&mut self.runs) {
            self.named.entry(profile_name(profile)).or_default().merge(runs);
        }
    }
}
