//! The judge must be able to find against.

use super::*;
use crate::fixtures::{PodFixture, claim, node, pod, volume};
use crate::replica::Scheduler;

fn written(fixture: PodFixture, on: Option<&str>) -> Record {
    let mut pod = fixture.build();
    let name = pod.metadata.name.clone().unwrap_or_default();
    pod.metadata.uid = Some(format!("uid-{name}"));
    pod.metadata.namespace = Some("t".to_owned());
    if let Some(spec) = &mut pod.spec {
        spec.node_name = on.map(str::to_owned);
        spec.scheduler_name
            .get_or_insert_with(|| "default-scheduler".to_owned());
    }
    Record::Pod(pod.key(), Box::new(pod))
}

fn one_cpu_node() -> Record {
    Record::Node("n".to_owned(), Box::new(node("n").cpu("1").build()))
}

fn bind(pod: &str, group: &str, at: i64) -> BindRequest {
    BindRequest {
        namespace: "t".to_owned(),
        pod: pod.to_owned(),
        uid: format!("uid-{pod}"),
        node: "n".to_owned(),
        group: group.to_owned(),
        user_agent: String::new(),
        code: 201,
        received: at,
        answered: at + 1,
    }
}

fn verdict(records: Vec<Record>, binds: &[BindRequest]) -> Verdict {
    let records: Vec<(i64, Record)> = (1..).zip(records).collect();
    let programs = BTreeMap::from([
        ("replica-0".to_owned(), Scheduler::Plimsoll),
        ("replica-1".to_owned(), Scheduler::Plimsoll),
        ("replica-2".to_owned(), Scheduler::KubeScheduler),
    ]);
    let served = &["default-scheduler"];
    judge(&Evidence {
        records: &records,
        binds,
        programs: &programs,
        served,
    })
    .unwrap()
}

#[test]
fn two_pods_in_turn_on_a_node_for_one_break_nothing() {
    let records = vec![
        one_cpu_node(),
        written(pod("a").cpu("1"), Some("n")),
        Record::PodGone("t/a".to_owned()),
        written(pod("b").cpu("1"), Some("n")),
    ];
    assert_eq!(
        verdict(records, &[bind("a", "replica-0", 1), bind("b", "replica-1", 2)]).violations,
        [""; 0]
    );
}

#[test]
fn two_pods_at_once_on_a_node_for_one_break_the_line_even_if_one_leaves_again() {
    let records = vec![
        one_cpu_node(),
        written(pod("a").cpu("1"), Some("n")),
        written(pod("b").cpu("100m"), Some("n")),
        Record::PodGone("t/b".to_owned()),
    ];
    let verdict = verdict(records, &[bind("a", "replica-0", 1), bind("b", "replica-1", 2)]);
    assert_eq!(
        verdict.violations,
        ["revision 3: t/b took n past its cpu: 1100 of 1000 (m)"]
    );
}

#[test]
fn a_hand_over_between_different_schedulers_is_counted_but_only_for_a_while() {
    let records = || {
        vec![
            one_cpu_node(),
            written(pod("a").cpu("1"), Some("n")),
            written(pod("b").cpu("1"), Some("n")),
        ]
    };
    let soon = verdict(
        records(),
        &[bind("a", "replica-2", 1), bind("b", "replica-0", 1_000_000)],
    );
    assert_eq!((soon.violations.len(), soon.foreign_overcommitments), (0, 1));
    let late = verdict(
        records(),
        &[bind("a", "replica-2", 1), bind("b", "replica-0", 60_000_000)],
    );
    assert_eq!((late.violations.len(), late.foreign_overcommitments), (1, 0));
}

#[test]
fn a_second_answer_or_a_second_node_is_a_second_bind() {
    let twice = verdict(Vec::new(), &[bind("a", "replica-0", 1), bind("a", "replica-1", 2)]);
    assert_eq!(twice.violations, ["t/a (uid-a) was bound twice"]);
    let moved = verdict(vec![written(pod("a"), Some("n")), written(pod("a"), Some("m"))], &[]);
    assert_eq!(moved.violations, [r#"revision 2: t/a went from n to Some("m")"#]);
}

#[test]
fn a_silent_pending_pod_is_found_unless_it_is_gated_or_somebody_elses() {
    let records = vec![
        written(pod("silent"), None),
        written(pod("gated").gate("later"), None),
        written(pod("foreign").scheduler("other"), None),
    ];
    assert_eq!(
        verdict(records, &[]).violations,
        ["t/silent is pending and nothing says why"]
    );
}

/// Two pods with one claim of this access mode, the second of them bound while the first is still there, or not.
fn pods_that_share_a_claim(mode: &str, is_first_there: bool) -> Vec<Record> {
    let pod_of = |name: &str, on: Option<&str>| written(pod(name).volume_claim("c"), on);
    let bound = claim("c").mode(mode).volume("v").bound();
    let mut records = vec![
        one_cpu_node(),
        Record::Volume("v".to_owned(), Box::new(volume("v").build())),
        Record::Claim("t/c".to_owned(), Box::new(bound.build())),
        pod_of("a", None),
        pod_of("a", Some("n")),
        pod_of("b", None),
    ];
    if !is_first_there {
        records.push(Record::PodGone("t/a".to_owned()));
    }
    records.push(pod_of("b", Some("m")));
    records
}

#[test]
fn a_claim_for_one_pod_alone_that_a_second_one_gets_is_told() {
    let shared = verdict(pods_that_share_a_claim("ReadWriteOncePod", true), &[]);
    assert_eq!(
        shared.violations,
        ["revision 7: t/b got t/c, which is for one pod alone and t/a has"]
    );
    for (mode, is_first_there) in [("ReadWriteOnce", true), ("ReadWriteOncePod", false)] {
        let records = pods_that_share_a_claim(mode, is_first_there);
        assert_eq!(verdict(records, &[]).violations, [""; 0], "{mode}");
    }
}

#[test]
fn a_claim_that_different_schedulers_give_away_within_one_hand_over_is_counted() {
    let binds = [
        bind("a", "replica-2", 1),
        BindRequest {
            node: "m".to_owned(),
            ..bind("b", "replica-0", 1_000_000)
        },
    ];
    let soon = verdict(pods_that_share_a_claim("ReadWriteOncePod", true), &binds);
    assert_eq!((soon.violations.len(), soon.foreign_sharers), (0, 1), "{soon}");
}
