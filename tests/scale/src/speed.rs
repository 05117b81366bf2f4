use serde::Serialize;

/// How quickly pods were decided.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Speed {
    /// How many.
    pub pods: usize,
    /// Decisions in a second.
    pub per_second: f64,
    /// Microseconds for each, on average.
    pub mean: f64,
    /// Half of them took no more microseconds.
    pub p50: f64,
    /// Of a hundred, ninety-nine took no more microseconds.
    pub p99: f64,
}

impl Speed {
    /// Of single times in nanoseconds.
    #[expect(clippy::cast_precision_loss, reason = "times to be read by people")]
    pub fn of(mut times: Vec<u64>) -> Self {
        if times.is_empty() {
            return Self::default();
        }
        times.sort_unstable();
        let sum: u64 = times.iter().sum();
        let pods = times.len();
        let quantile = |hundredths: usize| times[(pods * hundredths / 100).min(pods - 1)] as f64 / 1e3;
        Self {
            pods,
            per_second: pods as f64 * 1e9 / sum.max(1) as f64,
            mean: sum as f64 / pods as f64 / 1e3,
            p50: quantile(50),
            p99: quantile(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_all_but_one_in_a_hundred_are_no_slower() {
        let speed = Speed::of((1..=200).rev().map(|at| at * 1000).collect());
        assert_eq!(
            (speed.pods, speed.p50, speed.p99, speed.mean),
            (200, 101.0, 199.0, 100.5)
        );
        assert_eq!(Speed::of(Vec::new()).pods, 0);
    }
}
