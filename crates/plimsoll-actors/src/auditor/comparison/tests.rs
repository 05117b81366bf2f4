use std::sync::Arc;

use plimsoll_model::Seq;
use plimsoll_model::testing::pod;

use super::super::accounts::{CacheAccount, CycleAccount, QueueAccount, ReturnAccount, Unassigned};
use super::*;

const NOW: u64 = 1_000;
const NOTHING: [(String, Finding); 0] = [];

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

/// Accounts that agree: one pod each in every place, in whosever hands.
fn agreeing() -> Accounts {
    let uids = [
        "active", "backoff", "error", "parked", "gated", "placed", "decided", "claimed", "returned", "foreign",
    ];
    let unassigned = uids.map(|uid| Unassigned {
        pod: Arc::new(pod(uid).uid(uid).build()),
        ours: uid != "foreign",
    });
    let queued = [
        ("active", Place::Active, 10),
        ("backoff", Place::Backoff, NOW + 1),
        ("error", Place::ErrorBackoff, NOW + 2),
        ("parked", Place::Unschedulable, NOW + 300),
        ("gated", Place::Gated, NOW + 300),
        ("placed", Place::Placed, NOW + 300),
        ("decided", Place::InFlight, NOW),
        ("claimed", Place::InFlight, NOW - 40),
        ("returned", Place::InFlight, NOW - 1),
    ];
    Accounts {
        cache: CacheAccount {
            seq: Seq::new(9),
            unassigned: unassigned.to_vec(),
        },
        queue: QueueAccount {
            at: at(NOW),
            pods: queued
                .map(|(uid, place, look)| (Uid::from(uid), place, at(look)))
                .to_vec(),
            handed_out: 5,
        },
        cycle: CycleAccount {
            at: at(NOW),
            applied: Seq::new(9),
            attempts: vec![Uid::from("decided")],
            claims: vec![
                claim(1, "claimed", ClaimState::Sent, Some(NOW - 40)),
                ClaimAccount {
                    holds_volumes: true,
                    ..claim(2, "placed", ClaimState::Bound, None)
                },
            ],
            reserving: Some(vec![Uid::from("placed")]),
            waiting: uids.into_iter().filter(|uid| *uid != "placed").map(Uid::from).collect(),
            idle: false,
            answers_lost: false,
        },
        back: ReturnAccount {
            settled: vec![Uid::from("returned")],
            handed_out: 5,
            asked: false,
            popping: true,
        },
    }
}

fn claim(id: u64, uid: &str, state: ClaimState, asked: Option<u64>) -> ClaimAccount {
    ClaimAccount {
        id: ClaimId::new(id),
        uid: Uid::from(uid),
        state,
        asked: asked.map(at),
        writes_volume: false,
        holds_volumes: false,
    }
}

fn place(accounts: &mut Accounts, uid: &str) -> usize {
    let pods = accounts.queue.pods.iter();
    pods.take_while(|(other, _, _)| other.as_str() != uid).count()
}

/// What is found after one thing was changed.
fn found(change: impl FnOnce(&mut Accounts)) -> Vec<(String, Finding)> {
    let mut accounts = agreeing();
    change(&mut accounts);
    let found = compare(&accounts).into_iter();
    found
        .map(|wrong| (wrong.uid.as_str().to_owned(), wrong.finding))
        .collect()
}

fn one(uid: &str, finding: Finding) -> Vec<(String, Finding)> {
    vec![(uid.to_owned(), finding)]
}

#[test]
fn nothing_is_wrong_with_a_pod_in_any_place_or_on_its_way() {
    assert_eq!(found(|_| {}), NOTHING);
}

#[test]
fn a_pod_that_the_queue_does_not_know_is_missing_wherever_else_it_is() {
    for uid in [
        "active", "backoff", "error", "parked", "gated", "placed", "decided", "claimed", "returned",
    ] {
        let lost = found(|accounts| {
            let at = place(accounts, uid);
            accounts.queue.pods.remove(at);
        });
        assert_eq!(lost, one(uid, Finding::Missing), "{uid}");
    }
}

#[test]
fn a_pod_that_waits_for_nothing_is_stale_in_the_queue() {
    let not_ours = found(|accounts| {
        accounts.queue.pods.push((Uid::from("foreign"), Place::Active, at(NOW)));
    });
    assert_eq!(not_ours, one("foreign", Finding::Stale));
    let gone = found(|accounts| accounts.queue.pods.push((Uid::from("gone"), Place::Gated, at(NOW))));
    assert_eq!(gone, one("gone", Finding::Stale));
}

#[test]
fn a_pod_in_flight_must_be_with_the_cycle_or_have_come_back_meanwhile() {
    let abandoned = |uid, seconds| one(uid, Finding::Abandoned { popped_at: at(seconds) });
    assert_eq!(
        found(|accounts| accounts.cycle.attempts.clear()),
        abandoned("decided", NOW)
    );
    assert_eq!(
        found(|accounts| {
            accounts.cycle.claims.remove(0);
        }),
        abandoned("claimed", NOW - 40)
    );
    assert_eq!(
        found(|accounts| accounts.back.settled.clear()),
        abandoned("returned", NOW - 1)
    );
}

#[test]
fn a_waiting_pod_is_nobody_elses_unless_its_binding_is_known_to_have_taken_effect() {
    let uids = ["active", "backoff", "error", "parked", "gated"];
    for uid in uids {
        let decided = found(|accounts| accounts.cycle.attempts.push(Uid::from(uid)));
        assert_eq!(decided, one(uid, Finding::TwoOwners), "{uid}");
        let sent = found(|accounts| accounts.cycle.claims.push(claim(3, uid, ClaimState::Sent, Some(NOW))));
        assert_eq!(sent, one(uid, Finding::TwoOwners), "{uid}");
        for state in [ClaimState::Seen, ClaimState::Bound, ClaimState::Moved] {
            let asked = (state == ClaimState::Seen).then_some(NOW);
            let bound = found(|accounts| accounts.cycle.claims.push(claim(3, uid, state, asked)));
            assert_eq!(bound, NOTHING, "{uid}");
        }
    }
}

#[test]
fn a_look_that_is_long_due_was_forgotten() {
    let due = NOW - 31;
    let late = |uid: &str, seconds| {
        found(|accounts| {
            let number = place(accounts, uid);
            accounts.queue.pods[number].2 = at(seconds);
        })
    };
    for uid in ["backoff", "error", "parked", "gated", "placed"] {
        assert_eq!(late(uid, due), one(uid, Finding::Overdue { due: at(due) }), "{uid}");
        assert_eq!(late(uid, NOW - 30), NOTHING, "{uid}");
    }
    // Its turn comes when it comes.
    assert_eq!(late("active", 0), NOTHING);
    let claims = [
        ClaimState::Unknown { send_at: at(due) },
        ClaimState::Doubtful { read_at: at(due) },
    ];
    for state in claims {
        let forgotten = found(|accounts| accounts.cycle.claims[0] = claim(1, "claimed", state, None));
        assert_eq!(
            forgotten,
            one("claimed", Finding::Overdue { due: at(due) }),
            "{state:?}"
        );
    }
}

#[test]
fn the_cycle_has_heard_of_each_pod_that_waits() {
    let unheard = |applied| {
        found(|accounts| {
            accounts.cycle.applied = Seq::new(applied);
            accounts.cycle.waiting.retain(|uid| uid.as_str() != "parked");
        })
    };
    assert_eq!(unheard(9), one("parked", Finding::Unheard));
    // Before, it may still hear of it; later, the pod may have gone.
    assert_eq!(unheard(8), NOTHING);
    assert_eq!(unheard(10), NOTHING);
}

#[test]
fn a_claim_ends_when_the_watch_says_so() {
    let orphaned = Finding::OrphanedClaim { claim: ClaimId::new(3) };
    let gone = |applied| {
        found(|accounts| {
            accounts.cycle.applied = Seq::new(applied);
            accounts.cycle.claims.push(claim(3, "gone", ClaimState::Bound, None));
        })
    };
    assert_eq!(gone(9), one("gone", orphaned));
    assert_eq!(gone(12), one("gone", orphaned));
    // While a cycle waits for an effect the columns stand still, and claims with them.
    assert_eq!(gone(8), NOTHING);
    // A profile that is gone leaves the claims it made.
    let of_nobody = found(|accounts| {
        let sent = claim(3, "foreign", ClaimState::Sent, Some(NOW));
        accounts.cycle.claims.push(sent);
    });
    assert_eq!(of_nobody, NOTHING);
    // It has, and the answer that tells by whom has not come.
    let seen = found(|accounts| {
        let seen = claim(3, "seen", ClaimState::Seen, Some(NOW));
        accounts.cycle.claims.push(seen);
    });
    assert_eq!(seen, NOTHING);
}

#[test]
fn somebody_owes_an_answer_to_each_claim_that_waits_for_one() {
    let unanswered = |asked: Option<u64>| {
        one(
            "claimed",
            Finding::Unanswered {
                claim: ClaimId::new(1),
                asked: asked.map(at),
            },
        )
    };
    for state in [
        ClaimState::Sent,
        ClaimState::Seen,
        ClaimState::Checking { since: at(NOW) },
    ] {
        let never_asked = found(|accounts| accounts.cycle.claims[0] = claim(1, "claimed", state, None));
        assert_eq!(never_asked, unanswered(None), "{state:?}");
        let lost = found(|accounts| {
            accounts.cycle.claims[0] = claim(1, "claimed", state, Some(NOW - 40));
            accounts.cycle.answers_lost = true;
        });
        assert_eq!(lost, unanswered(Some(NOW - 40)), "{state:?}");
    }
    let writes = |asked, answers_lost| {
        found(|accounts| {
            accounts.cycle.claims[0] = ClaimAccount {
                writes_volume: true,
                ..claim(1, "claimed", ClaimState::Waiting, asked)
            };
            accounts.cycle.answers_lost = answers_lost;
        })
    };
    assert_eq!(writes(Some(NOW - 40), false), NOTHING);
    assert_eq!(writes(Some(NOW - 40), true), unanswered(Some(NOW - 40)));
    assert_eq!(writes(None, false), unanswered(None));
}

#[test]
fn volumes_are_reserved_for_the_pods_whose_claims_hold_some_and_for_nobody_else() {
    let reserving = |uids: Option<&[&str]>| {
        let uids = uids.map(|uids| uids.iter().copied().map(Uid::from).collect());
        found(|accounts| accounts.cycle.reserving = uids)
    };
    assert_eq!(reserving(Some(&[])), one("placed", Finding::MissingReservation));
    // Its claim holds none, or there is none.
    for uid in ["claimed", "gone"] {
        assert_eq!(
            reserving(Some(&["placed", uid])),
            one(uid, Finding::OrphanedReservation),
            "{uid}"
        );
    }
    // A cycle that waits says nothing: claims may end meanwhile, and the columns stand still.
    assert_eq!(reserving(None), NOTHING);
}

#[test]
fn an_idle_cycle_is_waited_for_by_nobody() {
    let idle = |asked: bool, handed_out: u64, popping: bool| {
        found(|accounts| {
            accounts.cycle.idle = true;
            accounts.cycle.attempts.clear();
            let number = place(accounts, "decided");
            accounts.queue.pods.remove(number);
            accounts
                .cache
                .unassigned
                .retain(|pod| pod.pod.uid.as_str() != "decided");
            accounts.back.asked = asked;
            accounts.back.handed_out = handed_out;
            accounts.back.popping = popping;
        })
    };
    assert_eq!(idle(false, 5, true), one("", Finding::Unasked { handed_out: 5 }));
    assert_eq!(idle(true, 5, true), NOTHING);
    // It asked, and the next pod went out behind the marker.
    assert_eq!(idle(false, 6, true), NOTHING);
    assert_eq!(idle(false, 5, false), NOTHING);
}

#[test]
fn every_kind_has_a_label_of_its_own_that_is_shown_at_zero() {
    let claim = ClaimId::new(1);
    let findings = [
        Finding::Missing,
        Finding::Stale,
        Finding::Abandoned { popped_at: at(1) },
        Finding::TwoOwners,
        Finding::Unheard,
        Finding::Overdue { due: at(1) },
        Finding::OrphanedClaim { claim },
        Finding::Unanswered { claim, asked: None },
        Finding::OrphanedReservation,
        Finding::MissingReservation,
        Finding::Unasked { handed_out: 1 },
    ];
    assert_eq!(findings.map(Finding::kind), Finding::KINDS);
}
