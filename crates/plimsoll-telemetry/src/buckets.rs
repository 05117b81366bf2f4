/// `count` buckets from `start`, each `factor` times the one before; multiplied one by one, so that the bounds print as
/// kube-scheduler's do.
pub(crate) fn exponential(start: f64, factor: f64, count: usize) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(start), move |bound| Some(bound * factor)).take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_products_not_powers() {
        let bounds: Vec<String> = exponential(0.00001, 1.5, 4).map(|bound| format!("{bound:e}")).collect();
        assert_eq!(
            bounds,
            [
                "1e-5",
                "1.5000000000000002e-5",
                "2.2500000000000005e-5",
                "3.375000000000001e-5"
            ]
        );
    }
}
