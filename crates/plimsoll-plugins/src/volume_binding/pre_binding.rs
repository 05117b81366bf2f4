//! What has to be written before a pod can be bound, and what is waited for then.
//!
//! Volumes first, then claims, one write after the other. Each write carries the version that was seen, so that one which
//! arrives late does nothing to an object that has changed since. Then the pod waits, up to the bind timeout, until the volume
//! controller and provisioners have bound every claim that something was written for.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_framework::{CycleContext, CycleState, PreBind, PreBindInput, PreBindOutcome, PreBindStep, VolumeStage};
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::storage::{PersistentVolume, PersistentVolumeClaim, VolumeWrite, VolumeWritten};
use plimsoll_model::{Moment, Pod, ResourceVersion};

use super::VolumeBinding;
use super::claims::is_fully_bound;
use super::reaching::is_reached_from;
use super::reserving::Decided;

/// How long after a write was refused another pod of ours may be found to have made it.
const SHARED_WRITE_WAIT: Duration = Duration::from_secs(1);

/// How far a pod has come with what was decided for it.
#[derive(Debug)]
pub(super) struct Binding {
    decided: Decided,
    /// The versions that the first of its objects have after what was written to them, volumes first, then claims.
    written: Vec<ResourceVersion>,
    waiting: Waiting,
}

#[derive(Debug)]
enum Waiting {
    /// For the answer to a write.
    Answer,
    /// For what another pod that shares the claim has written, after the same write was refused to this one.
    Shared { until: Moment, refusal: String },
    /// For claims to be bound.
    Bound { until: Moment },
}

/// What is to be done to an object.
enum Needed {
    Write(VolumeWrite),
    /// Nothing: it says already what would be written, with this version.
    Said(ResourceVersion),
    /// Nothing may be written to it any more.
    Gone(String),
}

/// What is found of the claims that something was written for.
enum Found {
    AllBound,
    NotYet,
    Failed(String),
}

impl PreBind for VolumeBinding {
    fn pre_bind(&self, _: &Pod, state: &CycleState, _: &str) -> PreBindOutcome {
        match state.get::<Binding>() {
            Some(_) => PreBindOutcome::Steps,
            None => PreBindOutcome::Skip,
        }
    }

    fn step(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str, input: PreBindInput) -> PreBindStep {
        let Some(binding) = state.get_mut::<Binding>() else {
            return PreBindStep::Done;
        };
        let step = Stepping {
            cycle,
            node,
            bind_timeout: self.bind_timeout,
        }
        .hear(binding, input);
        if matches!(step, PreBindStep::Fail(_)) {
            state.note_volume_error(VolumeStage::Bind);
        }
        step
    }
}

impl Binding {
    pub(super) fn new(decided: Decided) -> Self {
        Self {
            decided,
            written: Vec::new(),
            waiting: Waiting::Answer,
        }
    }
}

/// One step of one pod.
struct Stepping<'a> {
    cycle: CycleContext<'a>,
    node: &'a str,
    bind_timeout: Duration,
}

impl Stepping<'_> {
    fn columns(&self) -> &Columns {
        self.cycle.columns
    }

    fn hear(&self, binding: &mut Binding, input: PreBindInput) -> PreBindStep {
        match input {
            PreBindInput::Begin | PreBindInput::Written(VolumeWritten::PutOff) => self.write_next(binding),
            PreBindInput::Written(VolumeWritten::Done(version)) => {
                binding.written.push(version);
                self.write_next(binding)
            }
            PreBindInput::Written(VolumeWritten::Refused(refusal)) => self.refused(binding, refusal),
            PreBindInput::Written(VolumeWritten::Unknown(error)) => PreBindStep::Fail(error),
            PreBindInput::Written(VolumeWritten::TermOver) => PreBindStep::Fail("the term is over".to_owned()),
            PreBindInput::Changed => self.look(binding, false),
            PreBindInput::Due => self.look(binding, true),
        }
    }

    /// The next write, if one is needed; when all are made, the wait begins.
    fn write_next(&self, binding: &mut Binding) -> PreBindStep {
        binding.waiting = Waiting::Answer;
        while let Some(needed) = self.needed(binding) {
            match needed {
                Needed::Write(write) => return PreBindStep::Write(write),
                Needed::Said(version) => binding.written.push(version),
                Needed::Gone(cause) => return PreBindStep::Fail(cause),
            }
        }
        binding.waiting = Waiting::Bound {
            until: self.cycle.now + self.bind_timeout,
        };
        self.look(binding, false)
    }

    /// What is to be done to the first object that has not been seen to.
    fn needed(&self, binding: &Binding) -> Option<Needed> {
        let Decided { bindings, provisions } = &binding.decided;
        let at = binding.written.len();
        match bindings.get(at) {
            Some((volume, claim)) => Some(self.binding_of(volume, claim)),
            None => provisions
                .get(at - bindings.len())
                .map(|claim| self.provision_of(claim)),
        }
    }

    fn binding_of(&self, chosen: &Arc<PersistentVolume>, claim: &Arc<PersistentVolumeClaim>) -> Needed {
        let storage = self.columns().storage();
        let told = storage.volume(&chosen.name.name).filter(|told| told.uid == chosen.uid);
        let told = told.unwrap_or(chosen);
        let reference = told.claim.as_ref();
        let is_of_claim = reference.is_some_and(|reference| {
            reference.name == claim.name && reference.uid.as_ref().is_none_or(|uid| *uid == claim.uid)
        });
        if is_of_claim && reference.is_some_and(|reference| reference.uid.is_some()) {
            return Needed::Said(told.resource_version);
        }
        // A volume that is made over to a claim which is gone is nobody's until an operator looks at it.
        let name = &claim.name.name;
        let Some(claim_seen) = storage.claim(&claim.name).filter(|told| told.uid == claim.uid) else {
            return Needed::Gone(format!("persistentvolumeclaim {name:?} not found"));
        };
        if claim_seen.deleting {
            return Needed::Gone(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        // What has become of the volume since, other than its claim, does not matter; whose it is does.
        let still_free = (reference.is_none() || is_of_claim) && !told.deleting;
        let seen = if still_free { told } else { chosen };
        Needed::Write(VolumeWrite::BindVolume {
            volume: seen.name.name.clone(),
            uid: seen.uid.clone(),
            version: seen.resource_version,
            claim: claim.name.clone(),
            claim_uid: claim.uid.clone(),
            claim_version: claim_seen.resource_version,
            by_controller: !is_of_claim && !seen.bound_by_controller,
        })
    }

    fn provision_of(&self, chosen: &Arc<PersistentVolumeClaim>) -> Needed {
        let told = self.columns().storage().claim(&chosen.name);
        let told = told.filter(|told| told.uid == chosen.uid).unwrap_or(chosen);
        if told.selected_node.as_deref() == Some(self.node) {
            return Needed::Said(told.resource_version);
        }
        let still_free = told.selected_node.is_none() && told.volume.is_empty() && !told.deleting;
        let seen = if still_free { told } else { chosen };
        Needed::Write(VolumeWrite::SelectNode {
            claim: seen.name.clone(),
            uid: seen.uid.clone(),
            version: seen.resource_version,
            node: self.node.into(),
        })
    }

    /// Pods that share a claim want the same written. Who comes second is refused, and goes on once it sees that it is done.
    fn refused(&self, binding: &mut Binding, refusal: String) -> PreBindStep {
        let Decided { bindings, provisions } = &binding.decided;
        let at = binding.written.len();
        let claim = bindings.get(at).map(|(_, claim)| claim);
        let claim = claim.or_else(|| provisions.get(at - bindings.len()));
        let shared = claim.is_some_and(|claim| self.columns().is_reserved_by_another(&self.cycle.pod.uid, &claim.name));
        match self.needed(binding) {
            Some(Needed::Said(_)) => self.write_next(binding),
            Some(Needed::Write(_)) if shared => {
                let until = self.cycle.now + SHARED_WRITE_WAIT;
                binding.waiting = Waiting::Shared { until, refusal };
                PreBindStep::Wait { until }
            }
            _ => PreBindStep::Fail(refusal),
        }
    }

    fn look(&self, binding: &mut Binding, due: bool) -> PreBindStep {
        match &binding.waiting {
            Waiting::Answer => PreBindStep::Fail("asked while a write is under way".to_owned()),
            Waiting::Shared { until, refusal } => {
                let until = *until;
                if matches!(self.needed(binding), Some(Needed::Write(_))) {
                    if due {
                        return PreBindStep::Fail(refusal.clone());
                    }
                    return PreBindStep::Wait { until };
                }
                self.write_next(binding)
            }
            Waiting::Bound { until } => match self.find(binding) {
                Found::AllBound => PreBindStep::Done,
                Found::NotYet if due => PreBindStep::Fail("binding volumes: context deadline exceeded".to_owned()),
                Found::NotYet => PreBindStep::Wait { until: *until },
                Found::Failed(cause) => PreBindStep::Fail(format!("binding volumes: {cause}")),
            },
        }
    }

    /// Whether every claim that something was written for is bound, in the objects as the API server has them.
    fn find(&self, binding: &Binding) -> Found {
        let columns = self.columns();
        let node = columns
            .index_of(self.node)
            .filter(|node| columns.nodes().contains(*node));
        let Some(node) = node else {
            return Found::Failed(format!("failed to get node {0:?}: node {0:?} not found", self.node));
        };
        let Decided { bindings, provisions } = &binding.decided;
        let (volumes, claims) = binding.written.split_at(bindings.len().min(binding.written.len()));
        let volumes = bindings.iter().zip(volumes);
        let volumes = volumes.map(|((volume, claim), written)| self.find_bound(volume, claim, *written, node));
        let claims = provisions.iter().zip(claims);
        let claims = claims.map(|(claim, written)| self.find_provisioned(claim, *written, node));
        let mut found = volumes.chain(claims);
        found
            .find(|found| !matches!(found, Found::AllBound))
            .unwrap_or(Found::AllBound)
    }

    fn find_bound(
        &self,
        volume: &PersistentVolume,
        claim: &PersistentVolumeClaim,
        written: ResourceVersion,
        node: NodeIndex,
    ) -> Found {
        let storage = self.columns().storage();
        let Some(volume) = storage.volume(&volume.name.name) else {
            let name = &volume.name.name;
            return Found::Failed(format!("failed to check binding: persistentvolumes {name:?} not found"));
        };
        let Some(claim) = storage.claim(&claim.name).filter(|told| told.uid == claim.uid) else {
            let name = claim.name.to_string();
            return Found::Failed(format!(
                "failed to check binding: persistentvolumeclaims {name:?} not found"
            ));
        };
        if volume.resource_version < written {
            return Found::NotYet;
        }
        match is_reached_from(self.columns(), volume, node) {
            Err(error) => return Found::Failed(format!("failed to translate pv to csi: {error}")),
            Ok(false) => return self.out_of_reach(volume),
            Ok(true) => {}
        }
        if volume.claim.as_ref().is_none_or(|reference| reference.uid.is_none()) {
            return Found::Failed(format!("ClaimRef got reset for pv {:?}", volume.name.name));
        }
        if claim.volume == volume.name.name {
            return bound_or_not(claim);
        }
        self.find_reached(claim, node)
    }

    /// Whether the claim is bound to a volume that the node reaches: perhaps not to the one that was written to, since an
    /// earlier write, whose outcome nobody knew, may have been done after all.
    fn find_reached(&self, claim: &PersistentVolumeClaim, node: NodeIndex) -> Found {
        if !claim.volume.is_empty() {
            // The claim may be told of before its volume is.
            let Some(volume) = self.columns().storage().volume(&claim.volume) else {
                return Found::NotYet;
            };
            match is_reached_from(self.columns(), volume, node) {
                Err(error) => return Found::Failed(error),
                Ok(false) => return self.out_of_reach(volume),
                Ok(true) => {}
            }
        }
        bound_or_not(claim)
    }

    fn find_provisioned(&self, claim: &PersistentVolumeClaim, written: ResourceVersion, node: NodeIndex) -> Found {
        let storage = self.columns().storage();
        let Some(claim) = storage.claim(&claim.name).filter(|told| told.uid == claim.uid) else {
            let name = claim.name.to_string();
            return Found::Failed(format!(
                "failed to check provisioning pvc: persistentvolumeclaims {name:?} not found"
            ));
        };
        if claim.resource_version < written {
            return Found::NotYet;
        }
        if !claim.annotated {
            return Found::Failed(format!("selectedNode annotation reset for PVC {:?}", claim.name.name));
        }
        if claim.selected_node.as_deref() != Some(self.node) {
            return Found::Failed(format!("provisioning failed for PVC {:?}", claim.name.name));
        }
        self.find_reached(claim, node)
    }

    fn out_of_reach(&self, volume: &PersistentVolume) -> Found {
        let (volume, node) = (&volume.name.name, self.node);
        Found::Failed(format!(
            "pv {volume:?} node affinity doesn't match node {node:?}: no matching NodeSelectorTerms"
        ))
    }
}

fn bound_or_not(claim: &PersistentVolumeClaim) -> Found {
    if is_fully_bound(claim) {
        Found::AllBound
    } else {
        Found::NotYet
    }
}
