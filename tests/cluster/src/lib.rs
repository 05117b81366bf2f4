//! Plimsoll against a real control plane: the parts from which the suite in `tests/suite` is made.
//!
//! ```text
//!  suite::run ── one control plane per test binary, reset before every test
//!     └─► Cluster ── makes pods and nodes (fixtures), starts schedulers, waits
//!            ├── History    every write etcd took, in its order
//!            ├── BindGate   holds Bindings at the API server to make races certain
//!            └── invariants judged at the end from History and the audit log alone
//! ```
//!
//! The same tests run against kube-scheduler with `PLIMSOLL_CLUSTER_SCHEDULER=kube-scheduler`: what they expect is what
//! the original does.

mod binary;
mod bind_gate;
mod cluster;
pub mod deployment;
mod explain;
pub mod extender_recorder;
pub mod fixtures;
mod history;
pub mod invariants;
pub mod measure;
mod metrics;
mod quantity;
mod replica;
pub mod suite;

pub use bind_gate::BindGate;
pub use cluster::Cluster;
pub use explain::{PodFacts, without_preemption};
pub use history::{History, Record, State};
pub use metrics::Metrics;
pub use replica::{ConfigFile, Election, Replica, Scheduler};
