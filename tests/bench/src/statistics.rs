//! Numbers about numbers.

use serde::Serialize;

/// What a product may be too large by for its factors: 99.9 % of a thousand is the 999th, not the one after.
const ROUNDING: f64 = 1e-9;

/// A whole number as a real one.
#[expect(clippy::cast_precision_loss, reason = "counts of pods and nodes")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

/// The smallest value below which no more than that share of the values lies (the nearest rank); `None` without values.
/// The values must be sorted.
pub(crate) fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of values"
    )]
    let rank = (percent * real(sorted.len()) / 100.0 - ROUNDING).ceil().max(1.0) as usize;
    sorted.get((rank - 1).min(last)).copied()
}

/// Sorted from the smallest.
pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// `None` without values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len()))
}

/// The middle one, or between the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let values = sorted(values.to_vec());
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(*values.get(values.len() / 2 - 1)?, upper))
}

/// How far values lie from their mean, as the deviation of all there are.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((squares / real(values.len())).sqrt())
}

/// A value with the interval in which it lies with 95 % confidence; there is none of a single measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// From how many measurements.
    pub of: usize,
}

/// How many times as large one measurement is as the other, from pairs that were measured one after the other: the
/// geometric mean of the pairs' ratios, with Student's interval of their logarithms. `None` where any is not positive.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let positive = |(one, other): &(f64, f64)| one.is_finite() && other.is_finite() && *one > 0.0 && *other > 0.0;
    if pairs.is_empty() || !pairs.iter().all(positive) {
        return None;
    }
    let logarithms: Vec<f64> = pairs.iter().map(|(one, other)| (one / other).ln()).collect();
    let middle = mean(&logarithms)?;
    let count = logarithms.len();
    let half = (count > 1).then(|| {
        let squares = logarithms.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
        let of_mean = (squares / real(count - 1) / real(count)).sqrt();
        student(count - 1) * of_mean
    });
    Some(Estimate {
        value: middle.exp(),
        interval: half.map(|half| ((middle - half).exp(), (middle + half).exp())),
        of: count,
    })
}

/// The geometric mean; `None` without values or where any is not positive.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = values.iter().all(|value| *value > 0.0);
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).filter(|_| positive).map(f64::exp)
}

/// Student's t for 95 % on both sides.
fn student(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    degrees
        .checked_sub(1)
        .and_then(|index| TABLE.get(index))
        .copied()
        .unwrap_or(1.96)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-3
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let table = [
            (0.0, 1.0),
            (50.0, 5.0),
            (90.0, 9.0),
            (91.0, 10.0),
            (99.0, 10.0),
            (100.0, 10.0),
        ];
        for (percent, expected) in table {
            assert_eq!(percentile(&values, percent), Some(expected), "{percent}");
        }
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile(&[3.0], 99.9), Some(3.0));
    }

    #[test]
    fn medians_and_deviations_are_those_of_the_books() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(2.0));
        assert!(near(geometric_mean(&[1.0, 4.0, 16.0]).unwrap(), 4.0));
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn the_interval_of_a_ratio_narrows_with_pairs_that_agree() {
        let one = ratio(&[(30.0, 10.0)]).unwrap();
        assert_eq!((one.interval, one.of), (None, 1));
        assert!(near(one.value, 3.0));
        // Logarithms of 2 and 8: mean ln 4, deviation ln 2 · √2, of the mean ln 2, times 12.706.
        let two = ratio(&[(2.0, 1.0), (8.0, 1.0)]).unwrap();
        let (low, high) = two.interval.unwrap();
        assert!(near(two.value, 4.0));
        assert!(near((high / 4.0).ln(), 12.706 * 2.0_f64.ln()) && near(low * high, 16.0));
        let agreeing = ratio(&[(4.0, 1.0), (8.2, 2.0), (11.9, 3.0), (16.0, 4.0)])
            .unwrap()
            .interval
            .unwrap();
        assert!(agreeing.0 > 3.8 && agreeing.1 < 4.2, "{agreeing:?}");
        assert_eq!(ratio(&[(1.0, 0.0)]), None);
        assert_eq!(ratio(&[]), None);
    }
}
