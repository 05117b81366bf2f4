//! Which of a run's steps are taken.

use std::collections::BTreeSet;

/// The steps of a run, counted from zero: all of them, or some left out to find those that a failure needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    left_out: BTreeSet<usize>,
}

impl Steps {
    /// How many steps a whole run has.
    pub const COUNT: usize = 70;

    /// Every step.
    pub fn all() -> Self {
        Self::default()
    }

    /// These steps, less some more.
    #[must_use]
    pub fn without(mut self, steps: impl IntoIterator<Item = usize>) -> Self {
        self.left_out.extend(steps);
        self
    }

    /// These steps alone.
    pub fn only(steps: impl IntoIterator<Item = usize>) -> Self {
        let kept: BTreeSet<usize> = steps.into_iter().collect();
        Self::all().without((0..Self::COUNT).filter(|step| !kept.contains(step)))
    }

    /// Whether a step is taken.
    pub fn takes(&self, step: usize) -> bool {
        !self.left_out.contains(&step)
    }

    /// The steps taken, in order.
    pub fn taken(&self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(|step| self.takes(*step))
    }
}
