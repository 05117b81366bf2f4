//! What an operator may set, with kube-scheduler's names, units and defaults.
//!
//! This crate holds plain values: nothing here reads a file, a clock or the environment.

mod election;
mod profile;
mod scheduler;

pub use election::{ElectionConfig, ElectionConfigError, JITTER_FACTOR};
pub use profile::{PluginRef, ProfileConfig};
pub use scheduler::{ClientConnection, SchedulerConfig};
