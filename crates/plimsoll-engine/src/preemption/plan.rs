use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_model::Pod;

use crate::ClaimId;

/// What is to be done outside so that a pod gets room; the nominations that go with it are settled in the engine already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionPlan {
    /// The pod that room is made for.
    pub preemptor: Arc<Pod>,
    /// Where; the pod is nominated to this node.
    pub node: CompactString,
    /// Who has to go, the most important first; those that are going already are left out.
    pub victims: Vec<Victim>,
    /// How many victims there are with those that are going already.
    pub chosen: usize,
    /// Less important pods that were nominated to the node: their `status.nominatedNodeName` is to be cleared.
    pub clear_nominations: Vec<Arc<Pod>>,
    /// How the victims are removed.
    pub removal: Removal,
    /// Whether the pod goes back to the queue before that is done.
    pub asynchronous: bool,
}

/// A pod that has to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victim {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Set while the pod is no more than a claim of ours: it may be possible to give up the claim in memory.
    pub claim: Option<ClaimId>,
}

/// How victims are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Removal {
    /// The pod is deleted, as kube-scheduler does.
    Delete,
    /// Through the pod's `eviction` subresource, so that the API server guards disruption budgets itself.
    Evict,
}
