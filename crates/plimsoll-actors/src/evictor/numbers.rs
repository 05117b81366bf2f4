//! The numbers of plans, by which the cycle knows what the Evictor speaks of.

use std::collections::BTreeMap;

use plimsoll_model::{Pod, Uid};

use crate::trace_context::TraceContext;

/// The newest plan of each preemptor, and the one that it has replaced until its end is told.
///
/// The end of a plan that was replaced is told after the next one has begun. Told with the number of the next, it would end
/// that for the cycle, and the pod would be held for ever.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    newest: BTreeMap<Uid, (u64, TraceContext)>,
    replaced: BTreeMap<Uid, u64>,
}

impl Numbers {
    /// A plan begins.
    pub(super) fn begin(&mut self, preemptor: &Pod, number: u64) {
        let (uid, trace) = (preemptor.uid.clone(), TraceContext::of(preemptor));
        if let Some((before, _)) = self.newest.insert(uid, (number, trace)) {
            self.replaced.insert(preemptor.uid.clone(), before);
        }
    }

    /// The newest plan.
    pub(super) fn of(&self, preemptor: &Uid) -> u64 {
        self.newest.get(preemptor).map_or(0, |(number, _)| *number)
    }

    /// The trace of a preemptor with a plan.
    pub(super) fn trace_of(&self, preemptor: &Uid) -> TraceContext {
        let known = self.newest.get(preemptor).map(|(_, trace)| *trace);
        known.unwrap_or_else(|| TraceContext::of_uid(preemptor))
    }

    /// The plan that is over: the one replaced, or the newest.
    pub(super) fn end(&mut self, preemptor: &Uid, replaced: bool) -> u64 {
        let ended = if replaced {
            self.replaced.remove(preemptor)
        } else {
            self.newest.remove(preemptor).map(|(number, _)| number)
        };
        ended.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_plan_that_was_replaced_is_not_told_as_the_end_of_the_next() {
        let pod = plimsoll_model::testing::pod("p").build();
        let preemptor = pod.uid.clone();
        let mut numbers = Numbers::default();
        numbers.begin(&pod, 2);
        numbers.begin(&pod, 5);
        assert_eq!(numbers.end(&preemptor, true), 2);
        assert_eq!(numbers.of(&preemptor), 5);
        assert_eq!(numbers.end(&preemptor, false), 5);
        assert_eq!(numbers.of(&preemptor), 0);
    }
}
