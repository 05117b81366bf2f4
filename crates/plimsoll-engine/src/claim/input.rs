//! What moves a claim.

use std::time::Duration;

use compact_str::CompactString;
use plimsoll_model::Moment;

/// What the binding workers tell of a claim: the one outcome of each request that the engine asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimInput {
    /// 201: the pod is bound to the node of the claim.
    Bound,
    /// 409: already bound, another UID, or told to go; a read tells which.
    Conflict {
        /// What the API server said.
        message: String,
    },
    /// 404: the pod is gone; a read makes sure.
    NotFound {
        /// What the API server said.
        message: String,
    },
    /// Another answer that says that this request changed nothing.
    Refused {
        /// What the API server said.
        message: String,
    },
    /// 429: this request changed nothing and may be repeated after a while.
    Throttled {
        /// `Retry-After`.
        retry_after: Duration,
    },
    /// Time-out, connection lost, 5xx: the request may have been applied, or may yet be until `settled_by`.
    Unknown {
        /// When the request was sent, plus the server's own time-out for it.
        settled_by: Moment,
    },
    /// The extender that was to bind the pod says that it did not, or nothing that can be made use of.
    ExtenderFailed {
        /// What went wrong; users read it.
        message: String,
        /// When its call was sent plus the call's limit of time; the moment of the answer when it has done with the call.
        settled_by: Moment,
    },
    /// The request was never sent, since the term may be over.
    NotSent {
        /// Why.
        message: String,
    },
    /// Outcome of reading the pod.
    Read(ReadResult),
}

/// What a read of the pod from the API server itself (not from a cache) showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadResult {
    /// It has a node, whether or not it is to be deleted.
    Assigned {
        /// The node.
        node: CompactString,
    },
    /// It has no node and is not to be deleted.
    Unassigned,
    /// It has no node and is to be deleted: the API server binds it no more.
    Deleting,
    /// There is no pod of this name, or it has another UID.
    Gone,
    /// No answer.
    Failed,
}

/// What the watch showed of the pod of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight<'a> {
    Assigned(&'a str),
    Unassigned { terminating: bool },
    Deleted,
}

/// How a pod is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// We POST the binding.
    Api,
    /// An extender does it.
    Extender {
        /// Whether we POST the binding when the extender certainly has not bound the pod.
        fallback: bool,
    },
}

/// Everything that moves a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input<'a> {
    /// An answer of the binding workers.
    Answer(ClaimInput),
    /// The watch.
    Sight(Sight<'a>),
    /// Permit and pre-bind are done; this is how to bind.
    Cleared(Carrier),
    /// Permit, pre-bind or bind plugins turned the pod away.
    Withdrawn,
    /// A deadline may have passed.
    Due,
    /// Nothing may be sent any more.
    TermOver,
}
