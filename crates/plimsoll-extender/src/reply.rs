//! What extenders answer: `ExtenderFilterResult`, `HostPriorityList`, `ExtenderBindingResult` and
//! `ExtenderPreemptionResult` of `k8s.io/kube-scheduler/extender/v1`. Those types name no JSON keys, so the keys are the
//! names of Go's fields, in any case; keys that they do not have are passed over.

mod binding;
mod filter;
mod preemption;
mod prioritize;

pub(crate) use binding::binding_error;
pub(crate) use filter::filter_reply;
pub(crate) use preemption::preemption_reply;
pub(crate) use prioritize::host_priorities;

use std::borrow::Cow;

use crate::json::{Cursor, Place, TypeError};

/// Names, scores and pods in one reply: more than there are nodes in any cluster. Without a limit a reply of the largest
/// size, made of empty entries, would take ten times its size in memory.
const ENTRY_LIMIT: usize = 500_000;

/// Bytes of a text that goes into events and conditions; the rest is cut off.
const TEXT_LIMIT: usize = 4096;

/// A reply that is JSON, and yet no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReplyError {
    /// A value of the wrong kind.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// Too long a list or map.
    #[error("the reply has more than {ENTRY_LIMIT} entries")]
    TooMany,
}

/// Counts the entries of a reply.
#[derive(Debug, Default)]
struct Entries(usize);

impl Entries {
    fn count(&mut self) -> Result<(), ReplyError> {
        self.0 += 1;
        if self.0 > ENTRY_LIMIT {
            return Err(ReplyError::TooMany);
        }
        Ok(())
    }
}

/// A text for people, or what is left of it.
fn limited(text: Cow<'_, str>) -> String {
    if text.len() <= TEXT_LIMIT {
        return text.into_owned();
    }
    let end = text.floor_char_boundary(TEXT_LIMIT);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Replaces `text` by the string that comes next; `null` leaves it as it is.
fn read_text(cursor: &mut Cursor<'_>, place: Place, text: &mut String) -> Result<(), TypeError> {
    if let Some(read) = cursor.string(place)? {
        *text = limited(read);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
