use std::collections::VecDeque;
use std::time::Duration;

use plimsoll_model::Moment;

/// More deaths than this within the window are not cured by yet another restart.
const MOST: usize = 5;
const WINDOW: Duration = Duration::from_mins(10);

/// How often warm actors have been restarted lately.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    recent: VecDeque<Moment>,
}

/// Restarting does not help.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Restarts {
    /// Books one restart.
    pub(super) fn book(&mut self, now: Moment) -> Result<(), TooMany> {
        while self.recent.front().is_some_and(|at| now.since(*at) > WINDOW) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        if self.recent.len() > MOST { Err(TooMany) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_bounded_in_a_window_and_not_for_ever() {
        let mut restarts = Restarts::default();
        for _ in 0..MOST {
            assert_eq!(restarts.book(Moment::ZERO), Ok(()));
        }
        assert_eq!(restarts.book(Moment::ZERO), Err(TooMany));
        let later = Moment::ZERO + WINDOW + Duration::from_secs(1);
        assert_eq!(restarts.book(later), Ok(()));
    }
}
