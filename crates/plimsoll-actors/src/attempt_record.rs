//! What is told of one attempt to schedule a pod, once its outcome is known: the numbers behind a trace, and behind the
//! answer to why a pod is pending.
//!
//! Failed attempts always have a record. One that ends with the pod bound has a record only when somebody wants it: see
//! [`Reason`].

use std::time::Duration;

use compact_str::CompactString;
use plimsoll_engine::{ClaimTimeline, Rejection, Timeline};
use plimsoll_framework::Code;
use plimsoll_model::{Moment, ObjectName, Timestamp, Uid};
use plimsoll_queue::Stays;
use smallvec::SmallVec;

use crate::trace_context::TraceContext;

/// One attempt, from the queue to its outcome.
#[derive(Debug, Clone)]
pub struct AttemptRecord {
    /// The trace of the pod's scheduling life.
    pub trace: TraceContext,
    /// What tells the attempt from others of this replica; its span's id is made of it.
    pub span: u64,
    /// Why there is a record.
    pub reason: Reason,
    /// The pod.
    pub pod: PodIdentity,
    /// The profile that it was tried with.
    pub profile: CompactString,
    /// The term in which it was tried.
    pub term: u64,
    /// Which attempt of the pod it is, as this leader counts them from 1.
    pub attempt: u32,
    /// Nobody else could lead when it ended, so that the end of the pod's life is told here and nowhere else.
    pub leads_alone: bool,
    /// When the queue first heard of the pod.
    pub added: Moment,
    /// Where the pod had waited since its last attempt.
    pub stays: Stays,
    /// When the attempt began.
    pub begun: Moment,
    /// When a node was chosen or none found.
    pub decided: Moment,
    /// When its outcome was known.
    pub ended: Moment,
    /// What the cycle did.
    pub timeline: Timeline,
    /// What happened after a node was chosen.
    pub after_choice: ClaimTimeline,
    /// Nodes looked at.
    pub evaluated_nodes: usize,
    /// Nodes that would do.
    pub feasible_nodes: usize,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// What users read of a failure.
    pub message: String,
    /// Who turned the pod away, and from which nodes.
    pub rejections: Vec<Rejection>,
    /// Who is to go for the pod.
    pub preemption: Option<PlannedPreemption>,
    /// How long the pod waited at Permit.
    pub permit_wait: Option<PermitWaited>,
    /// What was asked of others outside of the process.
    pub calls: Calls,
}

/// Which pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodIdentity {
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// When it was created.
    pub created: Option<Timestamp>,
}

impl PodIdentity {
    /// Of this pod.
    pub fn of(pod: &plimsoll_model::Pod) -> Self {
        Self {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            created: pod.creation_timestamp.clone(),
        }
    }
}

/// Why an attempt has a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The attempt failed.
    Failed,
    /// An earlier attempt failed, of this leader or another: its trace is not left without an end.
    Retried,
    /// The attempt took longer than [`SLOW`].
    Slow,
    /// The pod is one of the share that is told of.
    Sampled,
}

/// An attempt that takes longer than this until its pod is bound is slow. Waiting to be tried is not part of it: under a
/// backlog every pod waits.
pub const SLOW: Duration = Duration::from_secs(1);

impl Reason {
    /// As traces name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Retried => "retried",
            Self::Slow => "slow",
            Self::Sampled => "sampled",
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The pod is bound to this node.
    Scheduled {
        /// Where.
        node: CompactString,
    },
    /// Plugins turned it away.
    Unschedulable {
        /// Which, sorted.
        plugins: Vec<&'static str>,
        /// The node, if one had been chosen before.
        node: Option<CompactString>,
    },
    /// Something failed.
    Error {
        /// The node, if one had been chosen before.
        node: Option<CompactString>,
    },
    /// Somebody else bound the pod.
    BoundElsewhere {
        /// Where.
        node: CompactString,
    },
    /// The pod went, or is going.
    Gone,
}

impl AttemptOutcome {
    /// As traces name it: kube-scheduler's words where it has them.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Scheduled { .. } => "scheduled",
            Self::Unschedulable { .. } => "unschedulable",
            Self::Error { .. } => "error",
            Self::BoundElsewhere { .. } => "bound_elsewhere",
            Self::Gone => "gone",
        }
    }

    /// The node that was chosen, if one was.
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::Scheduled { node } | Self::BoundElsewhere { node } => Some(node),
            Self::Unschedulable { node, .. } | Self::Error { node } => node.as_deref(),
            Self::Gone => None,
        }
    }

    /// Whether the pod's scheduling life is over with it.
    pub fn ends_life(&self) -> bool {
        matches!(self, Self::Scheduled { .. } | Self::BoundElsewhere { .. } | Self::Gone)
    }
}

/// Who is to go so that the pod gets room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPreemption {
    /// Where the room will be.
    pub node: CompactString,
    /// Who has to go.
    pub victims: Vec<PodIdentity>,
}

/// A wait at Permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermitWaited {
    /// Since when.
    pub from: Moment,
    /// Until when.
    pub to: Moment,
    /// What came of it.
    pub code: Code,
}

/// So many calls of one attempt are kept; what is left out is counted.
const MOST_CALLS: usize = 32;

/// Calls in the order in which their answers came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Calls {
    /// The calls.
    pub calls: SmallVec<[Call; 1]>,
    /// How many more there were.
    pub left_out: u32,
}

impl Calls {
    /// Adds one.
    pub(crate) fn push(&mut self, call: Call) {
        if self.calls.len() < MOST_CALLS {
            self.calls.push(call);
        } else {
            self.left_out += 1;
        }
    }
}

/// Something asked of others: the API server, an extender, or what a plugin asks outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What.
    pub what: CallKind,
    /// When it was handed out; it may have waited for a worker.
    pub begun: Moment,
    /// When its answer came.
    pub ended: Moment,
    /// Which try of the same request it was, from 1.
    pub attempt: u32,
    /// What came back, in a word.
    pub outcome: &'static str,
    /// What went wrong, if anything did.
    pub error: Option<String>,
}

/// What a call was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKind {
    /// POST of the binding.
    Bind,
    /// GET of the pod, to settle what became of a binding.
    Read,
    /// PATCH of the pod's status.
    Status,
    /// PATCH of an object of storage.
    Volume {
        /// Its kind, and its name.
        object: String,
    },
    /// PATCH that tells why a victim goes.
    MarkVictim,
    /// DELETE or eviction of a victim.
    RemoveVictim,
    /// An extender was asked.
    Extender {
        /// Its URL.
        url: String,
        /// What: `filter`, `prioritize`, `preempt` or `bind`.
        verb: &'static str,
    },
    /// What a plugin asked outside.
    Effect {
        /// Which plugin.
        plugin: &'static str,
    },
}

impl CallKind {
    /// Whether it is about the binding.
    pub(crate) fn binds(&self) -> bool {
        match self {
            Self::Bind | Self::Read => true,
            Self::Extender { verb, .. } => *verb == "bind",
            Self::Status | Self::Volume { .. } | Self::MarkVictim | Self::RemoveVictim | Self::Effect { .. } => false,
        }
    }
}

#[cfg(test)]
impl AttemptRecord {
    /// A failed attempt of which nothing else is known.
    pub(crate) fn failed(uid: &Uid, attempt: u32) -> Self {
        let mut pod = plimsoll_model::testing::pod("failed").build();
        pod.uid = uid.clone();
        Self {
            trace: TraceContext::of(&pod),
            span: 1,
            reason: Reason::Failed,
            pod: PodIdentity::of(&pod),
            profile: "default-scheduler".into(),
            term: 1,
            attempt,
            leads_alone: true,
            added: Moment::ZERO,
            stays: Stays::default(),
            begun: Moment::ZERO,
            decided: Moment::ZERO,
            ended: Moment::ZERO,
            timeline: Timeline::default(),
            after_choice: ClaimTimeline::default(),
            evaluated_nodes: 0,
            feasible_nodes: 0,
            outcome: AttemptOutcome::Unschedulable {
                plugins: Vec::new(),
                node: None,
            },
            message: String::new(),
            rejections: Vec::new(),
            preemption: None,
            permit_wait: None,
            calls: Calls::default(),
        }
    }
}
