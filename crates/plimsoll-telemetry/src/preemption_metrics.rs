//! What is told of preemption.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::buckets::exponential;
use crate::registrar::{Registrar, alpha, plain, stable};
use crate::vector::Vector;

/// `scheduler_preemption_*` and `plimsoll_preemptions*`.
#[derive(Debug)]
pub struct PreemptionMetrics {
    attempts: Counter,
    victims: Histogram,
    executions: Vector<Counter>,
    execution_duration: Vector<Histogram>,
    ended: Vector<Counter>,
    under_way: Gauge,
}

impl PreemptionMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            attempts: registrar.one(
                stable(
                    "scheduler_preemption_attempts_total",
                    "Total preemption attempts in the cluster till now",
                ),
                Counter::default(),
            ),
            victims: registrar.one(
                stable("scheduler_preemption_victims", "Number of selected preemption victims"),
                Histogram::new(exponential(1.0, 2.0, 7)),
            ),
            executions: registrar.many(
                alpha(
                    "scheduler_preemption_goroutines_execution_total",
                    "Number of preemption goroutines executed.",
                ),
                &["result"],
                Counter::default,
            ),
            execution_duration: registrar.many(
                alpha(
                    "scheduler_preemption_goroutines_duration_seconds",
                    "Duration in seconds for running goroutines for the preemption.",
                ),
                &["result"],
                || Histogram::new(exponential(0.01, 2.0, 20)),
            ),
            ended: registrar.many(
                plain(
                    "plimsoll_preemptions_total",
                    "Preemptions that came to an end, by what became of them.",
                ),
                &["outcome"],
                Counter::default,
            ),
            under_way: registrar.one(
                plain(
                    "plimsoll_preemptions_under_way",
                    "Preemptions whose victims are not all gone yet.",
                ),
                Gauge::default(),
            ),
        }
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
        let result = if success { "success" } else { "error" };
        self.executions.with([result.into()]).inc();
        self.execution_duration
            .with([result.into()])
            .observe(took.as_secs_f64());
    }

    /// A preemption came to this end.
    pub fn ended(&self, outcome: &'static str) {
        self.ended.with([outcome.into()]).inc();
    }

    /// How many are under way.
    pub fn under_way(&self, preemptions: usize) {
        self.under_way.set(i64::try_from(preemptions).unwrap_or(i64::MAX));
    }

    /// How many preemptions came to this end.
    pub fn counted(&self, outcome: &'static str) -> u64 {
        self.ended.with([outcome.into()]).get()
    }
}
