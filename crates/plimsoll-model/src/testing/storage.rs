use std::sync::Arc;

use compact_str::CompactString;

use super::quantity;
use crate::storage::{
    AccessModes, ClaimPhase, ClaimReference, CsiDriver, CsiNode, CsiNodeDriver, CsiStorageCapacity, PersistentVolume,
    PersistentVolumeClaim, StorageClass, StorageObject, TopologySelectorTerm, VolumeAttachment, VolumeBindingMode,
    VolumeMode, VolumePhase, VolumeSource,
};
use crate::{LabelSelector, Labels, NodeSelectorTerm, ObjectName, Operator, Requirement, ResourceVersion, Uid};

macro_rules! builders {
    ($($(#[$doc:meta])* $builder:ident: $object:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[must_use]
        pub struct $builder($object);

        impl $builder {
            /// Gives it another identity.
            pub fn uid(mut self, uid: &str) -> Self {
                self.0.uid = Uid::from(uid);
                self
            }

            /// Sets the version of its content.
            pub fn resource_version(mut self, version: u64) -> Self {
                self.0.resource_version = ResourceVersion::new(version);
                self
            }

            /// Changes whatever has no method of its own.
            pub fn with(mut self, change: impl FnOnce(&mut $object)) -> Self {
                change(&mut self.0);
                self
            }

            /// The object.
            pub fn build(self) -> $object {
                self.0
            }

            /// The object as columns and changes have it.
            pub fn object(self) -> StorageObject {
                Arc::new(self.0).into()
            }
        }
    )*};
}

builders! {
    /// Builds a [`PersistentVolume`].
    VolumeBuilder: PersistentVolume;
    /// Builds a [`PersistentVolumeClaim`].
    ClaimBuilder: PersistentVolumeClaim;
    /// Builds a [`StorageClass`].
    StorageClassBuilder: StorageClass;
    /// Builds a [`CsiDriver`].
    CsiDriverBuilder: CsiDriver;
    /// Builds a [`CsiNode`].
    CsiNodeBuilder: CsiNode;
    /// Builds a [`CsiStorageCapacity`].
    StorageCapacityBuilder: CsiStorageCapacity;
    /// Builds a [`VolumeAttachment`].
    AttachmentBuilder: VolumeAttachment;
}

fn uid_of(name: &str) -> Uid {
    Uid::new(format!("uid-{name}"))
}

/// Begins an available volume of a file system without a class: 1 Gi, `ReadWriteOnce`, reachable from everywhere, of a
/// source that nobody counts; its UID is `uid-<name>`.
pub fn volume(name: &str) -> VolumeBuilder {
    VolumeBuilder(PersistentVolume {
        name: ObjectName::new("", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        labels: Labels::new(),
        deleting: false,
        bound_by_controller: false,
        class: CompactString::default(),
        capacity: Some(1 << 30),
        access_modes: AccessModes::READ_WRITE_ONCE,
        volume_mode: Some(VolumeMode::Filesystem),
        attributes_class: None,
        claim: None,
        node_affinity: None,
        source: VolumeSource::Other,
        phase: VolumePhase::Available,
    })
}

/// Begins a pending claim in namespace `default` for a file system without a class: 1 Gi, `ReadWriteOnce`; its UID is
/// `uid-<name>`.
pub fn claim(name: &str) -> ClaimBuilder {
    ClaimBuilder(PersistentVolumeClaim {
        name: ObjectName::new("default", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        deleting: false,
        controller: None,
        class: CompactString::default(),
        volume: CompactString::default(),
        annotated: true,
        bind_completed: false,
        selected_node: None,
        requested: Some(1 << 30),
        access_modes: AccessModes::READ_WRITE_ONCE,
        volume_mode: Some(VolumeMode::Filesystem),
        selector: None,
        attributes_class: None,
        phase: ClaimPhase::Pending,
    })
}

/// Begins a class that binds at once and of which nobody makes volumes; its UID is `uid-<name>`.
pub fn storage_class(name: &str) -> StorageClassBuilder {
    StorageClassBuilder(StorageClass {
        name: ObjectName::new("", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        provisioner: "kubernetes.io/no-provisioner".into(),
        binding_mode: Some(VolumeBindingMode::Immediate),
        allowed_topologies: Vec::new(),
    })
}

/// Begins a driver that says nothing of its room; its UID is `uid-<name>`.
pub fn csi_driver(name: &str) -> CsiDriverBuilder {
    CsiDriverBuilder(CsiDriver {
        name: ObjectName::new("", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        storage_capacity: false,
        prevents_scheduling_if_missing: false,
    })
}

/// Begins a node without drivers; its UID is `uid-<name>`.
pub fn csi_node(name: &str) -> CsiNodeBuilder {
    CsiNodeBuilder(CsiNode {
        name: ObjectName::new("", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        migrated_plugins: Vec::new(),
        drivers: Vec::new(),
    })
}

/// Begins what a driver says of its room for a class, in namespace `default` and reaching no node yet; its UID is
/// `uid-<name>`.
pub fn storage_capacity(name: &str, class: &str) -> StorageCapacityBuilder {
    StorageCapacityBuilder(CsiStorageCapacity {
        name: ObjectName::new("default", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        class: class.into(),
        node_topology: None,
        capacity: None,
        maximum_volume_size: None,
    })
}

/// Begins the attachment of a volume to a node by a driver; its UID is `uid-<name>`.
pub fn attachment(name: &str, attacher: &str, node: &str, volume: &str) -> AttachmentBuilder {
    AttachmentBuilder(VolumeAttachment {
        name: ObjectName::new("", name),
        uid: uid_of(name),
        resource_version: ResourceVersion::new(1),
        attacher: attacher.into(),
        node: node.into(),
        volume: Some(volume.into()),
    })
}

impl VolumeBuilder {
    /// Its class.
    pub fn class(mut self, class: &str) -> Self {
        self.0.class = class.into();
        self
    }

    /// How large it is.
    pub fn capacity(mut self, amount: &str) -> Self {
        self.0.capacity = Some(quantity(amount).value());
        self
    }

    /// How it may be mounted, instead of `ReadWriteOnce`.
    pub fn access(mut self, modes: AccessModes) -> Self {
        self.0.access_modes = modes;
        self
    }

    /// It is a block device.
    pub fn block(mut self) -> Self {
        self.0.volume_mode = Some(VolumeMode::Block);
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        let labels = self.0.labels.iter().chain([(key, value)]);
        self.0.labels = labels.collect();
        self
    }

    /// It is made by a CSI driver.
    pub fn csi(self, driver: &str, handle: &str) -> Self {
        self.source(VolumeSource::Csi {
            driver: driver.into(),
            handle: handle.into(),
        })
    }

    /// What it is made of.
    pub fn source(mut self, source: VolumeSource) -> Self {
        self.0.source = source;
        self
    }

    /// Adds a term to its node affinity.
    pub fn term(mut self, term: NodeSelectorTerm) -> Self {
        let terms = self.0.node_affinity.iter().flat_map(|terms| terms.iter().cloned());
        self.0.node_affinity = Some(terms.chain([term]).collect());
        self
    }

    /// It is reachable where a node's label has one of these values.
    pub fn reachable(self, key: &str, values: &[&str]) -> Self {
        self.term(NodeSelectorTerm {
            match_expressions: vec![Requirement::new(key, Operator::In, values.iter().copied())],
            ..NodeSelectorTerm::default()
        })
    }

    /// Somebody has kept it for a claim of namespace `default` beforehand, by name.
    pub fn kept_for(mut self, claim: &str) -> Self {
        self.0.claim = Some(ClaimReference {
            name: ObjectName::new("default", claim),
            uid: None,
        });
        self
    }

    /// The controller has bound it to this claim.
    pub fn bound(mut self, claim: &PersistentVolumeClaim) -> Self {
        self.0.claim = Some(ClaimReference {
            name: claim.name.clone(),
            uid: Some(claim.uid.clone()),
        });
        self.0.bound_by_controller = true;
        self.0.phase = VolumePhase::Bound;
        self
    }

    /// Its phase.
    pub fn phase(mut self, phase: VolumePhase) -> Self {
        self.0.phase = phase;
        self
    }
}

impl ClaimBuilder {
    /// Puts it into another namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0.name.namespace = namespace.into();
        self
    }

    /// The class that it wants.
    pub fn class(mut self, class: &str) -> Self {
        self.0.class = class.into();
        self
    }

    /// How much it wants.
    pub fn requested(mut self, amount: &str) -> Self {
        self.0.requested = Some(quantity(amount).value());
        self
    }

    /// How it is to be mounted, instead of `ReadWriteOnce`.
    pub fn access(mut self, modes: AccessModes) -> Self {
        self.0.access_modes = modes;
        self
    }

    /// It wants a block device.
    pub fn block(mut self) -> Self {
        self.0.volume_mode = Some(VolumeMode::Block);
        self
    }

    /// The labels that its volume must have.
    pub fn selector(mut self, selector: LabelSelector) -> Self {
        self.0.selector = Some(selector);
        self
    }

    /// It wants this volume and is not bound yet.
    pub fn wants(mut self, volume: &str) -> Self {
        self.0.volume = volume.into();
        self
    }

    /// It is bound to this volume for good.
    pub fn bound(mut self, volume: &str) -> Self {
        self.0.volume = volume.into();
        self.0.bind_completed = true;
        self.0.phase = ClaimPhase::Bound;
        self
    }

    /// A scheduler has chosen this node.
    pub fn selected_node(mut self, node: &str) -> Self {
        self.0.selected_node = Some(node.into());
        self
    }

    /// It was made for the pod of this UID.
    pub fn made_for(mut self, pod: &Uid) -> Self {
        self.0.controller = Some(pod.clone());
        self
    }

    /// It has been told to go.
    pub fn deleting(mut self) -> Self {
        self.0.deleting = true;
        self
    }
}

impl StorageClassBuilder {
    /// Who makes volumes.
    pub fn provisioner(mut self, provisioner: &str) -> Self {
        self.0.provisioner = provisioner.into();
        self
    }

    /// Claims wait until a pod that uses them gets a node.
    pub fn waits(mut self) -> Self {
        self.0.binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer);
        self
    }

    /// Adds an allowed topology: a node has for each key one of the values.
    pub fn allowed(mut self, expressions: &[(&str, &[&str])]) -> Self {
        let expressions = expressions.iter();
        self.0.allowed_topologies.push(TopologySelectorTerm {
            expressions: expressions
                .map(|(key, values)| ((*key).into(), values.iter().map(|value| (*value).into()).collect()))
                .collect(),
        });
        self
    }
}

impl CsiDriverBuilder {
    /// It says what room it has where.
    pub fn tells_capacity(mut self) -> Self {
        self.0.storage_capacity = true;
        self
    }

    /// Pods that use it go to nodes that have it only.
    pub fn required_on_nodes(mut self) -> Self {
        self.0.prevents_scheduling_if_missing = true;
        self
    }
}

impl CsiNodeBuilder {
    /// Adds a driver, and how many volumes it can attach if it says so.
    pub fn driver(mut self, name: &str, limit: Option<i32>) -> Self {
        self.0.drivers.push(CsiNodeDriver {
            name: name.into(),
            limit,
        });
        self
    }

    /// Adds an in-tree plugin that has moved to CSI there.
    pub fn migrated(mut self, plugin: &str) -> Self {
        self.0.migrated_plugins.push(plugin.into());
        self
    }
}

impl StorageCapacityBuilder {
    /// Puts it into another namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0.name.namespace = namespace.into();
        self
    }

    /// Every node reaches it.
    pub fn everywhere(self) -> Self {
        self.topology(LabelSelector::default())
    }

    /// Nodes with this label reach it.
    pub fn reaching(self, key: &str, value: &str) -> Self {
        self.topology(LabelSelector::of_labels([(key, value)].into_iter().collect()))
    }

    /// The nodes that reach it.
    pub fn topology(mut self, topology: LabelSelector) -> Self {
        self.0.node_topology = Some(topology);
        self
    }

    /// Room in all.
    pub fn capacity(mut self, amount: &str) -> Self {
        self.0.capacity = Some(quantity(amount).value());
        self
    }

    /// The largest volume that can be made.
    pub fn maximum_volume_size(mut self, amount: &str) -> Self {
        self.0.maximum_volume_size = Some(quantity(amount).value());
        self
    }
}

impl AttachmentBuilder {
    /// It is of an in-line volume.
    pub fn inline(mut self) -> Self {
        self.0.volume = None;
        self
    }
}
