//! What is told of leadership that was given up for lack of progress.

use prometheus_client::metrics::counter::Counter;

use crate::registrar::{Registrar, plain};
use crate::vector::Vector;

/// `plimsoll_resignations_total`.
#[derive(Debug)]
pub struct ResignationMetrics {
    resigned: Vector<Counter>,
}

impl ResignationMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            resigned: registrar.many(
                plain(
                    "plimsoll_resignations_total",
                    "Times that this replica gave its leadership up, by what did not get on.",
                ),
                &["reason"],
                Counter::default,
            ),
        }
    }

    /// Leadership is given up for this reason.
    pub fn resigned(&self, reason: &'static str) {
        self.resigned.with([reason.into()]).inc();
    }

    /// How often that was.
    pub fn counted(&self, reason: &'static str) -> u64 {
        self.resigned.with([reason.into()]).get()
    }
}
