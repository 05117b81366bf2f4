use std::time::Duration;

/// So many exports in a row must fail before a collector is left alone.
const FAILURES: u32 = 3;

/// The first time without it.
const FIRST: Duration = Duration::from_secs(1);

/// The longest.
const LONGEST: Duration = Duration::from_secs(30);

/// When a collector that does not take spans is left alone, and for how long: until then no spans are made for it, so that
/// one that refuses costs less than one that takes them. After a rest one batch tells whether it is well again.
#[derive(Debug, Default)]
pub(super) struct Rest {
    failures: u32,
}

impl Rest {
    /// It took a batch.
    pub(super) fn took(&mut self) {
        self.failures = 0;
    }

    /// It did not; for how long it is left alone, if it is.
    pub(super) fn failed(&mut self) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        let rests = self.failures.checked_sub(FAILURES)?;
        let doubled = 2_u32.checked_pow(rests).and_then(|times| FIRST.checked_mul(times));
        Some(doubled.map_or(LONGEST, |rest| rest.min(LONGEST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(rest: &mut Rest) -> Option<u64> {
        rest.failed().map(|rest| rest.as_secs())
    }

    #[test]
    fn the_third_failure_in_a_row_begins_a_rest_and_each_one_after_it_a_longer_one() {
        let mut rest = Rest::default();
        let rests: Vec<_> = (0..9).map(|_| seconds(&mut rest)).collect();
        let expected = [
            None,
            None,
            Some(1),
            Some(2),
            Some(4),
            Some(8),
            Some(16),
            Some(30),
            Some(30),
        ];
        assert_eq!(rests, expected);
        for _ in 0..100 {
            assert_eq!(seconds(&mut rest), Some(30));
        }
    }

    #[test]
    fn one_batch_that_is_taken_makes_good_all_that_went_before() {
        let mut rest = Rest::default();
        for _ in 0..5 {
            rest.failed();
        }
        rest.took();
        assert_eq!(seconds(&mut rest), None);
        rest.took();
        assert_eq!((seconds(&mut rest), seconds(&mut rest)), (None, None), "not in a row");
        assert_eq!(seconds(&mut rest), Some(1));
    }
}
