use compact_str::CompactString;

use super::{AccessModes, VolumeMode};
use crate::{LabelSelector, ObjectName, ResourceVersion, Uid};

/// A `PersistentVolumeClaim`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistentVolumeClaim {
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Whether it is going.
    pub deleting: bool,
    /// UID of the controller in its owner references: the pod that a generic ephemeral volume's claim was made for.
    pub controller: Option<Uid>,
    /// Name of its storage class: the annotation `volume.beta.kubernetes.io/storage-class`, else `spec.storageClassName`; an
    /// absent one is empty.
    pub class: CompactString,
    /// `spec.volumeName`; empty while it has none.
    pub volume: CompactString,
    /// Whether it has any annotation at all.
    pub annotated: bool,
    /// Whether it has the annotation `pv.kubernetes.io/bind-completed`, whatever its value.
    pub bind_completed: bool,
    /// Annotation `volume.kubernetes.io/selected-node`, also an empty one.
    pub selected_node: Option<CompactString>,
    /// `spec.resources.requests.storage`, in bytes, rounded up.
    pub requested: Option<i64>,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode`.
    pub volume_mode: Option<VolumeMode>,
    /// Which volumes will do; an invalid selector is kept and matches nothing.
    pub selector: Option<LabelSelector>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<CompactString>,
    /// `status.phase`.
    pub phase: ClaimPhase,
}

/// `status.phase` of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClaimPhase {
    /// `Pending`, or anything that is not one of the others.
    #[default]
    Pending,
    /// `Bound`.
    Bound,
    /// `Lost`: its volume is gone.
    Lost,
}

/// Whom a volume is for: `spec.claimRef`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClaimReference {
    /// Namespace and name of the claim.
    pub name: ObjectName,
    /// Its identity; none when somebody has bound the volume beforehand by name alone.
    pub uid: Option<Uid>,
}
