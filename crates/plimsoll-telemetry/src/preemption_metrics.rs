//! What is told of preemption.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::buckets::exponential;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultOnly {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

impl ResultOnly {
    fn of(success: bool) -> Self {
        let result = if success { "success" } else { "error" };
        Self { result }
    }
}

/// `scheduler_preemption_*` and `plimsoll_preemptions*`.
#[derive(Debug)]
pub struct PreemptionMetrics {
    attempts: Counter,
    victims: Histogram,
    executions: Family<ResultOnly, Counter>,
    execution_duration: Family<ResultOnly, Histogram>,
    ended: Family<Outcome, Counter>,
    under_way: Gauge,
}

impl Default for PreemptionMetrics {
    fn default() -> Self {
        let seconds = || Histogram::new(exponential(0.01, 2.0, 20));
        Self {
            attempts: Counter::default(),
            victims: Histogram::new(exponential(1.0, 2.0, 7)),
            executions: Family::default(),
            execution_duration: Family::new_with_constructor(seconds as fn() -> Histogram),
            ended: Family::default(),
            under_way: Gauge::default(),
        }
    }
}

impl PreemptionMetrics {
    pub(crate) fn register(&self, scheduler: &mut Registry) {
        scheduler.register(
            "preemption_attempts",
            "[STABLE] Total preemption attempts in the cluster till now",
            self.attempts.clone(),
        );
        scheduler.register(
            "preemption_victims",
            "[STABLE] Number of selected preemption victims",
            self.victims.clone(),
        );
        scheduler.register(
            "preemption_goroutines_execution",
            "[ALPHA] Preemptions whose requests have all been answered, by result",
            self.executions.clone(),
        );
        scheduler.register(
            "preemption_goroutines_duration_seconds",
            "[ALPHA] How long that took",
            self.execution_duration.clone(),
        );
    }

    pub(crate) fn register_own(&self, own: &mut Registry) {
        own.register(
            "preemptions",
            "Preemptions that came to an end, by what became of them",
            self.ended.clone(),
        );
        own.register(
            "preemptions_under_way",
            "Preemptions whose victims are not all gone yet",
            self.under_way.clone(),
        );
    }

    /// A pod that fits nowhere has looked for victims, with or without success.
    pub fn attempted(&self) {
        self.attempts.inc();
    }

    /// So many pods are to go for one.
    pub fn chosen(&self, victims: usize) {
        // Never so many that the number is rounded.
        self.victims
            .observe(f64::from(u32::try_from(victims).unwrap_or(u32::MAX)));
    }

    /// Every request about the victims of a preemption has its answer, or one failed.
    pub fn executed(&self, success: bool, took: Duration) {
        self.executions.get_or_create(&ResultOnly::of(success)).inc();
        self.execution_duration
            .get_or_create(&ResultOnly::of(success))
            .observe(took.as_secs_f64());
    }

    /// A preemption came to this end.
    pub fn ended(&self, outcome: &'static str) {
        self.ended.get_or_create(&Outcome { outcome }).inc();
    }

    /// How many are under way.
    pub fn under_way(&self, preemptions: usize) {
        self.under_way.set(i64::try_from(preemptions).unwrap_or(i64::MAX));
    }

    /// How many preemptions came to this end.
    pub fn counted(&self, outcome: &'static str) -> u64 {
        self.ended.get_or_create(&Outcome { outcome }).get()
    }
}
