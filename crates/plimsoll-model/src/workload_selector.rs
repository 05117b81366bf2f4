use std::fmt;

use crate::{LabelSelector, ObjectName, ResourceVersion, Uid};

/// Kinds of objects that select the pods of one workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// A service of the core group.
    Service,
    /// A replication controller of the core group.
    ReplicationController,
    /// A replica set of group `apps`.
    ReplicaSet,
    /// A stateful set of group `apps`.
    StatefulSet,
}

impl WorkloadKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::Service,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::StatefulSet,
    ];

    /// The kind as objects name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::ReplicationController => "ReplicationController",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// Group and version in which a pod's owner reference names the kind, as kube-scheduler knows it; services own no
    /// pods.
    pub fn owner_api_version(self) -> Option<&'static str> {
        match self {
            Self::Service => None,
            Self::ReplicationController => Some("v1"),
            Self::ReplicaSet | Self::StatefulSet => Some("apps/v1"),
        }
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which pods belong to one workload; all that is kept of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadSelector {
    /// Kind of the object.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// The pods it selects. A service or replication controller that names no label selects nothing and has none here.
    pub selector: Option<LabelSelector>,
}
