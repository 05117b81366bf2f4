//! The only source of chance.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A generator that a seed and a number determine.
#[derive(Debug)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(number);
        Self(generator)
    }

    /// A number below `bound`, which is small: that some come a hair more often does not matter.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True so often in a hundred.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// The place of one of so many.
    pub(crate) fn place(&mut self, count: usize) -> usize {
        let below = self.below(u64::try_from(count).unwrap_or(u64::MAX));
        usize::try_from(below).unwrap_or(0)
    }

    /// The same things in another order.
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.place(last + 1));
        }
    }
}
