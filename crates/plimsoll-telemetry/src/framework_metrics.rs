//! What is told of plugins and the extension points at which they run.

use std::borrow::Cow;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::buckets::exponential;
use crate::exemplar::{Latency, TraceId};
use crate::registrar::{Registrar, alpha, beta, stable};
use crate::vector::Vector;

/// `scheduler_framework_*`, `scheduler_plugin_*` and `scheduler_goroutines`.
///
/// What is told here is told many times in each attempt: whoever does so asks for a handle once and keeps it, until
/// [`Metrics::resets`](crate::Metrics::resets) tells another number.
#[derive(Debug)]
pub struct FrameworkMetrics {
    points: Vector<Latency>,
    plugins: Vector<Histogram>,
    evaluations: Vector<Counter>,
    binding: Gauge,
}

impl FrameworkMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        let points = registrar.many(
            stable(
                "scheduler_framework_extension_point_duration_seconds",
                "Latency for running all plugins of a specific extension point.",
            ),
            &["extension_point", "profile", "status"],
            || Latency::new(exponential(0.0001, 2.0, 12)),
        );
        let plugins = registrar.many(
            alpha(
                "scheduler_plugin_execution_duration_seconds",
                "Duration for running a plugin at a specific extension point.",
            ),
            &["extension_point", "plugin", "status"],
            || Histogram::new(exponential(0.00001, 1.5, 20)),
        );
        let evaluations = registrar.many(
            beta(
                "scheduler_plugin_evaluation_total",
                "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, \
                 Filter, PreScore, and Score).",
            ),
            &["extension_point", "plugin", "profile"],
            Counter::default as fn() -> Counter,
        );
        let [binding] = registrar.fixed(
            beta(
                "scheduler_goroutines",
                "Number of running goroutines split by the work they do such as binding.",
            ),
            &["operation"],
            ["binding"],
            Gauge::default,
        );
        Self {
            points,
            plugins,
            evaluations,
            binding,
        }
    }

    /// Where to tell how long an extension point took that ended with this status.
    pub fn point(&self, profile: &str, point: &'static str, status: &'static str) -> PointDuration {
        let profile = Cow::Owned(profile.to_owned());
        PointDuration(self.points.with([point.into(), profile, status.into()]))
    }

    /// Where to tell how long a plugin took at a point.
    pub fn plugin(&self, plugin: &'static str, point: &'static str, status: &'static str) -> PluginDuration {
        PluginDuration(self.plugins.with([point.into(), plugin.into(), status.into()]))
    }

    /// Where to tell what a plugin of a profile had to look at.
    pub fn evaluations(&self, plugin: &'static str, point: &'static str, profile: &str) -> Evaluated {
        let profile = Cow::Owned(profile.to_owned());
        Evaluated(self.evaluations.with([point.into(), plugin.into(), profile]))
    }

    /// So many pods are on their way to being bound.
    pub fn binding(&self, pods: usize) {
        self.binding.set(i64::try_from(pods).unwrap_or(i64::MAX));
    }
}

/// How long one extension point of a profile takes when it ends with one status.
#[derive(Debug, Clone)]
pub struct PointDuration(Latency);

impl PointDuration {
    /// It took so long; the trace is named where it is kept.
    pub fn took(&self, took: Duration, trace: Option<TraceId>) {
        self.0.observe(took.as_secs_f64(), trace);
    }
}

/// How long one plugin takes at a point when it ends with one status.
#[derive(Debug, Clone)]
pub struct PluginDuration(Histogram);

impl PluginDuration {
    /// It took so long.
    pub fn took(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }
}

/// What one plugin of a profile has to look at.
#[derive(Debug, Clone)]
pub struct Evaluated(Counter);

impl Evaluated {
    /// So many nodes, or calls.
    pub fn add(&self, count: u64) {
        self.0.inc_by(count);
    }
}
