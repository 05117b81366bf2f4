use plimsoll_model::Moment;

/// Where a claim stands; the table is in the docs of [`Claim`](super::Claim).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimState {
    /// Assumed; permit or pre-bind is not done yet, and nothing has been sent.
    Waiting,
    /// A binding is under way.
    Sent,
    /// The watch shows the pod where it was to be bound, and the answer to the only binding that was asked for is awaited: it
    /// tells who has bound the pod.
    Seen,
    /// The same binding is sent again at this time: its outcome is unknown, or it was throttled.
    Unknown {
        /// When.
        send_at: Moment,
    },
    /// The pod is being read; `since` is when that was asked for.
    Checking {
        /// When.
        since: Moment,
    },
    /// The pod is read again at this time.
    Doubtful {
        /// When.
        read_at: Moment,
    },
    /// The API server has the binding, the watch has not shown it yet.
    Bound,
    /// A read showed the pod on another node, where it counts until the watch shows it.
    Moved,
    /// Unsettled, and the term is over: no more is sent.
    Stopped,
    /// Over.
    Ended,
}

impl ClaimState {
    /// When the claim wants to be looked at again by itself.
    pub fn deadline(self) -> Option<Moment> {
        match self {
            Self::Unknown { send_at: at } | Self::Doubtful { read_at: at } => Some(at),
            _ => None,
        }
    }
}

/// How a claim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The watch shows the pod where the claim says.
    Confirmed,
    /// The watch shows the pod on another node.
    Elsewhere,
    /// The pod is certainly not bound and never will be by what we sent: it must be tried again.
    Refused,
    /// The pod is gone or going without a node.
    Gone,
}
