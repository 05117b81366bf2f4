use std::time::Duration;

use plimsoll_client::{LeaseRecord, StoredLease};
use plimsoll_config::ElectionConfig;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::*;

const WALL: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

fn election() -> Election {
    let random = ChaCha8Rng::seed_from_u64(1);
    Election::new("me".to_owned(), ElectionConfig::default(), random).coordinated()
}

/// As the coordinator writes it: for five seconds, and without a time of acquisition.
fn given(holder: &str, preferred: &str, version: u64) -> Box<StoredLease> {
    let json = format!(
        r#"{{"metadata":{{"name":"l","namespace":"n","uid":"u","resourceVersion":"{version}"}},"spec":{{
            "holderIdentity":"{holder}","preferredHolder":"{preferred}","strategy":"OldestEmulationVersion",
            "leaseDurationSeconds":5,"renewTime":"2026-11-28T02:30:0{version}.000000Z"}}}}"#
    );
    Box::new(StoredLease::decode(json.as_bytes()).unwrap())
}

fn read(election: &mut Election, stored: Box<StoredLease>, now: u64) -> Next {
    assert_eq!(election.begin(at(now), WALL), Request::Get);
    election.answer(Answer::Lease(stored), at(now), WALL)
}

fn written(next: &Next) -> &LeaseRecord {
    match next {
        Next::Ask(Request::Update { record, .. }) => record,
        other => panic!("no update but {other:?}"),
    }
}

fn leader() -> Election {
    let mut election = election();
    let write = read(&mut election, given("me", "", 1), 0);
    assert_eq!(written(&write).duration_seconds, 15);
    let held = election.answer(Answer::Lease(given("me", "", 2)), at(0), WALL);
    assert!(matches!(held, Next::Held { won: true, .. }));
    election
}

#[test]
fn a_lease_is_never_taken_whoever_does_not_hold_it() {
    let mut election = election();
    election.begin(at(0), WALL);
    let next = election.answer(Answer::NotFound, at(0), WALL);
    assert!(matches!(next, Next::NotHeld { .. }), "{next:?}");
    for holder in ["", "other"] {
        for now in [1, 100] {
            let next = read(&mut election, given(holder, "", 1), now);
            assert!(matches!(next, Next::NotHeld { .. }), "{holder:?} at {now}: {next:?}");
        }
    }
}

#[test]
fn a_lease_that_names_us_is_renewed_and_that_is_leading() {
    let mut election = election();
    let write = read(&mut election, given("me", "", 1), 3);
    assert_eq!(
        (written(&write).holder.as_str(), written(&write).transitions),
        ("me", 0)
    );
    let held = election.answer(Answer::Lease(given("me", "", 2)), at(4), WALL);
    assert_eq!(
        held,
        Next::Held {
            won: true,
            sent_at: at(3),
            retry_at: at(6)
        }
    );
}

#[test]
fn a_lease_that_names_us_and_has_run_out_is_left_alone() {
    let mut election = election();
    read(&mut election, given("me", "", 1), 0);
    election.answer(Answer::Failed("conflict".to_owned()), at(0), WALL);
    let next = read(&mut election, given("me", "", 1), 5);
    assert!(matches!(next, Next::NotHeld { .. }), "{next:?}");
}

#[test]
fn a_preferred_holder_ends_the_term_of_the_present_one() {
    let mut election = leader();
    let next = read(&mut election, given("me", "better", 3), 2);
    assert_eq!(
        next,
        Next::EndOfTerm {
            preferred: "better".to_owned()
        }
    );
    assert!(!election.is_leader());
    // It still names us until it is freed; that begins no term.
    let next = read(&mut election, given("me", "better", 3), 3);
    assert!(matches!(next, Next::NotHeld { .. }), "{next:?}");
    let Some(Request::Update { record, .. }) = election.release(&given("me", "better", 3), WALL) else {
        panic!("not released")
    };
    assert_eq!(record.holder, "");
}

#[test]
fn every_renewal_reads_first_and_counts_as_slow_path() {
    let mut election = leader();
    let before = election.slow_paths();
    let write = read(&mut election, given("me", "", 3), 2);
    election.answer(Answer::Lease(given("me", "", 4)), at(2), WALL);
    assert!(matches!(write, Next::Ask(_)));
    assert_eq!(election.slow_paths(), before + 1);
}

#[test]
fn a_leader_that_reads_of_another_has_lost() {
    let mut election = leader();
    assert!(matches!(
        read(&mut election, given("other", "", 3), 2),
        Next::Lost { .. }
    ));
}

#[test]
fn a_lease_that_is_gone_or_out_of_reach_is_borne_until_the_deadline() {
    for answer in [Answer::NotFound, Answer::Failed("no connection".to_owned())] {
        let mut election = leader();
        election.begin(at(9), WALL);
        let next = election.answer(answer.clone(), at(9), WALL);
        assert_eq!(next, Next::NotHeld { retry_at: at(11) });
        assert!(election.is_leader());
        election.begin(at(10), WALL);
        let next = election.answer(answer, at(10), WALL);
        assert!(matches!(next, Next::Lost { .. }), "{next:?}");
    }
}
