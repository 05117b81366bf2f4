use std::time::Duration;

use plimsoll_model::Seq;
use plimsoll_model::testing::pod;
use proptest::prelude::*;

use super::super::fixture::{Fixture, rejected_at};
use crate::{Outcome, QueueConfig};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// However an attempt ends, the wait is that of the last one of its kind or longer, and never beyond the maximum by more
    /// than the second in which it ends; errors after a rejection start anew.
    #[test]
    fn waits_grow_with_attempts_of_one_kind_and_are_bounded(
        outcomes in prop::collection::vec(any::<bool>(), 1..24),
        initial in 1..4_000u64,
        max in 1..60_000u64,
        early_pops in any::<bool>(),
        pause in 0..1_000u64,
    ) {
        let mut f = Fixture::with(QueueConfig {
            initial_backoff: Duration::from_millis(initial),
            max_backoff: Duration::from_millis(max),
            pop_from_backoff: early_pops,
            ..QueueConfig::default()
        });
        let waiting = f.add(pod("a"));
        let second = Duration::from_secs(1);
        let mut last_rejection = Duration::ZERO;
        let mut last_error = None;
        for rejected in outcomes {
            f.pass(Duration::from_millis(pause));
            f.queue.pop_specific(&waiting.uid, f.now).unwrap();
            f.make_room();
            let judged_at = Seq::new(f.seq);
            let outcome = if rejected { rejected_at(f.seq) } else { Outcome::Failed { judged_at } };
            f.settle(&waiting.uid, outcome);
            let until = f.queue.next_deadline().unwrap_or(f.now);
            let wait = until.since(f.now);
            prop_assert!(wait <= Duration::from_millis(max) + second, "{wait:?}");
            if rejected {
                // The end is at a whole second, so that two equal waits differ by less than one.
                prop_assert!(wait + second > last_rejection, "{wait:?} after {last_rejection:?}");
                (last_rejection, last_error) = (wait, None);
            } else {
                if let Some(last) = last_error {
                    prop_assert!(wait + second > last, "{wait:?} after {last:?}");
                }
                last_error = Some(wait);
            }
        }
    }
}
