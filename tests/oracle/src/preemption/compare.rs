use std::collections::BTreeMap;
use std::fmt;

use super::{PreemptionAnswer, Tried};
use crate::compare::Difference;

/// Everything in which the answers differ. Where chance decides between nodes, any of them will do, and what follows from
/// the choice is not compared.
pub fn preemption_differences(ours: &PreemptionAnswer, upstream: &PreemptionAnswer) -> Vec<Difference> {
    let mut found = Vec::new();
    note("error", "the pod", &ours.error, &upstream.error, &mut found);
    note("failure", "the pod", &ours.failure, &upstream.failure, &mut found);
    note("placed", "the pod", &ours.placed, &upstream.placed, &mut found);
    let (here, there) = (helped(ours), helped(upstream));
    for (node, tried) in &there {
        let victims = here.get(node).map(|tried| &tried.victims);
        note("victims", node, &victims, &Some(&tried.victims), &mut found);
        let violations = here.get(node).map(|tried| tried.violations);
        note(
            "budgets violated",
            node,
            &violations,
            &Some(tried.violations),
            &mut found,
        );
    }
    for (node, tried) in here.iter().filter(|(node, _)| !there.contains_key(*node)) {
        let upstream = upstream.tried.get(*node).map(|tried| tried.text.clone());
        note("victims", node, &Ok(&tried.victims), &Err(upstream), &mut found);
    }
    note("fit error", "the pod", &ours.fit_error, &upstream.fit_error, &mut found);
    if upstream.best.is_empty() {
        note(
            "nomination",
            "the pod",
            &ours.nomination,
            &upstream.nomination,
            &mut found,
        );
        note("node chosen", "the pod", &ours.best, &upstream.best, &mut found);
    } else {
        let chosen = ours.nomination.as_ref();
        if !chosen.is_some_and(|chosen| upstream.best.contains(chosen)) {
            note(
                "node chosen",
                "the pod",
                &chosen,
                &Some(&upstream.best.join(" or ")),
                &mut found,
            );
        }
        if ours.best.first() != chosen {
            note("nomination", "the pod", &chosen, &ours.best.first(), &mut found);
        }
    }
    if ours.nomination == upstream.nomination {
        note("evicted", "the pod", &ours.evicted, &upstream.evicted, &mut found);
        note(
            "nominations cleared",
            "the pod",
            &sorted(&ours.cleared),
            &sorted(&upstream.cleared),
            &mut found,
        );
    }
    found
}

/// The nodes where it helps that pods go.
fn helped(answer: &PreemptionAnswer) -> BTreeMap<&String, &Tried> {
    answer
        .tried
        .iter()
        .filter(|(_, tried)| !tried.victims.is_empty())
        .collect()
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

fn note<T: PartialEq + fmt::Debug>(what: &str, place: &str, ours: &T, upstream: &T, found: &mut Vec<Difference>) {
    if ours != upstream {
        found.push(Difference {
            what: what.to_owned(),
            text: format!("{place}: ours {ours:?}, upstream {upstream:?}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> PreemptionAnswer {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn of_nodes_that_chance_decides_between_any_may_be_chosen_and_all_else_is_the_same() {
        let upstream = r#"{"fitError":"f","nomination":"a","tried":{"a":{"victims":["x","y"],"violations":1,"code":"Success"},
            "b":{"victims":["z"],"code":"Success"},"c":{"code":"Unschedulable","text":"t"}},"best":["a","b"],"evicted":["x"],
            "cleared":["m","n"]}"#;
        let ours = upstream.replacen(r#""best":["a","b"]"#, r#""best":["a"]"#, 1);
        let other = ours.replacen(r#""nomination":"a""#, r#""nomination":"b""#, 1).replacen(
            r#""best":["a"],"evicted":["x"]"#,
            r#""best":["b"],"evicted":["z"]"#,
            1,
        );
        let cases = [
            (&ours, "", "", None),
            (&other, "", "", None),
            (&ours, r#"["m","n"]"#, r#"["n","m"]"#, None),
            (&ours, r#"["m","n"]"#, r#"["n"]"#, Some("nominations cleared")),
            (&ours, r#""evicted":["x"]"#, r#""evicted":[]"#, Some("evicted")),
            (&ours, r#""nomination":"a""#, r#""nomination":"c""#, Some("node chosen")),
            (&ours, r#""nomination":"a","#, "", Some("node chosen")),
            (&ours, r#""best":["a"]"#, r#""best":["b"]"#, Some("nomination")),
            (&ours, r#"["x","y"]"#, r#"["y","x"]"#, Some("victims")),
            (&ours, r#""violations":1,"#, "", Some("budgets violated")),
            (&ours, r#""c":{"#, r#""c":{"victims":["v"],"#, Some("victims")),
            (&ours, r#""fitError":"f""#, r#""fitError":"g""#, Some("fit error")),
            (&ours, r#"{"fitError""#, r#"{"placed":true,"fitError""#, Some("placed")),
            (&ours, r#"{"fitError""#, r#"{"failure":"f","fitError""#, Some("failure")),
            (&ours, r#"{"fitError""#, r#"{"error":"e","fitError""#, Some("error")),
        ];
        for (ours, from, to, expected) in cases {
            let found = preemption_differences(&answer(&ours.replacen(from, to, 1)), &answer(upstream));
            assert_eq!(
                found.first().map(|found| found.what.as_str()),
                expected,
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn a_nomination_that_is_taken_away_is_not_one_that_stays() {
        let taken = answer(r#"{"fitError":"f","nomination":""}"#);
        let stays = answer(r#"{"fitError":"f"}"#);
        assert_eq!(preemption_differences(&taken, &taken), []);
        assert_eq!(preemption_differences(&taken, &stays)[0].what, "nomination");
        assert_eq!(preemption_differences(&stays, &taken)[0].what, "nomination");
    }
}
