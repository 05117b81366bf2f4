use std::fmt;
use std::sync::Arc;

use plimsoll_model::storage::StorageObject;
use plimsoll_model::{
    DecodeError, DisruptionBudget, Namespace, Node, NodeSharing, ObjectName, Pod, PodSharing, Raw, RawPolicy,
    ResourceVersion, WorkloadKind, WorkloadSelector, decode_csi_driver, decode_csi_node, decode_csi_storage_capacity,
    decode_disruption_budget, decode_namespace, decode_node, decode_persistent_volume, decode_persistent_volume_claim,
    decode_pod, decode_storage_class, decode_volume_attachment, decode_workload_selector,
};

/// A kind that can be watched: where it is, and how it is read.
pub trait WatchedKind: fmt::Debug + Send + Sync + 'static {
    /// What its objects are decoded into.
    type Object: fmt::Debug + Send + Sync + 'static;
    /// What its objects have alike.
    type Sharing: fmt::Debug + Default + Send + Sync + 'static;
    /// The plural, for logs.
    const NAME: &'static str;
    /// Path of the collection over all namespaces.
    const PATH: &'static str;
    /// Field selector of list and watch, percent-encoded.
    const FIELD_SELECTOR: Option<&'static str> = None;

    /// Reads one object, and keeps the whole of its JSON if `raw` wants that.
    fn decode(json: &[u8], raw: RawPolicy) -> Result<Self::Object, DecodeError>;

    /// Lets an object that was just read hold what others hold already.
    fn share(_: &mut Self::Object, _: &mut Self::Sharing) {}

    /// The part of a policy that is about this kind.
    fn raw(_: RawPolicy) -> RawPolicy {
        RawPolicy::NOTHING
    }

    /// Which object it is.
    fn name(object: &Self::Object) -> ObjectName;

    /// The version of its content.
    fn version(object: &Self::Object) -> ResourceVersion;
}

/// Pods that are not finished: one that ends is seen as deleted, as in kube-scheduler.
#[derive(Debug, Clone, Copy)]
pub struct Pods;

impl WatchedKind for Pods {
    type Object = Pod;
    type Sharing = PodSharing;
    const NAME: &'static str = "pods";
    const PATH: &'static str = "/api/v1/pods";
    const FIELD_SELECTOR: Option<&'static str> = Some("status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed");

    fn decode(json: &[u8], raw: RawPolicy) -> Result<Pod, DecodeError> {
        let mut pod = decode_pod(json)?;
        if raw.keeps(&pod) {
            pod.raw = Some(Raw::of_object(json)?);
        }
        Ok(pod)
    }

    fn share(pod: &mut Pod, sharing: &mut PodSharing) {
        sharing.share(pod);
    }

    fn raw(policy: RawPolicy) -> RawPolicy {
        policy.of_pods()
    }

    fn name(pod: &Pod) -> ObjectName {
        pod.name.clone()
    }

    fn version(pod: &Pod) -> ResourceVersion {
        pod.resource_version
    }
}

/// All nodes.
#[derive(Debug, Clone, Copy)]
pub struct Nodes;

impl WatchedKind for Nodes {
    type Object = Node;
    type Sharing = NodeSharing;
    const NAME: &'static str = "nodes";
    const PATH: &'static str = "/api/v1/nodes";

    fn decode(json: &[u8], raw: RawPolicy) -> Result<Node, DecodeError> {
        let mut node = decode_node(json)?;
        if raw.nodes {
            node.raw = Some(Raw::of_object(json)?);
        }
        Ok(node)
    }

    fn share(node: &mut Node, sharing: &mut NodeSharing) {
        sharing.share(node);
    }

    fn raw(policy: RawPolicy) -> RawPolicy {
        policy.of_nodes()
    }

    fn name(node: &Node) -> ObjectName {
        ObjectName::new("", node.name.clone())
    }

    fn version(node: &Node) -> ResourceVersion {
        node.resource_version
    }
}

/// All namespaces.
#[derive(Debug, Clone, Copy)]
pub struct Namespaces;

impl WatchedKind for Namespaces {
    type Object = Namespace;
    type Sharing = ();
    const NAME: &'static str = "namespaces";
    const PATH: &'static str = "/api/v1/namespaces";

    fn decode(json: &[u8], _: RawPolicy) -> Result<Namespace, DecodeError> {
        decode_namespace(json)
    }

    fn name(namespace: &Namespace) -> ObjectName {
        ObjectName::new("", namespace.name.clone())
    }

    fn version(namespace: &Namespace) -> ResourceVersion {
        namespace.resource_version
    }
}

/// All pod disruption budgets.
#[derive(Debug, Clone, Copy)]
pub struct DisruptionBudgets;

impl WatchedKind for DisruptionBudgets {
    type Object = DisruptionBudget;
    type Sharing = ();
    const NAME: &'static str = "poddisruptionbudgets";
    const PATH: &'static str = "/apis/policy/v1/poddisruptionbudgets";

    fn decode(json: &[u8], _: RawPolicy) -> Result<DisruptionBudget, DecodeError> {
        decode_disruption_budget(json)
    }

    fn name(budget: &DisruptionBudget) -> ObjectName {
        budget.name.clone()
    }

    fn version(budget: &DisruptionBudget) -> ResourceVersion {
        budget.resource_version
    }
}

/// Kinds of which only the selector is kept.
macro_rules! workloads {
    ($($(#[$doc:meta])* $kind:ident: $object:ident $name:literal $path:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $kind;

        impl WatchedKind for $kind {
            type Object = WorkloadSelector;
            type Sharing = ();
            const NAME: &'static str = $name;
            const PATH: &'static str = $path;

            fn decode(json: &[u8], _: RawPolicy) -> Result<WorkloadSelector, DecodeError> {
                decode_workload_selector(WorkloadKind::$object, json)
            }

            fn name(workload: &WorkloadSelector) -> ObjectName {
                workload.name.clone()
            }

            fn version(workload: &WorkloadSelector) -> ResourceVersion {
                workload.resource_version
            }
        }
    )*};
}

workloads! {
    /// All services.
    Services: Service "services" "/api/v1/services";
    /// All replication controllers.
    ReplicationControllers: ReplicationController "replicationcontrollers" "/api/v1/replicationcontrollers";
    /// All replica sets.
    ReplicaSets: ReplicaSet "replicasets" "/apis/apps/v1/replicasets";
    /// All stateful sets.
    StatefulSets: StatefulSet "statefulsets" "/apis/apps/v1/statefulsets";
}

/// Kinds of storage.
macro_rules! storage {
    ($($(#[$doc:meta])* $kind:ident: $name:literal $path:literal $decode:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $kind;

        impl WatchedKind for $kind {
            type Object = StorageObject;
            type Sharing = ();
            const NAME: &'static str = $name;
            const PATH: &'static str = $path;

            fn decode(json: &[u8], _: RawPolicy) -> Result<StorageObject, DecodeError> {
                $decode(json).map(|object| Arc::new(object).into())
            }

            fn name(object: &StorageObject) -> ObjectName {
                object.name().clone()
            }

            fn version(object: &StorageObject) -> ResourceVersion {
                object.resource_version()
            }
        }
    )*};
}

storage! {
    /// All storage classes.
    StorageClasses: "storageclasses" "/apis/storage.k8s.io/v1/storageclasses" decode_storage_class;
    /// All CSI drivers.
    CsiDrivers: "csidrivers" "/apis/storage.k8s.io/v1/csidrivers" decode_csi_driver;
    /// What CSI drivers say of all nodes.
    CsiNodes: "csinodes" "/apis/storage.k8s.io/v1/csinodes" decode_csi_node;
    /// What room CSI drivers have where.
    CsiStorageCapacities: "csistoragecapacities" "/apis/storage.k8s.io/v1/csistoragecapacities" decode_csi_storage_capacity;
    /// All volume attachments.
    VolumeAttachments: "volumeattachments" "/apis/storage.k8s.io/v1/volumeattachments" decode_volume_attachment;
    /// All persistent volumes.
    PersistentVolumes: "persistentvolumes" "/api/v1/persistentvolumes" decode_persistent_volume;
    /// All claims of persistent volumes.
    PersistentVolumeClaims: "persistentvolumeclaims" "/api/v1/persistentvolumeclaims" decode_persistent_volume_claim;
}
