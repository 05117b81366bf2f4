use std::sync::Arc;

use plimsoll_model::{Pod, Seq};

use super::comparison::Discrepancy;

/// What the cache knows of a pod that something is wrong with.
#[derive(Debug, Clone)]
pub struct Restatement {
    /// What is wrong.
    pub discrepancy: Discrepancy,
    /// The pod; nothing when it is gone.
    pub pod: Option<Arc<Pod>>,
    /// Whether it waits for a node, and a profile takes it.
    pub pending: bool,
}

/// The truth about some pods at one number of the stream, for the queue and the cycle to come back to. Doing so twice does
/// no more than once, and neither does it where nothing was wrong.
#[derive(Debug, Clone)]
pub struct Restatements {
    /// The last change that was sent before.
    pub seq: Seq,
    /// About each pod.
    pub pods: Arc<[Restatement]>,
}
