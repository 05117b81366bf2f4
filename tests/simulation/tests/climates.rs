//! Random runs in different climates: they replay, and they meet what they are for.

use plimsoll_simulation::chaos::{Counters, Outcome, climate_of, simulate};
use plimsoll_simulation::seed_run::parting;

/// What two runs of one seed met, which is the same.
fn same(first: &Outcome, second: &Outcome) -> Counters {
    let seed = first.seed;
    let lines = parting(first, second).map(|at| (first.trace.get(at), second.trace.get(at)));
    assert_eq!(lines, None, "seed {seed}: the traces part here");
    assert_eq!(first.counters, second.counters, "seed {seed}");
    assert_eq!(first.problems, Vec::<String>::new(), "seed {seed}");
    first.counters
}

/// The first seeds from a hundred on whose climate says so.
fn seeds_with(words: &str) -> impl Iterator<Item = u64> {
    let says = move |seed: &u64| climate_of(*seed).contains(words);
    (100..10_000).filter(says)
}

#[test]
fn runs_in_different_climates_replay_and_meet_what_they_are_for() {
    let mut met = Counters::default();
    for seed in 104..112 {
        let (first, second) = (simulate(seed), simulate(seed));
        met += same(&first, &second);
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

#[test]
fn where_an_extender_binds_some_bindings_are_its_own_and_some_come_too_late_to_be() {
    let mut met = Counters::default();
    for seed in seeds_with("binds: true").take(6) {
        met += same(&simulate(seed), &simulate(seed));
    }
    let all = [met.extender_calls, met.extender_binds, met.stray_extender_binds];
    assert!(!all.contains(&0), "{met:?}");
}

#[test]
fn where_no_bookmarks_come_leaders_resign_and_pods_are_placed_all_the_same() {
    let mut met = Counters::default();
    for seed in seeds_with("bookmarks: Some(3600000000s)").take(4) {
        met += same(&simulate(seed), &simulate(seed));
    }
    assert!(met.resignations > 0, "{met:?}");
}

#[test]
fn where_replicas_stand_by_cold_runs_replay_too() {
    let mut met = Counters::default();
    for seed in seeds_with("cold: All").take(3) {
        met += same(&simulate(seed), &simulate(seed));
    }
    assert!(met.hand_overs > 0, "{met:?}");
}

#[test]
fn where_pods_have_volumes_writes_to_those_fail_and_controllers_dawdle_and_runs_replay_too() {
    let mut met = Counters::default();
    for seed in seeds_with("volumes: true").take(6) {
        met += same(&simulate(seed), &simulate(seed));
    }
    let all = [
        met.volume_writes,
        met.faults_of_volume_writes,
        met.bound_claims,
        met.half_bound_claims,
        met.provisioned_volumes,
        met.given_back_claims,
    ];
    assert!(!all.contains(&0), "{met:?}");
}
