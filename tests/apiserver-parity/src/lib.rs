//! One script of requests, played against the embedded API server over TCP and against the real etcd and
//! kube-apiserver, and what differs between the answers.
//!
//! ```text
//!  script ──► play (embedded) ──► outcomes ──► normalise ─┐
//!       └───► play (real)     ──► outcomes ──► normalise ─┴─► differences ──► allowed | failures
//! ```
//!
//! What two servers can never agree on (UIDs, times, version numbers, addresses) is replaced by what it means: a
//! captured name, or how a version relates to the versions seen before.

mod allowed;
mod difference;
mod kubectl;
mod normalise;
mod play;
pub mod script;
mod step;
mod target;

pub use allowed::{ALLOWED, Allowed};
pub use difference::{Difference, compare};
pub use kubectl::Kubectl;
pub use play::{Outcome, play};
pub use step::{Request, Script, Step};
pub use target::Target;
