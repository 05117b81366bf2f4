use std::sync::Arc;

use plimsoll_model::testing::pod;

use super::*;

/// Victims by priority and start, the most important first.
fn candidate(node: &str, violations: i64, victims: &[(i32, &str)]) -> Candidate {
    let victims = victims.iter().enumerate().map(|(at, (priority, start))| {
        let victim = pod(&format!("{node}-{at}")).priority(*priority);
        let victim = if start.is_empty() {
            victim
        } else {
            victim.started(&format!("2026-01-01T00:00:{start}Z"))
        };
        Arc::new(victim.build())
    });
    Candidate {
        node: node.into(),
        victims: victims.collect(),
        violations,
    }
}

type Case<'a> = (&'a str, (i64, &'a [(i32, &'a str)]), (i64, &'a [(i32, &'a str)]));

#[test]
fn each_criterion_decides_what_those_before_it_leave_open() {
    const LOWEST: i32 = i32::MIN;
    // The second of each two hurts less.
    let cases: [Case<'_>; 10] = [
        ("budgets", (1, &[(0, "")]), (0, &[(99, ""), (99, "")])),
        (
            "highest priority",
            (0, &[(10, ""), (1, "")]),
            (0, &[(5, ""), (5, ""), (5, "")]),
        ),
        ("sum of priorities", (0, &[(5, ""), (5, "")]), (0, &[(5, ""), (4, "")])),
        (
            "fewer, since each counts",
            (0, &[(5, ""), (-1000, "")]),
            (0, &[(5, "")]),
        ),
        (
            "also those of negative priority",
            (0, &[(-5, ""), (-5, "")]),
            (0, &[(-5, "")]),
        ),
        (
            "number, where those of the lowest priority count for nothing",
            (0, &[(LOWEST, "30"), (LOWEST, "30")]),
            (0, &[(LOWEST, "10")]),
        ),
        ("latest start", (0, &[(5, "10")]), (0, &[(5, "20")])),
        ("not started is latest", (0, &[(5, "59")]), (0, &[(5, "")])),
        (
            "the earliest of the most important counts",
            (0, &[(5, "30"), (5, "10")]),
            (0, &[(5, "20"), (5, "20")]),
        ),
        (
            "starts of less important ones do not",
            (0, &[(5, "10"), (4, "50")]),
            (0, &[(5, "20"), (4, "01")]),
        ),
    ];
    for (case, worse, better) in cases {
        let worse = candidate("worse", worse.0, worse.1);
        let better = candidate("better", better.0, better.1);
        for candidates in [[worse.clone(), better.clone()], [better.clone(), worse.clone()]] {
            assert_eq!(choose(&candidates), Some(&better), "{case}");
        }
    }
}

#[test]
fn of_equals_the_first_is_taken() {
    let candidates = ["a", "b", "c"].map(|node| candidate(node, 0, &[(5, "10")]));
    assert_eq!(choose(&candidates), Some(&candidates[0]));
    assert_eq!(choose(&[]), None);
}

#[test]
fn victims_in_another_order_are_judged_by_the_first_and_by_the_most_important() {
    // As an extender may give them.
    let odd = candidate("odd", 0, &[(1, "10"), (9, "20")]);
    let even = candidate("even", 0, &[(2, "10"), (2, "10")]);
    assert_eq!(choose(&[even, odd.clone()]), Some(&odd));
    let same = candidate("same", 0, &[(1, "50"), (9, "10")]);
    assert_eq!(choose(&[same, odd]).map(|chosen| chosen.node.as_str()), Some("odd"));
}
