use plimsoll_model::columns::{AttachableVolume, Storage};
use plimsoll_model::storage::{TranslationError, csi_volume_inline};
use plimsoll_model::{InTreeVolume, ObjectName, Pod, VolumeKind};

use crate::volume_claims::no_claim;

/// What a pod wants attached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// These, each once; those of one driver beside each other, drivers in the order in which the pod has them.
    Volumes(Vec<AttachableVolume>),
    /// That can't be told.
    Trouble(Trouble),
}

/// Why it can't be told what a pod wants attached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A claim is not there: what users read.
    NoClaim(String),
    /// The attempt fails with this text.
    Failure(String),
}

impl Wanted {
    /// Of a pod on nodes of which CSI drivers say something, or on others.
    pub(super) fn of(pod: &Pod, storage: &Storage, on_csi_node: bool) -> Self {
        let mut wanted: Vec<AttachableVolume> = Vec::new();
        for volume in &pod.spec.volumes {
            match attachable(volume, pod, storage, on_csi_node) {
                Ok(Some(volume)) if !wanted.contains(&volume) => wanted.push(volume),
                Ok(_) => {}
                Err(trouble) => return Self::Trouble(trouble),
            }
        }
        let order: Vec<_> = wanted.iter().map(|volume| volume.driver.clone()).collect();
        wanted.sort_by_key(|volume| order.iter().position(|driver| *driver == volume.driver));
        Self::Volumes(wanted)
    }
}

fn attachable(
    volume: &VolumeKind,
    pod: &Pod,
    storage: &Storage,
    on_csi_node: bool,
) -> Result<Option<AttachableVolume>, Trouble> {
    let Some(name) = volume.claim_name(&pod.name.name) else {
        return if on_csi_node { inline(volume) } else { Ok(None) };
    };
    if name.is_empty() {
        return Err(Trouble::Failure("PersistentVolumeClaim had no name".to_owned()));
    }
    let namespace = &pod.name.namespace;
    let Some(claim) = storage.claim(&ObjectName::new(namespace.clone(), name.clone())) else {
        let text = format!("looking up PVC {namespace}/{name}: {}", no_claim(&name));
        return Err(Trouble::NoClaim(text));
    };
    if matches!(volume, VolumeKind::Ephemeral { .. }) && claim.controller.as_ref() != Some(&pod.uid) {
        let text = format!(
            "PVC {namespace}/{name} was not created for pod {namespace}/{} (pod is not owner)",
            pod.name.name
        );
        return Err(Trouble::Failure(text));
    }
    Ok(storage.attachable_volume(claim, on_csi_node))
}

fn inline(volume: &VolumeKind) -> Result<Option<AttachableVolume>, Trouble> {
    match csi_volume_inline(volume) {
        Ok(volume) => Ok(volume.map(AttachableVolume::from)),
        Err(error) => Err(Trouble::Failure(not_translated(volume, &error))),
    }
}

/// What is said of an in-line volume that no CSI driver can take over.
pub(super) fn not_translated(volume: &VolumeKind, error: &TranslationError) -> String {
    let name = match volume {
        VolumeKind::AwsElasticBlockStore { volume, .. }
        | VolumeKind::InTree(InTreeVolume::AzureDisk { volume, .. }) => volume.as_str(),
        // No others fail.
        _ => "",
    };
    format!("converting volume({name}) from inline to csi: {error}")
}
