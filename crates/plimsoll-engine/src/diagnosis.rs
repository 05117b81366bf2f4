use plimsoll_framework::Nomination;
use plimsoll_model::{Moment, Seq};

use crate::{PreemptionPlan, Rejection};

/// Why no node will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// What users read.
    pub message: String,
    /// Plugins that turned the pod away, sorted; empty when there are no nodes.
    pub plugins: Vec<&'static str>,
    /// Those of them that wait for something outside, sorted.
    pub pending_plugins: Vec<&'static str>,
    /// Plugins, not among those, that turned nodes down even without the pods that preemption may evict, sorted.
    pub preemption_plugins: Vec<&'static str>,
    /// How many nodes each plugin rejected and why, the most first.
    pub rejections: Vec<Rejection>,
    /// What happens to the nomination.
    pub nominate: Nomination,
    /// The last change that was taken into account: later ones may help.
    pub judged_at: Seq,
    /// There are no nodes: the pod returns with error backoff, and nothing is logged as an error.
    pub no_nodes: bool,
    /// Preemption was tried, whatever came of it.
    pub preemption_tried: bool,
    /// Whom to evict so that the pod gets room on the node that it is nominated to.
    pub preemption: Option<PreemptionPlan>,
    /// When the pod is to be tried again even if nothing happens: something that spoke against a node is over then.
    pub retry_at: Option<Moment>,
}

/// The reason given in the pod's condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// A plugin turned the pod away.
    Unschedulable,
    /// Something failed.
    SchedulerError,
}

impl FailureReason {
    /// The word in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::SchedulerError => "SchedulerError",
        }
    }
}

/// Why a pod that had a node was not bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Turned away or failed.
    pub reason: FailureReason,
    /// What users read.
    pub message: String,
    /// Plugins that turned the pod away, sorted.
    pub plugins: Vec<&'static str>,
    /// Those of them that wait for something outside, sorted.
    pub pending_plugins: Vec<&'static str>,
    /// The last change that was taken into account.
    pub judged_at: Seq,
}
