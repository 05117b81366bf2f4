//! Decisions at scale, without an API server: a made-up cluster is filled pod by pod by the engine as the cycle actor uses it,
//! and a share of the same pods is placed by kube-scheduler's own code in one process.
//!
//! ```text
//!  Mix ── apps of all kinds, by a seed ──► Cluster (plain Kubernetes JSON)
//!                                            ├──► Ours: decoders, engine, default profile ──► Placed
//!                                            └──► Theirs: kube-scheduler, told where Placed are, then timed
//!                                          Tally ── adds everything up anew and judges each placement
//! ```

mod cluster;
mod dice;
mod memory;
mod mix;
mod ours;
mod report;
mod run;
mod speed;
mod stopwatch;
mod tally;
mod theirs;

pub use cluster::Cluster;
pub use mix::{App, Kind, Mix};
pub use ours::{Ours, Placed};
pub use report::{Compared, Report, Stage, Work};
pub use run::{Plan, run};
pub use speed::Speed;
pub use tally::{Fault, tally};
