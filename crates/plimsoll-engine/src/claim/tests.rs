use plimsoll_model::decode_pod;

use super::*;

mod exploration;

const OURS: &str = "ours";
const OTHER: &str = "other";

fn claim() -> Claim {
    let json =
        br#"{"metadata":{"name":"a","namespace":"default","uid":"u1","resourceVersion":"1"},"spec":{"containers":[]}}"#;
    let pod = Arc::new(decode_pod(json).unwrap());
    Claim::new(ClaimId::new(1), pod, OURS.into())
}

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

fn answer(input: ClaimInput) -> Input<'static> {
    Input::Answer(input)
}

fn sent() -> Claim {
    let mut claim = claim();
    assert_eq!(claim.on(Input::Cleared(Carrier::Api), at(0)).ask, Some(Ask::Send));
    claim
}

fn refused(message: &str) -> ClaimInput {
    ClaimInput::Refused {
        message: message.to_owned(),
    }
}

fn conflict() -> ClaimInput {
    ClaimInput::Conflict {
        message: "conflict".to_owned(),
    }
}

fn unknown(seconds: u64) -> ClaimInput {
    ClaimInput::Unknown {
        settled_by: at(seconds),
    }
}

fn extender_failed(settled_by: u64) -> ClaimInput {
    ClaimInput::ExtenderFailed {
        message: "out of devices".to_owned(),
        settled_by: at(settled_by),
    }
}

#[test]
fn a_binding_is_reported_once_by_the_answer_and_confirmed_by_the_watch() {
    let mut claim = sent();
    assert!(claim.on(answer(ClaimInput::Bound), at(1)).bound);
    assert_eq!(claim.state(), ClaimState::Bound);
    let reaction = claim.on(Input::Sight(Sight::Assigned(OURS)), at(2));
    assert_eq!((reaction.bound, reaction.ending), (false, Some(Ending::Confirmed)));
}

/// What a claim says once the watch was faster than this answer.
fn overtaken(input: ClaimInput) -> (bool, Option<Ending>) {
    let mut claim = sent();
    assert_eq!(
        claim.on(Input::Sight(Sight::Assigned(OURS)), at(1)),
        Reaction::nothing()
    );
    assert_eq!(claim.state(), ClaimState::Seen);
    let reaction = claim.on(answer(input), at(2));
    (reaction.bound, reaction.ending)
}

#[test]
fn a_watch_that_is_faster_than_the_answer_leaves_the_answer_to_tell_who_bound_the_pod() {
    let not_found = ClaimInput::NotFound {
        message: "not found".to_owned(),
    };
    for input in [ClaimInput::Bound, unknown(3), conflict(), not_found, extender_failed(3)] {
        assert_eq!(overtaken(input), (true, Some(Ending::Confirmed)));
    }
    let not_ours = [
        refused("forbidden"),
        ClaimInput::NotSent {
            message: "over".to_owned(),
        },
        ClaimInput::Throttled {
            retry_after: Duration::from_secs(1),
        },
    ];
    for input in not_ours {
        assert_eq!(overtaken(input), (false, Some(Ending::Elsewhere)));
    }
}

#[test]
fn a_watch_confirms_at_once_what_an_earlier_send_may_have_bound() {
    let mut claim = sent();
    claim.on(answer(unknown(3)), at(1));
    claim.on(Input::Due, at(2));
    assert_eq!(claim.state(), ClaimState::Sent);
    let reaction = claim.on(Input::Sight(Sight::Assigned(OURS)), at(2));
    assert_eq!((reaction.bound, reaction.ending), (true, Some(Ending::Confirmed)));
}

#[test]
fn a_first_plain_refusal_ends_the_claim() {
    let mut claim = sent();
    assert_eq!(
        claim.on(answer(refused("forbidden")), at(1)).ending,
        Some(Ending::Refused)
    );
    assert_eq!(claim.refusal(), "forbidden");
}

#[test]
fn a_refusal_after_an_unknown_send_is_not_believed_before_a_read_past_its_time() {
    let mut claim = sent();
    claim.on(answer(unknown(10)), at(1));
    let again = claim.state().deadline().unwrap();
    assert_eq!(claim.on(Input::Due, again).ask, Some(Ask::Send));
    assert_eq!(claim.on(answer(refused("forbidden")), at(3)).ask, Some(Ask::Read));
    // The answer comes late, but the read was begun while the first send was open.
    let unbound = || answer(ClaimInput::Read(ReadResult::Unassigned));
    assert_eq!(claim.on(unbound(), at(12)), Reaction::nothing());
    assert_eq!(claim.on(Input::Due, at(12)).ask, Some(Ask::Read));
    assert_eq!(claim.on(unbound(), at(13)).ending, Some(Ending::Refused));
}

#[test]
fn an_unknown_outcome_repeats_the_binding_until_it_is_settled() {
    let mut claim = sent();
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..7 {
        claim.on(answer(ClaimInput::Unknown { settled_by: now }), now);
        let next = claim.state().deadline().unwrap();
        waits.push(next.since(now).as_millis());
        now = next;
        assert_eq!(claim.on(Input::Due, now).ask, Some(Ask::Send));
    }
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    claim.on(answer(conflict()), now);
    let read = ClaimInput::Read(ReadResult::Assigned { node: OURS.into() });
    assert!(claim.on(answer(read), now).bound);
}

#[test]
fn a_throttled_binding_is_sent_again_after_the_time_asked_for() {
    let mut claim = sent();
    claim.on(
        answer(ClaimInput::Throttled {
            retry_after: Duration::from_secs(7),
        }),
        at(1),
    );
    assert_eq!(claim.on(Input::Due, at(7)), Reaction::nothing());
    assert_eq!(claim.on(Input::Due, at(8)).ask, Some(Ask::Send));
    assert_eq!(claim.on(answer(refused("no")), at(9)).ending, Some(Ending::Refused));
}

#[test]
fn a_pod_read_on_another_node_counts_there_until_the_watch_shows_it() {
    let mut claim = sent();
    claim.on(answer(conflict()), at(1));
    let reaction = claim.on(
        answer(ClaimInput::Read(ReadResult::Assigned { node: OTHER.into() })),
        at(2),
    );
    assert_eq!(reaction.moved_to.as_deref(), Some(OTHER));
    assert_eq!(claim.node(), OTHER);
    let reaction = claim.on(Input::Sight(Sight::Assigned(OTHER)), at(3));
    assert_eq!((reaction.bound, reaction.ending), (false, Some(Ending::Confirmed)));
}

#[test]
fn a_pod_marked_for_deletion_leaves_while_it_waits_but_not_once_its_binding_is_sent() {
    let terminating = || Input::Sight(Sight::Unassigned { terminating: true });
    assert_eq!(claim().on(terminating(), at(1)).ending, Some(Ending::Gone));
    assert_eq!(sent().on(terminating(), at(1)), Reaction::nothing());
}

#[test]
fn after_the_term_nothing_is_sent_but_answers_are_taken() {
    let mut claim = sent();
    claim.on(Input::TermOver, at(1));
    assert_eq!(claim.on(answer(unknown(5)), at(2)), Reaction::nothing());
    assert_eq!(claim.state(), ClaimState::Stopped);
    assert_eq!(claim.open_until(), Some(at(5)));
    assert_eq!(claim.on(Input::Due, at(100)), Reaction::nothing());
    assert!(claim.on(answer(ClaimInput::Bound), at(101)).bound);
}

/// Every input, whether or not it makes sense at the time.
fn all_inputs() -> Vec<Input<'static>> {
    let reads = [
        ReadResult::Assigned { node: OURS.into() },
        ReadResult::Assigned { node: OTHER.into() },
        ReadResult::Unassigned,
        ReadResult::Deleting,
        ReadResult::Gone,
        ReadResult::Failed,
    ];
    let mut inputs: Vec<Input<'static>> = reads.into_iter().map(|read| answer(ClaimInput::Read(read))).collect();
    inputs.extend([
        answer(ClaimInput::Bound),
        answer(conflict()),
        answer(ClaimInput::NotFound {
            message: "not found".to_owned(),
        }),
        answer(refused("forbidden")),
        answer(ClaimInput::Throttled {
            retry_after: Duration::from_secs(1),
        }),
        answer(unknown(3)),
        answer(ClaimInput::NotSent {
            message: "over".to_owned(),
        }),
        Input::Sight(Sight::Assigned(OURS)),
        Input::Sight(Sight::Assigned(OTHER)),
        Input::Sight(Sight::Unassigned { terminating: false }),
        Input::Sight(Sight::Unassigned { terminating: true }),
        Input::Sight(Sight::Deleted),
        Input::Cleared(Carrier::Api),
        Input::Withdrawn,
        Input::Due,
        Input::TermOver,
    ]);
    inputs
}

#[derive(Clone, Copy, Default)]
struct Said {
    bound: u32,
    endings: u32,
    over: bool,
}

fn every_order(claim: &Claim, said: Said, depth: u64, inputs: &[Input<'static>]) {
    if depth == 0 {
        return;
    }
    for input in inputs {
        let mut next = claim.clone();
        let reaction = next.on(input.clone(), at(6 - depth));
        let said = Said {
            bound: said.bound + u32::from(reaction.bound),
            endings: said.endings + u32::from(reaction.ending.is_some()),
            over: said.over || *input == Input::TermOver,
        };
        assert!(said.bound <= 1, "bound is said once");
        assert!(said.endings <= 1, "a claim ends once");
        assert!(
            !(said.over && reaction.ask.is_some()),
            "nothing is asked after the term"
        );
        assert_eq!(said.endings == 1, next.state() == ClaimState::Ended);
        assert_eq!(said.bound == 1, next.is_bound());
        if next.state() == ClaimState::Ended && claim.state() == ClaimState::Ended {
            assert_eq!(reaction, Reaction::nothing(), "an ended claim is silent");
            continue;
        }
        every_order(&next, said, depth - 1, inputs);
    }
}

#[test]
fn in_every_order_of_inputs_a_claim_ends_once_and_says_bound_once() {
    every_order(&claim(), Said::default(), 5, &all_inputs());
}

/// A claim that an extender was asked to bind.
fn delegated(fallback: bool) -> Claim {
    let mut claim = claim();
    let asked = claim.on(Input::Cleared(Carrier::Extender { fallback }), at(0)).ask;
    assert_eq!(asked, Some(Ask::Delegate));
    claim
}

#[test]
fn a_lost_answer_of_an_extender_is_settled_by_a_read_after_its_time_and_never_asked_again() {
    let mut claim = delegated(false);
    assert_eq!(claim.on(answer(extender_failed(5)), at(1)), Reaction::nothing());
    assert_eq!(claim.state(), ClaimState::Doubtful { read_at: at(5) });
    assert_eq!(claim.on(Input::Due, at(5)).ask, Some(Ask::Read));
    let reaction = claim.on(answer(ClaimInput::Read(ReadResult::Unassigned)), at(6));
    assert_eq!(reaction.ending, Some(Ending::Refused));
    assert_eq!(claim.refusal(), "out of devices");
}

#[test]
fn what_an_extender_itself_calls_failed_is_read_at_once() {
    let mut claim = delegated(false);
    assert_eq!(claim.on(answer(extender_failed(1)), at(1)).ask, Some(Ask::Read));
    let node = OURS.into();
    let reaction = claim.on(answer(ClaimInput::Read(ReadResult::Assigned { node })), at(2));
    assert!(reaction.bound, "it had bound the pod all the same");
}

#[test]
fn where_an_extender_may_fail_the_pod_is_bound_without_it_once_it_certainly_has_not() {
    let mut claim = delegated(true);
    claim.on(answer(extender_failed(1)), at(1));
    let reaction = claim.on(answer(ClaimInput::Read(ReadResult::Unassigned)), at(2));
    assert_eq!(reaction.ask, Some(Ask::Send));
    assert_eq!(reaction.fell_back.as_deref(), Some("out of devices"));
    assert_eq!(claim.on(answer(refused("no")), at(3)).ending, Some(Ending::Refused));
    assert_eq!(claim.refusal(), "no");
}

#[test]
fn after_the_term_nothing_is_sent_in_place_of_an_extender() {
    let mut claim = delegated(true);
    claim.on(answer(extender_failed(1)), at(1));
    claim.on(Input::TermOver, at(1));
    let reaction = claim.on(answer(ClaimInput::Read(ReadResult::Unassigned)), at(2));
    assert_eq!((reaction.ask, reaction.ending), (None, Some(Ending::Refused)));
}
