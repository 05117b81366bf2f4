//! What the API server keeps of storage: volumes, claims, classes, and what CSI drivers say of themselves, of nodes and of the
//! room they have. Only what kube-scheduler's volume plugins read is kept.

use std::sync::Arc;

mod claim;
mod csi;
mod csi_translation;
mod migrated_volume;
mod reservation;
mod storage_class;
mod topology;
mod volume;
mod volume_attachment;

pub use claim::{ClaimPhase, ClaimReference, PersistentVolumeClaim};
pub use csi::{CsiDriver, CsiNode, CsiNodeDriver, CsiStorageCapacity};
pub use csi_translation::{
    CsiVolume, InTreePlugin, TranslationError, csi_volume, csi_volume_inline, translated_node_affinity,
};
pub use migrated_volume::MigratedVolume;
pub use reservation::{VolumeReservation, VolumeWrite, VolumeWritten};
pub use storage_class::{StorageClass, TopologySelectorTerm, VolumeBindingMode};
pub use topology::Topology;
pub use volume::{AccessModes, PersistentVolume, VolumeMode, VolumePhase, VolumeSource};
pub use volume_attachment::VolumeAttachment;

use crate::{ObjectName, ResourceVersion, Uid};

/// The kinds of storage that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StorageKind {
    /// `StorageClass` of group `storage.k8s.io`.
    StorageClass,
    /// `CSIDriver`.
    CsiDriver,
    /// `CSINode`.
    CsiNode,
    /// `CSIStorageCapacity`.
    CsiStorageCapacity,
    /// `VolumeAttachment`.
    VolumeAttachment,
    /// `PersistentVolume` of the core group.
    PersistentVolume,
    /// `PersistentVolumeClaim` of the core group.
    PersistentVolumeClaim,
}

impl StorageKind {
    /// Every kind, in the order in which a term is told what there is.
    pub const ALL: [Self; 7] = [
        Self::StorageClass,
        Self::CsiDriver,
        Self::CsiNode,
        Self::CsiStorageCapacity,
        Self::VolumeAttachment,
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
    ];

    /// The kind as objects name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StorageClass => "StorageClass",
            Self::CsiDriver => "CSIDriver",
            Self::CsiNode => "CSINode",
            Self::CsiStorageCapacity => "CSIStorageCapacity",
            Self::VolumeAttachment => "VolumeAttachment",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
        }
    }
}

/// An object of one of the kinds of storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageObject {
    /// A class of volumes.
    StorageClass(Arc<StorageClass>),
    /// A CSI driver.
    CsiDriver(Arc<CsiDriver>),
    /// What CSI drivers say of a node.
    CsiNode(Arc<CsiNode>),
    /// What room a CSI driver has where.
    CsiStorageCapacity(Arc<CsiStorageCapacity>),
    /// A volume that is, or is to be, attached to a node.
    VolumeAttachment(Arc<VolumeAttachment>),
    /// A volume.
    PersistentVolume(Arc<PersistentVolume>),
    /// A claim of a volume.
    PersistentVolumeClaim(Arc<PersistentVolumeClaim>),
}

macro_rules! of_each_kind {
    ($object:expr, $each:ident => $what:expr) => {
        match $object {
            StorageObject::StorageClass($each) => $what,
            StorageObject::CsiDriver($each) => $what,
            StorageObject::CsiNode($each) => $what,
            StorageObject::CsiStorageCapacity($each) => $what,
            StorageObject::VolumeAttachment($each) => $what,
            StorageObject::PersistentVolume($each) => $what,
            StorageObject::PersistentVolumeClaim($each) => $what,
        }
    };
}

/// Whether two objects are equal, whatever their versions.
macro_rules! same {
    ($own:expr, $other:expr) => {{
        let mut own = (**$own).clone();
        own.resource_version = $other.resource_version;
        own == **$other
    }};
}

impl StorageObject {
    /// Which kind it is of.
    pub fn kind(&self) -> StorageKind {
        match self {
            Self::StorageClass(_) => StorageKind::StorageClass,
            Self::CsiDriver(_) => StorageKind::CsiDriver,
            Self::CsiNode(_) => StorageKind::CsiNode,
            Self::CsiStorageCapacity(_) => StorageKind::CsiStorageCapacity,
            Self::VolumeAttachment(_) => StorageKind::VolumeAttachment,
            Self::PersistentVolume(_) => StorageKind::PersistentVolume,
            Self::PersistentVolumeClaim(_) => StorageKind::PersistentVolumeClaim,
        }
    }

    /// Namespace and name; kinds without a namespace have an empty one.
    pub fn name(&self) -> &ObjectName {
        of_each_kind!(self, object => &object.name)
    }

    /// Its identity.
    pub fn uid(&self) -> &Uid {
        of_each_kind!(self, object => &object.uid)
    }

    /// Version of this content.
    pub fn resource_version(&self) -> ResourceVersion {
        of_each_kind!(self, object => object.resource_version)
    }

    /// Whether nothing that is kept differs from another object of the same kind but the version, and the version is for nobody:
    /// volumes and claims are written with theirs, so that an old one would be refused.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::StorageClass(own), Self::StorageClass(other)) => same!(own, other),
            (Self::CsiDriver(own), Self::CsiDriver(other)) => same!(own, other),
            (Self::CsiNode(own), Self::CsiNode(other)) => same!(own, other),
            (Self::CsiStorageCapacity(own), Self::CsiStorageCapacity(other)) => same!(own, other),
            (Self::VolumeAttachment(own), Self::VolumeAttachment(other)) => same!(own, other),
            _ => self == other,
        }
    }
}

macro_rules! into_storage_object {
    ($($kind:ident),*) => {$(
        impl From<Arc<$kind>> for StorageObject {
            fn from(object: Arc<$kind>) -> Self {
                Self::$kind(object)
            }
        }
    )*};
}

into_storage_object!(
    StorageClass,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    VolumeAttachment,
    PersistentVolume,
    PersistentVolumeClaim
);
