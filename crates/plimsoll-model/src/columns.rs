//! The snapshot: one column per fact, one row per node.

mod node_set;

pub use node_set::{NodeIndex, NodeSet};
