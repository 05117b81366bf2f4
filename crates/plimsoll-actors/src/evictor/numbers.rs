//! The numbers of plans, by which the cycle knows what the Evictor speaks of.

use std::collections::BTreeMap;

use plimsoll_model::Uid;

/// The newest plan of each preemptor, and the one that it has replaced until its end is told.
///
/// The end of a plan that was replaced is told after the next one has begun. Told with the number of the next, it would end
/// that for the cycle, and the pod would be held for ever.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    newest: BTreeMap<Uid, u64>,
    replaced: BTreeMap<Uid, u64>,
}

impl Numbers {
    /// A plan begins.
    pub(super) fn begin(&mut self, preemptor: &Uid, number: u64) {
        if let Some(before) = self.newest.insert(preemptor.clone(), number) {
            self.replaced.insert(preemptor.clone(), before);
        }
    }

    /// The newest plan.
    pub(super) fn of(&self, preemptor: &Uid) -> u64 {
        self.newest.get(preemptor).copied().unwrap_or_default()
    }

    /// The plan that is over: the one replaced, or the newest.
    pub(super) fn end(&mut self, preemptor: &Uid, replaced: bool) -> u64 {
        let plans = if replaced { &mut self.replaced } else { &mut self.newest };
        plans.remove(preemptor).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_plan_that_was_replaced_is_not_told_as_the_end_of_the_next() {
        let preemptor = Uid::new("p");
        let mut numbers = Numbers::default();
        numbers.begin(&preemptor, 2);
        numbers.begin(&preemptor, 5);
        assert_eq!(numbers.end(&preemptor, true), 2);
        assert_eq!(numbers.of(&preemptor), 5);
        assert_eq!(numbers.end(&preemptor, false), 5);
        assert_eq!(numbers.of(&preemptor), 0);
    }
}
