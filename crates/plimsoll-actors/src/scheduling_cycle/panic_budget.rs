use std::collections::VecDeque;
use std::time::Duration;

use plimsoll_model::Moment;

/// Panics older than this are forgotten.
const WINDOW: Duration = Duration::from_mins(5);

/// A controller's worth of identical poison pods is survived; more than this in one window means that the fault is ours
/// and another replica should try.
const MOST: usize = 16;

/// How many panics of scheduling cycles a term bears.
#[derive(Debug, Default)]
pub(super) struct PanicBudget {
    recent: VecDeque<Moment>,
}

/// The budget is spent; the cycle dies of it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many scheduling cycles have panicked: the term ends")]
pub(crate) struct TooManyPanics;

impl PanicBudget {
    /// Books one panic.
    pub(super) fn spend(&mut self, now: Moment) -> Result<(), TooManyPanics> {
        while self.recent.front().is_some_and(|at| now.since(*at) > WINDOW) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        if self.recent.len() > MOST {
            Err(TooManyPanics)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_the_term_and_the_same_number_spread_out_does_not() {
        let mut budget = PanicBudget::default();
        let mut now = Moment::ZERO;
        for _ in 0..MOST {
            assert_eq!(budget.spend(now), Ok(()));
        }
        assert_eq!(budget.spend(now), Err(TooManyPanics));

        let mut budget = PanicBudget::default();
        for _ in 0..10 * MOST {
            now = now + WINDOW.div_f64(8.0);
            assert_eq!(budget.spend(now), Ok(()));
        }
    }
}
