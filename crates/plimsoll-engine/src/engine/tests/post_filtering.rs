use std::sync::Mutex;

use plimsoll_framework::{
    Code, CycleContext, CycleState, Plugin, PostFilter, PostFilterOutcome, PreFilterOutcome, Rejections, Status,
};

use super::*;

/// Does what the test says, and notes which nodes it was told might be helped.
struct Helping {
    name: &'static str,
    outcome: PostFilterOutcome,
    helpable: Arc<Mutex<Vec<String>>>,
}

impl Plugin for Helping {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl PostFilter for Helping {
    fn post_filter(
        &self,
        cycle: CycleContext<'_>,
        _: &mut CycleState,
        rejections: Rejections<'_>,
    ) -> PostFilterOutcome {
        let nodes = rejections.resolvable(cycle.columns);
        let names: Vec<_> = nodes.iter().map(|node| cycle.columns.name(node)).collect();
        self.helpable.lock().unwrap().push(names.join(" "));
        self.outcome.clone()
    }
}

/// A cluster with one full node, one that the pod may not go to, and these post-filters.
fn refused(outcomes: &[(Code, Nomination, &str)], profile: ProfileBuilder) -> (Diagnosis, Vec<String>) {
    let helpable = Arc::new(Mutex::new(Vec::new()));
    let profile = profile.with(|profile| {
        for ((code, nomination, reason), name) in outcomes.iter().zip(["A", "B", "C"]) {
            profile.post_filter.push(Arc::new(Helping {
                name,
                outcome: PostFilterOutcome {
                    nomination: nomination.clone(),
                    status: match *reason {
                        "" => Status {
                            code: *code,
                            ..Status::success()
                        },
                        reason => Status::new(*code, "", reason),
                    },
                },
                helpable: Arc::clone(&helpable),
            }));
        }
    });
    let mut cluster = Cluster::new(profile.build());
    cluster.add_node("n1", 100);
    let diagnosis = cluster.refuse(&nominated("a", 600, 0, "n1"));
    let kept = cluster.engine.nominations().map(|(_, node)| node.to_owned()).next();
    let expected = match &diagnosis.nominate {
        Nomination::Keep => Some("n1".to_owned()),
        Nomination::Clear => None,
        Nomination::Set(node) => Some(node.to_string()),
    };
    assert_eq!(kept, expected);
    let helpable = helpable.lock().unwrap().clone();
    (diagnosis, helpable)
}

/// What each post-filter says, what is added to the text, what becomes of the nomination, and how many are asked.
type Case<'a> = (&'a [(Code, Nomination, &'a str)], &'a str, Nomination, usize);

#[test]
fn post_filters_are_asked_in_turn_and_their_words_follow_the_reasons() {
    use Code::{Error, Pending, Skip, Success, Unschedulable, UnschedulableAndUnresolvable};
    use Nomination::{Clear, Keep};
    let set = |node: &str| Nomination::Set(node.into());
    let cases: [Case<'_>; 9] = [
        (&[], "", Clear, 0),
        (&[(Success, set("n2"), "")], "", set("n2"), 1),
        (
            &[(Success, set("n2"), ""), (Unschedulable, Clear, "never asked")],
            "",
            set("n2"),
            1,
        ),
        (&[(Unschedulable, Keep, "no victims")], " no victims", Keep, 1),
        (
            &[
                (Unschedulable, set("n3"), "first"),
                (Pending, Keep, "second"),
                (Unschedulable, Keep, ""),
            ],
            " first, second",
            set("n3"),
            3,
        ),
        (
            &[(Unschedulable, set("n3"), "first"), (Unschedulable, Clear, "second")],
            " first, second",
            Clear,
            2,
        ),
        // What an earlier one said is forgotten when a later one decides.
        (
            &[
                (Unschedulable, set("n3"), "first"),
                (UnschedulableAndUnresolvable, Keep, "no help"),
            ],
            " no help",
            Keep,
            2,
        ),
        (
            &[
                (Unschedulable, set("n3"), "first"),
                (Error, Clear, "broken"),
                (Success, set("n2"), ""),
            ],
            " broken",
            Keep,
            2,
        ),
        (&[(Skip, Clear, "odd")], " odd", Keep, 1),
    ];
    for (outcomes, said, nomination, asked) in cases {
        let (diagnosis, helpable) = refused(outcomes, ProfileBuilder::new());
        assert_eq!(
            diagnosis.message,
            format!("0/1 nodes are available: 1 Insufficient cpu.{said}"),
            "{outcomes:?}"
        );
        assert_eq!(diagnosis.nominate, nomination, "{outcomes:?}");
        assert_eq!(diagnosis.plugins, ["Fit"]);
        assert_eq!(helpable, vec!["n1"; asked]);
        // Nothing that happens tells that it would not fail again.
        let failed = matches!(outcomes.last(), Some((Skip, ..))) || outcomes.iter().any(|(code, ..)| *code == Error);
        assert_eq!(diagnosis.retry_at.is_some(), failed, "{outcomes:?}");
    }
}

#[test]
fn post_filters_follow_a_rejection_by_the_pre_filters_too() {
    for (code, helpable) in [(Code::Unschedulable, "n1"), (Code::UnschedulableAndUnresolvable, "")] {
        let stop = move |_| PreFilterOutcome::Stop(Status::new(code, "", "not today"));
        let outcomes = [(Code::Unschedulable, Nomination::Keep, "no victims")];
        let (diagnosis, asked) = refused(&outcomes, ProfileBuilder::new().pre_filter("Whole", stop));
        assert_eq!(diagnosis.message, "0/1 nodes are available: not today. no victims");
        assert_eq!(asked, [helpable]);
    }
}

#[test]
fn nobody_is_asked_to_make_room_where_there_are_no_nodes() {
    let profile = ProfileBuilder::new().with(|profile| {
        profile.post_filter.push(Arc::new(Helping {
            name: "A",
            outcome: PostFilterOutcome::nominate("n1"),
            helpable: Arc::default(),
        }));
    });
    let diagnosis = Cluster::new(profile.build()).refuse(&pod("a", 1));
    assert_eq!(diagnosis.message, "no nodes available to schedule pods");
    assert_eq!(diagnosis.nominate, Nomination::Clear);
}
