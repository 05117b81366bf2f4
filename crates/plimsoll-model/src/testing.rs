//! Builders of pods, nodes and storage for tests.

mod storage;

use std::fmt;

use compact_str::CompactString;

pub use self::storage::{
    AttachmentBuilder, ClaimBuilder, CsiDriverBuilder, CsiNodeBuilder, StorageCapacityBuilder, StorageClassBuilder,
    VolumeBuilder, attachment, claim, csi_driver, csi_node, storage_capacity, storage_class, volume,
};
use crate::{
    Affinity, Allocatable, Container, Effect, HostPort, Labels, LazyFootprint, Node, NodeAffinity, NodeImage,
    NodeSelectorTerm, NodeSpec, NodeStatus, ObjectName, Pod, PodSpec, PodStatus, PreemptionPolicy, PreferredTerm,
    Protocol, Quantity, ResourceList, ResourceVersion, Taint, Timestamp, Toleration, Uid, VolumeKind,
};

/// Begins a pod in namespace `default` with one container and no requests; its UID is `uid-<name>`.
pub fn pod(name: &str) -> PodBuilder {
    let container = Container {
        name: "c".into(),
        image: "image".into(),
        ..Container::default()
    };
    let spec = PodSpec {
        scheduler_name: "default-scheduler".into(),
        containers: vec![container].into(),
        ..PodSpec::default()
    };
    PodBuilder {
        pod: Pod {
            name: ObjectName::new("default", name),
            uid: Uid::new(format!("uid-{name}")),
            resource_version: ResourceVersion::new(1),
            generation: 1,
            labels: Labels::new(),
            trace_parent: None,
            creation_timestamp: None,
            deletion_timestamp: None,
            controller: None,
            node_name: None,
            spec: spec.into(),
            status: PodStatus::default(),
            raw: None,
            footprint: LazyFootprint::default(),
        },
        labels: Vec::new(),
        node_selector: Vec::new(),
    }
}

/// Begins a node with no resources at all; its UID is `uid-<name>`.
pub fn node(name: &str) -> NodeBuilder {
    NodeBuilder {
        node: Node {
            name: name.into(),
            uid: Uid::new(format!("uid-{name}")),
            resource_version: ResourceVersion::new(1),
            labels: Labels::new(),
            annotations_hash: 0,
            avoided_controllers: Vec::new(),
            spec: NodeSpec::default(),
            status: NodeStatus::default(),
            raw: None,
        },
        labels: Vec::new(),
        allocatable: ResourceList::new(),
    }
}

/// Builds a [`Pod`].
#[derive(Debug, Clone)]
#[must_use]
pub struct PodBuilder {
    pod: Pod,
    labels: Vec<(CompactString, CompactString)>,
    node_selector: Vec<(CompactString, CompactString)>,
}

/// Builds a [`Node`].
#[derive(Debug, Clone)]
#[must_use]
pub struct NodeBuilder {
    node: Node,
    labels: Vec<(CompactString, CompactString)>,
    allocatable: ResourceList,
}

#[track_caller]
#[expect(clippy::panic, reason = "a wrong quantity in a test is to be seen at once")]
fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

impl PodBuilder {
    /// Puts it into another namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.pod.name.namespace = namespace.into();
        self
    }

    /// Gives it another identity.
    pub fn uid(mut self, uid: &str) -> Self {
        self.pod.uid = Uid::from(uid);
        self
    }

    /// Sets the version of its content.
    pub fn resource_version(mut self, version: u64) -> Self {
        self.pod.resource_version = ResourceVersion::new(version);
        self
    }

    /// Sets the version of its spec.
    pub fn generation(mut self, generation: i64) -> Self {
        self.pod.generation = generation;
        self
    }

    /// The cpu request of the container added last.
    pub fn cpu(self, amount: &str) -> Self {
        self.request("cpu", amount)
    }

    /// The memory request of the container added last.
    pub fn memory(self, amount: &str) -> Self {
        self.request("memory", amount)
    }

    /// Any request of the container added last.
    pub fn request(mut self, resource: &str, amount: &str) -> Self {
        if let Some(container) = self.pod.spec.containers.last_mut() {
            container.requests.set(resource, quantity(amount));
        }
        self
    }

    /// Adds another container.
    pub fn container(mut self, container: Container) -> Self {
        self.pod.spec.containers.push(container);
        self
    }

    /// Adds an init container with requests.
    pub fn init(self, requests: &[(&str, &str)]) -> Self {
        self.init_container(requests, false)
    }

    /// Adds a sidecar (an init container that goes on running) with requests.
    pub fn sidecar(self, requests: &[(&str, &str)]) -> Self {
        self.init_container(requests, true)
    }

    fn init_container(mut self, requests: &[(&str, &str)], restart_policy_always: bool) -> Self {
        let name = CompactString::from(format!("i{}", self.pod.spec.init_containers.len()));
        let requests = requests
            .iter()
            .map(|(name, amount)| (*name, quantity(amount)))
            .collect();
        let container = Container {
            name,
            requests,
            restart_policy_always,
            ..Container::default()
        };
        self.pod.spec.init_containers.push(container);
        self
    }

    /// The image of the container added last.
    pub fn image(mut self, image: &str) -> Self {
        if let Some(container) = self.pod.spec.containers.last_mut() {
            container.image = image.into();
        }
        self
    }

    /// Adds overhead of the sandbox.
    pub fn overhead(mut self, resource: &str, amount: &str) -> Self {
        self.pod.spec.overhead.set(resource, quantity(amount));
        self
    }

    /// A request of the pod as a whole.
    pub fn pod_level(mut self, resource: &str, amount: &str) -> Self {
        self.pod.spec.pod_level_requests.set(resource, quantity(amount));
        self
    }

    /// It is bound to a node.
    pub fn on(mut self, node: &str) -> Self {
        self.pod.node_name = Some(node.into());
        self
    }

    /// Preemption is making room on a node.
    pub fn nominated(mut self, node: &str) -> Self {
        self.pod.status.nominated_node_name = Some(node.into());
        self
    }

    /// Its priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.pod.spec.priority = Some(priority);
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Adds a toleration.
    pub fn toleration(mut self, toleration: Toleration) -> Self {
        self.pod.spec.tolerations.push(toleration);
        self
    }

    /// Adds a scheduling gate.
    pub fn gate(mut self, name: &str) -> Self {
        self.pod.spec.scheduling_gates.push(name.into());
        self
    }

    /// Wants a node with this label.
    pub fn node_selector(mut self, key: &str, value: &str) -> Self {
        self.node_selector.push((key.into(), value.into()));
        self
    }

    /// Adds a term to the required node affinity.
    pub fn required_term(mut self, term: NodeSelectorTerm) -> Self {
        self.node_affinity().required.get_or_insert_with(Vec::new).push(term);
        self
    }

    /// Adds a term to the preferred node affinity.
    pub fn preferred_term(mut self, weight: i32, preference: NodeSelectorTerm) -> Self {
        self.node_affinity()
            .preferred
            .push(PreferredTerm { weight, preference });
        self
    }

    fn node_affinity(&mut self) -> &mut NodeAffinity {
        let affinity = self
            .pod
            .spec
            .affinity
            .get_or_insert_with(|| Box::new(Affinity::default()));
        affinity.node_affinity.get_or_insert_with(NodeAffinity::default)
    }

    /// Wants a TCP port on all addresses of its node.
    pub fn host_port(self, port: i32) -> Self {
        self.host_port_on("", Protocol::Tcp, port)
    }

    /// Wants a port on its node, in the container added last.
    pub fn host_port_on(mut self, ip: &str, protocol: Protocol, port: i32) -> Self {
        if let Some(container) = self.pod.spec.containers.last_mut() {
            container.ports.push(HostPort::new(protocol, ip, port));
        }
        self
    }

    /// Uses a claim of its namespace.
    pub fn claim(self, claim: &str) -> Self {
        self.volume(VolumeKind::PersistentVolumeClaim { claim: claim.into() })
    }

    /// Adds a volume.
    pub fn volume(mut self, volume: VolumeKind) -> Self {
        self.pod.spec.volumes.push(volume);
        self
    }

    /// Wants to be placed by this scheduler.
    pub fn scheduler(mut self, name: &str) -> Self {
        self.pod.spec.scheduler_name = name.into();
        self
    }

    /// It has been told to go.
    pub fn terminating(mut self) -> Self {
        self.pod.deletion_timestamp = Some(Timestamp::new("2026-01-01T00:00:00Z"));
        self
    }

    /// When the kubelet took it on.
    pub fn started(mut self, at: &str) -> Self {
        self.pod.status.start_time = Some(Timestamp::new(at));
        self
    }

    /// Never has others evicted for it.
    pub fn never_preempts(mut self) -> Self {
        self.pod.spec.preemption_policy = PreemptionPolicy::Never;
        self
    }

    /// Changes whatever has no method of its own.
    pub fn with(mut self, change: impl FnOnce(&mut Pod)) -> Self {
        change(&mut self.pod);
        self
    }

    /// The pod.
    pub fn build(self) -> Pod {
        let mut pod = self.pod;
        if !self.labels.is_empty() {
            pod.labels = self.labels.into_iter().collect();
        }
        if !self.node_selector.is_empty() {
            pod.spec.node_selector = Some(self.node_selector.into_iter().collect());
        }
        pod
    }
}

impl NodeBuilder {
    /// Gives it another identity.
    pub fn uid(mut self, uid: &str) -> Self {
        self.node.uid = Uid::from(uid);
        self
    }

    /// Sets the version of its content.
    pub fn resource_version(mut self, version: u64) -> Self {
        self.node.resource_version = ResourceVersion::new(version);
        self
    }

    /// Allocatable cpu.
    pub fn cpu(self, amount: &str) -> Self {
        self.allocatable("cpu", amount)
    }

    /// Allocatable memory.
    pub fn memory(self, amount: &str) -> Self {
        self.allocatable("memory", amount)
    }

    /// How many pods it takes.
    pub fn pods(self, count: impl fmt::Display) -> Self {
        self.allocatable("pods", &count.to_string())
    }

    /// Any allocatable resource.
    pub fn allocatable(mut self, resource: &str, amount: &str) -> Self {
        self.allocatable.set(resource, quantity(amount));
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Adds a taint.
    pub fn taint(mut self, key: &str, value: &str, effect: Effect) -> Self {
        self.node.spec.taints.push(Taint::new(key, value, effect));
        self
    }

    /// Cordons it.
    pub fn unschedulable(mut self) -> Self {
        self.node.spec.unschedulable = true;
        self
    }

    /// Adds an image with one name.
    pub fn image(mut self, name: &str, size_bytes: i64) -> Self {
        self.node.status.images.push(NodeImage {
            names: vec![name.into()].into(),
            size_bytes,
        });
        self
    }

    /// Changes whatever has no method of its own.
    pub fn with(mut self, change: impl FnOnce(&mut Node)) -> Self {
        change(&mut self.node);
        self
    }

    /// The node.
    pub fn build(self) -> Node {
        let mut node = self.node;
        if !self.labels.is_empty() {
            node.labels = self.labels.into_iter().collect();
        }
        if !self.allocatable.is_empty() {
            node.status.allocatable = Allocatable::of(&self.allocatable);
        }
        node
    }
}
