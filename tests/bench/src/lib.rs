//! Plimsoll and kube-scheduler measured side by side: the same workloads, the same API server, the same witness.
//!
//! ```text
//!  workload ── files in upstream's format ─► plan ── who, against what, how often
//!                                             └─► run ── one workload, one scheduler, an API server of its own
//!                                                   ├── load       makes nodes and pods
//!                                                   ├── observer   notes when each pod was seen bound
//!                                                   └── check      judges what is there at the end
//!                                             report ── medians, ratios with intervals, tables, JSON
//! ```

pub mod binder;
pub mod check;
pub mod contestant;
mod latency;
mod load;
pub mod machine;
mod object;
mod observer;
pub mod plan;
pub mod report;
pub mod run;
mod statistics;
pub mod template;
mod throughput;
pub mod workload;

pub use latency::Latency;
pub use statistics::{Estimate, median, ratio};
pub use throughput::{Throughput, Windows};
