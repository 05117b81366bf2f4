use std::sync::Arc;

use plimsoll_model::{Moment, ObjectName, Pod, Seq};

use crate::{Place, Stays};

/// A pod handed out to be tried.
#[derive(Debug, Clone)]
pub struct PoppedPod {
    /// The newest object that the queue had seen.
    pub pod: Arc<Pod>,
    /// The last change that the queue had seen; the cycle applies changes at least up to it before it judges.
    pub seq: Seq,
    /// Attempts so far, this one included.
    pub attempts: u32,
    /// When the pod first became ready to be tried: the start of `pod_scheduling_sli_duration_seconds`.
    pub initial_attempt: Option<Moment>,
    /// Whether the deadline for parked pods brought it back rather than an event.
    pub flushed: bool,
    /// When the queue first heard of the pod.
    pub added: Moment,
    /// Where it has waited since its last attempt; nothing unless [`SchedulingQueue::keep_stays`](crate::SchedulingQueue::keep_stays)
    /// was told to.
    pub stays: Stays,
}

/// How an attempt ended. Every popped pod is settled once on every path, panics included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It fits nowhere: parked unless something that came after the judgement could help.
    Rejected {
        /// Plugins that rejected it.
        plugins: Vec<&'static str>,
        /// Plugins that answered `Pending`: an event for one of these skips the backoff.
        pending_plugins: Vec<&'static str>,
        /// Plugins that turned nodes down even without the pods that preemption may evict: what helps with them may make
        /// room for a preemption.
        preemption_plugins: Vec<&'static str>,
        /// The last change in the columns when the pod was judged. Every later one is replayed.
        judged_at: Seq,
    },
    /// Something failed that says nothing about fitting (an internal error, a refused bind): tried again after a
    /// backoff counted apart.
    Failed {
        /// The last change in the columns when the pod was judged.
        judged_at: Seq,
    },
    /// Deciding it went so wrong that trying it again soon would do harm: it waits for the longest time a pod may, or
    /// until its own spec changes, and no other event wakes it.
    SetAside,
    /// It has a node: the bind was answered 201, or the watch confirmed it.
    Placed,
    /// Not to be tried: it is being deleted, or has a claim or a node already.
    Dropped,
}

/// Why a pod could not be settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// It is waiting already; nothing was changed. The text is kube-scheduler's.
    #[error("Pod {pod} is already present in {place}")]
    NotInFlight {
        /// The pod.
        pod: ObjectName,
        /// Where it waits.
        place: Place,
    },
}

/// How the condition of a pod begins that was set aside. Whoever settles a pod as [`Outcome::SetAside`] writes it, so that
/// the queue of the next term knows the pod again.
pub const SET_ASIDE_MESSAGE: &str = "deciding the pod panicked";
