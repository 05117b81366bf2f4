use compact_str::CompactString;

use crate::{ObjectName, ResourceVersion, Uid};

/// A `StorageClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageClass {
    /// Its name; the namespace is empty.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Who makes volumes; empty or `kubernetes.io/no-provisioner` when nobody does.
    pub provisioner: CompactString,
    /// When a claim gets its volume. The API server fills an absent one in.
    pub binding_mode: Option<VolumeBindingMode>,
    /// Where volumes may be made: one of the terms must match the node, if there are any.
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

/// When a claim gets its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VolumeBindingMode {
    /// At once.
    Immediate,
    /// When a pod that uses it gets a node.
    WaitForFirstConsumer,
}

/// `matchLabelExpressions` of one allowed topology: the node has for each key one of the values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TopologySelectorTerm {
    /// Keys and the values of which one must be the node's.
    pub expressions: Vec<(CompactString, Vec<CompactString>)>,
}
