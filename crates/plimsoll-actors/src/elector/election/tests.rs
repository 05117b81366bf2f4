mod model;

use rand_core::SeedableRng;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const WALL: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

fn election(identity: &str) -> Election {
    Election::new(
        identity.to_owned(),
        ElectionConfig::default(),
        ChaCha8Rng::seed_from_u64(1),
    )
}

fn at(seconds: u64) -> Moment {
    Moment::ZERO + SECOND * u32::try_from(seconds).unwrap()
}

fn held_by(holder: &str, version: u64) -> Box<StoredLease> {
    let record = LeaseRecord {
        holder: holder.to_owned(),
        duration_seconds: 15,
        acquire_time: Some(WALL),
        renew_time: Some(WALL + jiff::SignedDuration::from_secs(i64::try_from(version).unwrap())),
        transitions: 3,
    };
    stored(&record, version)
}

/// That many seconds later by the clock that people read.
fn later(seconds: i64) -> jiff::Timestamp {
    WALL + jiff::SignedDuration::from_secs(seconds)
}

/// The record as the API server would give it back.
fn stored(record: &LeaseRecord, version: u64) -> Box<StoredLease> {
    stored_with(record, version, "")
}

/// The record with more fields of the spec.
fn stored_with(record: &LeaseRecord, version: u64, more: &str) -> Box<StoredLease> {
    let time = |time: Option<jiff::Timestamp>| plimsoll_client::micros_text(time.unwrap());
    let json = format!(
        r#"{{"metadata":{{"name":"l","namespace":"n","uid":"u","resourceVersion":"{version}"}},"spec":{{{more}
            "holderIdentity":"{}","leaseDurationSeconds":{},"acquireTime":"{}","renewTime":"{}","leaseTransitions":{}}}}}"#,
        record.holder,
        record.duration_seconds,
        time(record.acquire_time),
        time(record.renew_time),
        record.transitions
    );
    Box::new(StoredLease::decode(json.as_bytes()).unwrap())
}

fn written(next: &Next) -> &LeaseRecord {
    match next {
        Next::Ask(Request::Create(record) | Request::Update { record, .. }) => record,
        other => panic!("no write but {other:?}"),
    }
}

/// Answers a write as the server would.
fn accept(election: &mut Election, next: &Next, version: u64, now: Moment) -> Next {
    election.answer(Answer::Lease(stored(written(next), version)), now, WALL)
}

/// Wins a lease that nobody has ever held, at second 1.
fn leader() -> Election {
    let mut election = election("me");
    assert_eq!(election.begin(at(0), WALL), Request::Get);
    let create = election.answer(Answer::NotFound, at(1), WALL);
    let won = accept(&mut election, &create, 1, at(2));
    assert!(matches!(won, Next::Held { won: true, .. }));
    election
}

#[test]
fn the_first_holder_creates_the_lease_and_counts_no_transition() {
    let mut election = election("me");
    election.begin(at(0), WALL);
    let create = election.answer(Answer::NotFound, at(1), WALL);
    assert_eq!(
        (written(&create).holder.as_str(), written(&create).transitions),
        ("me", 0)
    );
    assert_eq!(written(&create).duration_seconds, 15);
    // The time counts from before the write was sent, not from its answer.
    let held = accept(&mut election, &create, 1, at(4));
    assert_eq!(
        held,
        Next::Held {
            won: true,
            sent_at: at(1),
            retry_at: at(6)
        }
    );
    assert_eq!(election.deadline(), Some(at(11)));
}

#[test]
fn a_lease_of_another_runs_out_by_our_clock_from_when_we_saw_its_last_change() {
    let mut election = election("me");
    let mut now = 100;
    for version in 1..4 {
        election.begin(at(now), WALL);
        let next = election.answer(Answer::Lease(held_by("other", version)), at(now), WALL);
        assert!(matches!(next, Next::NotHeld { .. }), "renewed at {now}");
        now += 10;
    }
    // Last seen to change at 120; not renewed since.
    election.begin(at(134), WALL);
    assert!(matches!(
        election.answer(Answer::Lease(held_by("other", 3)), at(134), WALL),
        Next::NotHeld { .. }
    ));
    election.begin(at(135), WALL);
    let take = election.answer(Answer::Lease(held_by("other", 3)), at(135), WALL);
    assert_eq!((written(&take).holder.as_str(), written(&take).transitions), ("me", 4));
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let mut election = election("me");
    election.begin(at(0), WALL);
    let take = election.answer(Answer::Lease(held_by("", 1)), at(0), WALL);
    assert_eq!(written(&take).holder, "me");
}

#[test]
fn candidates_wait_the_retry_period_and_up_to_one_and_a_fifth_more_of_it() {
    let mut election = election("me");
    let mut waits = Vec::new();
    for _ in 0..50 {
        election.begin(at(0), WALL);
        match election.answer(Answer::Lease(held_by("other", 1)), at(0), WALL) {
            Next::NotHeld { retry_at } => waits.push(retry_at.since(at(0))),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        waits
            .iter()
            .all(|wait| *wait >= 2 * SECOND && *wait <= Duration::from_millis(4400)),
        "{waits:?}"
    );
    waits.dedup();
    assert!(waits.len() > 40);
}

#[test]
fn renewal_goes_straight_to_the_write_and_keeps_acquire_time_and_transitions() {
    let mut election = leader();
    let request = election.begin(at(4), WALL);
    let Request::Update { record, stored } = &request else {
        panic!("{request:?}")
    };
    assert_eq!((record.transitions, stored.resource_version.as_str()), (0, "1"));
    let renewed = accept(&mut election, &Next::Ask(request.clone()), 2, at(5));
    assert_eq!(
        renewed,
        Next::Held {
            won: false,
            sent_at: at(4),
            retry_at: at(7)
        }
    );
    assert_eq!(election.slow_paths(), 0);
}

#[test]
fn a_stale_version_is_read_anew_within_the_same_try() {
    let mut election = leader();
    election.begin(at(4), WALL);
    assert_eq!(
        election.answer(Answer::Failed("conflict".to_owned()), at(4), WALL),
        Next::Ask(Request::Get)
    );
    let update = election.answer(Answer::Lease(held_by("me", 9)), at(5), WALL);
    assert_eq!(written(&update).transitions, 3);
    assert!(matches!(
        accept(&mut election, &update, 10, at(5)),
        Next::Held { won: false, .. }
    ));
    assert_eq!(election.slow_paths(), 1);
}

#[test]
fn a_leader_that_sees_another_holder_has_lost() {
    let mut election = leader();
    election.begin(at(4), WALL);
    election.answer(Answer::Failed("conflict".to_owned()), at(4), WALL);
    let next = election.answer(Answer::Lease(held_by("other", 5)), at(4), WALL);
    assert!(matches!(next, Next::Lost { .. }));
    assert!(!election.is_leader());
}

#[test]
fn failures_are_borne_until_the_renew_deadline_and_not_longer() {
    let mut election = leader();
    election.begin(at(9), WALL);
    election.answer(Answer::Failed("no connection".to_owned()), at(10), WALL);
    let next = election.answer(Answer::Failed("no connection".to_owned()), at(10), WALL);
    assert_eq!(next, Next::NotHeld { retry_at: at(12) });
    assert!(election.is_leader());
    election.begin(at(12), WALL);
    election.answer(Answer::Failed("no connection".to_owned()), at(12), WALL);
    let next = election.answer(Answer::Failed("no connection".to_owned()), at(12), WALL);
    assert!(matches!(next, Next::Lost { .. }));
}

#[test]
fn an_answer_after_the_deadline_renews_nothing() {
    // Sent at 1, it lasts until 11; writers were refused from then on.
    let late = |answer: Answer, now: u64| {
        let mut election = leader();
        election.begin(at(9), WALL);
        let conflict = election.answer(Answer::Failed("conflict".to_owned()), at(9), WALL);
        assert!(matches!(conflict, Next::NotHeld { .. } | Next::Ask(_)), "{conflict:?}");
        let next = election.answer(answer, at(now), WALL);
        (matches!(next, Next::Lost { .. }), election.is_leader())
    };
    let read = || Answer::Lease(held_by("me", 1));
    assert_eq!(late(read(), 10), (false, true));
    assert_eq!(late(read(), 11), (true, false));
    assert_eq!(late(Answer::NotFound, 12), (true, false));
    let mut election = leader();
    let renewal = Next::Ask(election.begin(at(10), WALL));
    assert!(matches!(accept(&mut election, &renewal, 2, at(11)), Next::Lost { .. }));
}

#[test]
fn the_deadline_ends_leadership_even_while_a_try_is_under_way() {
    let mut election = leader();
    assert!(!election.expire(at(10)));
    assert!(election.expire(at(11)));
    assert!(!election.is_leader());
    assert!(!election.expire(at(12)));
}

#[test]
fn only_our_own_lease_is_released() {
    let election = leader();
    let released = election.release(&held_by("me", 4), WALL).map(Next::Ask).unwrap();
    assert_eq!(
        (written(&released).holder.as_str(), written(&released).duration_seconds),
        ("", 1)
    );
    assert_eq!(election.release(&held_by("other", 4), WALL), None);
}

#[test]
fn a_part_of_a_second_counts_as_a_whole_one_in_the_record() {
    let config = ElectionConfig {
        lease_duration: Duration::from_millis(15_900),
        ..ElectionConfig::default()
    };
    let mut election = Election::new("me".to_owned(), config, ChaCha8Rng::seed_from_u64(1));
    election.begin(at(1), WALL);
    let next = election.answer(Answer::NotFound, at(1), WALL);
    assert_eq!(written(&next).duration_seconds, 16);
}

#[test]
fn a_lease_deleted_under_its_holder_is_not_created_before_it_would_have_run_out() {
    let mut election = election("me");
    election.begin(at(100), WALL);
    election.answer(Answer::Lease(held_by("other", 1)), at(100), WALL);
    // Seen last at 100; but whoever held it may have renewed it until just before it was missed at 110.
    for now in [110, 116, 124] {
        election.begin(at(now), WALL);
        let next = election.answer(Answer::NotFound, at(now), WALL);
        assert!(matches!(next, Next::NotHeld { .. }), "at {now}");
    }
    election.begin(at(125), WALL);
    let create = election.answer(Answer::NotFound, at(125), WALL);
    assert_eq!(written(&create).holder, "me");
}

#[test]
fn a_lease_that_is_missed_though_it_had_run_out_by_our_last_look_is_not_created_at_once_either() {
    let mut election = election("me");
    election.begin(at(100), WALL);
    election.answer(Answer::Lease(held_by("other", 1)), at(100), WALL);
    election.begin(at(130), WALL);
    let next = election.answer(Answer::NotFound, at(130), WALL);
    assert!(matches!(next, Next::NotHeld { .. }), "{next:?}");
    // There again, as it was: it has not been renewed since 100.
    election.begin(at(146), WALL);
    let take = election.answer(Answer::Lease(held_by("other", 1)), at(146), WALL);
    assert_eq!(written(&take).transitions, 4);
}

#[test]
fn a_lease_deleted_after_its_release_is_created_at_once() {
    let mut election = election("me");
    election.begin(at(100), WALL);
    let take = election.answer(Answer::Lease(held_by("", 1)), at(100), WALL);
    assert!(matches!(take, Next::Ask(Request::Update { .. })));
    election.answer(Answer::Failed("conflict".to_owned()), at(100), WALL);
    election.begin(at(103), WALL);
    let create = election.answer(Answer::NotFound, at(103), WALL);
    assert!(matches!(create, Next::Ask(Request::Create(_))), "{create:?}");
}

#[test]
fn a_leader_whose_lease_was_deleted_writes_it_anew_as_it_was() {
    let mut election = election("me");
    election.begin(at(0), WALL);
    let take = election.answer(Answer::Lease(held_by("", 1)), at(0), WALL);
    accept(&mut election, &take, 2, at(0));
    election.begin(at(2), later(2));
    assert_eq!(
        election.answer(Answer::NotFound, at(2), later(2)),
        Next::Ask(Request::Get)
    );
    let create = election.answer(Answer::NotFound, at(2), later(2));
    assert!(matches!(create, Next::Ask(Request::Create(_))), "{create:?}");
    let record = written(&create);
    assert_eq!(
        (record.transitions, record.acquire_time, record.renew_time),
        (4, Some(WALL), Some(later(2)))
    );
    assert!(matches!(
        accept(&mut election, &create, 3, at(2)),
        Next::Held { won: false, .. }
    ));
}

#[test]
fn a_leader_that_finds_its_lease_emptied_takes_it_back_as_a_new_acquisition() {
    let mut election = leader();
    election.begin(at(4), later(4));
    election.answer(Answer::Failed("conflict".to_owned()), at(4), later(4));
    let take = election.answer(Answer::Lease(held_by("", 5)), at(4), later(4));
    let record = written(&take);
    assert_eq!((record.transitions, record.acquire_time), (4, Some(later(4))));
    assert!(matches!(
        accept(&mut election, &take, 6, at(4)),
        Next::Held { won: false, .. }
    ));
}

#[test]
fn a_new_holder_counts_a_transition_and_its_own_time_of_acquisition() {
    for (holder, now) in [("", 0), ("other", 15)] {
        let mut election = election("me");
        election.begin(at(0), WALL);
        let mut next = election.answer(Answer::Lease(held_by(holder, 1)), at(0), later(7));
        if now > 0 {
            election.begin(at(now), later(7));
            next = election.answer(Answer::Lease(held_by(holder, 1)), at(now), later(7));
        }
        let record = written(&next);
        assert_eq!(
            (record.transitions, record.acquire_time),
            (4, Some(later(7))),
            "{holder}"
        );
    }
}

#[test]
fn a_lease_that_names_us_though_we_do_not_lead_is_taken_without_a_transition() {
    let mut election = election("me");
    election.begin(at(0), WALL);
    let take = election.answer(Answer::Lease(held_by("me", 1)), at(0), later(7));
    let record = written(&take);
    assert_eq!(
        (record.transitions, record.acquire_time, record.renew_time),
        (3, Some(WALL), Some(later(7)))
    );
    assert!(matches!(
        accept(&mut election, &take, 2, at(0)),
        Next::Held { won: true, .. }
    ));
}

#[test]
fn a_leader_whose_last_record_has_run_out_reads_before_it_writes() {
    let config = ElectionConfig {
        renew_deadline: Duration::from_secs(14),
        ..ElectionConfig::default()
    };
    let mut election = Election::new("me".to_owned(), config, ChaCha8Rng::seed_from_u64(1));
    election.begin(at(0), WALL);
    let create = election.answer(Answer::NotFound, at(10), WALL);
    accept(&mut election, &create, 1, at(10));
    assert!(matches!(election.begin(at(24), WALL), Request::Update { .. }));
    assert_eq!(election.begin(at(25), WALL), Request::Get);
}

#[test]
fn clocks_of_others_do_not_matter() {
    // Renewed in a far future and in a distant past by the clocks of their holders: both count from when we saw them.
    for years in [-50, 50] {
        let mut record = held_by("other", 1).record;
        record.renew_time = Some(WALL + jiff::SignedDuration::from_hours(24 * 365 * years));
        let seen = stored(&record, 1);
        let mut election = election("me");
        for (now, free) in [(200, false), (214, false), (215, true)] {
            election.begin(at(now), WALL);
            let next = election.answer(Answer::Lease(seen.clone()), at(now), WALL);
            assert_eq!(matches!(next, Next::Ask(_)), free, "{years} years, at {now}");
        }
    }
}

#[test]
fn a_write_that_is_refused_or_unanswered_leaves_a_candidate_a_candidate() {
    for answer in [Answer::Failed("conflict".to_owned()), Answer::NotFound] {
        let mut election = election("me");
        election.begin(at(0), WALL);
        election.answer(Answer::Lease(held_by("", 1)), at(0), WALL);
        let next = election.answer(answer, at(0), WALL);
        assert!(
            matches!(next, Next::NotHeld { retry_at } if retry_at >= at(2)),
            "{next:?}"
        );
        assert!(!election.is_leader());
        assert_eq!(election.begin(at(3), WALL), Request::Get);
    }
}

#[test]
fn a_candidate_that_cannot_read_waits_and_tries_again() {
    let mut election = election("me");
    election.begin(at(0), WALL);
    let next = election.answer(Answer::Failed("no connection".to_owned()), at(1), WALL);
    assert!(
        matches!(next, Next::NotHeld { retry_at } if retry_at >= at(3)),
        "{next:?}"
    );
}
