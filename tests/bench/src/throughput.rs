//! Pods per second, from the moments at which pods were seen bound.

use std::time::Duration;

use serde::Serialize;

use crate::statistics::{mean, percentile, real, sorted};

/// How fast pods were placed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Pods.
    pub pods: usize,
    /// From the beginning of the measurement to the first pod, in seconds.
    pub first_after: f64,
    /// From the first pod to the last one, in seconds.
    pub lasted: f64,
    /// Pods a second from the first one to the last one. The first one only starts the clock.
    pub drained: Option<f64>,
    /// Pods a second from the beginning to the last pod.
    pub overall: Option<f64>,
    /// What upstream's benchmark would say of windows of one second; none of runs of less than about two seconds.
    pub windows: Option<Windows>,
}

/// Rates of windows of one second, by upstream's rules. High percentiles are the fastest windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "percentiles")]
pub struct Windows {
    pub average: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
}

impl Throughput {
    /// Of pods that were bound so long after the measurement began, in order.
    pub(crate) fn of(bound: &[Duration]) -> Self {
        let (Some(first), Some(last)) = (bound.first(), bound.last()) else {
            return Self::default();
        };
        let lasted = last.saturating_sub(*first).as_secs_f64();
        let per_second = |pods: usize, seconds: f64| (pods > 0 && seconds > 0.0).then(|| real(pods) / seconds);
        Self {
            pods: bound.len(),
            first_after: first.as_secs_f64(),
            lasted,
            drained: per_second(bound.len() - 1, lasted),
            overall: per_second(bound.len(), last.as_secs_f64()),
            windows: Windows::of(&samples(bound)),
        }
    }
}

impl Windows {
    fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples.to_vec());
        Some(Self {
            average: mean(samples)?,
            p50: percentile(&sorted, 50.0)?,
            p90: percentile(&sorted, 90.0)?,
            p95: percentile(&sorted, 95.0)?,
            p99: percentile(&sorted, 99.0)?,
        })
    }
}

/// One for each second after the first second in which pods were seen, whose pods are thrown away, as are those after
/// the last full second. Seconds without pods count, with the next one that has some, as that many slow seconds.
fn samples(bound: &[Duration]) -> Vec<f64> {
    let Some(last) = bound.last() else {
        return Vec::new();
    };
    let mut samples = Vec::new();
    let (mut seen, mut idle, mut started) = (0, 0, false);
    for second in 1..=last.as_secs() + 1 {
        let by_now = bound.partition_point(|at| *at <= Duration::from_secs(second));
        let new = by_now - seen;
        if !started {
            started = by_now > 0;
        } else if new == 0 {
            idle += 1;
        } else if second <= last.as_secs() || Duration::from_secs(second) == *last {
            let rate = real(new) / real(idle + 1);
            samples.extend(std::iter::repeat_n(rate, idle + 1));
            idle = 0;
        }
        seen = by_now;
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(milliseconds: &[u64]) -> Vec<Duration> {
        milliseconds.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn the_first_second_with_pods_only_starts_the_clock_and_the_last_part_is_left_out() {
        // The ticks at 1 s (nothing yet), 2 s (two: the start), 3 s (three), 4 s (one), and two after the last full
        // second.
        let at = bound(&[1500, 1900, 2100, 2200, 2300, 3500, 4100, 4200]);
        assert_eq!(samples(&at), [3.0, 1.0]);
        assert!(samples(&bound(&[100, 900, 1200])).is_empty());
        assert!(samples(&[]).is_empty());
    }

    #[test]
    fn idle_seconds_make_slow_ones_instead_of_zeros() {
        // Ticks at 1 s (start), 2 and 3 s (nothing), 4 s (six in three seconds), 5 s (four).
        let at = bound(&[500, 3500, 3510, 3520, 3530, 3540, 3550, 4100, 4200, 4300, 4400, 5001]);
        assert_eq!(samples(&at), [2.0, 2.0, 2.0, 4.0]);
        let windows = Throughput::of(&at).windows.unwrap();
        assert_eq!((windows.average, windows.p50, windows.p99), (2.5, 2.0, 4.0));
    }

    #[test]
    fn a_drain_is_clocked_from_the_first_pod_to_the_last() {
        let drain = Throughput::of(&bound(&[2000, 2500, 3000, 4000]));
        assert_eq!((drain.pods, drain.first_after, drain.lasted), (4, 2.0, 2.0));
        assert_eq!((drain.drained, drain.overall), (Some(1.5), Some(1.0)));
        let one = Throughput::of(&bound(&[2000]));
        assert_eq!((one.drained, one.overall, one.windows), (None, Some(0.5), None));
        assert_eq!(Throughput::of(&[]), Throughput::default());
    }
}
