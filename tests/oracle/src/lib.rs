//! Upstream's own plugins against ours, on random clusters.
//!
//! ```text
//!  Question::generate(seed, number) ──► case (plain Kubernetes JSON) ──► upstream/ (Go: kube-scheduler's own) ──► answer
//!                                         └──► Question::judge: decoders, engine, plugins ──► answer ──► compare ──► shrink
//! ```
//!
//! There are four questions. A [`Case`] is a cluster that an API server could hold, a configuration and one pod: compared
//! are the verdict on each node (code, reasons, plugin), the nodes that pre-filters leave, raw and normalised scores,
//! totals, the message users read, the plugins held responsible and what would be done about the pod's volumes. A
//! [`HintCase`] is a change of a pod, a node or an object of storage while a pod waits: compared are the events that it
//! stands for, and by plugin whether it hears of them and what it answers. A
//! [`SearchCase`] is a large cluster of which a share is looked at: compared are the nodes found and looked at, pod after
//! pod, and the choice. A [`PreemptionCase`] is a cluster without room for the pod: compared are, by node, who would have
//! to go and what of it budgets forbid, the choice, who is told to go, nominations given and taken, and the message.
//! Whatever differs is a mismatch, save what [`allowed`] lists.

pub mod allowed;
mod answer;
pub mod campaign;
mod case;
mod compare;
mod coverage;
mod dice;
mod generate;
mod hints;
mod ours;
mod preemption;
mod question;
mod search;
mod shrink;
pub mod upstream;

pub use answer::{Answer, Score, Verdict, Volumes};
pub use case::Case;
pub use compare::{Difference, differences};
pub use coverage::Verdicts;
pub use hints::{HintAnswer, HintCase, HintDifference, Hints, hint_differences};
pub use preemption::{PreemptionAnswer, PreemptionCase, Preemptions, Tried, preemption_differences};
pub use question::{Comparison, Coverage, Question};
pub use search::{Search, SearchAnswer, SearchCase, Searches};
pub use upstream::{Availability, find};
