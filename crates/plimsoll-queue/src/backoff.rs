use std::time::Duration;

use plimsoll_model::Moment;

use crate::QueueConfig;

/// The grain of all deadlines here; pods whose backoff ends within one second compete by priority, not by luck.
pub(crate) const GRAIN: Duration = Duration::from_secs(1);

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The last whole second at or before `moment`.
pub(crate) fn whole_second(moment: Moment) -> Moment {
    Moment::from_nanos(moment.as_nanos() / NANOS_PER_SECOND * NANOS_PER_SECOND)
}

/// The number of the second in which a moment lies, in a form that takes little room.
pub(crate) fn second_of(moment: Moment) -> u32 {
    u32::try_from(moment.as_nanos() / NANOS_PER_SECOND).unwrap_or(u32::MAX)
}

/// The moment at which a second begins.
pub(crate) fn start_of(second: u32) -> Moment {
    Moment::from_nanos(u64::from(second) * NANOS_PER_SECOND)
}

/// How long a pod waits after `failures` attempts that failed: doubling from the initial to the maximal wait.
pub(crate) fn duration(config: &QueueConfig, failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return Duration::ZERO;
    };
    let factor = 1u32.checked_shl(doublings).unwrap_or(0);
    // A factor beyond 32 bits is past every maximum worth setting.
    if factor == 0 {
        return config.max_backoff;
    }
    config
        .initial_backoff
        .checked_mul(factor)
        .map_or(config.max_backoff, |wait| wait.min(config.max_backoff))
}

/// The second through which a pod backs off, or nothing when it does not. A moment instead of a second where pods are not
/// popped early, since they do not compete by priority then.
pub(crate) fn until(config: &QueueConfig, failures: u32, since: Moment) -> Option<Moment> {
    let end = || window(config, since + duration(config, failures));
    (failures > 0 && !config.max_backoff.is_zero()).then(end)
}

/// Whether a backoff through `until` still holds: the second of its end counts.
pub(crate) fn holds(config: &QueueConfig, until: Moment, now: Moment) -> bool {
    until >= window(config, now)
}

/// When a backoff through `until` holds no more.
pub(crate) fn over(config: &QueueConfig, until: Moment) -> Moment {
    let grain = if config.pop_from_backoff {
        GRAIN
    } else {
        Duration::from_nanos(1)
    };
    until + grain
}

fn window(config: &QueueConfig, moment: Moment) -> Moment {
    if config.pop_from_backoff {
        whole_second(moment)
    } else {
        moment
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * NANOS_PER_SECOND)
    }

    #[test]
    fn the_wait_doubles_up_to_the_maximum() {
        let config = QueueConfig::default();
        let waits: Vec<u64> = (0..7).map(|failures| duration(&config, failures).as_secs()).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn an_initial_wait_above_the_maximum_is_cut() {
        let config = QueueConfig {
            initial_backoff: Duration::from_secs(30),
            ..QueueConfig::default()
        };
        assert_eq!(duration(&config, 1), Duration::from_secs(10));
    }

    #[test]
    fn the_end_of_backoff_is_truncated_and_its_second_still_counts() {
        let config = QueueConfig::default();
        let end = until(&config, 1, Moment::from_nanos(3_900_000_000)).unwrap();
        assert_eq!(end, seconds(4));
        let cases = [
            (3_999_999_999, true),
            (4_000_000_000, true),
            (4_999_999_999, true),
            (5_000_000_000, false),
        ];
        for (now, holding) in cases {
            assert_eq!(holds(&config, end, Moment::from_nanos(now)), holding, "at {now}");
        }
    }

    #[test]
    fn without_early_pops_a_backoff_ends_to_the_moment() {
        let config = QueueConfig {
            pop_from_backoff: false,
            ..QueueConfig::default()
        };
        let end = until(&config, 1, Moment::from_nanos(3_900_000_000)).unwrap();
        assert_eq!(end, Moment::from_nanos(4_900_000_000));
        assert!(holds(&config, end, end));
        assert!(!holds(&config, end, over(&config, end)));
    }

    #[test]
    fn no_failures_or_no_maximum_mean_no_backoff() {
        let config = QueueConfig::default();
        assert_eq!(until(&config, 0, seconds(9)), None);
        let off = QueueConfig {
            max_backoff: Duration::ZERO,
            ..config
        };
        assert_eq!(until(&off, 3, seconds(9)), None);
    }

    proptest! {
        #[test]
        fn the_wait_never_shrinks_with_failures_and_is_bounded(
            initial in 0u64..20_000, max in 0u64..600_000, failures in 0u32..200,
        ) {
            let config = QueueConfig {
                initial_backoff: Duration::from_millis(initial),
                max_backoff: Duration::from_millis(max),
                ..QueueConfig::default()
            };
            let (wait, next) = (duration(&config, failures), duration(&config, failures + 1));
            prop_assert!(wait <= next);
            prop_assert!(next <= config.max_backoff);
        }
    }
}
