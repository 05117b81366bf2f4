//! The log of the process: see [`plimsoll_telemetry::logs`].

pub use plimsoll_telemetry::logs::{LogFormat, LogOptions as Logging, Routing, VModule, flush, install, verbosity};
