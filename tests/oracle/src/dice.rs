//! The only source of chance of a case.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A generator that a seed and the number of a case determine.
#[derive(Debug)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(case);
        Self(generator)
    }

    /// A number below `bound`, which is small: that some come a hair more often does not matter.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.next_u64() % bound).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True so often in a hundred.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// One of several values.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Mostly one of the usual ones, and `chance` times in a hundred one of the odd ones.
    pub(crate) fn seldom<'a>(&mut self, chance: usize, usual: &[&'a str], odd: &[&'a str]) -> &'a str {
        if self.percent(chance) {
            self.pick(odd)
        } else {
            self.pick(usual)
        }
    }

    /// The same for values.
    pub(crate) fn seldom_value<T: Copy>(&mut self, chance: usize, usual: &[T], odd: &[T]) -> T {
        if self.percent(chance) {
            self.one_of(odd)
        } else {
            self.one_of(usual)
        }
    }

    /// Up to `most` different ones, in their order.
    pub(crate) fn some<'a>(&mut self, most: usize, all: &[&'a str]) -> Vec<&'a str> {
        let wanted = self.below(most + 1);
        let mut left = all.len();
        let mut chosen = Vec::new();
        for item in all {
            if self.below(left) < wanted - chosen.len() {
                chosen.push(*item);
            }
            left -= 1;
            if chosen.len() == wanted {
                break;
            }
        }
        chosen
    }
}
