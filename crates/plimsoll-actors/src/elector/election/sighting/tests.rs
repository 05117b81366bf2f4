use plimsoll_client::LeaseRecord;
use plimsoll_config::ElectionConfig;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::super::{Answer, Next, Request};
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const APART: Duration = Duration::from_millis(10);
const WALL: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

fn at(seconds: u32) -> Moment {
    Moment::ZERO + SECOND * seconds
}

fn election() -> Election {
    Election::new("me".to_owned(), ElectionConfig::default(), ChaCha8Rng::seed_from_u64(1))
}

fn held_by(holder: &str, version: u64) -> Box<StoredLease> {
    let json = format!(
        r#"{{"metadata":{{"name":"l","namespace":"n","uid":"u","resourceVersion":"{version}"}},
            "spec":{{"holderIdentity":"{holder}","leaseDurationSeconds":15,"leaseTransitions":{version}}}}}"#
    );
    Box::new(StoredLease::decode(json.as_bytes()).unwrap())
}

fn read(election: &mut Election, lease: Box<StoredLease>, now: Moment) -> Next {
    assert_eq!(election.begin(now, WALL), Request::Get);
    election.answer(Answer::Lease(lease), now, WALL)
}

fn is_within(due: Option<Moment>, from: Moment) -> bool {
    due.is_some_and(|due| due >= from && due < from + APART)
}

#[test]
fn a_lease_that_is_seen_released_is_tried_for_at_once() {
    let mut election = election();
    read(&mut election, held_by("other", 1), at(0));
    assert!(is_within(election.seen(held_by("", 2), at(3)), at(3)));
    assert_eq!(election.vacant_since(at(4)), Some(at(3)));
    let next = read(&mut election, held_by("", 2), at(4));
    assert!(matches!(next, Next::Ask(Request::Update { record: LeaseRecord { holder, .. }, .. }) if holder == "me"));
}

#[test]
fn a_lease_that_is_not_renewed_any_more_is_tried_for_when_the_last_renewal_seen_runs_out() {
    let mut election = election();
    read(&mut election, held_by("other", 1), at(0));
    assert!(is_within(election.seen(held_by("other", 2), at(2)), at(17)));
    // The next poll comes no later either.
    let Next::NotHeld { retry_at } = read(&mut election, held_by("other", 2), at(16)) else {
        panic!("it is held")
    };
    assert!(is_within(Some(retry_at), at(17)), "{retry_at:?}");
    assert_eq!(election.vacant_since(at(16)), None);
    assert_eq!(election.vacant_since(at(18)), Some(at(17)));
}

#[test]
fn what_was_known_already_is_no_news_and_counts_from_when_it_was_first_seen() {
    let mut election = election();
    read(&mut election, held_by("other", 5), at(0));
    for version in [4, 5] {
        assert_eq!(election.seen(held_by("other", version), at(3)), None);
        assert_eq!(election.seen(held_by("", version), at(3)), None);
    }
    assert_eq!(election.vacant_since(at(14)), None);
    assert_eq!(election.vacant_since(at(15)), Some(at(15)));
}

#[test]
fn a_leader_goes_by_the_answers_to_its_own_writes_alone() {
    let mut election = election();
    let Next::Ask(Request::Update { .. }) = read(&mut election, held_by("", 1), at(0)) else {
        panic!("it is free")
    };
    let won = election.answer(Answer::Lease(held_by("me", 2)), at(0), WALL);
    assert!(matches!(won, Next::Held { won: true, .. }));
    assert_eq!(election.seen(held_by("other", 9), at(1)), None);
    assert_eq!(election.holder(), "me");
}

#[test]
fn with_a_coordinator_what_is_seen_changes_nothing() {
    let mut election = election().coordinated();
    for (version, holder) in [(1, ""), (2, "other"), (3, "me")] {
        assert_eq!(election.seen(held_by(holder, version), at(1)), None);
    }
    assert!(election.observed().is_none());
}

#[test]
fn what_others_hold_does_not_run_out_while_this_machine_sleeps() {
    let mut election = election();
    read(&mut election, held_by("other", 1), at(0));
    assert!(is_within(election.seen(held_by("other", 2), at(2)), at(17)));
    election.slept(SECOND * 14);
    let next = read(&mut election, held_by("other", 2), at(18));
    assert!(matches!(next, Next::NotHeld { .. }), "{next:?}");
    assert_eq!(election.vacant_since(at(30)), None);
    let next = read(&mut election, held_by("other", 2), at(31));
    assert!(matches!(next, Next::Ask(Request::Update { .. })), "{next:?}");
}
