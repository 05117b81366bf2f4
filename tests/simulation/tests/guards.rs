//! Each guard proves itself: without it random runs go wrong, and the very run that did holds with it.
#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a test that cannot go on fails, and says which run it looked at"
)]

use plimsoll_model::guard::Guard;
use plimsoll_simulation::seed_run::SeedRun;
use plimsoll_simulation::shrink::shrink;

/// A guard whose absence shows in none of so many seeds is either not needed or not tried.
const SEEDS: u64 = 200;

/// Where the search begins, so that it is over soon. When the scheduler or the faults change, another seed is the first; that
/// costs time, no more.
const fn start(guard: Guard) -> u64 {
    match guard {
        Guard::Barrier => 29,
        Guard::TokenCheck => 13,
        Guard::ClaimKeptOnUnknown => 40,
        Guard::SequenceCheck | Guard::InFlightEvents => 4,
    }
}

/// Whether a problem shows what the guard is good for. That two may write says of the token only that it does not count any
/// more: one has to have done it.
fn shows(guard: Guard, problem: &str) -> bool {
    match guard {
        Guard::TokenCheck => problem.contains(" wrote ("),
        Guard::InFlightEvents => problem.contains(" is not placed"),
        Guard::Barrier | Guard::ClaimKeptOnUnknown | Guard::SequenceCheck => true,
    }
}

/// The first run that fails without the guard.
fn first_failure(guard: Guard) -> SeedRun {
    let seeds = start(guard)..start(guard) + SEEDS;
    let runs = seeds.map(|seed| SeedRun::whole(seed).without(guard));
    for run in runs {
        let problems = run.make().problems;
        if let Some(problem) = problems.iter().find(|problem| shows(guard, problem)) {
            println!("{run}: {problem}");
            return run;
        }
    }
    panic!("none of {SEEDS} seeds goes wrong without {}", guard.name());
}

fn proves_itself(guard: Guard) {
    let broken = first_failure(guard);
    let whole = SeedRun::whole(broken.seed);
    let problems = whole.make().problems;
    assert!(problems.is_empty(), "{whole}: {problems:#?}");
}

#[test]
fn without_the_barrier_runs_go_wrong() {
    proves_itself(Guard::Barrier);
}

#[test]
fn without_the_token_check_runs_go_wrong() {
    proves_itself(Guard::TokenCheck);
}

#[test]
fn without_the_claim_kept_on_unknown_outcome_runs_go_wrong() {
    proves_itself(Guard::ClaimKeptOnUnknown);
}

#[test]
fn without_the_sequence_check_runs_go_wrong() {
    proves_itself(Guard::SequenceCheck);
}

#[test]
fn without_the_in_flight_event_log_runs_go_wrong() {
    proves_itself(Guard::InFlightEvents);
}

#[test]
fn a_run_that_goes_wrong_is_shrunk_to_a_few_steps_that_still_do() {
    let broken = first_failure(Guard::ClaimKeptOnUnknown);
    let shrunk = shrink(&broken, broken.make(), 40);
    println!("{shrunk}");
    let (before, after) = (broken.steps.taken().count(), shrunk.run.steps.taken().count());
    assert!(after <= before / 4, "{before} steps were shrunk to {after} only");
    // The run by itself, as whoever reads the command makes it.
    let again = shrunk.run.make();
    assert_eq!(again.problems, shrunk.outcome.problems);
    assert!(!again.problems.is_empty());
}
