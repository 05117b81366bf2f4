//! Random runs; `make simulate SEEDS=` does many more.

use plimsoll_simulation::chaos::simulate;

fn seeds_hold(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let outcome = simulate(seed);
        assert!(outcome.problems.is_empty(), "seed {seed}: {:#?}", outcome.problems);
        assert!(!outcome.placements.is_empty(), "seed {seed} placed nothing");
    }
}

#[test]
fn the_first_twenty_seeds_break_no_promise() {
    seeds_hold(0..20);
}

#[test]
fn the_next_twenty_seeds_break_no_promise() {
    seeds_hold(20..40);
}

#[test]
fn a_random_run_replays_message_by_message() {
    let (first, second) = (simulate(7), simulate(7));
    let parting = first
        .trace
        .iter()
        .zip(&second.trace)
        .position(|(one, other)| one != other);
    let lines = parting.map(|at| (&first.trace[at], &second.trace[at]));
    assert_eq!(lines, None, "the traces part here");
    assert_eq!(first.trace.len(), second.trace.len());
    assert_eq!(first.placements, second.placements);
}
