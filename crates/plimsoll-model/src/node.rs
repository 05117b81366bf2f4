use compact_str::CompactString;

use crate::{Amounts, Labels, Raw, ResourceVersion, Shared, Taint, Uid};

/// A node as the scheduler sees it.
#[derive(Debug, Clone, Eq)]
pub struct Node {
    /// Its name.
    pub name: CompactString,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Its labels.
    pub labels: Labels,
    /// Hash of all annotations, independent of their order; says only whether they changed.
    pub annotations_hash: u64,
    /// Controllers whose pods would rather be elsewhere, by an annotation of old.
    pub avoided_controllers: Vec<AvoidedController>,
    /// What its operator wants.
    pub spec: NodeSpec,
    /// What it reports.
    pub status: NodeStatus,
    /// The whole of it, where somebody needs that. It takes no part in equality.
    pub raw: Option<Raw>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            name,
            uid,
            resource_version,
            labels,
            annotations_hash,
            avoided_controllers,
            spec,
            status,
            raw: _,
        } = self;
        *resource_version == other.resource_version
            && *uid == other.uid
            && *name == other.name
            && *labels == other.labels
            && *annotations_hash == other.annotations_hash
            && *avoided_controllers == other.avoided_controllers
            && *spec == other.spec
            && *status == other.status
    }
}

/// An entry of a node's annotation `scheduler.alpha.kubernetes.io/preferAvoidPods`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AvoidedController {
    /// Kind of the controller.
    pub kind: CompactString,
    /// Its identity.
    pub uid: CompactString,
}

/// What the operator of a node wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeSpec {
    /// Cordoned.
    pub unschedulable: bool,
    /// Marks that repel pods, in their order.
    pub taints: Vec<Taint>,
}

/// What a node reports of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeStatus {
    /// What pods may use.
    pub allocatable: Allocatable,
    /// Images present.
    pub images: Vec<NodeImage>,
    /// Conditions by type.
    pub conditions: Vec<NodeCondition>,
    /// Features that the kubelet declares.
    pub declared_features: Vec<CompactString>,
}

impl NodeStatus {
    /// The status (`True`, `False` or `Unknown`) of a condition.
    pub fn condition(&self, kind: &str) -> Option<&str> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
            .map(|condition| condition.status.as_str())
    }
}

/// What pods may use of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allocatable {
    /// Amounts of resources.
    pub amounts: Amounts,
    /// How many pods may be there.
    pub pods: i64,
}

/// A condition of a node, without its times and texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCondition {
    /// Its type.
    pub kind: CompactString,
    /// `True`, `False` or `Unknown`.
    pub status: CompactString,
}

/// An image present on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeImage {
    /// The names it is known by.
    pub names: Shared<Vec<CompactString>>,
    /// Its size.
    pub size_bytes: i64,
}
