use plimsoll_client::{
    DisruptionBudgets, Namespaces, Nodes, Pods, ReplicaSets, ReplicationControllers, Services, StatefulSets,
    WatchBatch, WatchedKind,
};
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
    /// Nodes.
    Nodes,
    /// Pods that are not finished.
    Pods,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Self; 8] = [
        Self::Namespaces,
        Self::Workloads(WorkloadKind::Service),
        Self::Workloads(WorkloadKind::ReplicationController),
        Self::Workloads(WorkloadKind::ReplicaSet),
        Self::Workloads(WorkloadKind::StatefulSet),
        Self::DisruptionBudgets,
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
            Self::Nodes => Nodes::NAME,
            Self::Pods => Pods::NAME,
        }
    }

    pub(super) fn position(self) -> usize {
        match self {
            Self::Namespaces => 0,
            Self::Workloads(kind) => 1 + workload_position(kind),
            Self::DisruptionBudgets => 5,
            Self::Nodes => 6,
            Self::Pods => 7,
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

/// A version of each kind; versions of different kinds are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions([ResourceVersion; Kind::ALL.len()]);

impl Versions {
    /// The version that `of` tells for each kind.
    pub fn of_each(of: impl Fn(Kind) -> ResourceVersion) -> Self {
        Self(Kind::ALL.map(of))
    }

    /// The version of one kind.
    pub fn of(&self, kind: Kind) -> ResourceVersion {
        self.0[kind.position()]
    }

    /// Whether no kind is behind.
    pub fn reach(&self, wanted: &Self) -> bool {
        self.0.iter().zip(&wanted.0).all(|(own, wanted)| own >= wanted)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_version_of_its_own() {
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.position(), at, "{kind:?}");
        }
        let own = Versions::of_each(|kind| ResourceVersion::new(kind.position() as u64));
        for kind in Kind::ALL {
            assert_eq!(own.of(kind).as_u64(), kind.position() as u64);
            let ahead =
                Versions::of_each(|other| ResourceVersion::new(other.position() as u64 + u64::from(other == kind)));
            assert!(ahead.reach(&own) && !own.reach(&ahead), "{kind:?}");
        }
        assert!(own.reach(&own));
    }
}
