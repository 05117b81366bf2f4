use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::Effect;
use plimsoll_model::{Pod, Seq};

use crate::{ClaimId, Diagnosis, Nomination};

/// How far a cycle came.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and moved once")]
pub enum Step {
    /// This I/O is needed before the cycle can go on with [`Engine::resume`](crate::Engine::resume).
    Needs(Effect),
    /// The cycle is over.
    Done(Outcome),
}

/// How a cycle ended.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each attempt, and it is moved a few times"
)]
#[derive(Debug)]
pub enum Outcome {
    /// A node was chosen, and the pod counts there.
    Placed(Placement),
    /// No node will do now.
    Unschedulable(Diagnosis),
    /// Something failed: the pod returns with error backoff.
    Failed {
        /// What users read.
        message: String,
        /// The last change that was taken into account.
        judged_at: Seq,
        /// What happens to the nomination.
        nominate: Nomination,
    },
    /// The pod is not to be tried.
    Dropped(DropReason),
}

/// The choice of a node. The claim belongs to the engine from now on; notices tell what becomes of it.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The claim.
    pub claim: ClaimId,
    /// The pod in the version that was judged.
    pub pod: Arc<Pod>,
    /// The node.
    pub node: CompactString,
    /// Nodes looked at: those that would do and those that have a verdict.
    pub evaluated_nodes: usize,
    /// Nodes that would do.
    pub feasible_nodes: usize,
    /// It waits for a permit; else its pre-bind work or its binding is under way.
    pub waits_on_permit: bool,
}

/// Why a pod is not to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// It is to be deleted: users are told `skip schedule deleting pod: <ns>/<name>`.
    Deleting,
    /// A claim of ours holds it.
    Assumed,
    /// It has a node.
    Assigned,
    /// It is gone.
    Gone,
    /// No profile has its `schedulerName`.
    UnknownProfile,
    /// No cycle waits for this reply.
    NotWaiting,
}
