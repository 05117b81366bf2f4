//! The chance that each client has of its own.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`, which is small.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}
