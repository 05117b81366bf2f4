//! What is told of volumes.

use prometheus_client::metrics::counter::Counter;

use crate::registrar::{Registrar, alpha};
use crate::vector::Vector;

/// `scheduler_volume_*`.
#[derive(Debug)]
pub struct VolumeMetrics {
    stage_errors: Vector<Counter>,
}

impl VolumeMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        // Never counted there either, and so never shown.
        registrar.many(
            alpha(
                "scheduler_volume_binder_cache_requests_total",
                "Total number for request volume binding cache",
            ),
            &["operation"],
            Counter::default as fn() -> Counter,
        );
        Self {
            stage_errors: registrar.many(
                alpha(
                    "scheduler_volume_scheduling_stage_error_total",
                    "Volume scheduling stage error count",
                ),
                &["operation"],
                Counter::default,
            ),
        }
    }

    /// So often something has failed inside at this stage: `predicate`, `assume` or `bind`.
    pub fn stage_failed(&self, stage: &'static str, count: u32) {
        self.stage_errors.with([stage.into()]).inc_by(u64::from(count));
    }
}
