//! The trace identity that messages about a pod carry.
//!
//! It goes out with the pod and comes back with each answer, whose handling it names: one pod's way through queue, cycle
//! and workers reads as one trace.

use std::fmt;

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// A W3C trace id derived from a pod's UID, so that whoever leads next joins the same trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
}

impl TraceContext {
    /// The context of the pod with this UID: the UID itself where it is a UUID, a hash of it otherwise.
    pub fn of(uid: &plimsoll_model::Uid) -> Self {
        let text = uid.as_str();
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let parsed = (digits.len() == 32)
            .then(|| u128::from_str_radix(&digits, 16).ok())
            .flatten();
        let trace_id = parsed.filter(|id| *id != 0).unwrap_or_else(|| {
            let high = FixedState::with_seed(1).hash_one(text);
            let low = FixedState::with_seed(2).hash_one(text);
            (u128::from(high) << 64) | u128::from(low) | 1
        });
        Self { trace_id }
    }

    /// The span in which a message about the pod is worked off. `message` says which.
    pub(crate) fn span(self, message: &'static str) -> tracing::Span {
        tracing::debug_span!("pod", trace_id = %self, handling = message)
    }
}

impl fmt::Display for TraceContext {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.trace_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_leader_derives_the_same_trace_from_the_uid() {
        let uid = plimsoll_model::Uid::from("0f8fad5b-d9cb-469f-a165-70867728950e");
        assert_eq!(TraceContext::of(&uid).to_string(), "0f8fad5bd9cb469fa16570867728950e");
        let odd = plimsoll_model::Uid::from("static-pod");
        assert_eq!(TraceContext::of(&odd), TraceContext::of(&odd));
    }
}
