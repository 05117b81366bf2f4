//! Random runs in different climates: they replay, and they meet what they are for.

use plimsoll_simulation::chaos::{Counters, simulate};

#[test]
fn runs_in_different_climates_replay_and_meet_what_they_are_for() {
    let mut met = Counters::default();
    for seed in 100..108 {
        let (first, second) = (simulate(seed), simulate(seed));
        let parting = first
            .trace
            .iter()
            .zip(&second.trace)
            .position(|(one, other)| one != other);
        let lines = parting.map(|at| (&first.trace[at], &second.trace[at]));
        assert_eq!(lines, None, "seed {seed}: the traces part here");
        assert_eq!(first.trace.len(), second.trace.len(), "seed {seed}");
        assert_eq!(first.counters, second.counters, "seed {seed}");
        assert_eq!(first.problems, Vec::<String>::new(), "seed {seed}");
        met += first.counters;
    }
    let all = [
        met.faults,
        met.delayed_messages,
        met.hand_overs,
        met.bindings,
        met.unknown_bindings,
        met.foreign_binds,
        met.stops,
        met.suspensions,
        met.cuts,
        met.kills,
    ];
    assert!(!all.contains(&0), "{met:?}");
}
