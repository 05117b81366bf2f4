use std::sync::Arc;

use crate::storage::StorageObject;
use crate::{DisruptionBudget, Namespace, Node, Pod, WorkloadSelector};

/// Position in the one order of changes, over all kinds. The first change of a term has 1; there are no gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(u64);

impl Seq {
    /// Before the first change.
    pub const ZERO: Self = Self(0);

    /// The position with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The position right after.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// One change of the cluster and its place in the order.
///
/// The informer cache numbers what the watches deliver and sends the same stream to the queue and to the cycle. A term
/// begins with the cache's content as additions: namespaces, workload selectors, storage, nodes, then pods.
#[derive(Debug, Clone)]
pub struct Change {
    /// Place in the order.
    pub seq: Seq,
    /// What changed.
    pub delta: Delta,
}

/// What changed.
#[derive(Debug, Clone)]
pub enum Delta {
    /// A pod was created, or is seen for the first time.
    PodAdded(Arc<Pod>),
    /// A pod changed; both have the same UID.
    PodUpdated {
        /// As it was last told.
        old: Arc<Pod>,
        /// As it is now.
        new: Arc<Pod>,
    },
    /// A pod is gone; this is the last that is known of it.
    PodDeleted(Arc<Pod>),
    /// A node was created, or is seen for the first time.
    NodeAdded(Arc<Node>),
    /// A node changed.
    NodeUpdated {
        /// As it was last told.
        old: Arc<Node>,
        /// As it is now.
        new: Arc<Node>,
    },
    /// A node is gone; this is the last that is known of it.
    NodeDeleted(Arc<Node>),
    /// A namespace was created (no `old`), changed its labels, or is gone (no `new`).
    NamespaceChanged {
        /// As it was last told.
        old: Option<Arc<Namespace>>,
        /// As it is now.
        new: Option<Arc<Namespace>>,
    },
    /// A workload was created (no `old`), changed its selector, or is gone (no `new`).
    WorkloadSelectorChanged {
        /// As it was last told.
        old: Option<Arc<WorkloadSelector>>,
        /// As it is now.
        new: Option<Arc<WorkloadSelector>>,
    },
    /// A pod disruption budget was created (no `old`), changed, or is gone (no `new`).
    DisruptionBudgetChanged {
        /// As it was last told.
        old: Option<Arc<DisruptionBudget>>,
        /// As it is now.
        new: Option<Arc<DisruptionBudget>>,
    },
    /// An object of storage was created (no `old`), changed, or is gone (no `new`); both are of one kind and one name.
    StorageChanged {
        /// As it was last told.
        old: Option<StorageObject>,
        /// As it is now.
        new: Option<StorageObject>,
    },
}
