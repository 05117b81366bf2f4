//! Makes a run that fails smaller: steps are left out as long as it still fails in the same way.

use std::fmt;

use crate::chaos::Outcome;
use crate::problem_kind::share_a_kind;
use crate::seed_run::SeedRun;

/// Runs tried at most to make one smaller.
pub const BUDGET: usize = 400;

/// A run with no step too many, and what is wrong with it.
#[derive(Debug)]
pub struct Shrunk {
    /// The run.
    pub run: SeedRun,
    /// What came of it.
    pub outcome: Outcome,
}

impl Shrunk {
    /// Its steps in words, by number.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &str)> {
        let words = self.outcome.steps.iter().map(String::as_str).enumerate();
        words.filter(|(step, words)| self.run.steps.takes(*step) && !words.is_empty())
    }
}

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {} needs {} of its steps:",
            self.run.seed,
            self.run.steps.taken().count()
        )?;
        writeln!(f, "      in the climate: {}", self.outcome.climate)?;
        for (step, words) in self.steps() {
            writeln!(f, "  {step:2}  {words}")?;
        }
        for problem in &self.outcome.problems {
            writeln!(f, "  !   {problem}")?;
        }
        writeln!(f, "  again: {}", self.run)
    }
}

/// The smallest run found that has a problem of the same kind as `outcome`, which came of `run`.
pub fn shrink(run: &SeedRun, outcome: Outcome, budget: usize) -> Shrunk {
    let mut smallest = Shrunk {
        run: run.clone(),
        outcome,
    };
    if smallest.outcome.problems.is_empty() {
        return smallest;
    }
    // A step that found nothing to do in the whole run may have something to do once others are gone.
    let taken: Vec<_> = run.steps.taken().collect();
    let wanted = smallest.outcome.problems.clone();
    fewest(taken, budget, |steps| {
        let run = run.with_steps(steps);
        let outcome = run.make();
        let fails = share_a_kind(&outcome.problems, &wanted);
        if fails {
            smallest = Shrunk { run, outcome };
        }
        fails
    });
    smallest
}

/// The fewest steps found that still fail: first half of them is left out, then quarters, in the end single ones, until
/// no single one can be spared or so many lists were tried.
fn fewest(mut steps: Vec<usize>, mut budget: usize, mut fails: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut chunk = steps.len().div_ceil(2).max(1);
    loop {
        let mut spared = false;
        // The last steps first: those after the failure are not needed at all.
        let mut end = steps.len();
        while end > 0 {
            if budget == 0 {
                return steps;
            }
            budget -= 1;
            let start = end.saturating_sub(chunk);
            let mut rest = steps.clone();
            rest.drain(start..end);
            if fails(&rest) {
                steps = rest;
                spared = true;
            }
            end = start;
        }
        if chunk == 1 && !spared {
            return steps;
        }
        chunk = chunk.div_ceil(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_stays_and_the_rest_goes() {
        for needed in [vec![], vec![0], vec![69], vec![3, 7, 19], vec![0, 33, 34, 35, 69]] {
            let fails = |steps: &[usize]| needed.iter().all(|step| steps.contains(step));
            assert_eq!(fewest((0..70).collect(), 1_000, fails), needed);
        }
    }

    #[test]
    fn a_step_needed_only_because_of_another_goes_with_it() {
        // Step 5 undoes the failure unless step 9 undoes step 5.
        let fails = |steps: &[usize]| steps.contains(&2) && (!steps.contains(&5) || steps.contains(&9));
        assert_eq!(fewest((0..20).collect(), 1_000, fails), [2]);
    }

    #[test]
    fn no_more_lists_are_tried_than_allowed() {
        let mut tried = 0;
        let left = fewest((0..70).collect(), 10, |steps| {
            tried += 1;
            steps.contains(&69)
        });
        assert_eq!(tried, 10);
        assert!(left.contains(&69));
    }
}
