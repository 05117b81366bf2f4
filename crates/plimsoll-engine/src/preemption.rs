//! Making room for a pod by removing less important ones from a node.

#[cfg(test)]
mod hard_budgets;
mod plan;
#[cfg(test)]
mod recent;
#[cfg(test)]
mod under_way;

pub use plan::{PreemptionPlan, Removal, Victim};
