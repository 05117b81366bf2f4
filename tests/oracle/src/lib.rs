//! Upstream's own plugins against ours, on random clusters.
//!
//! ```text
//!  generate::case(seed, number) ──► Case (plain Kubernetes JSON) ──► upstream/ (Go: kube-scheduler's plugins) ──► Answer
//!                                     └──► ours: decoders, engine, plugins ──► Answer ──► compare ──► shrink
//! ```
//!
//! Each case is a cluster that an API server could hold, a configuration and one pod. Compared are the verdict on each
//! node (code, reasons, plugin), the nodes that pre-filters leave, raw and normalised scores, totals, the message users
//! read and the plugins held responsible. Whatever differs is a mismatch, save what [`allowed`] lists.

pub mod allowed;
mod answer;
pub mod campaign;
mod case;
mod compare;
mod coverage;
mod dice;
mod generate;
mod ours;
mod shrink;
mod upstream;

pub use answer::{Answer, Score, Verdict};
pub use case::Case;
pub use compare::{Difference, differences};
pub use coverage::Coverage;
pub use generate::case;
pub use ours::judge;
pub use upstream::{Availability, find};
