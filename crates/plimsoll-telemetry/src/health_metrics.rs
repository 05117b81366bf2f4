//! What `/metrics/slis` shows: what came of health checks, for whoever measures how often this component was well.

use std::fmt::Error;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::Check;
use crate::policy::MetricsPolicy;
use crate::process_metrics::ProcessStart;
use crate::registrar::{Registrar, stable};
use crate::text::{self, Format};
use crate::vector::Vector;

/// `kubernetes_healthcheck` and `kubernetes_healthchecks_total`.
#[derive(Debug)]
pub struct HealthMetrics {
    registry: Registry,
    last: Vector<Gauge>,
    counted: Vector<Counter>,
}

impl HealthMetrics {
    pub(crate) fn new() -> Self {
        let policy = MetricsPolicy::default();
        let mut registrar = Registrar::new(&policy);
        let last = registrar.many(
            stable(
                "kubernetes_healthcheck",
                "This metric records the result of a single healthcheck.",
            ),
            &["name", "type"],
            Gauge::default as fn() -> Gauge,
        );
        let counted = registrar.many(
            stable(
                "kubernetes_healthchecks_total",
                "This metric records the results of all healthcheck.",
            ),
            &["name", "status", "type"],
            Counter::default as fn() -> Counter,
        );
        registrar.collector(ProcessStart);
        Self {
            registry: registrar.finish_quietly(),
            last,
            counted,
        }
    }

    /// These checks of `healthz`, `livez` or `readyz` were made.
    pub fn checked(&self, endpoint: &'static str, checks: &[Check]) {
        for check in checks {
            let well = check.result.is_ok();
            let status = if well { "success" } else { "error" };
            self.last
                .with([check.name.into(), endpoint.into()])
                .set(i64::from(well));
            self.counted
                .with([check.name.into(), status.into(), endpoint.into()])
                .inc();
        }
    }

    /// The text.
    pub fn text(&self) -> Result<String, Error> {
        text::write(&self.registry, Format::Prometheus)
    }

    /// Begins anew.
    pub fn reset(&self) {
        self.last.clear();
        self.counted.clear();
    }
}
