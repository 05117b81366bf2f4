use compact_str::CompactString;
use plimsoll_model::{ObjectName, Pod, VolumeKind};

/// The claims that volumes of the pod name themselves, in the pod's order: not those made for ephemeral volumes.
pub(crate) fn claims_named_by(pod: &Pod) -> impl Iterator<Item = &CompactString> {
    pod.spec.volumes.iter().filter_map(|volume| match volume {
        VolumeKind::PersistentVolumeClaim { claim } => Some(claim),
        _ => None,
    })
}

/// Whether a volume of the pod names the claim itself.
pub(crate) fn names_claim(pod: &Pod, claim: &ObjectName) -> bool {
    pod.name.namespace == claim.namespace && claims_named_by(pod).any(|name| *name == claim.name)
}

/// What users read of a claim that is not there.
pub(crate) fn no_claim(name: &str) -> String {
    format!("persistentvolumeclaim {name:?} not found")
}
