//! What is told of audits.

use prometheus_client::metrics::counter::Counter;

use crate::registrar::{Registrar, plain};
use crate::vector::Vector;

/// `plimsoll_audit*`.
#[derive(Debug)]
pub struct AuditMetrics {
    audits: Counter,
    discrepancies: Vector<Counter>,
}

impl AuditMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            audits: registrar.one(
                plain(
                    "plimsoll_audits_total",
                    "Comparisons of what the cache, the queue and the cycle know of pending pods.",
                ),
                Counter::default(),
            ),
            discrepancies: registrar.many(
                plain(
                    "plimsoll_audit_discrepancies_total",
                    "What two audits in a row found wrong, and was repaired; more than 0 is a bug in the scheduler.",
                ),
                &["kind"],
                Counter::default,
            ),
        }
    }

    /// An audit has come to its end.
    pub fn audited(&self) {
        self.audits.inc();
    }

    /// So many things of a kind were wrong twice in a row. Zero makes the kind show.
    pub fn discrepancies(&self, kind: &'static str, found: u64) {
        self.discrepancies.with([kind.into()]).inc_by(found);
    }

    /// How many audits there were, and how many discrepancies of a kind.
    pub fn counted(&self, kind: &'static str) -> (u64, u64) {
        (self.audits.get(), self.discrepancies.with([kind.into()]).get())
    }
}
