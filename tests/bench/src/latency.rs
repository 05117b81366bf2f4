//! How long pods waited.

use serde::Serialize;

use crate::statistics::{mean, percentile, sorted};

/// From when a pod was due until it was seen bound, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "percentiles")]
pub struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    /// Whether pods came at a rate that nothing slowed down. Otherwise those that wait hold back those to come, and
    /// times say little.
    pub open_loop: bool,
}

impl Latency {
    /// `None` without pods.
    pub(crate) fn of(milliseconds: Vec<f64>, open_loop: bool) -> Option<Self> {
        let waited = sorted(milliseconds);
        Some(Self {
            mean: mean(&waited)?,
            p50: percentile(&waited, 50.0)?,
            p90: percentile(&waited, 90.0)?,
            p99: percentile(&waited, 99.0)?,
            p999: percentile(&waited, 99.9)?,
            max: *waited.last()?,
            open_loop,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_is_not_lost_in_percentiles() {
        let mut waited = vec![1.0; 999];
        waited.insert(0, 500.0);
        let latency = Latency::of(waited, true).unwrap();
        assert_eq!(
            (latency.p50, latency.p99, latency.p999, latency.max),
            (1.0, 1.0, 1.0, 500.0)
        );
        assert_eq!(Latency::of(Vec::new(), true), None);
    }
}
