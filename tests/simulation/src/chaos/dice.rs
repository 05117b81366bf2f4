//! The only source of chance of a run.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    /// The generator of one part of a run: what is drawn for one part does not change what is drawn for another.
    pub(super) fn new(seed: u64, part: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(part);
        Self(random)
    }

    /// A number below `bound`, which is small: that some come a hair more often does not matter.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }

    /// True so often in a hundred.
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A position in something of this length, if there is one.
    pub(super) fn index(&mut self, length: usize) -> Option<usize> {
        let length = u64::try_from(length).ok().filter(|length| *length > 0)?;
        usize::try_from(self.below(length)).ok()
    }

    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = self.index(all.len())?;
        all.get(at)
    }
}
