//! Pods, nodes and their storage in as few words as a test needs.

mod node;
mod pod;
mod storage;
mod volume;

pub use node::{NodeFixture, node};
pub(crate) use pod::priority_class;
pub use pod::{PodFixture, pod};
pub use storage::{ClassFixture, CsiNodeFixture, csi_driver, csi_node, storage_class};
pub use volume::{ClaimFixture, DRIVER, VolumeFixture, claim, volume};
