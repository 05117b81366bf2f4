//! Pods and nodes in as few words as a test needs.

mod node;
mod pod;

pub use node::{NodeFixture, node};
pub use pod::{PodFixture, pod};
