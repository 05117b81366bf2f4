use super::*;

const RETRY: Duration = Duration::from_secs(2);

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

/// Renewed at second 10 by some clock, asked at second `ping`.
#[expect(clippy::unnecessary_box_returns, reason = "every use wants it so")]
fn stored(version: u64, ping: u64) -> Box<StoredCandidate> {
    let json = format!(
        r#"{{"metadata":{{"resourceVersion":"{version}"}},"spec":{{
            "renewTime":"2026-11-28T02:30:10.000000Z","pingTime":"2026-11-28T02:30:{ping:02}.000000Z"}}}}"#
    );
    Box::new(StoredCandidate::decode(json.as_bytes()).unwrap())
}

fn failed() -> CandidateReply {
    CandidateReply::Failed {
        error: "no connection".to_owned(),
    }
}

/// Asks, expects that request, and gives the answer.
fn round(candidacy: &mut Candidacy, now: u64, expected: &CandidateRequest, reply: CandidateReply) {
    let request = candidacy.next(at(now)).unwrap();
    assert_eq!(request, *expected, "at {now}");
    candidacy.answer(&request, reply, at(now));
}

/// Created as version 1 at second 0, and watched.
fn current() -> Candidacy {
    let mut candidacy = Candidacy::new(RETRY);
    assert_eq!((candidacy.next(at(0)), candidacy.due()), (None, None));
    assert!(candidacy.is_gone());
    candidacy.stand();
    round(&mut candidacy, 0, &CandidateRequest::Get, CandidateReply::NotFound);
    assert!(!candidacy.is_known());
    let created = CandidateReply::Candidate(stored(1, 0));
    round(&mut candidacy, 0, &CandidateRequest::Create, created);
    assert!(candidacy.is_known());
    assert_eq!(candidacy.next(at(0)), Some(CandidateRequest::Watch(stored(1, 0))));
    assert_eq!(candidacy.next(at(0)), None);
    candidacy
}

fn watched(candidacy: &mut Candidacy, reply: CandidateReply, now: u64) {
    candidacy.answer(&CandidateRequest::Watch(stored(1, 0)), reply, at(now));
}

#[test]
fn a_candidate_answers_when_it_is_asked() {
    let mut candidacy = current();
    watched(&mut candidacy, CandidateReply::Candidate(stored(2, 59)), 7);
    let renewed = CandidateReply::Candidate(stored(3, 5));
    round(&mut candidacy, 7, &CandidateRequest::Renew(stored(2, 59)), renewed);
    assert_eq!(candidacy.next(at(7)), Some(CandidateRequest::Watch(stored(3, 5))));
}

#[test]
fn a_change_that_asks_nothing_is_watched_on() {
    let mut candidacy = current();
    watched(&mut candidacy, CandidateReply::Candidate(stored(2, 5)), 7);
    assert_eq!(candidacy.next(at(7)), Some(CandidateRequest::Watch(stored(2, 5))));
}

#[test]
fn a_candidate_is_refreshed_every_five_minutes() {
    let mut candidacy = current();
    assert_eq!(candidacy.due(), Some(at(300)));
    assert_eq!(candidacy.next(at(299)), None);
    let renewed = CandidateReply::Candidate(stored(2, 0));
    round(&mut candidacy, 300, &CandidateRequest::Renew(stored(1, 0)), renewed);
    assert_eq!(candidacy.next(at(300)), Some(CandidateRequest::Watch(stored(2, 0))));
    assert_eq!(candidacy.due(), Some(at(600)));
}

#[test]
fn a_candidate_that_somebody_deleted_is_made_anew() {
    let mut candidacy = current();
    watched(&mut candidacy, CandidateReply::NotFound, 7);
    round(&mut candidacy, 7, &CandidateRequest::Get, CandidateReply::NotFound);
    assert_eq!(candidacy.next(at(7)), Some(CandidateRequest::Create));
}

#[test]
fn after_a_failure_or_the_end_of_a_watch_it_is_read_anew_a_little_later() {
    for reply in [failed(), CandidateReply::Quiet] {
        let mut candidacy = current();
        watched(&mut candidacy, reply, 7);
        assert_eq!((candidacy.next(at(8)), candidacy.due()), (None, Some(at(9))));
        let there = CandidateReply::Candidate(stored(4, 0));
        round(&mut candidacy, 9, &CandidateRequest::Get, there);
        assert_eq!(candidacy.next(at(9)), Some(CandidateRequest::Renew(stored(4, 0))));
    }
}

#[test]
fn a_candidate_that_exists_already_is_renewed() {
    // The answer to its creation was lost.
    let mut candidacy = Candidacy::new(RETRY);
    candidacy.stand();
    round(&mut candidacy, 0, &CandidateRequest::Get, CandidateReply::NotFound);
    round(&mut candidacy, 0, &CandidateRequest::Create, failed());
    let there = CandidateReply::Candidate(stored(1, 0));
    round(&mut candidacy, 2, &CandidateRequest::Get, there);
    assert_eq!(candidacy.next(at(2)), Some(CandidateRequest::Renew(stored(1, 0))));
}

#[test]
fn a_withdrawn_candidate_is_deleted_and_stands_again_under_a_new_object() {
    let mut candidacy = current();
    candidacy.withdraw();
    assert!(!candidacy.is_gone());
    round(&mut candidacy, 7, &CandidateRequest::Delete, CandidateReply::NotFound);
    assert!(candidacy.is_gone());
    assert_eq!((candidacy.next(at(500)), candidacy.due()), (None, None));
    candidacy.stand();
    assert_eq!(candidacy.next(at(500)), Some(CandidateRequest::Get));
}

#[test]
fn an_answer_under_way_is_awaited_before_a_candidate_is_deleted() {
    let mut candidacy = Candidacy::new(RETRY);
    candidacy.stand();
    round(&mut candidacy, 0, &CandidateRequest::Get, CandidateReply::NotFound);
    let create = candidacy.next(at(0)).unwrap();
    candidacy.withdraw();
    assert_eq!(candidacy.next(at(1)), None);
    candidacy.answer(&create, CandidateReply::Candidate(stored(1, 0)), at(1));
    assert_eq!(candidacy.next(at(1)), Some(CandidateRequest::Delete));
}

#[test]
fn one_that_cannot_be_deleted_is_given_up_and_deleted_before_it_stands_again() {
    let mut candidacy = current();
    candidacy.withdraw();
    round(&mut candidacy, 7, &CandidateRequest::Delete, failed());
    assert!(candidacy.is_gone());
    assert_eq!((candidacy.next(at(50)), candidacy.due()), (None, None));
    candidacy.stand();
    round(&mut candidacy, 60, &CandidateRequest::Delete, failed());
    assert_eq!((candidacy.next(at(61)), candidacy.due()), (None, Some(at(62))));
    round(&mut candidacy, 62, &CandidateRequest::Delete, CandidateReply::NotFound);
    assert_eq!(candidacy.next(at(62)), Some(CandidateRequest::Get));
}

#[test]
fn one_that_stands_again_before_it_was_deleted_is_deleted_first() {
    let mut candidacy = current();
    candidacy.withdraw();
    candidacy.stand();
    round(&mut candidacy, 7, &CandidateRequest::Delete, CandidateReply::NotFound);
    assert_eq!(candidacy.next(at(7)), Some(CandidateRequest::Get));
}

#[test]
fn one_that_never_stood_leaves_nothing_to_delete() {
    let mut candidacy = Candidacy::new(RETRY);
    candidacy.withdraw();
    assert!(candidacy.is_gone());
    assert_eq!(candidacy.next(at(0)), None);
}
