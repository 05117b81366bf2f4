//! Making room for a pod by removing less important ones from a node.

mod plan;

pub use plan::{PreemptionPlan, Removal, Victim};
