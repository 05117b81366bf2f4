//! Making room for a pod by removing less important ones from a node.
//!
//! As kube-scheduler's `DefaultPreemption`: [`eligibility`] says whether the pod may have others evicted now; [`search`]
//! goes through the nodes where that could help and tries each without its less important pods, which makes it a
//! [`Candidate`] or adds a reason to the text; [`choice`] takes the candidate that hurts least; and what is then to be done
//! outside is a [`PreemptionPlan`]. Nothing is changed here: the columns are put back after each node.
//!
//! Beyond kube-scheduler, and only where a profile asks for it, [`sparing`] leaves pods and nodes alone: those that
//! [`hard_budgets`] protect, and those where [`recent`] evictions have brought nothing. The engine's [`memory`] has both what
//! was evicted lately and what is [`under_way`]. What a search found on single nodes is kept for the next pod of the kind
//! ([`trials`]).

mod budgets;
mod candidate;
mod choice;
mod eligibility;
mod hard_budgets;
mod importance;
mod memory;
mod plan;
mod recent;
mod search;
mod sparing;
mod trials;
mod under_way;

pub use candidate::Candidate;
pub use plan::{PreemptionPlan, Removal, Victim};

pub(crate) use choice::choose;
pub(crate) use eligibility::{ineligible, is_going_for_room};
pub(crate) use memory::Memory;
pub(crate) use search::{Found, Hindrance, Search};
pub(crate) use trials::{Stamp, Trials};
