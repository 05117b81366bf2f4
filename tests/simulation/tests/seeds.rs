//! Random runs; `make simulate SEEDS=` does many more.

use plimsoll_simulation::seed_run::{SeedRun, parting};
use plimsoll_simulation::shrink::{BUDGET, shrink};

/// Every so many seeds in one test, so that the machine's cores share them.
fn seeds_hold(seeds: impl Iterator<Item = u64>) {
    for run in seeds.map(SeedRun::whole) {
        let outcome = run.make();
        let holds = outcome.problems.is_empty();
        assert!(holds, "{}", shrink(&run, outcome, BUDGET));
        assert!(!outcome.placements.is_empty(), "{run} placed nothing");
    }
}

#[test]
fn of_three_hundred_seeds_the_even_ones_break_no_promise() {
    seeds_hold((0..300).step_by(2));
}

#[test]
fn of_three_hundred_seeds_the_odd_ones_break_no_promise() {
    seeds_hold((1..300).step_by(2));
}

#[test]
fn random_runs_replay_message_by_message() {
    for run in [7, 42, 1_234, 56_789].map(SeedRun::whole) {
        let (first, second) = (run.make(), run.make());
        let lines = parting(&first, &second).map(|at| (first.trace.get(at), second.trace.get(at)));
        assert_eq!(lines, None, "{run}: the traces part here");
        assert_eq!(first.placements, second.placements);
    }
}
