use std::ops::BitOr;
use std::sync::Arc;

use compact_str::CompactString;

use super::ClaimReference;
use crate::{Labels, NodeSelectorTerm, ObjectName, ResourceVersion, Uid};

/// A `PersistentVolume`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistentVolume {
    /// Its name; the namespace is empty.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Its labels: zones and regions among them.
    pub labels: Labels,
    /// Whether it is going.
    pub deleting: bool,
    /// Whether it has the annotation `pv.kubernetes.io/bound-by-controller`, whatever its value.
    pub bound_by_controller: bool,
    /// Name of its storage class: the annotation `volume.beta.kubernetes.io/storage-class`, else `spec.storageClassName`; an
    /// absent one is empty.
    pub class: CompactString,
    /// `spec.capacity.storage`, in bytes, rounded up.
    pub capacity: Option<i64>,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode`.
    pub volume_mode: Option<VolumeMode>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<CompactString>,
    /// Whom it is for.
    pub claim: Option<ClaimReference>,
    /// `spec.nodeAffinity.required`: one of the terms must match the node. An empty list matches none.
    pub node_affinity: Option<Arc<[NodeSelectorTerm]>>,
    /// What it is made of.
    pub source: VolumeSource,
    /// `status.phase`.
    pub phase: VolumePhase,
}

/// `status.phase` of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VolumePhase {
    /// `Pending`, or anything that is not one of the others.
    #[default]
    Pending,
    /// `Available`.
    Available,
    /// `Bound`.
    Bound,
    /// `Released`: its claim is gone.
    Released,
    /// `Failed`.
    Failed,
}

/// Whether a volume is a file system or a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VolumeMode {
    /// `Filesystem`; what an absent one means.
    #[default]
    Filesystem,
    /// `Block`.
    Block,
}

/// What a volume is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VolumeSource {
    /// By a CSI driver.
    Csi {
        /// Name of the driver.
        driver: CompactString,
        /// The driver's own name of the volume.
        handle: CompactString,
    },
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// Name of the disk.
        pd_name: CompactString,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// Identity of the disk, also as `aws://<zone>/<id>`.
        volume_id: CompactString,
    },
    /// `azureDisk`.
    AzureDisk {
        /// URI of the disk.
        disk_uri: CompactString,
        /// `Managed`, or a kind that no CSI driver knows; the API server fills an absent one in.
        kind: Option<CompactString>,
    },
    /// `azureFile`.
    AzureFile {
        /// Name of the share.
        share_name: CompactString,
        /// Name of the secret.
        secret_name: CompactString,
        /// Namespace of the secret, if given.
        secret_namespace: Option<CompactString>,
    },
    /// `cinder`.
    Cinder {
        /// Identity of the disk.
        volume_id: CompactString,
    },
    /// `portworxVolume`.
    Portworx {
        /// Identity of the volume.
        volume_id: CompactString,
    },
    /// `vsphereVolume`.
    Vsphere {
        /// Path of the disk.
        volume_path: CompactString,
    },
    /// Something that no driver counts.
    Other,
}

/// How a volume may be mounted: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AccessModes(u8);

impl AccessModes {
    /// None.
    pub const NONE: Self = Self(0);
    /// `ReadWriteOnce`.
    pub const READ_WRITE_ONCE: Self = Self(1);
    /// `ReadOnlyMany`.
    pub const READ_ONLY_MANY: Self = Self(1 << 1);
    /// `ReadWriteMany`.
    pub const READ_WRITE_MANY: Self = Self(1 << 2);
    /// `ReadWriteOncePod`.
    pub const READ_WRITE_ONCE_POD: Self = Self(1 << 3);
    /// Something else; the API server lets none through.
    pub const UNKNOWN: Self = Self(1 << 4);

    /// The mode of this name.
    pub fn of_name(name: &str) -> Self {
        match name {
            "ReadWriteOnce" => Self::READ_WRITE_ONCE,
            "ReadOnlyMany" => Self::READ_ONLY_MANY,
            "ReadWriteMany" => Self::READ_WRITE_MANY,
            "ReadWriteOncePod" => Self::READ_WRITE_ONCE_POD,
            _ => Self::UNKNOWN,
        }
    }

    /// Whether this set has every mode of the other.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for AccessModes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
