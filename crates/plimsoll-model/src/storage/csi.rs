use compact_str::CompactString;

use crate::{LabelSelector, ObjectName, ResourceVersion, Uid};

/// A `CSIDriver`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiDriver {
    /// Its name; the namespace is empty.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// `spec.storageCapacity`: it tells what room it has where.
    pub storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`: pods that use it go to nodes that have it only.
    pub prevents_scheduling_if_missing: bool,
}

/// A `CSINode`: what CSI drivers say of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiNode {
    /// The node's name; the namespace is empty.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// In-tree plugins that have moved to CSI there: the annotation `storage.alpha.kubernetes.io/migrated-plugins`, split at
    /// commas. None when the annotation is absent.
    pub migrated_plugins: Vec<CompactString>,
    /// The drivers there, in the object's order.
    pub drivers: Vec<CsiNodeDriver>,
}

/// A CSI driver on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiNodeDriver {
    /// Its name.
    pub name: CompactString,
    /// `allocatable.count`: how many volumes it can attach; none when it does not say.
    pub limit: Option<i32>,
}

/// A `CSIStorageCapacity`: what room a driver has for volumes of a class in one part of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiStorageCapacity {
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Name of the storage class.
    pub class: CompactString,
    /// The nodes that reach it; without one none does, an empty one matches all.
    pub node_topology: Option<LabelSelector>,
    /// Room in all, in bytes, rounded up.
    pub capacity: Option<i64>,
    /// The largest volume that can be made, in bytes, rounded up.
    pub maximum_volume_size: Option<i64>,
}
