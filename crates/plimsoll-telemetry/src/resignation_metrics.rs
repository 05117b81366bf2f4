//! What is told of leadership that was given up for lack of progress.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// `plimsoll_resignations_total`.
#[derive(Debug, Default)]
pub struct ResignationMetrics {
    resigned: Family<Reason, Counter>,
}

impl ResignationMetrics {
    pub(crate) fn register(&self, own: &mut Registry) {
        own.register(
            "resignations",
            "Times that this replica gave its leadership up, by what did not get on",
            self.resigned.clone(),
        );
    }

    /// Leadership is given up for this reason.
    pub fn resigned(&self, reason: &'static str) {
        self.resigned.get_or_create(&Reason { reason }).inc();
    }

    /// How often that was.
    pub fn counted(&self, reason: &'static str) -> u64 {
        self.resigned.get_or_create(&Reason { reason }).get()
    }
}
