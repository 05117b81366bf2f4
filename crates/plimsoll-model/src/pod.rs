use compact_str::CompactString;
use serde::Deserialize;

use crate::decode::or_default;
use crate::{
    Affinity, HostPort, Labels, LazyFootprint, ObjectName, Raw, ResourceList, ResourceVersion, Shared, Timestamp,
    Toleration, TopologySpreadConstraint, TraceParent, Uid, VolumeKind,
};

/// The scheduler that a pod without `schedulerName` wants.
pub(crate) const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A pod as the scheduler sees it.
#[derive(Debug, Clone, Eq)]
pub struct Pod {
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Version of the spec.
    pub generation: i64,
    /// Its labels.
    pub labels: Labels,
    /// The span below which its creator wants what happens to it to be seen.
    pub trace_parent: Option<Box<TraceParent>>,
    /// When it was created.
    pub creation_timestamp: Option<Timestamp>,
    /// Set once it is to be deleted.
    pub deletion_timestamp: Option<Timestamp>,
    /// The object that manages it, if one does.
    pub controller: Option<Shared<ControllerReference>>,
    /// The node it is on, once it has one.
    pub node_name: Option<CompactString>,
    /// What it wants.
    pub spec: Shared<PodSpec>,
    /// What has become of it.
    pub status: PodStatus,
    /// The whole of it, where somebody needs that. It takes no part in equality.
    pub raw: Option<Raw>,
    /// See [`Pod::footprint`].
    pub footprint: LazyFootprint,
}

impl PartialEq for Pod {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            name,
            uid,
            resource_version,
            generation,
            labels,
            trace_parent,
            creation_timestamp,
            deletion_timestamp,
            controller,
            node_name,
            spec,
            status,
            raw: _,
            footprint: _,
        } = self;
        *resource_version == other.resource_version
            && *uid == other.uid
            && *name == other.name
            && *generation == other.generation
            && *labels == other.labels
            && *trace_parent == other.trace_parent
            && *creation_timestamp == other.creation_timestamp
            && *deletion_timestamp == other.deletion_timestamp
            && *controller == other.controller
            && *node_name == other.node_name
            && *spec == other.spec
            && *status == other.status
    }
}

impl Pod {
    /// Its priority; 0 when none is set.
    pub fn priority(&self) -> i32 {
        self.spec.priority.unwrap_or(0)
    }

    /// Whether it has been told to go.
    pub fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether it has ended, so that it occupies nothing any more.
    pub fn is_finished(&self) -> bool {
        matches!(self.status.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// The node it is on, once it has one.
    pub fn node_name(&self) -> Option<&str> {
        self.node_name.as_deref()
    }

    /// Ports that its containers and sidecars want on the node.
    pub fn host_ports(&self) -> impl Iterator<Item = &HostPort> {
        let sidecars = self
            .spec
            .init_containers
            .iter()
            .filter(|container| container.restart_policy_always);
        self.spec
            .containers
            .iter()
            .chain(sidecars)
            .flat_map(|container| &container.ports)
    }
}

/// The owner of a pod that manages it: the first owner reference that says `controller: true`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ControllerReference {
    /// Group and version.
    pub api_version: CompactString,
    /// Kind.
    pub kind: CompactString,
    /// Name, in the pod's namespace.
    pub name: CompactString,
    /// Identity.
    pub uid: CompactString,
}

/// What a pod wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodSpec {
    /// The scheduler meant to place it; never empty.
    pub scheduler_name: CompactString,
    /// Resolved from its priority class by the API server.
    pub priority: Option<i32>,
    /// Whether others may be evicted for it.
    pub preemption_policy: PreemptionPolicy,
    /// Names of the gates that hold it back.
    pub scheduling_gates: Vec<CompactString>,
    /// Labels a node must have.
    pub node_selector: Option<Labels>,
    /// Where it wants to be and not to be.
    pub affinity: Option<Box<Affinity>>,
    /// Taints it puts up with.
    pub tolerations: Shared<Vec<Toleration>>,
    /// How its like are to be spread.
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// Containers that run side by side.
    pub containers: Shared<Vec<Container>>,
    /// Containers that run one after the other before those, and sidecars.
    pub init_containers: Shared<Vec<Container>>,
    /// What its sandbox needs on top.
    pub overhead: ResourceList,
    /// Requests of the pod as a whole.
    pub pod_level_requests: ResourceList,
    /// What the pod may use at most, added up; decisions do not depend on it.
    pub limits: Option<Box<ResourceList>>,
    /// Volumes that matter to the scheduler.
    pub volumes: Vec<VolumeKind>,
    /// Devices it claims.
    pub resource_claims: Vec<PodResourceClaim>,
    /// Name of the pod group it is scheduled with.
    pub scheduling_group: Option<CompactString>,
    /// Uses the node's network.
    pub host_network: bool,
    /// Whether it uses the node's user namespace; none means it does.
    pub host_users: Option<bool>,
}

impl PodSpec {
    /// Whether both ask for the same, but for volumes and claims of devices, which are often a pod's own.
    pub fn equals_but_for_claims(&self, other: &Self) -> bool {
        let Self {
            scheduler_name,
            priority,
            preemption_policy,
            scheduling_gates,
            node_selector,
            affinity,
            tolerations,
            topology_spread_constraints,
            containers,
            init_containers,
            overhead,
            pod_level_requests,
            limits,
            volumes: _,
            resource_claims: _,
            scheduling_group,
            host_network,
            host_users,
        } = self;
        // Most are held together.
        std::ptr::eq(self, other)
            || *containers == other.containers
                && *init_containers == other.init_containers
                && *overhead == other.overhead
                && *pod_level_requests == other.pod_level_requests
                && *limits == other.limits
                && *node_selector == other.node_selector
                && *affinity == other.affinity
                && *tolerations == other.tolerations
                && *topology_spread_constraints == other.topology_spread_constraints
                && *priority == other.priority
                && *preemption_policy == other.preemption_policy
                && *scheduler_name == other.scheduler_name
                && *scheduling_gates == other.scheduling_gates
                && *scheduling_group == other.scheduling_group
                && *host_network == other.host_network
                && *host_users == other.host_users
    }
}

/// Whether other pods may be evicted for a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(from = "CompactString")]
pub enum PreemptionPolicy {
    /// Those of lower priority may; also for a word not known here.
    #[default]
    PreemptLowerPriority,
    /// None may.
    Never,
}

impl From<CompactString> for PreemptionPolicy {
    fn from(text: CompactString) -> Self {
        if text == "Never" {
            Self::Never
        } else {
            Self::PreemptLowerPriority
        }
    }
}

/// A container, as far as scheduling reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Container {
    /// Unique in the pod.
    pub name: CompactString,
    /// Image reference, as written.
    pub image: CompactString,
    /// What it asks for.
    pub requests: ResourceList,
    /// The ports it wants on the node; ports without a host port are left out.
    pub ports: Vec<HostPort>,
    /// An init container that goes on running: a sidecar.
    pub restart_policy_always: bool,
    /// Whether a way for it to end restarts all containers of the pod (a restart rule `RestartAllContainers`).
    pub restarts_all_containers: bool,
}

/// A device claim of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodResourceClaim {
    /// Name within the pod.
    #[serde(default, deserialize_with = "or_default")]
    pub name: CompactString,
    /// An existing claim.
    #[serde(default)]
    pub resource_claim_name: Option<CompactString>,
    /// The template from which a claim is made for this pod.
    #[serde(default)]
    pub resource_claim_template_name: Option<CompactString>,
}

/// What has become of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodStatus {
    /// Stage of its life.
    pub phase: PodPhase,
    /// The node that preemption is making room on.
    pub nominated_node_name: Option<CompactString>,
    /// When the kubelet took it on.
    pub start_time: Option<Timestamp>,
    /// The `PodScheduled` condition of a pod without a node; once it has one there is nothing left to say.
    pub pod_scheduled: Option<Box<PodCondition>>,
    /// The `DisruptionTarget` condition: why the pod is being removed, if somebody said so.
    pub disruption_target: Option<Box<PodCondition>>,
    /// Reason of the `PodResizePending` condition, if there is one.
    pub resize_pending_reason: Option<CompactString>,
    /// Of containers and init containers: what the kubelet allocated and put into effect. Those that change nothing
    /// about what the pod occupies are left out.
    pub container_statuses: Vec<ContainerStatus>,
    /// What the kubelet allocated and put into effect for the pod as a whole.
    pub pod_level: Option<Box<PodLevelStatus>>,
    /// Device claims made for this pod.
    pub resource_claim_statuses: Vec<PodResourceClaimStatus>,
}

impl PodStatus {
    /// Whether the kubelet has said that the wanted resize can never be granted.
    pub fn resize_is_infeasible(&self) -> bool {
        self.resize_pending_reason.as_deref() == Some("Infeasible")
    }
}

/// Stage of a pod's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PodPhase {
    /// Not all containers have run yet.
    #[default]
    Pending,
    /// Bound, and at least one container runs.
    Running,
    /// All containers have ended well.
    Succeeded,
    /// All containers have ended, one of them badly.
    Failed,
    /// The node can't be reached, or a word not known here.
    Unknown,
}

/// A condition of a pod, whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodCondition {
    /// `True`, `False` or `Unknown`.
    pub status: CompactString,
    /// One word for programs.
    pub reason: CompactString,
    /// Text for people.
    pub message: String,
    /// When the status last changed.
    pub last_transition_time: Option<Timestamp>,
    /// Generation of the pod that it speaks of.
    pub observed_generation: Option<i64>,
}

/// What the kubelet has given one container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerStatus {
    /// Name of the container.
    pub name: CompactString,
    /// Requests in effect.
    pub requests: ResourceList,
    /// Requests allocated.
    pub allocated: ResourceList,
}

/// What the kubelet has given the pod as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodLevelStatus {
    /// Requests in effect.
    pub requests: ResourceList,
    /// Requests allocated.
    pub allocated: ResourceList,
}

/// The claim made from a template for one entry of [`PodSpec::resource_claims`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodResourceClaimStatus {
    /// Name within the pod.
    #[serde(default, deserialize_with = "or_default")]
    pub name: CompactString,
    /// The claim; none when none was needed.
    #[serde(default)]
    pub resource_claim_name: Option<CompactString>,
}
