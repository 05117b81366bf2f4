mod properties;

use plimsoll_client::{NotSent, PatchReply, PodRead, RemovalReply};
use plimsoll_engine::{Removal, Victim};
use plimsoll_model::PodCondition;
use plimsoll_model::testing::pod;

use super::super::request::What;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn message(code: &str) -> String {
    code.to_owned()
}

/// The state machine, what it said, and the requests under way.
struct Desk {
    preemptions: Preemptions,
    now: Moment,
    said: Vec<Said>,
    asked: Vec<(Uid, Request)>,
}

impl Desk {
    fn new() -> Self {
        Self {
            preemptions: Preemptions::default(),
            now: Moment::from_nanos(1_000_000_000),
            said: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// The kinds of the requests that may be sent now, with their victims.
    fn asks(&mut self) -> Vec<String> {
        let wall = Timestamp::new("2026-11-28T12:00:00Z");
        let mut sent = Vec::new();
        while let Some((uid, request)) = self.preemptions.next_request(&wall) {
            let what = match &request.what {
                What::Mark(_) => "mark",
                What::Delete => "delete",
                What::Evict => "evict",
                What::Read => "read",
            };
            sent.push(format!("{what} {}", request.victim.name.name));
            self.asked.push((uid, request));
        }
        sent
    }

    fn open(&mut self, plan: &PreemptionPlan) {
        self.preemptions.open(plan, &[], self.now, &mut self.said);
    }

    fn answer(&mut self, victim: &str, answer: Answer) {
        let at = self
            .asked
            .iter()
            .position(|(_, request)| request.victim.name.name == victim);
        let (uid, _) = self.asked.remove(at.unwrap());
        self.preemptions.answered(&uid, answer, self.now, &mut self.said);
    }

    fn see(&mut self, old: Option<&Arc<Pod>>, new: Arc<Pod>) {
        let sight = Sight::There { old: old.cloned(), new };
        self.preemptions.see(&sight, self.now, &mut self.said);
    }

    fn gone(&mut self, pod: &Arc<Pod>) {
        self.preemptions
            .see(&Sight::Gone(pod.uid.clone()), self.now, &mut self.said);
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.preemptions.tick(self.now, &mut self.said);
    }

    /// What was said since the last call, in short.
    fn said(&mut self) -> Vec<String> {
        self.said.drain(..).map(|said| short(&said)).collect()
    }

    /// Marks and removes a victim without trouble.
    fn remove(&mut self, victim: &str) {
        self.answer(victim, Answer::Marked(PatchReply::Patched));
        assert_eq!(self.asks(), [format!("delete {victim}")]);
        self.answer(victim, Answer::Removed(RemovalReply::Accepted));
    }
}

fn name(uid: &Uid) -> &str {
    uid.as_str().trim_start_matches("uid-")
}

fn short(said: &Said) -> String {
    match said {
        Said::Preempted {
            victim,
            preemptor,
            in_memory,
            ..
        } => {
            let place = if *in_memory { " in memory" } else { "" };
            format!("{} preempted by {}{place}", victim.name.name, preemptor.name.name)
        }
        Said::Executed { result, .. } => format!("executed {result:?}"),
        Said::Going(uid) => format!("{} may be tried", name(uid)),
        Said::Over {
            preemptor,
            ending,
            spared,
            ..
        } => format!("{} {} spared={}", name(preemptor), ending.as_str(), spared.len()),
    }
}

fn victim(name: &str) -> Arc<Pod> {
    Arc::new(pod(name).on("n").build())
}

fn preemptor(name: &str) -> Arc<Pod> {
    Arc::new(pod(name).priority(10).build())
}

fn changed(of: &Arc<Pod>, change: impl FnOnce(&mut Pod)) -> Arc<Pod> {
    let mut new = Pod::clone(of);
    change(&mut new);
    Arc::new(new)
}

/// The pod on its way out, with what our patch says if it came.
fn terminating(of: &Arc<Pod>, reason: Option<&str>) -> Arc<Pod> {
    changed(of, |pod| {
        pod.deletion_timestamp = Some(Timestamp::new("2026-11-28T12:00:30Z"));
        pod.status.disruption_target = reason.map(|reason| {
            Box::new(PodCondition {
                status: "True".into(),
                reason: reason.into(),
                ..PodCondition::default()
            })
        });
    })
}

const OURS: Option<&str> = Some("PreemptionByScheduler");

fn plan(preemptor: &Arc<Pod>, victims: &[&Arc<Pod>]) -> PreemptionPlan {
    let victims = victims.iter().map(|pod| Victim {
        pod: Arc::clone(pod),
        claim: None,
    });
    PreemptionPlan {
        preemptor: Arc::clone(preemptor),
        node: "n".into(),
        chosen: victims.len(),
        victims: victims.collect(),
        clear_nominations: Vec::new(),
        removal: Removal::Delete,
        asynchronous: true,
    }
}

fn evicting(plan: PreemptionPlan) -> PreemptionPlan {
    PreemptionPlan {
        removal: Removal::Evict,
        ..plan
    }
}

#[test]
fn all_but_the_last_go_at_once_and_the_last_when_they_have_been_told() {
    let (p, a, b, c) = (preemptor("p"), victim("a"), victim("b"), victim("c"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a, &b, &c]));
    assert_eq!(desk.asks(), ["mark a", "mark b"]);
    desk.remove("a");
    assert!(desk.asks().is_empty());
    desk.remove("b");
    assert_eq!(desk.asks(), ["mark c"]);
    desk.remove("c");
    assert_eq!(
        desk.said(),
        [
            "a preempted by p",
            "b preempted by p",
            "c preempted by p",
            "executed Ok(())"
        ]
    );
    // The preemptor is tried when the columns show all of them on their way, and once more when they are gone.
    for pod in [&a, &b] {
        desk.see(Some(pod), terminating(pod, OURS));
    }
    assert!(desk.said().is_empty());
    desk.see(Some(&c), terminating(&c, OURS));
    assert_eq!(desk.said(), ["p may be tried"]);
    for pod in [&a, &b, &c] {
        desk.gone(pod);
    }
    assert_eq!(desk.said(), ["p done spared=0"]);
    assert_eq!((desk.preemptions.len(), desk.preemptions.next_deadline()), (0, None));
}

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

#[test]
fn nothing_is_sent_for_a_preemptor_that_needs_no_room_any_more() {
    let p = preemptor("p");
    let nominated = |node: Option<&str>| changed(&p, |pod| pod.status.nominated_node_name = node.map(Into::into));
    let cases: [(&str, Sight); 5] = [
        ("deleted", Sight::Gone(p.uid.clone())),
        (
            "being deleted",
            Sight::There {
                old: Some(Arc::clone(&p)),
                new: terminating(&p, None),
            },
        ),
        (
            "bound elsewhere",
            Sight::There {
                old: Some(Arc::clone(&p)),
                new: changed(&p, |pod| pod.spec.node_name = Some("other".into())),
            },
        ),
        (
            "nominated elsewhere",
            Sight::There {
                old: Some(nominated(Some("n"))),
                new: nominated(Some("other")),
            },
        ),
        (
            "not nominated any more",
            Sight::There {
                old: Some(nominated(Some("n"))),
                new: nominated(None),
            },
        ),
    ];
    for (case, sight) in cases {
        let (a, b) = (victim("a"), victim("b"));
        let mut desk = Desk::new();
        desk.open(&plan(&p, &[&a, &b]));
        assert_eq!(desk.asks(), ["mark a"]);
        desk.preemptions.see(&sight, desk.now, &mut desk.said);
        assert_eq!(desk.said(), ["p not_needed spared=2"], "{case}");
        assert!(desk.asked[0].1.withdrawn.is_cancelled(), "{case}");
        // It was sent before: what it was to be followed by is not.
        desk.answer("a", Answer::Marked(PatchReply::Patched));
        assert!(desk.asks().is_empty(), "{case}");
        assert!(desk.said().is_empty(), "{case}");
    }
}

#[test]
fn our_own_nomination_does_not_count_as_one_that_was_taken_away() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    let nominated = changed(&p, |pod| pod.status.nominated_node_name = Some("n".into()));
    desk.see(Some(&p), Arc::clone(&nominated));
    desk.see(Some(&nominated), changed(&nominated, |pod| pod.generation = 2));
    assert!(desk.said().is_empty());
    assert_eq!(desk.asks(), ["mark a"]);
}

#[test]
fn a_victim_of_two_preemptions_is_asked_once_and_goes_for_the_second_when_the_first_needs_it_no_more() {
    let (p, q, a, b) = (preemptor("p"), preemptor("q"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    assert_eq!(desk.asks(), ["mark a"]);
    desk.open(&plan(&q, &[&b, &a]));
    assert_eq!(desk.asks(), ["mark b"]);
    desk.gone(&p);
    assert_eq!(desk.said(), ["p not_needed spared=1"]);
    assert!(!desk.asked[0].1.withdrawn.is_cancelled());
    desk.remove("a");
    desk.remove("b");
    assert_eq!(desk.said(), ["a preempted by p", "b preempted by q", "executed Ok(())"]);
    desk.gone(&a);
    desk.gone(&b);
    assert_eq!(desk.said(), ["q done spared=0"]);
}

#[test]
fn a_request_that_was_taken_back_is_made_for_whoever_wants_it_next() {
    let (p, q, a) = (preemptor("p"), preemptor("q"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    desk.gone(&p);
    desk.open(&plan(&q, &[&a]));
    assert!(desk.asks().is_empty());
    desk.answer("a", Answer::Marked(PatchReply::NotSent(NotSent::Withdrawn)));
    assert_eq!(desk.asks(), ["mark a"]);
    assert!(!desk.asked[0].1.withdrawn.is_cancelled());
}

#[test]
fn a_preemption_of_higher_priority_ends_those_on_its_node_whose_nomination_it_takes() {
    let (low, high, a, b) = (preemptor("low"), preemptor("high"), victim("a"), victim("b"));
    for (node, ends) in [("n", true), ("m", false)] {
        let mut desk = Desk::new();
        desk.open(&plan(&low, &[&a, &b]));
        let over = PreemptionPlan {
            node: node.into(),
            clear_nominations: vec![Arc::clone(&low)],
            ..plan(&high, &[&a])
        };
        desk.open(&over);
        assert_eq!(desk.said() == ["low not_needed spared=2"], ends, "{node}");
        assert_eq!(desk.preemptions.len(), if ends { 1 } else { 2 });
        assert_eq!(desk.asks(), ["mark a"]);
    }
}

#[test]
fn a_second_preemption_for_the_same_pod_takes_the_place_of_the_first() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    desk.remove("a");
    desk.said();
    desk.open(&plan(&p, &[&b]));
    assert_eq!(desk.said(), ["p replaced spared=0"]);
    assert_eq!(desk.asks(), ["mark b"]);
}

#[test]
fn a_victim_that_is_on_its_way_by_itself_is_not_asked() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a, &b]));
    desk.see(Some(&a), terminating(&a, None));
    assert_eq!(desk.asks(), ["mark b"]);
    desk.remove("b");
    assert_eq!(desk.said(), ["b preempted by p", "executed Ok(())"]);
    desk.see(Some(&b), terminating(&b, OURS));
    assert_eq!(desk.said(), ["p may be tried"]);
}

#[test]
fn a_victim_that_does_not_die_is_waited_for_without_a_deadline() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a]));
    desk.asks();
    desk.remove("a");
    desk.see(Some(&a), terminating(&a, OURS));
    desk.said();
    desk.pass(Duration::from_hours(2));
    assert_eq!(desk.preemptions.next_deadline(), None);
    assert!(desk.asks().is_empty() && desk.said().is_empty());
    assert_eq!(desk.preemptions.len(), 1);
}

#[test]
fn victims_turned_away_in_memory_need_no_request() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    let both = plan(&p, &[&a, &b]);
    desk.preemptions
        .open(&both, std::slice::from_ref(&a.uid), desk.now, &mut desk.said);
    assert_eq!(desk.asks(), ["mark b"]);
    assert_eq!(desk.said(), ["a preempted by p in memory"]);
    let mut desk = Desk::new();
    let all = [a.uid.clone(), b.uid.clone()];
    desk.preemptions.open(&both, &all, desk.now, &mut desk.said);
    assert!(desk.asks().is_empty());
    assert_eq!(
        desk.said(),
        [
            "a preempted by p in memory",
            "b preempted by p in memory",
            "executed Ok(())",
            "p done spared=0"
        ]
    );
}

#[test]
fn an_evicted_victim_is_marked_after_its_eviction_and_the_preemptor_waits_for_the_mark() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&evicting(plan(&p, &[&a])));
    assert_eq!(desk.asks(), ["evict a"]);
    desk.answer("a", Answer::Removed(RemovalReply::Accepted));
    let evicted = terminating(&a, Some("EvictionByEvictionAPI"));
    desk.see(Some(&a), Arc::clone(&evicted));
    assert_eq!(desk.asks(), ["mark a"]);
    assert_eq!(desk.said(), ["a preempted by p"]);
    desk.answer("a", Answer::Marked(PatchReply::Patched));
    assert_eq!(desk.said(), ["executed Ok(())"]);
    desk.see(Some(&evicted), terminating(&a, OURS));
    assert_eq!(desk.said(), ["p may be tried"]);
}

#[test]
fn a_budget_that_says_no_fails_the_preemption_and_nobody_goes() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    desk.open(&evicting(plan(&p, &[&a, &b])));
    assert_eq!(desk.asks(), ["evict a"]);
    let no = RemovalReply::Forbidden {
        message: message("budget"),
    };
    desk.answer("a", Answer::Removed(no));
    desk.pass(SECOND);
    assert_eq!(desk.said(), ["executed Err(\"budget\")", "p failed spared=2"]);
    assert!(desk.asks().is_empty());
}

#[test]
fn an_evicted_victim_that_cannot_be_marked_goes_all_the_same() {
    let (p, a) = (preemptor("p"), victim("a"));
    let mut desk = Desk::new();
    desk.open(&evicting(plan(&p, &[&a])));
    desk.asks();
    desk.answer("a", Answer::Removed(RemovalReply::Accepted));
    desk.see(Some(&a), terminating(&a, Some("EvictionByEvictionAPI")));
    desk.asks();
    desk.answer(
        "a",
        Answer::Marked(PatchReply::Refused {
            code: 403,
            message: message("no"),
        }),
    );
    assert_eq!(desk.said(), ["a preempted by p", "executed Ok(())", "p may be tried"]);
}

#[test]
fn without_the_asynchronous_mode_all_go_at_once_and_a_failure_is_told_at_once() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let synchronous = PreemptionPlan {
        asynchronous: false,
        ..plan(&p, &[&a, &b])
    };
    let mut desk = Desk::new();
    desk.open(&synchronous);
    assert_eq!(desk.asks(), ["mark a", "mark b"]);
    let refused = PatchReply::Refused {
        code: 403,
        message: message("no"),
    };
    desk.answer("a", Answer::Marked(refused));
    assert_eq!(desk.said(), ["executed Err(\"no\")", "p failed spared=2"]);
    // A preemptor that goes meanwhile does not leave its cycle waiting.
    let mut desk = Desk::new();
    desk.open(&synchronous);
    desk.asks();
    desk.gone(&p);
    assert_eq!(desk.said(), ["executed Ok(())", "p not_needed spared=2"]);
}

#[test]
fn after_the_end_of_the_term_nothing_is_asked_again() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a, &b]));
    desk.asks();
    desk.answer("a", Answer::Marked(PatchReply::NotSent(NotSent::TermOver)));
    desk.pass(Duration::from_mins(1));
    assert!(desk.asks().is_empty() && desk.said().is_empty());
    let mut desk = Desk::new();
    desk.open(&plan(&p, &[&a, &b]));
    desk.preemptions.stop();
    assert!(desk.asks().is_empty());
    assert_eq!(desk.preemptions.next_deadline(), None);
}

#[test]
fn answers_and_sights_of_pods_that_no_plan_names_mean_nothing() {
    let a = victim("a");
    let mut desk = Desk::new();
    desk.see(None, Arc::clone(&a));
    desk.gone(&a);
    desk.preemptions.answered(
        &a.uid,
        Answer::Removed(RemovalReply::Accepted),
        desk.now,
        &mut desk.said,
    );
    assert!(desk.said().is_empty() && desk.asks().is_empty());
}
