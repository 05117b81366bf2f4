use plimsoll_framework::PreemptionTerms;
use plimsoll_model::{Moment, Pod};

use crate::ledger::{Guest, Ledger};

/// What one attempt at preemption leaves alone beyond what kube-scheduler would.
#[derive(Debug, Default)]
pub(super) struct Sparing;

impl Sparing {
    pub(super) fn for_attempt(_: &PreemptionTerms, _: &Pod, _: &Ledger, _: Moment) -> Self {
        Self
    }

    /// Takes those away from the potential victims on a node that must stay; or says why the node is no candidate at all.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "nobody is spared yet")]
    pub(super) fn thin(&self, _: &str, _: &mut Vec<Guest>) -> Result<(), String> {
        Ok(())
    }
}
