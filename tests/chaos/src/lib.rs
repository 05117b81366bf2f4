//! Three replicas of the real program, two API servers, one etcd, and one fault after the other while pods and nodes come
//! and go.
//!
//! ```text
//!  campaign ── rounds, resumable ──► report
//!     └─► Scene ── ControlPlane (2 API servers, etcd), 3 Seats (a Proxy and a Replica each), Churn, kubelets
//!          └─► round ── faults drawn from the seed ──► inflict ──► mend ──► settle
//!                └─► judged from etcd's history (Judge) and the API servers' audit logs (Ledger) alone
//! ```

pub mod campaign;
mod churn;
mod dice;
mod fault;
mod hand_over;
mod inflict;
mod judge;
mod lease;
mod ledger;
mod record;
mod report;
mod round;
mod scene;
mod settle;

pub use campaign::{Options, run};
pub use fault::{Fault, Kind, Plan};
pub use hand_over::{HandOver, Histogram, Step, Summary};
pub use lease::LeaseTimes;
pub use record::{Campaign, RoundRecord, Session};
