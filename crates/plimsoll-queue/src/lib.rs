//! The scheduling queue: every waiting pod in one named place, with a deadline by which it is looked at again.
//!
//! [`SchedulingQueue`] is a state machine. Changes of the cluster, pops and outcomes go in, pods to try come out; time
//! comes in with each call. It does no I/O, reads no clock and draws no random numbers, so the same calls always give
//! the same pods in the same order.
//!
//! ```text
//!             add            pop              settle(Placed)
//!  (gated) ─▶ active ──────▶ in flight ─────────────────────▶ placed ─▶ forgotten
//!    ▲  │        ▲ ▲            │  settle(Rejected | Failed)
//!    └──┘        │ └─ backoff ◀─┤
//!                │       ▲      │
//!                └── unschedulable (until an event that could help, or the deadline)
//! ```

mod account;
mod alike;
mod backoff;
mod config;
mod event;
mod event_log;
mod groups;
mod heap;
mod history;
mod metrics;
mod outcome;
mod place;
mod plugin_sets;
mod queue;
mod record;
mod records;
mod stays;
mod worth;

pub use account::Account;
pub use config::QueueConfig;

pub use event::{UpdateEvents, node_update_events, pod_update_events};
pub use history::Move;
pub use metrics::{GateRuns, HintError, QueueMetrics, SlowestGates, Wakeups};
pub use outcome::{Outcome, PoppedPod, QueueError, SET_ASIDE_MESSAGE};
pub use place::{Counts, Place};
pub use queue::{EndedLife, PodMove, QueuePage, QueuedPod, Release, SchedulingQueue};
pub use stays::{Stay, Stays};
