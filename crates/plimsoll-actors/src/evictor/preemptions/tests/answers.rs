//! What the API server's answers about a victim lead to.

use super::*;

#[test]
fn the_condition_names_the_scheduler_and_the_pod_that_is_meant() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    let What::Mark(patch) = &desk.asked[0].1.what else {
        panic!("no patch")
    };
    assert_eq!(patch.uid.as_ref(), Some(&a.uid));
    let condition = patch.condition.as_ref().unwrap();
    assert_eq!(
        (
            condition.kind.as_str(),
            condition.status.as_str(),
            condition.reason.as_str()
        ),
        ("DisruptionTarget", "True", "PreemptionByScheduler")
    );
    assert_eq!(
        condition.message,
        "default-scheduler: preempting to accommodate a higher priority pod"
    );
    assert_eq!(condition.last_transition_time.as_str(), "2026-11-28T12:00:00Z");
}

#[test]
fn a_victim_that_says_so_already_is_deleted_without_a_patch() {
    let (p, a) = (preemptor("p"), victim("a"));
    let condition = |message: &str| {
        changed(&a, |pod| {
            pod.status.disruption_target = Some(Box::new(PodCondition {
                status: "True".into(),
                reason: "PreemptionByScheduler".into(),
                message: message.to_owned(),
                last_transition_time: Some(Timestamp::new("2026-11-28T11:00:00Z")),
                ..PodCondition::default()
            }));
        })
    };
    let mut desk = Desk::new();
    let said = condition("default-scheduler: preempting to accommodate a higher priority pod");
    desk.open(&plan(&p, &[&said]));
    assert_eq!(desk.asks(), ["delete a"]);
    // Another scheduler's words are replaced, the time of the change stays.
    let mut desk = Desk::new();
    desk.open(&plan(
        &p,
        &[&condition("other: preempting to accommodate a higher priority pod")],
    ));
    assert_eq!(desk.asks(), ["mark a"]);
    let What::Mark(patch) = &desk.asked[0].1.what else {
        panic!("no patch")
    };
    let since = patch.condition.as_ref().unwrap().last_transition_time.as_str();
    assert_eq!(since, "2026-11-28T11:00:00Z");
}

#[test]
fn a_victim_that_is_gone_when_it_is_asked_is_gone_and_nobody_is_told() {
    for marked in [false, true] {
        let (p, a) = (preemptor("p"), victim("a"));
        let mut desk = Desk::new();
        desk.open(&plan(&p, &[&a]));
        desk.asks();
        if marked {
            desk.answer("a", Answer::Marked(PatchReply::Patched));
            desk.asks();
            desk.answer("a", Answer::Removed(RemovalReply::NotFound));
        } else {
            desk.answer("a", Answer::Marked(PatchReply::NotFound));
        }
        assert_eq!(desk.said(), ["executed Ok(())"]);
        // Should the watch not show it, it is believed a while later.
        if marked {
            desk.pass(SECOND);
        } else {
            desk.gone(&a);
        }
        assert_eq!(desk.said(), ["p done spared=0"]);
    }
}

#[test]
fn another_pod_of_the_same_name_is_neither_marked_nor_deleted() {
    let (p, a) = (preemptor("p"), victim("a"));
    let conflict = || {
        Answer::Removed(RemovalReply::Conflict {
            message: message("uid"),
        })
    };
    let refused = || {
        Answer::Marked(PatchReply::Refused {
            code: 422,
            message: message("uid"),
        })
    };
    let other = Answer::Read(PodRead::Found(changed(&a, |pod| pod.uid = Uid::from("other"))));
    for (answer, marked) in [(refused(), false), (conflict(), true)] {
        let mut desk = Desk::new();
        desk.open(&plan(&p, &[&a]));
        desk.asks();
        if marked {
            desk.answer("a", Answer::Marked(PatchReply::Patched));
            desk.asks();
        }
        desk.answer("a", answer);
        assert_eq!(desk.asks(), ["read a"]);
        desk.answer("a", other.clone());
        assert!(desk.asks().is_empty());
        desk.gone(&a);
        assert_eq!(desk.said(), ["executed Ok(())", "p done spared=0"]);
    }
}

#[test]
fn a_conflict_about_a_victim_that_is_there_means_another_try_a_while_later() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    desk.answer(
        "a",
        Answer::Marked(PatchReply::Conflict {
            message: message("again"),
        }),
    );
    assert_eq!(desk.asks(), ["read a"]);
    desk.answer("a", Answer::Read(PodRead::Found(Arc::clone(&a))));
    assert!(desk.asks().is_empty());
    desk.pass(SECOND);
    assert_eq!(desk.asks(), ["mark a"]);
}

#[test]
fn a_lost_deletion_is_sent_again_and_told_once_whatever_comes_of_it() {
    let lost = || Answer::Removed(RemovalReply::Unknown { error: message("lost") });
    let cases: [(&str, Answer); 2] = [
        ("accepted", Answer::Removed(RemovalReply::Accepted)),
        ("gone meanwhile", Answer::Removed(RemovalReply::NotFound)),
    ];
    for (case, second) in cases {
        let (p, a) = (preemptor("p"), victim("a"));
        let mut desk = Desk::new();
        desk.open(&plan(&p, &[&a]));
        desk.asks();
        desk.answer("a", Answer::Marked(PatchReply::Patched));
        desk.asks();
        desk.answer("a", lost());
        assert!(desk.asks().is_empty(), "{case}");
        desk.pass(SECOND);
        assert_eq!(desk.asks(), ["delete a"], "{case}");
        desk.answer("a", second);
        desk.gone(&a);
        assert_eq!(
            desk.said(),
            ["a preempted by p", "executed Ok(())", "p done spared=0"],
            "{case}"
        );
    }
}

#[test]
fn a_victim_whose_deletion_was_lost_and_that_is_seen_on_its_way_is_not_asked_again() {
    for disappears in [false, true] {
        let (p, a) = (preemptor("p"), victim("a"));
        let mut desk = Desk::new();
        desk.open(&plan(&p, &[&a]));
        desk.asks();
        desk.answer("a", Answer::Marked(PatchReply::Patched));
        desk.asks();
        desk.answer("a", Answer::Removed(RemovalReply::Unknown { error: message("lost") }));
        if !disappears {
            desk.see(Some(&a), terminating(&a, OURS));
        }
        desk.gone(&a);
        desk.pass(SECOND);
        assert!(desk.asks().is_empty());
        let mut said = desk.said();
        said.retain(|said| said != "p may be tried");
        assert_eq!(said, ["a preempted by p", "executed Ok(())", "p done spared=0"]);
    }
}

#[test]
fn a_victim_that_is_gone_before_its_answer_comes_is_told_of_when_it_does() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    desk.answer("a", Answer::Marked(PatchReply::Patched));
    desk.asks();
    desk.gone(&a);
    assert_eq!(desk.said(), ["executed Ok(())", "p done spared=0"]);
    desk.answer("a", Answer::Removed(RemovalReply::Accepted));
    assert_eq!(desk.said(), ["a preempted by p"]);
}

#[test]
fn requests_without_an_outcome_are_repeated_with_longer_and_longer_waits_and_then_the_preemption_fails() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a, &b]));
    let mut tries = 0;
    let begun = desk.now;
    while desk.preemptions.len() == 1 && tries < 20 {
        for ask in desk.asks() {
            assert_eq!(ask, "mark a");
            tries += 1;
            let error = message("500: etcd");
            desk.answer("a", Answer::Marked(PatchReply::Unknown { code: Some(500), error }));
        }
        desk.pass(SECOND / 10);
    }
    assert_eq!(tries, 6);
    let took = desk.now.since(begun);
    assert!(took > 7 * SECOND && took < 8 * SECOND, "{took:?}");
    assert_eq!(desk.said(), ["executed Err(\"500: etcd\")", "p failed spared=2"]);
    assert!(desk.asks().is_empty());
}

#[test]
fn a_throttled_request_is_repeated_no_sooner_than_asked() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    let retry_after = 4 * SECOND;
    desk.answer("a", Answer::Marked(PatchReply::Throttled { retry_after }));
    desk.pass(3 * SECOND);
    assert!(desk.asks().is_empty());
    desk.pass(SECOND);
    assert_eq!(desk.asks(), ["mark a"]);
}

#[test]
fn a_refusal_spares_who_has_not_been_asked_and_the_preemptor_is_tried_after_a_pause() {
    let (p, a, b, c) = (preemptor("p"), victim("a"), victim("b"), victim("c"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a, &b, &c]));
    assert_eq!(desk.asks(), ["mark a", "mark b"]);
    desk.remove("a");
    desk.answer("b", Answer::Marked(PatchReply::Patched));
    desk.asks();
    let refused = RemovalReply::Refused {
        code: 403,
        message: message("no"),
    };
    desk.answer("b", Answer::Removed(refused));
    assert!(desk.asks().is_empty());
    assert_eq!(desk.said(), ["a preempted by p", "executed Err(\"no\")"]);
    desk.pass(SECOND / 2);
    assert!(desk.said().is_empty());
    desk.pass(SECOND / 2);
    assert_eq!(desk.said(), ["p failed spared=2"]);
}
