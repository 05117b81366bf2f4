use std::cell::Cell;
use std::sync::Arc;

use plimsoll_framework::{Code, CycleContext, Status};
use plimsoll_model::columns::Columns;
use plimsoll_model::storage::{ClaimPhase, PersistentVolumeClaim, VolumeBindingMode};
use plimsoll_model::{ObjectName, Pod, VolumeKind};

use super::NAME;
use crate::volume_claims::no_claim;

/// What users read while a claim waits for a volume that has nothing to do with where the pod goes.
pub const UNBOUND_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// The claims of a pod, each once.
///
/// Differs from kube-scheduler, which takes a claim that a pod mounts twice for two, and gives it two volumes.
#[derive(Debug, Clone, Default)]
pub(super) struct PodClaims {
    /// Those that have their volume, in the pod's order.
    pub(super) bound: Vec<Arc<PersistentVolumeClaim>>,
    /// Those that get one once the pod has a node, in the pod's order.
    pub(super) delayed: Vec<Arc<PersistentVolumeClaim>>,
    /// Whether nodes have been judged by them. As in kube-scheduler, nothing is reserved or scored in a profile without the
    /// filter.
    pub(super) judged: Cell<bool>,
}

impl PodClaims {
    /// None if the pod has no claims; `Err` if it cannot be placed as they are.
    pub(super) fn of(cycle: CycleContext<'_>) -> Result<Option<Self>, Status> {
        let found = usable_claims(cycle.pod, cycle.columns);
        let found = found.map_err(|text| Status::new(Code::UnschedulableAndUnresolvable, NAME, text))?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut claims = Self::default();
        let mut unbound_immediate = false;
        for claim in found {
            if is_fully_bound(claim) {
                claims.bound.push(Arc::clone(claim));
            } else if waits_for_consumer(claim, cycle.columns).map_err(|text| Status::error(NAME, text))? {
                claims.delayed.push(Arc::clone(claim));
            } else {
                unbound_immediate = true;
            }
        }
        if unbound_immediate {
            let code = Code::UnschedulableAndUnresolvable;
            return Err(Status::new(code, NAME, UNBOUND_IMMEDIATE));
        }
        Ok(Some(claims))
    }
}

/// Names of the claims of a pod, and whether each was made for it alone.
pub(super) fn claim_names(pod: &Pod) -> impl Iterator<Item = (ObjectName, bool)> + '_ {
    let in_namespace = |name: &str| ObjectName::new(pod.name.namespace.clone(), name);
    pod.spec.volumes.iter().filter_map(move |volume| match volume {
        VolumeKind::PersistentVolumeClaim { claim } => Some((in_namespace(claim), false)),
        VolumeKind::Ephemeral { volume } => Some((in_namespace(&format!("{}-{volume}", pod.name.name)), true)),
        _ => None,
    })
}

/// Whether the claim has its volume, and the binding is complete on both sides.
pub(super) fn is_fully_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.volume.is_empty() && claim.bind_completed
}

/// The pod's claims, each once; or what is wrong with the first one that cannot be used.
fn usable_claims<'a>(pod: &Pod, columns: &'a Columns) -> Result<Vec<&'a Arc<PersistentVolumeClaim>>, String> {
    let mut claims: Vec<&Arc<PersistentVolumeClaim>> = Vec::new();
    for (name, ephemeral) in claim_names(pod) {
        let Some(claim) = columns.storage().claim(&name) else {
            return Err(missing(&name, ephemeral));
        };
        check(pod, claim, ephemeral)?;
        if !claims.iter().any(|known| known.name == name) {
            claims.push(claim);
        }
    }
    Ok(claims)
}

fn missing(name: &ObjectName, ephemeral: bool) -> String {
    let name = &name.name;
    if ephemeral {
        format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}")
    } else {
        no_claim(name)
    }
}

fn check(pod: &Pod, claim: &PersistentVolumeClaim, ephemeral: bool) -> Result<(), String> {
    let name = &claim.name.name;
    if claim.phase == ClaimPhase::Lost {
        let volume = &claim.volume;
        return Err(format!(
            "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
        ));
    }
    if claim.deleting {
        return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
    }
    if ephemeral && claim.controller.as_ref() != Some(&pod.uid) {
        let (claim, pod) = (&claim.name, &pod.name);
        return Err(format!("PVC {claim} was not created for pod {pod} (pod is not owner)"));
    }
    Ok(())
}

/// Whether an unbound claim gets its volume only once a pod that uses it has a node.
fn waits_for_consumer(claim: &PersistentVolumeClaim, columns: &Columns) -> Result<bool, String> {
    let Some(class) = columns.storage().class(&claim.class) else {
        return Ok(false);
    };
    let mode = class.binding_mode;
    let mode = mode.ok_or_else(|| format!("VolumeBindingMode not set for StorageClass {:?}", claim.class))?;
    Ok(mode == VolumeBindingMode::WaitForFirstConsumer && claim.volume.is_empty())
}
