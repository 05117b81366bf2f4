//! What is told of volumes.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

/// `scheduler_volume_*`.
#[derive(Debug, Default)]
pub struct VolumeMetrics {
    stage_errors: Family<Operation, Counter>,
}

impl VolumeMetrics {
    pub(crate) fn register(&self, scheduler: &mut Registry) {
        scheduler.register(
            "volume_scheduling_stage_error",
            "[ALPHA] Volume scheduling stage error count",
            self.stage_errors.clone(),
        );
    }

    /// So often something has failed inside at this stage: `predicate`, `assume` or `bind`.
    pub fn stage_failed(&self, stage: &'static str, count: u32) {
        let counter = self.stage_errors.get_or_create(&Operation { operation: stage });
        counter.inc_by(u64::from(count));
    }
}
