//! Plimsoll, a Kubernetes scheduler, as a library: a program with plugins of its own is a `main` of a few lines.
//!
//! ```ignore
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let request = plimsoll::flags::parse("my-scheduler", std::env::args_os().skip(1))?;
//!     let plimsoll::flags::Request::Run(options) = request else { return Ok(()) };
//!     plimsoll::logging::install(&options.logging);
//!     let scheduler = plimsoll::Scheduler::builder()
//!         .plugin("Mine", 1, |_| Ok(mine::extensions()))
//!         .effect_performer("Mine", std::sync::Arc::new(mine::Performer))
//!         .build();
//!     tokio::runtime::Runtime::new()?.block_on(scheduler.run(*options))?;
//!     Ok(())
//! }
//! ```

pub mod flags;
pub mod logging;
mod scheduler;
pub mod version;

pub use plimsoll_actors::effects::PerformEffect;
pub use plimsoll_config as config;
pub use plimsoll_framework as framework;
pub use plimsoll_model as model;
pub use scheduler::{Options, RunError, Scheduler, SchedulerBuilder};

/// Chooses the cryptography that TLS uses throughout the process. [`Scheduler::run`] does it too; whoever was first wins.
pub fn install_crypto_provider() {
    // An error says that another one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
