mod answers;
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
        Said::Over(Over {
            preemptor,
            ending,
            spared,
            ..
        }) => format!("{} {} spared={}", name(preemptor), ending.as_str(), spared.len()),
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
fn nothing_is_sent_for_a_preemptor_that_needs_no_room_any_more() {
    let p = preemptor("p");
    let nominated = |node: Option<&str>| changed(&p, |pod| pod.status.nominated_node_name = node.map(Into::into));
    let cases: [(&str, Sight); 6] = [
        ("deleted", Sight::Gone(p.uid.clone())),
        ("without a profile", Sight::Foreign(p.uid.clone())),
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
                new: changed(&p, |pod| pod.node_name = Some("other".into())),
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
fn victims_that_an_earlier_leader_has_told_to_go_are_waited_for_and_nothing_is_sent_or_told() {
    let (p, a, b) = (preemptor("p"), victim("a"), victim("b"));
    let (a, b) = (terminating(&a, OURS), terminating(&b, None));
    let mut desk = Desk::new();
    desk.preemptions.adopt(&plan(&p, &[&a, &b]), desk.now, &mut desk.said);
    assert!(desk.asks().is_empty());
    assert_eq!(desk.said(), ["p may be tried"]);
    desk.gone(&a);
    assert!(desk.said().is_empty());
    desk.gone(&b);
    assert_eq!(desk.said(), ["p done spared=0"]);
    assert_eq!(desk.preemptions.len(), 0);
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
