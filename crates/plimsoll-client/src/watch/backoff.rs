use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

const FIRST: Duration = Duration::from_millis(800);
const LONGEST: Duration = Duration::from_secs(30);

/// Time between tries: from 0.8 s, doubling, to 30 s; each up to twice as long by chance but never above 30 s.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    pub(crate) fn next(&mut self, random: &mut ChaCha8Rng) -> Duration {
        let factor = 1_u32.checked_shl(self.tries).unwrap_or(u32::MAX);
        self.tries = self.tries.saturating_add(1);
        let base = FIRST.saturating_mul(factor).min(LONGEST);
        let chance = f64::from(random.next_u32()) / f64::from(u32::MAX);
        base.mul_f64(1.0 + chance).min(LONGEST)
    }

    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }

    /// Whether nothing failed since the last success.
    pub(crate) fn is_fresh(&self) -> bool {
        self.tries == 0
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn delays_grow_to_the_longest_and_start_over() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut backoff = Backoff::default();
        let delays: Vec<Duration> = (0..40).map(|_| backoff.next(&mut random)).collect();
        assert!(delays[0] >= FIRST && delays[0] <= FIRST * 2);
        assert!(delays[2] >= FIRST * 4);
        assert!(delays[6..].iter().all(|delay| *delay == LONGEST));
        backoff.reset();
        assert!(backoff.next(&mut random) <= FIRST * 2);
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let sequence = |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut backoff = Backoff::default();
            (0..5).map(|_| backoff.next(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
    }
}
