//! One run, named so that anybody can have it again: a seed, the steps taken, and the guard that was broken for it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_model::guard::{self, Guard};

use crate::chaos::{Outcome, Steps, simulate_steps};

/// Which run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedRun {
    /// What decides everything.
    pub seed: u64,
    /// Which of its steps are taken.
    pub steps: Steps,
    /// A guard that does not hold in it.
    pub broken: Option<Guard>,
}

/// Shows the command that makes the run again.
impl fmt::Display for SeedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "simulate --seed {}", self.seed)?;
        if self.steps != Steps::all() {
            let taken: Vec<_> = self.steps.taken().map(|step| step.to_string()).collect();
            write!(f, " --steps {}", taken.join(","))?;
        }
        match self.broken {
            Some(guard) => write!(f, " --broken {}", guard.name()),
            None => Ok(()),
        }
    }
}

impl SeedRun {
    /// All steps of a seed, every guard in place.
    pub fn whole(seed: u64) -> Self {
        Self {
            seed,
            steps: Steps::all(),
            broken: None,
        }
    }

    /// The same without this guard.
    #[must_use]
    pub fn without(self, guard: Guard) -> Self {
        Self {
            broken: Some(guard),
            ..self
        }
    }

    /// The same with these steps alone.
    #[must_use]
    pub fn with_steps(&self, steps: &[usize]) -> Self {
        Self {
            steps: Steps::only(steps.iter().copied()),
            ..self.clone()
        }
    }

    /// Makes the run. One that panics has that as its problem, and nothing else to tell.
    pub fn make(&self) -> Outcome {
        let simulated = AssertUnwindSafe(|| simulate_steps(self.seed, &self.steps));
        let made = match self.broken {
            Some(guard) => catch_unwind(|| guard::broken(guard, simulated)),
            None => catch_unwind(simulated),
        };
        made.unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
            Outcome {
                seed: self.seed,
                problems: vec![format!("the run panicked: {}", text.unwrap_or("without words"))],
                ..Outcome::default()
            }
        })
    }
}

/// Where two runs part: the number of the first line of their traces that differs.
pub fn parting(one: &Outcome, other: &Outcome) -> Option<usize> {
    let lines = one.trace.len().max(other.trace.len());
    (0..lines).find(|line| one.trace.get(*line) != other.trace.get(*line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(lines: &[&str]) -> Outcome {
        Outcome {
            trace: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_run_is_shown_as_the_command_that_makes_it_again() {
        let run = SeedRun::whole(7);
        assert_eq!(run.to_string(), "simulate --seed 7");
        let run = run.with_steps(&[3, 19, 7]).without(Guard::TokenCheck);
        assert_eq!(run.to_string(), "simulate --seed 7 --steps 3,7,19 --broken token-check");
    }

    #[test]
    fn runs_part_at_the_first_line_that_differs_or_that_one_lacks() {
        assert_eq!(parting(&outcome(&["a", "b"]), &outcome(&["a", "b"])), None);
        assert_eq!(parting(&outcome(&["a", "b"]), &outcome(&["a", "c"])), Some(1));
        assert_eq!(parting(&outcome(&["a"]), &outcome(&["a", "c"])), Some(1));
    }
}
