//! Making room for a pod by removing less important ones from a node.

mod hard_budgets;
mod plan;
mod recent;
mod under_way;

pub use plan::{PreemptionPlan, Removal, Victim};
