//! Plimsoll, a Kubernetes scheduler, as a library: a program with plugins of its own is a `main` of a few lines.
//!
//! ```no_run
//! use plimsoll::flags::{self, Request};
//! use plimsoll::framework::Extensions;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let Request::Run(options) = flags::parse("my-scheduler", std::env::args_os().skip(1))? else {
//!         return Ok(());
//!     };
//!     plimsoll::logging::install(&options.logging)?;
//!     let scheduler = plimsoll::Scheduler::builder()
//!         .plugin("Mine", 1, |_| Ok(Extensions::new()))
//!         .build();
//!     tokio::runtime::Runtime::new()?.block_on(scheduler.run(*options))?;
//!     Ok(())
//! }
//! ```
//!
//! How to write plugins stands in `docs/plugins.md`.

pub mod config_source;
pub mod flags;
pub mod help;
pub mod logging;
mod scheduler;
pub mod serving;
pub mod version;

pub use plimsoll_actors::effects::PerformEffect;
pub use plimsoll_actors::permits::Permits;
pub use plimsoll_config as config;
pub use plimsoll_framework as framework;
pub use plimsoll_model as model;
pub use scheduler::{Options, RunError, Scheduler, SchedulerBuilder};

/// Chooses the cryptography that TLS uses throughout the process. [`Scheduler::run`] does it too; whoever was first wins.
pub fn install_crypto_provider() {
    // An error says that another one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Compiles what the page on plugins shows.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/plugins.md")]
struct PluginsPage;
