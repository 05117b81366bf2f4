//! What the client's answers mean to a claim.

use std::time::Duration;

use plimsoll_client::{BindReply, NotSent, PodRead, TermToken};
use plimsoll_engine::{ClaimInput, ReadResult};
use plimsoll_model::{Moment, Uid};

use crate::binding_workers::ExtenderBindReply;

/// Between two tries to reach an API server that takes no connection: nothing was sent, so nothing has to be settled.
const RECONNECT: Duration = Duration::from_secs(1);

/// The answer to a binding. `now` is when it was taken up, which is not before it was sent: an unknown outcome is settled
/// at the latest one write time-out after that.
pub(crate) fn bind_input(reply: BindReply, token: &TermToken, now: Moment) -> ClaimInput {
    match reply {
        BindReply::Created => ClaimInput::Bound,
        BindReply::Conflict { message } => ClaimInput::Conflict { message },
        BindReply::NotFound => ClaimInput::NotFound {
            message: "the pod was not found".to_owned(),
        },
        BindReply::Refused { message, .. } => ClaimInput::Refused { message },
        BindReply::Throttled { retry_after } => ClaimInput::Throttled { retry_after },
        BindReply::Unknown { error } => {
            tracing::warn!(
                error,
                "The outcome of a binding is unknown; its claim is kept until it is settled"
            );
            ClaimInput::Unknown {
                settled_by: now + token.write_timeout(),
            }
        }
        BindReply::NotSent(NotSent::NoConnection(error)) => {
            tracing::debug!(error, "No connection for a binding; it is sent again");
            ClaimInput::Throttled { retry_after: RECONNECT }
        }
        BindReply::NotSent(reason @ (NotSent::TermOver | NotSent::Withdrawn)) => ClaimInput::NotSent {
            message: reason.to_string(),
        },
    }
}

/// The answer of an extender that was to bind, taken up at `now`.
pub(crate) fn extender_bind_input(reply: ExtenderBindReply, now: Moment) -> ClaimInput {
    match reply {
        ExtenderBindReply::Bound => ClaimInput::Bound,
        ExtenderBindReply::NotBound { message } => ClaimInput::ExtenderFailed {
            message,
            settled_by: now,
        },
        ExtenderBindReply::Unknown { error, settled_by } => {
            tracing::warn!(
                error,
                "The outcome of a binding by an extender is unknown; its claim is kept until it is settled"
            );
            ClaimInput::ExtenderFailed {
                message: error,
                settled_by,
            }
        }
        ExtenderBindReply::NotSent => ClaimInput::NotSent {
            message: NotSent::TermOver.to_string(),
        },
    }
}

/// The answer to a read of the pod with this UID.
pub(crate) fn read_input(read: PodRead, uid: &Uid) -> ClaimInput {
    ClaimInput::Read(match read {
        PodRead::Found(pod) if pod.uid != *uid => ReadResult::Gone,
        PodRead::Found(pod) => match &pod.node_name {
            Some(node) => ReadResult::Assigned { node: node.clone() },
            None if pod.is_terminating() => ReadResult::Deleting,
            None => ReadResult::Unassigned,
        },
        PodRead::Gone => ReadResult::Gone,
        PodRead::Failed { error } => {
            tracing::debug!(error, "A pod whose binding is undecided could not be read");
            ReadResult::Failed
        }
    })
}

/// One word for an answer, for metrics.
pub(crate) fn bind_kind(reply: &BindReply) -> &'static str {
    match reply {
        BindReply::Created => "created",
        BindReply::Conflict { .. } => "conflict",
        BindReply::NotFound => "not_found",
        BindReply::Refused { .. } => "refused",
        BindReply::Throttled { .. } => "throttled",
        BindReply::Unknown { .. } => "unknown",
        BindReply::NotSent(_) => "not_sent",
    }
}

/// The same for the answer of an extender.
pub(crate) fn extender_bind_kind(reply: &ExtenderBindReply) -> &'static str {
    match reply {
        ExtenderBindReply::Bound => "created",
        ExtenderBindReply::NotBound { .. } => "refused",
        ExtenderBindReply::Unknown { .. } => "unknown",
        ExtenderBindReply::NotSent => "not_sent",
    }
}

/// One word for what a read showed.
pub(crate) fn read_kind(read: &PodRead) -> &'static str {
    match read {
        PodRead::Found(_) => "found",
        PodRead::Gone => "gone",
        PodRead::Failed { .. } => "failed",
    }
}
