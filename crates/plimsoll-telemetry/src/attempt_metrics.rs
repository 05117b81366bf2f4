//! What is told of attempts to schedule pods.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::buckets::exponential;
use crate::exemplar::{Latency, TraceId};
use crate::registrar::{Registrar, alpha, beta, stable};
use crate::vector::Vector;

/// How an attempt to schedule a pod ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptResult {
    /// Bound.
    Scheduled,
    /// Turned away by plugins.
    Unschedulable,
    /// Failed inside.
    Error,
}

impl AttemptResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

/// `scheduler_schedule_attempts_total`, `scheduler_scheduling_*`, `scheduler_pod_*` and `scheduler_permit_*`.
///
/// `trace` is that of the pod, given where it is kept.
#[derive(Debug)]
pub struct AttemptMetrics {
    count: Vector<Counter>,
    duration: Vector<Latency>,
    algorithm_duration: Latency,
    sli_duration: Vector<Latency>,
    pod_attempts: Histogram,
    scheduled_after_flush: Counter,
    permit_wait: Vector<Latency>,
}

impl AttemptMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            count: registrar.many(
                stable(
                    "scheduler_schedule_attempts_total",
                    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be \
                     scheduled, while 'error' means an internal scheduler problem.",
                ),
                &["profile", "result"],
                Counter::default,
            ),
            duration: registrar.many(
                stable(
                    "scheduler_scheduling_attempt_duration_seconds",
                    "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
                ),
                &["profile", "result"],
                millis,
            ),
            algorithm_duration: registrar.one(
                alpha(
                    "scheduler_scheduling_algorithm_duration_seconds",
                    "Scheduling algorithm latency in seconds",
                ),
                millis(),
            ),
            sli_duration: registrar.many(
                beta(
                    "scheduler_pod_scheduling_sli_duration_seconds",
                    "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might \
                     involve multiple scheduling attempts.",
                ),
                &["attempts"],
                || Latency::new(exponential(0.01, 2.0, 20)),
            ),
            pod_attempts: registrar.one(
                stable(
                    "scheduler_pod_scheduling_attempts",
                    "Number of attempts to successfully schedule a pod.",
                ),
                Histogram::new(exponential(1.0, 2.0, 5)),
            ),
            scheduled_after_flush: registrar.one(
                alpha(
                    "scheduler_pod_scheduled_after_flush_total",
                    "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to \
                     timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
                ),
                Counter::default(),
            ),
            permit_wait: registrar.many(
                beta(
                    "scheduler_permit_wait_duration_seconds",
                    "Duration of waiting on permit.",
                ),
                &["result"],
                millis,
            ),
        }
    }

    /// An attempt ended.
    pub fn ended(&self, result: AttemptResult, profile: &str, took: Duration, trace: Option<TraceId>) {
        self.of(profile, result).ended(took, trace);
    }

    /// Where to tell of attempts at pods of a profile that end like this. To be kept until [`Metrics::resets`](crate::Metrics::resets) tells another
    /// number.
    pub fn of(&self, profile: &str, result: AttemptResult) -> Attempts {
        let labels = || [profile.to_owned().into(), result.as_str().into()];
        Attempts {
            count: self.count.with(labels()),
            duration: self.duration.with(labels()),
        }
    }

    /// The search for a node ended.
    pub fn node_sought(&self, took: Duration, trace: Option<TraceId>) {
        self.algorithm_duration.observe(took.as_secs_f64(), trace);
    }

    /// A pod was bound.
    pub fn pod_scheduled(
        &self,
        attempts: u32,
        since_first_try: Option<Duration>,
        flushed: bool,
        trace: Option<TraceId>,
    ) {
        self.pod_attempts.observe(f64::from(attempts));
        if let Some(took) = since_first_try {
            let label = if attempts >= 15 {
                "15+".into()
            } else {
                attempts.to_string().into()
            };
            self.sli_duration.with([label]).observe(took.as_secs_f64(), trace);
        }
        if flushed {
            self.scheduled_after_flush.inc();
        }
    }

    /// A pod waits on permit no longer.
    pub fn permit_wait(&self, result: &'static str, waited: Duration, trace: Option<TraceId>) {
        self.permit_wait
            .with([result.into()])
            .observe(waited.as_secs_f64(), trace);
    }
}

fn millis() -> Latency {
    Latency::new(exponential(0.001, 2.0, 15))
}

/// Attempts of one profile that end in one way.
#[derive(Debug, Clone)]
pub struct Attempts {
    count: Counter,
    duration: Latency,
}

impl Attempts {
    /// One did, after so long.
    pub fn ended(&self, took: Duration, trace: Option<TraceId>) {
        self.count.inc();
        self.duration.observe(took.as_secs_f64(), trace);
    }
}
