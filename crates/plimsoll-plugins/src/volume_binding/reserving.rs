use std::sync::Arc;

use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::storage::{PersistentVolume, PersistentVolumeClaim, VolumeReservation};

use super::claims::PodClaims;
use super::delayed::Delayed;
use super::matching::{Choice, Matcher};

/// What a pod's claims get on the node that it has got.
#[derive(Debug, Clone, Default)]
pub(super) struct Decided {
    /// Volumes that are there, each with its claim.
    pub(super) bindings: Vec<(Arc<PersistentVolume>, Arc<PersistentVolumeClaim>)>,
    /// Claims whose volumes are to be made.
    pub(super) provisions: Vec<Arc<PersistentVolumeClaim>>,
}

impl Decided {
    /// What the filter has found for one node, found again. `Err` as the filter's.
    pub(super) fn on(columns: &Columns, claims: &PodClaims, node: NodeIndex) -> Result<Self, String> {
        let delayed = Delayed::of(columns, &claims.delayed);
        let mut decided = Self {
            bindings: Vec::new(),
            provisions: delayed.selected.into_iter().cloned().collect(),
        };
        if delayed.unselected.is_empty() {
            return Ok(decided);
        }
        let matcher = Matcher::new(columns, delayed.unselected, Some(node))?;
        matcher.for_each_group(&[node].into_iter().collect(), |_, choice| {
            decided.take(&matcher, choice);
        });
        Ok(decided)
    }

    fn take(&mut self, matcher: &Matcher<'_>, choice: &Choice<'_>) {
        for (claim, chosen) in matcher.claims().zip(choice) {
            match chosen {
                Some(volume) => self.bindings.push((Arc::clone(volume), Arc::clone(claim))),
                None => self.provisions.push(Arc::clone(claim)),
            }
        }
    }

    /// What the pod holds from here on.
    pub(super) fn reservation(&self, node: &str) -> VolumeReservation {
        let volumes = self.bindings.iter();
        let volumes = volumes.map(|(volume, claim)| (volume.name.name.clone(), claim.name.clone()));
        VolumeReservation {
            volumes: volumes.collect(),
            provisioned: self.provisions.iter().map(|claim| claim.name.clone()).collect(),
            node: node.into(),
        }
    }
}
