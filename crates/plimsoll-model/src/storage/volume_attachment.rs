use compact_str::CompactString;

use crate::{ObjectName, ResourceVersion, Uid};

/// A `VolumeAttachment`: a volume that is, or is to be, attached to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// Its name; the namespace is empty.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// The CSI driver that attaches.
    pub attacher: CompactString,
    /// The node.
    pub node: CompactString,
    /// `spec.source.persistentVolumeName`; none for an in-line volume.
    pub volume: Option<CompactString>,
}
