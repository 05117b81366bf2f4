use compact_str::CompactString;

/// A volume of a pod that says something to the scheduler. Config maps, secrets, empty directories and the like are
/// left out when a pod is decoded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VolumeKind {
    /// An existing claim of the pod's namespace.
    PersistentVolumeClaim {
        /// Its name.
        claim: CompactString,
    },
    /// A claim made for this pod; its name is `<pod>-<volume>`.
    Ephemeral {
        /// Name of the volume in the pod.
        volume: CompactString,
    },
    /// The content of an OCI image.
    Image {
        /// Image reference, as written.
        reference: CompactString,
    },
    /// An in-line volume of a CSI driver.
    Csi {
        /// Name of the driver.
        driver: CompactString,
    },
    /// A Google Compute Engine disk.
    GcePersistentDisk {
        /// Name of the disk.
        pd_name: CompactString,
        /// Mounted read-only.
        read_only: bool,
    },
    /// An AWS disk.
    AwsElasticBlockStore {
        /// Name of the volume in the pod.
        volume: CompactString,
        /// Identity of the disk, also as `aws://<zone>/<id>`.
        volume_id: CompactString,
    },
    /// An iSCSI disk.
    Iscsi {
        /// Qualified name of the target.
        iqn: CompactString,
        /// Mounted read-only.
        read_only: bool,
    },
    /// A Ceph block device.
    Rbd {
        /// Addresses of the monitors.
        monitors: Box<[CompactString]>,
        /// Pool; `rbd` when not given.
        pool: CompactString,
        /// Image in the pool.
        image: CompactString,
        /// Mounted read-only.
        read_only: bool,
    },
    /// Another in-tree kind that has moved to a CSI driver.
    InTree(InTreeVolume),
}

/// In-tree volume kinds that only volume limits look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InTreeVolume {
    /// `azureDisk`.
    AzureDisk {
        /// Name of the volume in the pod.
        volume: CompactString,
        /// URI of the disk.
        disk_uri: CompactString,
        /// `Managed`, or a kind that no CSI driver knows; the API server fills an absent one in.
        kind: Option<CompactString>,
    },
    /// `azureFile`.
    AzureFile,
    /// `cinder`.
    Cinder {
        /// Identity of the disk.
        volume_id: CompactString,
    },
    /// `portworxVolume`.
    Portworx {
        /// Identity of the volume.
        volume_id: CompactString,
    },
    /// `vsphereVolume`.
    Vsphere,
}

impl VolumeKind {
    /// The name of the claim that a pod of this name has its volume from, if it has it from one.
    pub fn claim_name(&self, pod: &str) -> Option<CompactString> {
        match self {
            Self::PersistentVolumeClaim { claim } => Some(claim.clone()),
            Self::Ephemeral { volume } => Some(compact_str::format_compact!("{pod}-{volume}")),
            _ => None,
        }
    }

    /// Whether it is a disk of a kind that pods on one node can't share, or only to read.
    pub fn is_exclusive_disk(&self) -> bool {
        matches!(
            self,
            Self::GcePersistentDisk { .. } | Self::AwsElasticBlockStore { .. } | Self::Iscsi { .. } | Self::Rbd { .. }
        )
    }

    /// Whether it and another volume are one disk that two pods on a node can't share: an AWS disk at all, others unless
    /// both only read it. Images of Ceph are one if they have a monitor in common.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        use VolumeKind::{AwsElasticBlockStore as Aws, GcePersistentDisk as Gce, Iscsi, Rbd};
        let is_same = match (self, other) {
            (Gce { pd_name: one, .. }, Gce { pd_name: two, .. }) | (Iscsi { iqn: one, .. }, Iscsi { iqn: two, .. }) => {
                one == two
            }
            (Aws { volume_id: one, .. }, Aws { volume_id: two, .. }) => one == two,
            (
                Rbd {
                    monitors, pool, image, ..
                },
                Rbd {
                    monitors: other_monitors,
                    pool: other_pool,
                    image: other_image,
                    ..
                },
            ) => {
                let is_shared = |monitor| other_monitors.contains(monitor);
                pool == other_pool && image == other_image && monitors.iter().any(is_shared)
            }
            _ => false,
        };
        is_same && !(self.only_reads_disk() && other.only_reads_disk())
    }

    /// Whether it is a disk of a kind that pods can share to read it, and is read only.
    pub(crate) fn only_reads_disk(&self) -> bool {
        match self {
            Self::GcePersistentDisk { read_only, .. } | Self::Iscsi { read_only, .. } | Self::Rbd { read_only, .. } => {
                *read_only
            }
            _ => false,
        }
    }
}
