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
        /// Identity of the disk.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InTreeVolume {
    /// `azureDisk`.
    AzureDisk,
    /// `azureFile`.
    AzureFile,
    /// `cinder`.
    Cinder,
    /// `portworxVolume`.
    Portworx,
    /// `vsphereVolume`.
    Vsphere,
}
