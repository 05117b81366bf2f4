use super::attachments::Attachments;
use super::claim_uses::{ClaimUses, Through};
use super::disks::Disks;
use super::rows::Rows;
use super::{AttachableVolume, NodeIndex, Storage};
use crate::storage::{StorageObject, csi_volume_inline};
use crate::{PodVolumes, VolumeKind};

/// What pods on nodes use of volumes: disks that can't be shared, claims, and what CSI drivers attach.
#[derive(Debug, Clone, Default)]
pub(super) struct VolumeColumns {
    pub(super) disks: Disks,
    pub(super) claims: ClaimUses,
    pub(super) attachments: Attachments,
}

impl VolumeColumns {
    pub(super) fn add_pod(&mut self, row: NodeIndex, pod: &PodVolumes, storage: &Storage) {
        for volume in &pod.volumes {
            if let Some(claim) = pod.claim(volume) {
                let through = through(volume, pod);
                self.claims.add(row, claim, through, &mut self.attachments, storage);
                continue;
            }
            self.disks.add(row, volume);
            if let Some(volume) = moved_to_csi(volume) {
                let number = self.attachments.hold(&volume);
                self.attachments.add_uses(number, row, 1);
            }
        }
    }

    /// Nothing happens where there is no such use.
    pub(super) fn remove_pod(&mut self, row: NodeIndex, pod: &PodVolumes) {
        for volume in &pod.volumes {
            if let Some(claim) = pod.claim(volume) {
                let through = through(volume, pod);
                self.claims.remove(row, &claim, through, &mut self.attachments);
                continue;
            }
            self.disks.remove(row, volume);
            let number = moved_to_csi(volume).and_then(|volume| self.attachments.find(&volume));
            if let Some(number) = number.filter(|number| self.attachments.uses(*number, row) > 0) {
                self.attachments.remove_uses(number, row, 1);
                self.attachments.let_go(number);
            }
        }
    }

    /// An object is there as given, or gone, and `storage` knows it already. The rows that count differently for it.
    pub(super) fn storage_changed(
        &mut self,
        object: &StorageObject,
        is_there: bool,
        storage: &Storage,
        rows: &Rows,
    ) -> Vec<NodeIndex> {
        let name = object.name();
        let (claims, attachments) = (&mut self.claims, &mut self.attachments);
        match object {
            StorageObject::PersistentVolumeClaim(_) => claims.claim_changed(name, attachments, storage),
            StorageObject::PersistentVolume(_) => {
                let mut touched = claims.volume_changed(&name.name, attachments, storage);
                touched.extend(attachments.volume_changed(&name.name, storage, rows));
                touched
            }
            StorageObject::StorageClass(_) => claims.class_changed(&name.name, attachments, storage),
            StorageObject::VolumeAttachment(attachment) => attachments
                .set_attachment(attachment, is_there, storage, rows)
                .into_vec(),
            StorageObject::CsiNode(csi_node) => {
                let row = rows.index_of(&name.name);
                let csi_node = is_there.then_some(&**csi_node);
                row.filter(|row| attachments.set_csi_node(*row, csi_node))
                    .into_iter()
                    .collect()
            }
            StorageObject::CsiDriver(_) | StorageObject::CsiStorageCapacity(_) => Vec::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn is_without_pods(&self) -> bool {
        self.disks.is_empty() && self.claims.is_empty()
    }
}

fn through<'a>(volume: &VolumeKind, pod: &'a PodVolumes) -> Through<'a> {
    match volume {
        VolumeKind::Ephemeral { .. } => Through::Ephemeral(&pod.uid),
        _ => Through::Claim,
    }
}

/// What an in-line volume is attached as, if it can be.
fn moved_to_csi(volume: &VolumeKind) -> Option<AttachableVolume> {
    let volume = csi_volume_inline(volume).ok().flatten()?;
    Some(volume.into())
}
