//! Pods and nodes in as few words as a test needs.

mod node;
mod pod;

pub use node::{NodeFixture, node};
pub(crate) use pod::priority_class;
pub use pod::{PodFixture, pod};
