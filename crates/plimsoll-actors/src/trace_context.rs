//! The trace identity that messages about a pod carry.
//!
//! It goes out with the pod and comes back with each answer, whose handling it names: one pod's way through queue, cycle
//! and workers reads as one trace.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use foldhash::quality::FixedState;
use plimsoll_model::{Moment, Pod, TraceParent, Uid};

/// The trace of one pod's scheduling life. Whoever leads next derives the same from the pod, and so joins the same trace.
///
/// The trace is that of whoever created the pod, where it carries a W3C `traceparent`
/// ([`TRACE_PARENT_ANNOTATIONS`](plimsoll_model::TRACE_PARENT_ANNOTATIONS)); else its id is the pod's UID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    root: u64,
    creator: Option<Creator>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Creator {
    span: u64,
    sampled: bool,
}

impl TraceContext {
    /// The trace that this pod's life belongs to.
    pub fn of(pod: &Pod) -> Self {
        match pod.trace_parent.as_deref() {
            None => Self::of_uid(&pod.uid),
            Some(TraceParent {
                trace_id,
                span_id,
                sampled,
            }) => Self {
                trace_id: *trace_id,
                root: span_id_of("root", &pod.uid, 0),
                creator: Some(Creator {
                    span: *span_id,
                    sampled: *sampled,
                }),
            },
        }
    }

    /// The trace of a pod without a creator's: the UID itself where it is a UUID, a hash of it otherwise.
    pub(crate) fn of_uid(uid: &Uid) -> Self {
        let text = uid.as_str();
        let mut digits = text.bytes().filter(|byte| *byte != b'-');
        let parsed = (0..32).try_fold(0_u128, |number, _| {
            let digit = char::from(digits.next()?).to_digit(16)?;
            Some(number << 4 | u128::from(digit))
        });
        let parsed = parsed.filter(|id| *id != 0 && digits.next().is_none());
        let trace_id = parsed.unwrap_or_else(|| {
            let high = FixedState::with_seed(1).hash_one(text);
            let low = FixedState::with_seed(2).hash_one(text);
            (u128::from(high) << 64) | u128::from(low) | 1
        });
        Self {
            trace_id,
            root: span_id_of("root", uid, 0),
            creator: None,
        }
    }

    /// The trace's id; never 0.
    pub fn trace_id(self) -> u128 {
        self.trace_id
    }

    /// The id of the span that stands for the pod's whole scheduling life. Each leader derives the same, so that attempts of
    /// all of them hang below it.
    pub fn root(self) -> u64 {
        self.root
    }

    /// The creator's span, of which the life is a part, if there is one.
    pub fn creator(self) -> Option<u64> {
        self.creator.map(|creator| creator.span)
    }

    /// Whether the way of the pod is told if nothing goes wrong with it: as the creator of its trace has decided, else for
    /// this share of all traces, the same ones whoever decides.
    pub fn is_sampled(self, ratio: f64) -> bool {
        match self.creator {
            Some(creator) => creator.sampled,
            None => falls_below(self.trace_id, ratio),
        }
    }

    /// The span in which a message about the pod is worked off. `message` says which.
    pub(crate) fn span(self, message: &'static str) -> tracing::Span {
        tracing::debug_span!("pod", trace_id = %self, handling = message)
    }
}

/// OpenTelemetry's rule for a share of traces: the lower 63 bits of the id's lower half lie below that share of their range.
/// UUIDs are random there but for two bits, which are always the same and would spoil it: they are hashed first.
fn falls_below(trace_id: u128, ratio: f64) -> bool {
    if ratio >= 1.0 {
        return true;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a range need not be exact"
    )]
    let bound = (ratio.max(0.0) * (1_u64 << 63) as f64) as u64;
    FixedState::with_seed(3).hash_one(trace_id) >> 1 < bound
}

/// The id of a span that others refer to before or after it is told: the same for the same kind of thing, object and number, or
/// whatever tells such things apart.
pub(crate) fn span_id_of(kind: &str, uid: &Uid, number: impl Hash) -> u64 {
    // 0 is no id.
    FixedState::with_seed(4).hash_one((kind, uid.as_str(), number)).max(1)
}

/// Tells the attempt with this number, which began at this moment in this term, from others of this replica. The next leader
/// counts attempts anew, and a coarse clock may show two attempts one moment. Other replicas count terms and moments for
/// themselves: the Tracer makes ids of it that none of them has.
pub(crate) fn attempt_span(uid: &Uid, term: u64, begun: Moment, attempt: u32) -> u64 {
    span_id_of("attempt", uid, (begun.as_nanos(), term, attempt))
}

impl fmt::Display for TraceContext {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.trace_id)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::pod;

    use super::*;

    const UID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

    #[test]
    fn the_next_leader_derives_the_same_trace_from_the_uid() {
        let trace = |uid: &str| TraceContext::of(&pod("a").uid(uid).build());
        assert_eq!(trace(UID).to_string(), "0f8fad5bd9cb469fa16570867728950e");
        assert_eq!(trace(UID).root(), trace(UID).root());
        assert_eq!(trace("static-pod"), trace("static-pod"));
        assert_ne!(trace("static-pod"), trace("static-pot"));
        for odd in [
            "00000000-0000-0000-0000-000000000000",
            "",
            "0f8fad5bd9cb469fa16570867728950e0",
        ] {
            assert!(trace(odd).trace_id() != 0 && trace(odd).root() != 0, "{odd}");
        }
    }

    #[test]
    fn a_pod_joins_the_trace_of_its_creator_below_the_creators_span() {
        let of = |flags: &str| {
            let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
            let parent = TraceParent::parse(&text).map(Box::new);
            TraceContext::of(&pod("a").uid(UID).with(|pod| pod.trace_parent = parent).build())
        };
        let own = TraceContext::of(&pod("a").uid(UID).build());
        let joined = of("01");
        assert_eq!(joined.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((joined.creator(), own.creator()), (Some(0x00f0_67aa_0ba9_02b7), None));
        assert_eq!(joined.root(), own.root(), "one of many pods in that trace");
        // Whoever began the trace says whether it is kept.
        assert!(joined.is_sampled(0.0));
        assert!(!of("00").is_sampled(1.0));
    }

    #[test]
    fn a_share_of_the_traces_is_sampled_and_a_larger_share_holds_all_of_a_smaller_one() {
        // As random UUIDs are: 13th digit 4, 17th one of 8 to b.
        let uuids = (0..20_000_u64).map(|number| {
            let (a, b) = (
                FixedState::with_seed(8).hash_one(number),
                FixedState::with_seed(9).hash_one(number),
            );
            let id = (u128::from(a) << 64) | u128::from(b);
            id & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62
        });
        let ids: Vec<u128> = uuids.collect();
        let share = |ratio| ids.iter().filter(|id| falls_below(**id, ratio)).count();
        assert_eq!((share(0.0), share(-1.0), share(1.0)), (0, 0, 20_000));
        assert!((1_800..2_200).contains(&share(0.1)), "{}", share(0.1));
        assert!((9_500..10_500).contains(&share(0.5)), "{}", share(0.5));
        assert!(ids.iter().all(|id| !falls_below(*id, 0.1) || falls_below(*id, 0.2)));
    }

    #[test]
    fn attempts_at_one_moment_of_their_clocks_are_spans_of_their_own() {
        let uid = Uid::new(UID);
        let at = Moment::from_nanos;
        let spans = [
            attempt_span(&uid, 1, at(5), 1),
            attempt_span(&uid, 2, at(5), 1),
            attempt_span(&uid, 1, at(6), 1),
            attempt_span(&uid, 1, at(5), 2),
        ];
        let different: std::collections::BTreeSet<_> = spans.iter().collect();
        assert_eq!(different.len(), spans.len());
    }
}
