//! What is told of the pods that wait.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::buckets::exponential;

// Labels in alphabetical order, as kube-scheduler prints them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Queue {
    queue: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Event {
    event: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventQueue {
    event: String,
    queue: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginProfile {
    plugin: String,
    profile: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventHintPlugin {
    event: String,
    hint: String,
    plugin: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Result {
    result: &'static str,
}

/// Pods in each place, for `pending_pods`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingPods {
    /// Ready to be tried.
    pub active: usize,
    /// Backing off, for whatever reason.
    pub backoff: usize,
    /// Turned away.
    pub unschedulable: usize,
    /// Held back before the first try.
    pub gated: usize,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics of the scheduling queue.
pub struct QueueMetrics {
    pending: Family<Queue, Gauge>,
    incoming: Family<EventQueue, Counter>,
    unschedulable: Family<PluginProfile, Gauge>,
    in_flight_events: Family<Event, Gauge>,
    hint_duration: Histograms<EventHintPlugin>,
    handling_duration: Histograms<Event>,
    wakeups: Family<Result, Counter>,
}

impl std::fmt::Debug for QueueMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueMetrics").finish_non_exhaustive()
    }
}

impl Default for QueueMetrics {
    fn default() -> Self {
        Self {
            pending: Family::default(),
            incoming: Family::default(),
            unschedulable: Family::default(),
            in_flight_events: Family::default(),
            hint_duration: Family::new_with_constructor(|| Histogram::new(exponential(0.00001, 1.5, 20))),
            handling_duration: Family::new_with_constructor(|| Histogram::new(exponential(0.0001, 2.0, 12))),
            wakeups: Family::default(),
        }
    }
}

impl QueueMetrics {
    /// Registers everything, at zero.
    pub(crate) fn register(&self, scheduler: &mut Registry) {
        scheduler.register(
            "pending_pods",
            "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated",
            self.pending.clone(),
        );
        scheduler.register(
            "queue_incoming_pods",
            "[STABLE] Number of pods added to scheduling queues by event and queue type",
            self.incoming.clone(),
        );
        scheduler.register(
            "unschedulable_pods",
            "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin",
            self.unschedulable.clone(),
        );
        scheduler.register(
            "inflight_events",
            "[ALPHA] Number of events currently tracked in the scheduling queue",
            self.in_flight_events.clone(),
        );
        scheduler.register(
            "queueing_hint_execution_duration_seconds",
            "[ALPHA] Duration for running a queueing hint function of a plugin",
            self.hint_duration.clone(),
        );
        scheduler.register(
            "event_handling_duration_seconds",
            "[ALPHA] Event handling latency in seconds",
            self.handling_duration.clone(),
        );
        for queue in ["active", "backoff", "unschedulable", "gated"] {
            drop(self.pending.get_or_create(&Queue { queue }));
        }
    }

    /// Registers what kube-scheduler does not have.
    pub(crate) fn register_own(&self, own: &mut Registry) {
        own.register(
            "queue_wakeups",
            "Queueing hints asked for (asked), and pods that an event woke and that the next attempt placed (useful) or turned away again (wasted)",
            self.wakeups.clone(),
        );
        self.wakeups(0, 0, 0);
    }

    /// Pods that wait, by queue.
    pub fn pending(&self, pods: PendingPods) {
        for (queue, pods) in [
            ("active", pods.active),
            ("backoff", pods.backoff),
            ("unschedulable", pods.unschedulable),
            ("gated", pods.gated),
        ] {
            let pods = i64::try_from(pods).unwrap_or(i64::MAX);
            self.pending.get_or_create(&Queue { queue }).set(pods);
        }
    }

    /// Pods entered a queue because of an event.
    pub fn incoming(&self, queue: &'static str, event: &str, pods: u64) {
        let event = event.to_owned();
        self.incoming.get_or_create(&EventQueue { event, queue }).inc_by(pods);
    }

    /// A plugin holds back more or fewer pods.
    pub fn unschedulable(&self, plugin: &str, profile: &str, difference: i64) {
        let labels = PluginProfile {
            plugin: plugin.to_owned(),
            profile: profile.to_owned(),
        };
        self.unschedulable.get_or_create(&labels).inc_by(difference);
    }

    /// Everything that is kept for attempts under way, by event.
    pub fn in_flight_events(&self, events: &BTreeMap<String, u64>) {
        self.in_flight_events.clear();
        for (event, count) in events {
            let event = event.clone();
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.in_flight_events.get_or_create(&Event { event }).set(count);
        }
    }

    /// So many calls of a plugin's hint ended like this, each in about this time.
    pub fn hints(&self, plugin: &str, event: &str, hint: &str, calls: u64, each: Duration) {
        let labels = EventHintPlugin {
            event: event.to_owned(),
            hint: hint.to_owned(),
            plugin: plugin.to_owned(),
        };
        let histogram = self.hint_duration.get_or_create(&labels);
        for _ in 0..calls {
            histogram.observe(each.as_secs_f64());
        }
    }

    /// The queue has taken in an event of the cluster.
    pub fn event_handled(&self, event: &str, took: Duration) {
        let event = event.to_owned();
        let histogram = self.handling_duration.get_or_create(&Event { event });
        histogram.observe(took.as_secs_f64());
    }

    /// Hints asked for, and what came of the pods that events woke.
    pub fn wakeups(&self, asked: u64, useful: u64, wasted: u64) {
        for (result, count) in [("asked", asked), ("useful", useful), ("wasted", wasted)] {
            self.wakeups.get_or_create(&Result { result }).inc_by(count);
        }
    }

    /// The queue is gone, and with it all that waited in it.
    pub fn emptied(&self) {
        self.pending(PendingPods::default());
        self.unschedulable.clear();
        self.in_flight_events.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    #[test]
    fn families_carry_the_names_labels_and_buckets_of_kube_scheduler() {
        let metrics = Metrics::new();
        let queue = metrics.queue();
        queue.incoming("active", "UnschedulablePodAdd", 3);
        queue.unschedulable("NodeResourcesFit", "default-scheduler", 2);
        queue.in_flight_events(&[("NodeAdd".to_owned(), 4), ("PodPopped".to_owned(), 1)].into());
        queue.hints("NodeResourcesFit", "NodeAdd", "QueueSkip", 2, Duration::from_micros(12));
        queue.event_handled("NodeAdd", Duration::from_micros(150));
        queue.wakeups(7, 2, 1);
        let text = metrics.text().unwrap();
        for line in [
            r#"scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"} 3"#,
            r#"scheduler_pending_pods{queue="gated"} 0"#,
            r#"scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 2"#,
            r#"scheduler_inflight_events{event="NodeAdd"} 4"#,
            r#"scheduler_inflight_events{event="PodPopped"} 1"#,
            r#"scheduler_queueing_hint_execution_duration_seconds_bucket{event="NodeAdd",hint="QueueSkip",plugin="NodeResourcesFit",le="1.5000000000000002e-05"} 2"#,
            r#"scheduler_event_handling_duration_seconds_bucket{event="NodeAdd",le="0.0001"} 0"#,
            r#"scheduler_event_handling_duration_seconds_bucket{event="NodeAdd",le="0.0002"} 1"#,
            r#"plimsoll_queue_wakeups_total{result="asked"} 7"#,
            r#"plimsoll_queue_wakeups_total{result="wasted"} 1"#,
        ] {
            assert!(
                text.lines().any(|found| found.starts_with(line)),
                "missing {line} in\n{text}"
            );
        }
    }

    #[test]
    fn what_waited_in_a_queue_is_not_told_any_more_when_the_queue_is_gone() {
        let metrics = Metrics::new();
        let queue = metrics.queue();
        queue.pending(PendingPods {
            active: 1,
            backoff: 2,
            unschedulable: 3,
            gated: 4,
        });
        queue.unschedulable("NodeResourcesFit", "default-scheduler", 2);
        queue.in_flight_events(&[("NodeAdd".to_owned(), 4)].into());
        queue.emptied();
        let text = metrics.text().unwrap();
        for place in ["active", "backoff", "unschedulable", "gated"] {
            let line = format!("scheduler_pending_pods{{queue={place:?}}} 0");
            assert!(text.lines().any(|found| found == line), "missing {line} in\n{text}");
        }
        assert!(!text.contains("scheduler_unschedulable_pods{") && !text.contains("scheduler_inflight_events{"));
    }
}
