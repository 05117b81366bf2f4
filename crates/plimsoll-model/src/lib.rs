//! Pods and nodes as the scheduler sees them.
//!
//! Objects are decoded once, keep only what scheduling reads, never change afterwards and are shared as `Arc`s.
//! [`columns::Columns`] is the snapshot that one scheduling cycle works on: a struct of arrays over stable node indices.
//! Nothing here does I/O, reads a clock or draws random numbers.

pub mod columns;
pub mod guard;
pub mod storage;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

mod affinity;
mod change;
mod decode;
mod disruption_budget;
mod footprint;
mod host_port;
mod image;
mod labels;
mod limits;
mod moment;
mod namespace;
mod node;
mod pod;
mod pod_class;
mod pod_pattern;
mod pod_volumes;
mod quantity;
mod raw;
mod requests;
mod resource_list;
mod resource_version;
mod selector;
mod shared;
mod sharing;
mod spread;
mod taint;
mod timestamp;
mod trace_parent;
mod uid;
mod volume;
mod workload_selector;

pub use affinity::{Affinity, NodeAffinity, PodAffinity, PodAffinityTerm, PreferredTerm, WeightedPodAffinityTerm};
pub use change::{Change, Delta, Seq};
pub use decode::{
    DecodeError, ObjectMetaHead, decode_csi_driver, decode_csi_node, decode_csi_storage_capacity,
    decode_disruption_budget, decode_metadata, decode_namespace, decode_node, decode_persistent_volume,
    decode_persistent_volume_claim, decode_pod, decode_storage_class, decode_volume_attachment,
    decode_workload_selector,
};
pub use disruption_budget::DisruptionBudget;
pub use footprint::{Footprint, LazyFootprint};
pub use host_port::{HostPort, Protocol};
pub use image::normalised_image_name;
pub use labels::{Labels, is_label_key, is_label_value, label_key_faults, label_value_faults};
pub use limits::requested_resources;
pub use moment::Moment;
pub use namespace::Namespace;
pub use node::{Allocatable, AvoidedController, Node, NodeCondition, NodeImage, NodeSpec, NodeStatus};
pub use pod::{
    Container, ContainerStatus, ControllerReference, Pod, PodCondition, PodLevelStatus, PodPhase, PodResourceClaim,
    PodResourceClaimStatus, PodSpec, PodStatus, PreemptionPolicy,
};
pub use pod_class::{KnownClass, PodClass, PodTerm, TermKind};
pub use pod_pattern::{PodPattern, PodQuery};
pub use pod_volumes::PodVolumes;
pub use quantity::{ParseQuantityError, Quantity};
pub use raw::{Raw, RawPolicy};
pub use requests::{
    Amounts, DEFAULT_MEMORY_REQUEST, DEFAULT_MILLI_CPU_REQUEST, RequestOptions, ScalarAmounts, pod_requests,
};
pub use resource_list::{ResourceList, is_extended_resource, is_scalar_resource};
pub use resource_version::{ParseResourceVersionError, ResourceVersion};
pub use selector::{LabelRequirement, LabelSelector, NodeSelectorTerm, Operator, ParseSelectorError, Requirement};
pub use shared::Shared;
pub use sharing::{NodeSharing, PodSharing};
pub use spread::{NodeInclusionPolicy, TopologySpreadConstraint, WhenUnsatisfiable};
pub use taint::{Effect, Taint, Toleration, TolerationOperator, first_untolerated};
pub use timestamp::Timestamp;
pub use trace_parent::{TRACE_PARENT_ANNOTATIONS, TraceParent};
pub use uid::{ObjectName, Uid};
pub use volume::{InTreeVolume, VolumeKind};
pub use workload_selector::{WorkloadKind, WorkloadSelector};
