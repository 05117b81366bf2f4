use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_model::Pod;

/// A node on which there would be room for the pod without some less important ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The node.
    pub node: CompactString,
    /// The pods that would have to go, the most important first; at least one.
    pub victims: Vec<Arc<Pod>>,
    /// How many of them a disruption budget does not allow to go.
    pub violations: i64,
}
