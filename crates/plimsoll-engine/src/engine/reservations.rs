//! Volumes that claims hold, as audits see them.

use plimsoll_framework::CycleState;
use plimsoll_model::Uid;

use super::Engine;
use crate::record::PreBindWork;
use crate::{ClaimId, Notice};

impl Engine {
    /// Whether the claim holds volumes.
    pub fn holds_volumes(&self, id: ClaimId) -> bool {
        let claim = self.claim(id).map(crate::Claim::pod);
        claim.is_some_and(|pod| self.ledger.claim_of(&pod.uid) == Some(id) && self.ledger.holds_volumes(&pod.uid))
    }

    /// Whether the claim waits for [`Engine::volume_written`].
    pub fn writes_volume(&self, id: ClaimId) -> bool {
        let record = self.records.get(id);
        record.is_some_and(|record| record.pre_bind == PreBindWork::Writing)
    }

    /// The pods for which volumes are reserved in the columns, in the order of UIDs: those whose claims hold some. Nothing while
    /// a cycle waits for an effect, since the columns stand still then and claims do not.
    pub fn reserving_pods(&self) -> Option<Vec<Uid>> {
        let pods = self.columns().volume_reservations().map(|(uid, _)| uid.clone());
        (!self.is_waiting()).then(|| pods.collect())
    }

    /// Reserves for the pod what its claim holds, and nothing else, after an audit has found that it is otherwise. Does nothing
    /// while a cycle waits for an effect.
    pub fn settle_reservation(&mut self, pod: &Uid) {
        if !self.is_waiting() {
            self.ledger.settle_reservation(pod);
        }
    }
}

/// Tells what plugins have noted of failures with volumes.
pub(super) fn tell_volume_errors(state: &CycleState, out: &mut Vec<Notice>) {
    let errors = state.take_volume_errors();
    out.extend(errors.map(|(stage, count)| Notice::VolumeErrors { stage, count }));
}
