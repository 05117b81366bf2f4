use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Deserializer;
use smallvec::SmallVec;

use super::{WireMeta, non_empty, or_default};
use crate::limits::{ContainerLimits, pod_limits};
use crate::pod::DEFAULT_SCHEDULER;
use crate::requests::effective;
use crate::{
    Affinity, Container, ContainerStatus, ControllerReference, HostPort, Labels, LazyFootprint, Pod, PodCondition,
    PodLevelStatus, PodPhase, PodResourceClaim, PodResourceClaimStatus, PodSpec, PodStatus, PreemptionPolicy,
    ResourceList, Shared, Timestamp, Toleration, TopologySpreadConstraint, VolumeKind,
};

mod annotations;
mod volume;

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WirePod::deserialize(deserializer).map(Self::from)
    }
}

#[derive(Deserialize)]
struct WirePod {
    metadata: WirePodMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: WireStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePodMeta {
    #[serde(default, deserialize_with = "or_default")]
    namespace: CompactString,
    name: CompactString,
    uid: super::WireUid,
    resource_version: super::WireVersion,
    #[serde(default, deserialize_with = "or_default")]
    generation: i64,
    #[serde(default, deserialize_with = "or_default")]
    labels: Labels,
    #[serde(default, deserialize_with = "or_default")]
    annotations: annotations::WireAnnotations,
    #[serde(default)]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_timestamp: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    owner_references: Vec<WireOwner>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOwner {
    #[serde(default, deserialize_with = "or_default")]
    api_version: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    kind: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    uid: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    controller: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireSpec {
    #[serde(default, deserialize_with = "non_empty")]
    scheduler_name: Option<CompactString>,
    #[serde(default, deserialize_with = "non_empty")]
    node_name: Option<CompactString>,
    #[serde(default)]
    priority: Option<i32>,
    #[serde(default, deserialize_with = "or_default")]
    preemption_policy: PreemptionPolicy,
    #[serde(default, deserialize_with = "or_default")]
    scheduling_gates: Vec<WireNamed>,
    #[serde(default)]
    node_selector: Option<Labels>,
    #[serde(default)]
    affinity: Option<Box<Affinity>>,
    #[serde(default, deserialize_with = "or_default")]
    tolerations: Vec<Toleration>,
    #[serde(default, deserialize_with = "or_default")]
    topology_spread_constraints: Vec<TopologySpreadConstraint>,
    #[serde(default, deserialize_with = "or_default")]
    containers: Vec<WireContainer>,
    #[serde(default, deserialize_with = "or_default")]
    init_containers: Vec<WireContainer>,
    #[serde(default, deserialize_with = "or_default")]
    overhead: ResourceList,
    #[serde(default, deserialize_with = "or_default")]
    resources: WireResources,
    #[serde(default, deserialize_with = "or_default")]
    volumes: Vec<volume::WireVolume>,
    #[serde(default, deserialize_with = "or_default")]
    resource_claims: Vec<PodResourceClaim>,
    #[serde(default, deserialize_with = "or_default")]
    scheduling_group: WireGroup,
    #[serde(default, deserialize_with = "or_default")]
    host_network: bool,
    #[serde(default)]
    host_users: Option<bool>,
}

#[derive(Deserialize)]
struct WireNamed {
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireGroup {
    #[serde(default, deserialize_with = "non_empty")]
    pod_group_name: Option<CompactString>,
}

#[derive(Deserialize, Default)]
struct WireResources {
    #[serde(default, deserialize_with = "or_default")]
    requests: ResourceList,
    #[serde(default, deserialize_with = "or_default")]
    limits: ResourceList,
}

#[derive(Deserialize, Default)]
struct WireRequests {
    #[serde(default, deserialize_with = "or_default")]
    requests: ResourceList,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireContainer {
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    image: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    resources: WireResources,
    #[serde(default, deserialize_with = "or_default")]
    ports: Vec<WirePort>,
    #[serde(default, deserialize_with = "non_empty")]
    restart_policy: Option<CompactString>,
    #[serde(default, deserialize_with = "or_default")]
    restart_policy_rules: Vec<WireRestartRule>,
}

#[derive(Deserialize)]
struct WireRestartRule {
    #[serde(default, deserialize_with = "or_default")]
    action: CompactString,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePort {
    #[serde(default, deserialize_with = "or_default")]
    host_port: i32,
    #[serde(default, rename = "hostIP", deserialize_with = "or_default")]
    host_ip: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    protocol: CompactString,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireStatus {
    #[serde(default, deserialize_with = "or_default")]
    phase: CompactString,
    #[serde(default, deserialize_with = "non_empty")]
    nominated_node_name: Option<CompactString>,
    #[serde(default)]
    start_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    conditions: Vec<WireCondition>,
    #[serde(default, deserialize_with = "or_default")]
    container_statuses: Vec<WireContainerStatus>,
    #[serde(default, deserialize_with = "or_default")]
    init_container_statuses: Vec<WireContainerStatus>,
    #[serde(default)]
    resources: Option<WireRequests>,
    #[serde(default, deserialize_with = "or_default")]
    allocated_resources: ResourceList,
    #[serde(default, deserialize_with = "or_default")]
    resource_claim_statuses: Vec<PodResourceClaimStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCondition {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    kind: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    status: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    reason: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default)]
    last_transition_time: Option<Timestamp>,
    #[serde(default)]
    observed_generation: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireContainerStatus {
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
    #[serde(default)]
    resources: Option<WireRequests>,
    #[serde(default, deserialize_with = "or_default")]
    allocated_resources: ResourceList,
}

impl From<WirePod> for Pod {
    fn from(wire: WirePod) -> Self {
        let WirePod {
            metadata,
            mut spec,
            status,
        } = wire;
        let head = WireMeta {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        };
        let mut pod = Self {
            name: head.object_name(),
            uid: head.uid.0,
            resource_version: head.resource_version.0,
            generation: metadata.generation,
            labels: metadata.labels,
            trace_parent: metadata.annotations.trace_parent,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            controller: controller(metadata.owner_references),
            node_name: spec.node_name.take(),
            spec: PodSpec::from(spec).into(),
            status: status.into(),
            raw: None,
            footprint: LazyFootprint::default(),
        };
        if pod.node_name.is_some() {
            pod.status.pod_scheduled = None;
        }
        drop_idle_statuses(&mut pod);
        pod
    }
}

fn controller(owners: Vec<WireOwner>) -> Option<Shared<ControllerReference>> {
    let owner = owners.into_iter().find(|owner| owner.controller)?;
    let controller = ControllerReference {
        api_version: owner.api_version,
        kind: owner.kind,
        name: owner.name,
        uid: owner.uid,
    };
    Some(controller.into())
}

impl From<WireSpec> for PodSpec {
    fn from(mut wire: WireSpec) -> Self {
        let limits = pod_limits(
            &limits_of(&mut wire.containers),
            &limits_of(&mut wire.init_containers),
            &wire.resources.limits,
            &wire.overhead,
        );
        Self {
            limits,
            scheduler_name: wire
                .scheduler_name
                .unwrap_or(CompactString::const_new(DEFAULT_SCHEDULER)),
            priority: wire.priority,
            preemption_policy: wire.preemption_policy,
            scheduling_gates: wire.scheduling_gates.into_iter().map(|gate| gate.name).collect(),
            node_selector: wire.node_selector,
            affinity: wire.affinity,
            tolerations: wire.tolerations.into(),
            topology_spread_constraints: wire.topology_spread_constraints,
            containers: wire.containers.into_iter().map(Container::from).collect(),
            init_containers: wire.init_containers.into_iter().map(Container::from).collect(),
            overhead: wire.overhead,
            pod_level_requests: wire.resources.requests,
            volumes: wire
                .volumes
                .into_iter()
                .filter_map(volume::WireVolume::kind)
                .collect::<Vec<VolumeKind>>(),
            resource_claims: wire.resource_claims,
            scheduling_group: wire.scheduling_group.pod_group_name,
            host_network: wire.host_network,
            host_users: wire.host_users,
        }
    }
}

fn limits_of(containers: &mut [WireContainer]) -> SmallVec<[ContainerLimits; 2]> {
    let limits = containers.iter_mut().map(|container| ContainerLimits {
        limits: std::mem::take(&mut container.resources.limits),
        sidecar: container.is_sidecar(),
    });
    limits.collect()
}

impl WireContainer {
    fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

impl From<WireContainer> for Container {
    fn from(wire: WireContainer) -> Self {
        let restart_policy_always = wire.is_sidecar();
        let wanted = wire.ports.into_iter().filter(|port| port.host_port > 0);
        Self {
            name: wire.name,
            image: wire.image,
            requests: wire.resources.requests,
            ports: wanted
                .map(|port| HostPort::new(port.protocol.as_str().into(), &port.host_ip, port.host_port))
                .collect(),
            restart_policy_always,
            restarts_all_containers: wire
                .restart_policy_rules
                .iter()
                .any(|rule| rule.action == "RestartAllContainers"),
        }
    }
}

impl From<WireStatus> for PodStatus {
    fn from(wire: WireStatus) -> Self {
        let mut pod_scheduled = None;
        let mut disruption_target = None;
        let mut resize_pending_reason = None;
        for condition in wire.conditions {
            match condition.kind.as_str() {
                "PodScheduled" if pod_scheduled.is_none() => pod_scheduled = Some(Box::new(condition.into())),
                "DisruptionTarget" if disruption_target.is_none() => {
                    disruption_target = Some(Box::new(condition.into()));
                }
                "PodResizePending" if resize_pending_reason.is_none() => resize_pending_reason = Some(condition.reason),
                _ => {}
            }
        }
        let allocated = wire.allocated_resources;
        let pod_level = wire.resources.map(|resources| {
            Box::new(PodLevelStatus {
                requests: resources.requests,
                allocated,
            })
        });
        let statuses = wire.container_statuses.into_iter().chain(wire.init_container_statuses);
        Self {
            phase: phase(&wire.phase),
            nominated_node_name: wire.nominated_node_name,
            start_time: wire.start_time,
            pod_scheduled,
            disruption_target,
            resize_pending_reason,
            container_statuses: statuses.filter_map(WireContainerStatus::given).collect(),
            pod_level,
            resource_claim_statuses: wire.resource_claim_statuses,
        }
    }
}

impl From<WireCondition> for PodCondition {
    fn from(wire: WireCondition) -> Self {
        Self {
            status: wire.status,
            reason: wire.reason,
            message: wire.message,
            last_transition_time: wire.last_transition_time,
            observed_generation: wire.observed_generation,
        }
    }
}

impl WireContainerStatus {
    /// Only a status with `resources` says anything about requests.
    fn given(self) -> Option<ContainerStatus> {
        let requests = self.resources?.requests;
        Some(ContainerStatus {
            name: self.name,
            requests,
            allocated: self.allocated_resources,
        })
    }
}

fn phase(text: &str) -> PodPhase {
    match text {
        "" | "Pending" => PodPhase::Pending,
        "Running" => PodPhase::Running,
        "Succeeded" => PodPhase::Succeeded,
        "Failed" => PodPhase::Failed,
        _ => PodPhase::Unknown,
    }
}

/// The kubelet repeats the requests of running containers twice in the status. Where nothing is being resized they say
/// nothing new, and most pods are like that.
fn drop_idle_statuses(pod: &mut Pod) {
    let infeasible = pod.status.resize_is_infeasible();
    let matters = |wanted: &ResourceList, requests: &ResourceList, allocated: &ResourceList| {
        effective(infeasible, wanted, requests, allocated) != *wanted
    };
    let spec = &pod.spec;
    let sidecars = spec
        .init_containers
        .iter()
        .filter(|container| container.restart_policy_always);
    let running: Vec<&Container> = spec.containers.iter().chain(sidecars).collect();
    pod.status.container_statuses.retain(|status| {
        let container = running.iter().find(|container| container.name == status.name);
        container.is_some_and(|container| matters(&container.requests, &status.requests, &status.allocated))
    });
    pod.status.container_statuses.shrink_to_fit();
    let pod_level = pod.status.pod_level.take();
    pod.status.pod_level =
        pod_level.filter(|status| matters(&spec.pod_level_requests, &status.requests, &status.allocated));
}
