//! What is told of audits.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// `plimsoll_audit*`.
#[derive(Debug, Default)]
pub struct AuditMetrics {
    audits: Counter,
    discrepancies: Family<Kind, Counter>,
}

impl AuditMetrics {
    pub(crate) fn register(&self, own: &mut Registry) {
        own.register(
            "audits",
            "Comparisons of what the cache, the queue and the cycle know of pending pods",
            self.audits.clone(),
        );
        own.register(
            "audit_discrepancies",
            "What two audits in a row found wrong, and was repaired; more than 0 is a bug in the scheduler",
            self.discrepancies.clone(),
        );
    }

    /// An audit has come to its end.
    pub fn audited(&self) {
        self.audits.inc();
    }

    /// So many things of a kind were wrong twice in a row. Zero makes the kind show.
    pub fn discrepancies(&self, kind: &'static str, found: u64) {
        self.discrepancies.get_or_create(&Kind { kind }).inc_by(found);
    }

    /// How many audits there were, and how many discrepancies of a kind.
    pub fn counted(&self, kind: &'static str) -> (u64, u64) {
        let discrepancies = self.discrepancies.get_or_create(&Kind { kind }).get();
        (self.audits.get(), discrepancies)
    }
}
