//! Plimsoll against a real control plane: the parts from which the suite in `tests/suite` is made.
//!
//! ```text
//!  suite::run ── one control plane per test binary, reset before every test
//!     └─► Cluster ── makes pods and nodes (fixtures), starts schedulers, waits
//!            ├── History    every write etcd took, in its order
//!            ├── Removal    how each pod was taken away, read from History
//!            ├── WriteGate  holds writes at the API server to make races certain
//!            ├── Provisioner  makes volumes for claims, as a CSI driver's would, or does not
//!            └── invariants judged at the end from History and the audit log alone
//! ```
//!
//! The same tests run against kube-scheduler with `PLIMSOLL_CLUSTER_SCHEDULER=kube-scheduler`: what they expect is what
//! the original does.

mod binary;
mod cluster;
pub mod deployment;
mod explain;
mod exposition;
pub mod extender_recorder;
pub mod fixtures;
mod history;
pub mod invariants;
pub mod measure;
mod metrics;
mod permissions;
pub mod provisioner;
pub mod quantity;
mod removal;
mod replica;
pub mod suite;
mod write_gate;

pub use cluster::Cluster;
pub use explain::{PodFacts, preemption_part, without_preemption};
pub use exposition::{Exposition, Family};
pub use history::{History, Record, State};
pub use metrics::Metrics;
pub use permissions::{Permissions, noted};
pub use removal::{Removal, lowest_healthy, removals};
pub use replica::{ConfigFile, Election, Replica, Scheduler};
pub use write_gate::{Write, WriteGate};
