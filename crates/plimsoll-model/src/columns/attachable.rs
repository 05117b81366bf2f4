use compact_str::CompactString;

use super::Storage;
use crate::ObjectName;
use crate::storage::{CsiVolume, InTreePlugin, PersistentVolume, PersistentVolumeClaim, csi_volume};

/// A volume as a CSI driver attaches it to a node. What is equal is attached once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttachableVolume {
    /// Name of the driver.
    pub driver: CompactString,
    /// Which of its volumes.
    pub handle: VolumeHandle,
}

/// Which of a driver's volumes is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VolumeHandle {
    /// The one that the driver gave this name.
    Named(CompactString),
    /// The one that is still to be made for this claim.
    OfClaim(ObjectName),
}

impl From<CsiVolume> for AttachableVolume {
    fn from(volume: CsiVolume) -> Self {
        Self {
            driver: volume.driver,
            handle: VolumeHandle::Named(volume.handle),
        }
    }
}

impl Storage {
    /// What a node attaches for a claim: its volume, or, as long as that is not there, one that its class's provisioner will
    /// make. None when no CSI driver attaches anything, or it can't be told. In-tree volumes have moved to CSI drivers on
    /// nodes of which these say something, and are not attached by them elsewhere.
    pub fn attachable_volume(&self, claim: &PersistentVolumeClaim, on_csi_node: bool) -> Option<AttachableVolume> {
        match self.bound_volume(claim) {
            Some(volume) if on_csi_node || InTreePlugin::of_source(&volume.source).is_none() => csi_volume(volume)
                .ok()
                .flatten()
                .filter(|volume| !volume.driver.is_empty() && !volume.handle.is_empty())
                .map(AttachableVolume::from),
            Some(_) => None,
            None => self.volume_to_be(claim, on_csi_node),
        }
    }

    /// The volume that a claim names, if it is there.
    pub(super) fn bound_volume(&self, claim: &PersistentVolumeClaim) -> Option<&PersistentVolume> {
        let named = Some(claim.volume.as_str()).filter(|name| !name.is_empty())?;
        self.volume(named).map(AsRef::as_ref)
    }

    fn volume_to_be(&self, claim: &PersistentVolumeClaim, on_csi_node: bool) -> Option<AttachableVolume> {
        let class = Some(claim.class.as_str()).filter(|class| !class.is_empty())?;
        let provisioner = &self.class(class)?.provisioner;
        let driver = match InTreePlugin::of_name(provisioner) {
            Some(plugin) => (on_csi_node && plugin.is_counted()).then(|| CompactString::const_new(plugin.driver()))?,
            None => provisioner.clone(),
        };
        (!driver.is_empty()).then(|| AttachableVolume {
            driver,
            handle: VolumeHandle::OfClaim(claim.name.clone()),
        })
    }
}
