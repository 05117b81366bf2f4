use plimsoll_client::{
    Account, CsiDrivers, CsiNodes, CsiStorageCapacities, DisruptionBudgets, Namespaces, Nodes, PersistentVolumeClaims,
    PersistentVolumes, Pods, ReplicaSets, ReplicationControllers, Services, StatefulSets, StorageClasses,
    VolumeAttachments, WatchBatch, WatchedKind,
};
use plimsoll_model::storage::StorageKind;
use plimsoll_model::{ResourceVersion, WorkloadKind};

use super::{CacheMessage, Credit};

/// The kinds that are watched, in the order in which a term is told what there is: what others refer to comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Namespaces.
    Namespaces,
    /// Workloads, of which only the selectors are kept.
    Workloads(WorkloadKind),
    /// Pod disruption budgets.
    DisruptionBudgets,
    /// Volumes, claims, classes and what CSI drivers say.
    Storage(StorageKind),
    /// Nodes.
    Nodes,
    /// Pods that are not finished.
    Pods,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Self; 15] = [
        Self::Namespaces,
        Self::Workloads(WorkloadKind::Service),
        Self::Workloads(WorkloadKind::ReplicationController),
        Self::Workloads(WorkloadKind::ReplicaSet),
        Self::Workloads(WorkloadKind::StatefulSet),
        Self::DisruptionBudgets,
        Self::Storage(StorageKind::StorageClass),
        Self::Storage(StorageKind::CsiDriver),
        Self::Storage(StorageKind::CsiNode),
        Self::Storage(StorageKind::CsiStorageCapacity),
        Self::Storage(StorageKind::VolumeAttachment),
        Self::Storage(StorageKind::PersistentVolume),
        Self::Storage(StorageKind::PersistentVolumeClaim),
        Self::Nodes,
        Self::Pods,
    ];

    /// The plural used in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => Namespaces::NAME,
            Self::Workloads(WorkloadKind::Service) => Services::NAME,
            Self::Workloads(WorkloadKind::ReplicationController) => ReplicationControllers::NAME,
            Self::Workloads(WorkloadKind::ReplicaSet) => ReplicaSets::NAME,
            Self::Workloads(WorkloadKind::StatefulSet) => StatefulSets::NAME,
            Self::DisruptionBudgets => DisruptionBudgets::NAME,
            Self::Storage(StorageKind::StorageClass) => StorageClasses::NAME,
            Self::Storage(StorageKind::CsiDriver) => CsiDrivers::NAME,
            Self::Storage(StorageKind::CsiNode) => CsiNodes::NAME,
            Self::Storage(StorageKind::CsiStorageCapacity) => CsiStorageCapacities::NAME,
            Self::Storage(StorageKind::VolumeAttachment) => VolumeAttachments::NAME,
            Self::Storage(StorageKind::PersistentVolume) => PersistentVolumes::NAME,
            Self::Storage(StorageKind::PersistentVolumeClaim) => PersistentVolumeClaims::NAME,
            Self::Nodes => Nodes::NAME,
            Self::Pods => Pods::NAME,
        }
    }

    pub(super) fn position(self) -> usize {
        match self {
            Self::Namespaces => 0,
            Self::Workloads(kind) => 1 + workload_position(kind),
            Self::DisruptionBudgets => 5,
            Self::Storage(kind) => 6 + storage_position(kind),
            Self::Nodes => 13,
            Self::Pods => 14,
        }
    }

    /// The role of the cluster that lets kube-scheduler read it. Whoever was bound to `system:kube-scheduler` alone may read
    /// most kinds and not all.
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::Storage(StorageKind::StorageClass) => "system:volume-scheduler",
            _ => "system:kube-scheduler",
        }
    }
}

/// Position of a kind in a table over [`WorkloadKind::ALL`].
pub(super) fn workload_position(kind: WorkloadKind) -> usize {
    match kind {
        WorkloadKind::Service => 0,
        WorkloadKind::ReplicationController => 1,
        WorkloadKind::ReplicaSet => 2,
        WorkloadKind::StatefulSet => 3,
    }
}

/// Position of a kind in a table over [`StorageKind::ALL`].
pub(super) fn storage_position(kind: StorageKind) -> usize {
    match kind {
        StorageKind::StorageClass => 0,
        StorageKind::CsiDriver => 1,
        StorageKind::CsiNode => 2,
        StorageKind::CsiStorageCapacity => 3,
        StorageKind::VolumeAttachment => 4,
        StorageKind::PersistentVolume => 5,
        StorageKind::PersistentVolumeClaim => 6,
    }
}

/// What the cache holds of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// Every change up to this version is in it.
    pub applied: ResourceVersion,
    /// How many objects.
    pub count: usize,
    /// Whether every object could be decoded. Otherwise the number tells nothing.
    pub complete: bool,
}

/// What the cache must hold of one kind before a new leader may decide anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Everything up to this version.
    Version(ResourceVersion),
    /// Everything that was there at that moment, told by version and number.
    Account(Account),
}

impl Mark {
    /// The version at which it was made.
    pub fn version(&self) -> ResourceVersion {
        match self {
            Self::Version(version) => *version,
            Self::Account(account) => account.version,
        }
    }

    /// Whether this holding has all of it.
    pub fn is_passed_by(&self, holding: Holding) -> bool {
        holding.applied >= self.version()
            || matches!(self, Self::Account(account)
                if holding.complete && holding.applied >= account.newest && holding.count == account.count)
    }
}

/// Something about each kind; versions of different kinds are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfEachKind<T>([T; Kind::ALL.len()]);

/// What the cache holds.
pub type Holdings = OfEachKind<Holding>;

/// What it must hold.
pub type Marks = OfEachKind<Mark>;

impl<T: Copy> OfEachKind<T> {
    /// What `of` tells of each kind.
    pub fn of_each(of: impl Fn(Kind) -> T) -> Self {
        Self(Kind::ALL.map(of))
    }

    /// What is told of one kind.
    pub fn of(&self, kind: Kind) -> T {
        self.0[kind.position()]
    }
}

impl Holdings {
    /// Whether no kind is behind its mark.
    pub fn pass(&self, marks: &Marks) -> bool {
        self.0
            .iter()
            .zip(&marks.0)
            .all(|(holding, mark)| mark.is_passed_by(*holding))
    }
}

/// A kind whose watch feeds the cache.
pub trait CachedKind: WatchedKind {
    /// Which it is.
    const KIND: Kind;

    /// The message that brings a batch of it to the cache.
    fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage;
}

impl CachedKind for Namespaces {
    const KIND: Kind = Kind::Namespaces;

    fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage {
        CacheMessage::Namespaces(batch, credit)
    }
}

impl CachedKind for DisruptionBudgets {
    const KIND: Kind = Kind::DisruptionBudgets;

    fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage {
        CacheMessage::DisruptionBudgets(batch, credit)
    }
}

impl CachedKind for Nodes {
    const KIND: Kind = Kind::Nodes;

    fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage {
        CacheMessage::Nodes(batch, credit)
    }
}

impl CachedKind for Pods {
    const KIND: Kind = Kind::Pods;

    fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage {
        CacheMessage::Pods(batch, credit)
    }
}

macro_rules! cached_workloads {
    ($($watched:ident: $kind:ident),*) => {$(
        impl CachedKind for $watched {
            const KIND: Kind = Kind::Workloads(WorkloadKind::$kind);

            fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage {
                CacheMessage::Workloads(WorkloadKind::$kind, batch, credit)
            }
        }
    )*};
}

cached_workloads!(
    Services: Service,
    ReplicationControllers: ReplicationController,
    ReplicaSets: ReplicaSet,
    StatefulSets: StatefulSet
);

macro_rules! cached_storage {
    ($($watched:ident: $kind:ident),*) => {$(
        impl CachedKind for $watched {
            const KIND: Kind = Kind::Storage(StorageKind::$kind);

            fn message(batch: WatchBatch<Self::Object>, credit: Credit) -> CacheMessage {
                CacheMessage::Storage(StorageKind::$kind, batch, credit)
            }
        }
    )*};
}

cached_storage!(
    StorageClasses: StorageClass,
    CsiDrivers: CsiDriver,
    CsiNodes: CsiNode,
    CsiStorageCapacities: CsiStorageCapacity,
    VolumeAttachments: VolumeAttachment,
    PersistentVolumes: PersistentVolume,
    PersistentVolumeClaims: PersistentVolumeClaim
);

/// The futures that a generic function returns for each kind, boxed.
macro_rules! for_each_kind {
    ($of:ident($($argument:expr),*)) => {
        [
            $of::<plimsoll_client::Namespaces>($($argument),*).boxed(),
            $of::<plimsoll_client::Services>($($argument),*).boxed(),
            $of::<plimsoll_client::ReplicationControllers>($($argument),*).boxed(),
            $of::<plimsoll_client::ReplicaSets>($($argument),*).boxed(),
            $of::<plimsoll_client::StatefulSets>($($argument),*).boxed(),
            $of::<plimsoll_client::DisruptionBudgets>($($argument),*).boxed(),
            $of::<plimsoll_client::StorageClasses>($($argument),*).boxed(),
            $of::<plimsoll_client::CsiDrivers>($($argument),*).boxed(),
            $of::<plimsoll_client::CsiNodes>($($argument),*).boxed(),
            $of::<plimsoll_client::CsiStorageCapacities>($($argument),*).boxed(),
            $of::<plimsoll_client::VolumeAttachments>($($argument),*).boxed(),
            $of::<plimsoll_client::PersistentVolumes>($($argument),*).boxed(),
            $of::<plimsoll_client::PersistentVolumeClaims>($($argument),*).boxed(),
            $of::<plimsoll_client::Nodes>($($argument),*).boxed(),
            $of::<plimsoll_client::Pods>($($argument),*).boxed(),
        ]
    };
}
pub(crate) use for_each_kind;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_version_of_its_own() {
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.position(), at, "{kind:?}");
        }
        let holding = |version| Holding {
            applied: ResourceVersion::new(version),
            count: 0,
            complete: true,
        };
        let own = Holdings::of_each(|kind| holding(kind.position() as u64));
        for kind in Kind::ALL {
            assert_eq!(own.of(kind), holding(kind.position() as u64));
            let marks = |ahead: Option<Kind>| {
                Marks::of_each(|other| {
                    Mark::Version(ResourceVersion::new(
                        other.position() as u64 + u64::from(Some(other) == ahead),
                    ))
                })
            };
            assert!(own.pass(&marks(None)) && !own.pass(&marks(Some(kind))), "{kind:?}");
        }
    }

    #[test]
    fn tables_over_kinds_of_a_kind_have_the_order_of_all_kinds() {
        for (at, kind) in StorageKind::ALL.into_iter().enumerate() {
            assert_eq!(storage_position(kind), at, "{kind:?}");
        }
        for (at, kind) in WorkloadKind::ALL.into_iter().enumerate() {
            assert_eq!(workload_position(kind), at, "{kind:?}");
        }
        assert!(Kind::ALL.is_sorted());
    }

    #[test]
    fn an_account_is_passed_by_a_cache_that_holds_what_was_there_though_its_stream_says_nothing() {
        let account = Mark::Account(Account {
            version: ResourceVersion::new(90),
            newest: ResourceVersion::new(40),
            count: 3,
        });
        for (applied, count, passed) in [
            (40, 3, true),
            (60, 3, true),
            // An object that came or changed is missing, whatever the number.
            (39, 3, false),
            (39, 2, false),
            // A deletion is missing.
            (40, 4, false),
            (89, 4, false),
            // Something else is amiss, and the version settles it.
            (60, 2, false),
            (90, 2, true),
            (95, 7, true),
        ] {
            let holding = Holding {
                applied: ResourceVersion::new(applied),
                count,
                complete: true,
            };
            assert_eq!(account.is_passed_by(holding), passed, "{holding:?}");
        }
    }
}
