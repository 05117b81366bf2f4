use std::fmt;
use std::ops::BitOr;

use plimsoll_model::WorkloadKind;
use plimsoll_model::storage::StorageKind;

/// The kind of object that changed, as queue metrics and plugins name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventResource {
    /// A pod that has a node.
    AssignedPod,
    /// A pod that waits for a node.
    UnschedulablePod,
    /// Any pod; only registrations use it.
    Pod,
    /// A node.
    Node,
    /// A volume.
    PersistentVolume,
    /// A claim of a volume.
    PersistentVolumeClaim,
    /// What CSI drivers say of a node.
    CsiNode,
    /// A CSI driver.
    CsiDriver,
    /// A volume attached to a node.
    VolumeAttachment,
    /// What room a CSI driver has where.
    CsiStorageCapacity,
    /// A class of volumes.
    StorageClass,
    /// A claim of devices.
    ResourceClaim,
    /// Devices of a node or pool.
    ResourceSlice,
    /// A class of devices.
    DeviceClass,
    /// A scheduling group.
    PodGroup,
    /// A namespace; kube-scheduler has no such event.
    Namespace,
    /// What selects the pods of a workload; kube-scheduler has no such event.
    Workload(WorkloadKind),
    /// How many pods of an application may be disrupted; kube-scheduler has no such event.
    PodDisruptionBudget,
    /// Anything.
    Wildcard,
}

impl From<StorageKind> for EventResource {
    fn from(kind: StorageKind) -> Self {
        match kind {
            StorageKind::StorageClass => Self::StorageClass,
            StorageKind::CsiDriver => Self::CsiDriver,
            StorageKind::CsiNode => Self::CsiNode,
            StorageKind::CsiStorageCapacity => Self::CsiStorageCapacity,
            StorageKind::VolumeAttachment => Self::VolumeAttachment,
            StorageKind::PersistentVolume => Self::PersistentVolume,
            StorageKind::PersistentVolumeClaim => Self::PersistentVolumeClaim,
        }
    }
}

/// What happened to it: a set of kube-scheduler's action bits, whose numeric order matters when matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Action(u32);

impl Action {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// Created, or first seen.
    pub const ADD: Self = Self(1);
    /// Gone.
    pub const DELETE: Self = Self(1 << 1);
    /// Node allocatable changed.
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(1 << 2);
    /// Node labels changed.
    pub const UPDATE_NODE_LABEL: Self = Self(1 << 3);
    /// Node taints changed, or the node became schedulable.
    pub const UPDATE_NODE_TAINT: Self = Self(1 << 4);
    /// A node condition changed its status.
    pub const UPDATE_NODE_CONDITION: Self = Self(1 << 5);
    /// Node annotations changed.
    pub const UPDATE_NODE_ANNOTATION: Self = Self(1 << 6);
    /// Declared node features changed.
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(1 << 7);
    /// Pod labels changed.
    pub const UPDATE_POD_LABEL: Self = Self(1 << 8);
    /// A pod asks for less.
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(1 << 9);
    /// A pod has another number of tolerations.
    pub const UPDATE_POD_TOLERATION: Self = Self(1 << 10);
    /// A pod lost its last scheduling gate.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(1 << 11);
    /// A pod's generated resource claims changed.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(1 << 12);
    /// Every update bit.
    pub const UPDATE: Self = Self((1 << 13) - (1 << 2));
    /// Every bit.
    pub const ALL: Self = Self((1 << 13) - 1);

    /// Whether the two sets share a bit.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether this set has every bit of the other.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn name(self) -> &'static str {
        match self {
            Self::ADD => "Add",
            Self::DELETE => "Delete",
            Self::UPDATE_NODE_ALLOCATABLE => "UpdateNodeAllocatable",
            Self::UPDATE_NODE_LABEL => "UpdateNodeLabel",
            Self::UPDATE_NODE_TAINT => "UpdateNodeTaint",
            Self::UPDATE_NODE_CONDITION => "UpdateNodeCondition",
            Self::UPDATE_NODE_ANNOTATION => "UpdateNodeAnnotation",
            Self::UPDATE_NODE_DECLARED_FEATURE => "UpdateNodeDeclaredFeature",
            Self::UPDATE_POD_LABEL => "UpdatePodLabel",
            Self::UPDATE_POD_SCALE_DOWN => "UpdatePodScaleDown",
            Self::UPDATE_POD_TOLERATION => "UpdatePodToleration",
            Self::UPDATE_POD_SCHEDULING_GATES_ELIMINATED => "UpdatePodSchedulingGatesEliminated",
            Self::UPDATE_POD_GENERATED_RESOURCE_CLAIM => "UpdatePodGeneratedResourceClaim",
            Self::ALL => "All",
            _ => "Update",
        }
    }
}

impl BitOr for Action {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Something that happened in the cluster and might let a waiting pod fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterEvent {
    /// What changed.
    pub resource: EventResource,
    /// How.
    pub action: Action,
    /// Replaces the derived metric label, for events the scheduler makes itself.
    pub custom_label: Option<&'static str>,
}

impl ClusterEvent {
    /// An event with the derived label.
    pub const fn new(resource: EventResource, action: Action) -> Self {
        Self {
            resource,
            action,
            custom_label: None,
        }
    }

    /// A wildcard event of the scheduler's own with its label, for example `ForceActivate`.
    pub const fn labelled(label: &'static str) -> Self {
        Self {
            resource: EventResource::Wildcard,
            action: Action::ALL,
            custom_label: Some(label),
        }
    }

    /// Whether a plugin that registered this hears of `incoming`. As in kube-scheduler, a generic `Update` is not heard
    /// by who registered only some updates, and a wildcard only by who registered the wildcard.
    pub fn matches(self, incoming: Self) -> bool {
        if self.is_wildcard() {
            return true;
        }
        let same = match self.resource {
            EventResource::Wildcard => true,
            EventResource::Pod => matches!(
                incoming.resource,
                EventResource::Pod | EventResource::AssignedPod | EventResource::UnschedulablePod
            ),
            resource => resource == incoming.resource,
        };
        same && self.action.intersects(incoming.action) && incoming.action.0 <= self.action.0
    }

    /// Whether this is about such objects and has all of these bits.
    pub fn covers(self, resource: EventResource, action: Action) -> bool {
        self.resource == resource && self.action.contains(action)
    }

    /// Whether this is the event that concerns every waiting pod.
    pub fn is_wildcard(self) -> bool {
        self.resource == EventResource::Wildcard && self.action == Action::ALL
    }
}

impl fmt::Display for ClusterEvent {
    /// The label of metrics and logs, for example `NodeUpdateNodeTaint`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = self.custom_label {
            return f.write_str(label);
        }
        let resource = match self.resource {
            EventResource::AssignedPod => "AssignedPod",
            EventResource::UnschedulablePod => "UnschedulablePod",
            EventResource::Pod => "Pod",
            EventResource::Node => "Node",
            EventResource::PersistentVolume => "PersistentVolume",
            EventResource::PersistentVolumeClaim => "PersistentVolumeClaim",
            EventResource::CsiNode => "storage.k8s.io/CSINode",
            EventResource::CsiDriver => "storage.k8s.io/CSIDriver",
            EventResource::VolumeAttachment => "storage.k8s.io/VolumeAttachment",
            EventResource::CsiStorageCapacity => "storage.k8s.io/CSIStorageCapacity",
            EventResource::StorageClass => "storage.k8s.io/StorageClass",
            EventResource::ResourceClaim => "resource.k8s.io/ResourceClaim",
            EventResource::ResourceSlice => "resource.k8s.io/ResourceSlice",
            EventResource::DeviceClass => "resource.k8s.io/DeviceClass",
            EventResource::PodGroup => "scheduling.k8s.io/PodGroup",
            EventResource::Namespace => "Namespace",
            EventResource::Workload(WorkloadKind::Service) => "Service",
            EventResource::Workload(WorkloadKind::ReplicationController) => "ReplicationController",
            EventResource::Workload(WorkloadKind::ReplicaSet) => "apps/ReplicaSet",
            EventResource::Workload(WorkloadKind::StatefulSet) => "apps/StatefulSet",
            EventResource::PodDisruptionBudget => "policy/PodDisruptionBudget",
            EventResource::Wildcard => "*",
        };
        write!(f, "{resource}{}", self.action.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_hears_what_kube_scheduler_lets_it_hear() {
        let on = ClusterEvent::new;
        let some = Action::UPDATE_NODE_LABEL | Action::UPDATE_NODE_TAINT;
        let cases = [
            (
                on(EventResource::Node, Action::ADD | some),
                on(EventResource::Node, Action::ADD),
                true,
            ),
            (
                on(EventResource::Node, some),
                on(EventResource::Node, Action::UPDATE_NODE_LABEL),
                true,
            ),
            (
                on(EventResource::Node, some),
                on(EventResource::Node, Action::UPDATE),
                false,
            ),
            (
                on(EventResource::Node, Action::UPDATE),
                on(EventResource::Node, Action::UPDATE),
                true,
            ),
            (
                on(EventResource::Node, Action::ADD),
                on(EventResource::Node, Action::DELETE),
                false,
            ),
            (
                on(EventResource::Pod, Action::ADD),
                on(EventResource::AssignedPod, Action::ADD),
                true,
            ),
            (
                on(EventResource::Pod, Action::ADD),
                on(EventResource::UnschedulablePod, Action::ADD),
                true,
            ),
            (
                on(EventResource::AssignedPod, Action::ADD),
                on(EventResource::UnschedulablePod, Action::ADD),
                false,
            ),
            (
                on(EventResource::Wildcard, Action::ADD),
                on(EventResource::Node, Action::ADD),
                true,
            ),
            (
                on(EventResource::Wildcard, Action::ADD),
                ClusterEvent::labelled("x"),
                false,
            ),
            (ClusterEvent::labelled("x"), ClusterEvent::labelled("y"), true),
            (on(EventResource::Node, Action::ALL), ClusterEvent::labelled("y"), false),
        ];
        for (registered, incoming, heard) in cases {
            assert_eq!(registered.matches(incoming), heard, "{registered:?} {incoming:?}");
        }
    }

    #[test]
    fn labels_are_those_of_kube_scheduler_and_made_alike_where_it_has_none() {
        let cases = [
            (ClusterEvent::new(EventResource::Node, Action::ADD), "NodeAdd"),
            (
                ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_TAINT),
                "NodeUpdateNodeTaint",
            ),
            (
                ClusterEvent::new(EventResource::AssignedPod, Action::DELETE),
                "AssignedPodDelete",
            ),
            (
                ClusterEvent::new(EventResource::UnschedulablePod, Action::UPDATE),
                "UnschedulablePodUpdate",
            ),
            (ClusterEvent::labelled("UnschedulableTimeout"), "UnschedulableTimeout"),
            (
                ClusterEvent::new(EventResource::Workload(WorkloadKind::ReplicaSet), Action::UPDATE),
                "apps/ReplicaSetUpdate",
            ),
            (
                ClusterEvent::new(EventResource::PodDisruptionBudget, Action::UPDATE),
                "policy/PodDisruptionBudgetUpdate",
            ),
        ];
        for (event, label) in cases {
            assert_eq!(event.to_string(), label);
        }
    }
}
