//! What is told of the pods that wait.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::buckets::exponential;
use crate::registrar::{Registrar, alpha, beta, plain, stable};
use crate::vector::Vector;

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

/// The places that `pending_pods` tells apart.
const QUEUES: [&str; 4] = ["active", "backoff", "unschedulable", "gated"];

/// Metrics of the scheduling queue.
#[derive(Debug)]
pub struct QueueMetrics {
    /// In the order of [`QUEUES`].
    pending: [Gauge; 4],
    incoming: Vector<Counter>,
    unschedulable: Vector<Gauge>,
    in_flight_events: Vector<Gauge>,
    hint_duration: Vector<Histogram>,
    handling_duration: Vector<Histogram>,
    /// Asked, useful and wasted.
    wakeups: [Counter; 3],
}

impl QueueMetrics {
    /// Registers everything, at zero.
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        let pending = registrar.fixed(
            stable(
                "scheduler_pending_pods",
                "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means \
                 number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler \
                 attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never \
                 attempted to schedule because they are gated.",
            ),
            &["queue"],
            QUEUES,
            Gauge::default,
        );
        Self {
            pending,
            incoming: registrar.many(
                stable(
                    "scheduler_queue_incoming_pods_total",
                    "Number of pods added to scheduling queues by event and queue type.",
                ),
                &["event", "queue"],
                Counter::default,
            ),
            unschedulable: registrar.many(
                beta(
                    "scheduler_unschedulable_pods",
                    "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all \
                     plugins that caused it to not schedule and so this metric have meaning only when broken down by \
                     plugin.",
                ),
                &["plugin", "profile"],
                Gauge::default,
            ),
            in_flight_events: registrar.many(
                alpha(
                    "scheduler_inflight_events",
                    "Number of events currently tracked in the scheduling queue.",
                ),
                &["event"],
                Gauge::default,
            ),
            hint_duration: registrar.many(
                alpha(
                    "scheduler_queueing_hint_execution_duration_seconds",
                    "Duration for running a queueing hint function of a plugin.",
                ),
                &["event", "hint", "plugin"],
                || Histogram::new(exponential(0.00001, 1.5, 20)),
            ),
            handling_duration: registrar.many(
                alpha(
                    "scheduler_event_handling_duration_seconds",
                    "Event handling latency in seconds.",
                ),
                &["event"],
                || Histogram::new(exponential(0.0001, 2.0, 12)),
            ),
            wakeups: registrar.fixed(
                plain(
                    "plimsoll_queue_wakeups_total",
                    "Queueing hints asked for (asked), and pods that an event woke and that the next attempt placed \
                     (useful) or turned away again (wasted).",
                ),
                &["result"],
                ["asked", "useful", "wasted"],
                Counter::default,
            ),
        }
    }

    /// Pods that wait, by queue.
    pub fn pending(&self, pods: PendingPods) {
        let counts = [pods.active, pods.backoff, pods.unschedulable, pods.gated];
        for (gauge, pods) in self.pending.iter().zip(counts) {
            gauge.set(i64::try_from(pods).unwrap_or(i64::MAX));
        }
    }

    /// Pods entered a queue because of an event.
    pub fn incoming(&self, queue: &'static str, event: &str, pods: u64) {
        self.incoming.with([owned(event), queue.into()]).inc_by(pods);
    }

    /// A plugin holds back more or fewer pods.
    pub fn unschedulable(&self, plugin: &str, profile: &str, difference: i64) {
        self.unschedulable
            .with([owned(plugin), owned(profile)])
            .inc_by(difference);
    }

    /// Everything that is kept for attempts under way, by event.
    pub fn in_flight_events(&self, events: &BTreeMap<String, u64>) {
        self.in_flight_events.clear();
        for (event, count) in events {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.in_flight_events.with([owned(event)]).set(count);
        }
    }

    /// So many calls of a plugin's hint ended like this, each in about this time.
    pub fn hints(&self, plugin: &str, event: &str, hint: &str, calls: u64, each: Duration) {
        let histogram = self.hint_duration.with([owned(event), owned(hint), owned(plugin)]);
        for _ in 0..calls {
            histogram.observe(each.as_secs_f64());
        }
    }

    /// Where to tell how long the queue took for each event of a kind. To be kept until [`Metrics::resets`](crate::Metrics::resets)
    /// tells another number.
    pub fn handling_of(&self, event: &str) -> EventHandling {
        EventHandling(self.handling_duration.with([owned(event)]))
    }

    /// The queue has taken in an event of the cluster.
    pub fn event_handled(&self, event: &str, took: Duration) {
        self.handling_of(event).took(took);
    }

    /// Hints asked for, and what came of the pods that events woke.
    pub fn wakeups(&self, asked: u64, useful: u64, wasted: u64) {
        for (counter, count) in self.wakeups.iter().zip([asked, useful, wasted]) {
            counter.inc_by(count);
        }
    }

    /// The queue is gone, and with it all that waited in it.
    pub fn emptied(&self) {
        self.pending(PendingPods::default());
        self.unschedulable.clear();
        self.in_flight_events.clear();
    }
}

/// How long the queue takes for events of one kind.
#[derive(Debug, Clone)]
pub struct EventHandling(Histogram);

impl EventHandling {
    /// One took so long.
    pub fn took(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }
}

fn owned(value: &str) -> Cow<'static, str> {
    Cow::Owned(value.to_owned())
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
