//! One scheduling cycle, and the claims that outlive it.
//!
//! [`Engine`] holds the cluster as the change stream told it, the columns, every claim and every nomination. It is
//! pure: time is passed in, ties are broken by a generator seeded by the caller, and whatever needs the outside is handed
//! back as a [`Step`] or a [`Notice`].
//!
//! - A cycle starts with [`Engine::begin`]. When a plugin needs I/O it stops with [`Step::Needs`] and goes on with
//!   [`Engine::resume`]. Changes that arrive in between are held back, applied before the chosen node is claimed, and the
//!   node is checked again.
//! - From the moment a node is chosen the pod is a [`Claim`]: it counts in the columns until the watch shows the pod
//!   where it is, or it is known that the pod is not there. An unknown outcome of a bind frees nothing.

mod claim;
mod claim_timing;
mod cycle;
mod diagnosis;
mod engine;
mod fit_error;
mod go_duration;
mod ledger;
mod node_order;
mod nominations;
mod notice;
mod outcome;
mod plan;
mod preemption;
mod prospect;
mod recall;
mod record;
mod rejection;
mod report;
mod row_scores;
mod sampling;
mod score_groups;
mod standing;
mod timeline;
mod trial;
mod waits;

pub use claim::{Claim, ClaimId, ClaimInput, ClaimState, Ending, ReadResult};
pub use diagnosis::{Diagnosis, Failure, FailureReason};
pub use engine::{CacheSize, Engine, NodeDump, Resources};
pub use notice::Notice;
pub use outcome::{DropReason, Outcome, Placement, Step};
pub use plimsoll_framework::Nomination;
pub use preemption::{Candidate, PreemptionPlan, Removal, Victim};
pub use prospect::{Lack, NearNode, Prospect};
pub use rejection::Rejection;
pub use report::{ConditionReport, StatusReport, TransitionTime, event_note, status_report};
pub use standing::{Awaits, PreBinding, Standing};
pub use timeline::{ClaimTimeline, Evaluations, PluginRun, PointRun, Timeline};
pub use trial::{NodeTrial, PluginScores, PreemptionTrial, Trial};
