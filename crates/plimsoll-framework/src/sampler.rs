/// In which attempts plugins are timed: one in ten, as in kube-scheduler. They are spread evenly and in no short period, so
/// that no rhythm of a workload is missed.
#[derive(Debug, Default)]
pub struct Sampler {
    attempts: u64,
}

impl Sampler {
    /// Multiples of the golden ratio fill a range evenly.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    /// Whether the next one is.
    pub fn takes_next(&mut self) -> bool {
        let at = self.attempts.wrapping_mul(Self::STEP);
        self.attempts = self.attempts.wrapping_add(1);
        at < u64::MAX / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_attempt_in_ten_is_sampled_the_first_among_them() {
        let mut sampler = Sampler::default();
        let taken: Vec<bool> = (0..10_000).map(|_| sampler.takes_next()).collect();
        assert!(taken[0]);
        let count = taken.iter().filter(|taken| **taken).count();
        assert!((990..=1_010).contains(&count), "{count}");
        // In any hundred attempts, and in every second or third attempt too.
        let few = |taken: &[bool]| taken.iter().filter(|taken| **taken).count();
        assert!(taken.chunks(100).all(|some| (8..=12).contains(&few(some))));
        for step in 2..=7 {
            let some: Vec<bool> = taken.iter().copied().step_by(step).collect();
            let share = few(&some) * 100 / some.len();
            assert!((8..=12).contains(&share), "{share} % of every {step}th");
        }
    }
}
