//! Which nodes are found when a profile looks for a share of them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::allowed::allowed_search;
use crate::case::Case;
use crate::compare::Difference;
use crate::question::{Comparison, Question};

mod coverage;
mod generate;
mod ours;

pub use coverage::Searches;

/// A large cluster, and pods to place one after the other. None of them stays where it is placed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SearchCase {
    /// The cluster; its pod to place is none of those.
    pub cluster: Case,
    /// In the order in which they are placed.
    pub pods: Vec<Value>,
}

/// What a side makes of each pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SearchAnswer {
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// One for each pod.
    pub searches: Option<Vec<Search>>,
}

/// The search for one pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Search {
    /// An internal failure that ended the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What users read when no node will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit_error: Option<String>,
    /// How many nodes would do or have a verdict.
    pub evaluated: usize,
    /// The nodes found, sorted.
    pub feasible: Option<Vec<String>>,
    /// Upstream: those of them of which any may be chosen. Ours: the one that was.
    pub best: Option<Vec<String>>,
}

impl Question for SearchCase {
    type Answer = SearchAnswer;
    type Coverage = Searches;

    const MODE: &'static [&'static str] = &["--search"];
    const INDEPENDENT: bool = false;
    const TABLE: &'static str = "SEARCHES";

    fn generate(seed: u64, number: u64) -> Self {
        generate::case(seed, number)
    }

    fn judge(&self) -> SearchAnswer {
        ours::judge(self)
    }

    fn compare(&self, ours: &SearchAnswer, upstream: &SearchAnswer) -> Comparison {
        let unlisted = differences(ours, upstream);
        let allowed = allowed_search(self, upstream).filter(|_| !unlisted.is_empty());
        Comparison::of(unlisted, allowed.map(|allowed| allowed.line))
    }

    fn objects(&self) -> Case {
        let mut all = self.cluster.clone();
        all.pods.extend(self.pods.iter().cloned());
        all
    }
}

fn differences(ours: &SearchAnswer, upstream: &SearchAnswer) -> Vec<Difference> {
    let mut found = Vec::new();
    note("error", "the pods", &ours.error, &upstream.error, &mut found);
    let here = ours.searches.as_deref().unwrap_or_default();
    let there = upstream.searches.as_deref().unwrap_or_default();
    note("number of searches", "the pods", &here.len(), &there.len(), &mut found);
    for (number, (here, there)) in here.iter().zip(there).enumerate() {
        let place = &format!("pod {number}");
        note("failure", place, &here.failure, &there.failure, &mut found);
        note("fit error", place, &here.fit_error, &there.fit_error, &mut found);
        note("nodes looked at", place, &here.evaluated, &there.evaluated, &mut found);
        note("nodes found", place, &here.feasible, &there.feasible, &mut found);
        // Of several that are best, any will do.
        let best = there.best.as_deref().unwrap_or_default();
        if here.best.iter().flatten().any(|node| !best.contains(node)) {
            note("node chosen", place, &here.best, &there.best, &mut found);
        }
    }
    found
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

    #[test]
    fn of_several_best_nodes_any_may_be_chosen_and_all_else_is_the_same() {
        let answer = |json: &str| serde_json::from_str::<SearchAnswer>(json).unwrap();
        let upstream = r#"{"searches":[{"evaluated":3,"feasible":["a","b"],"best":["a","b"]}]}"#;
        let cases = [
            (r#""best":["a","b"]"#, r#""best":["b"]"#, None),
            (r#""best":["a","b"]"#, r#""best":["c"]"#, Some("node chosen")),
            (r#"["a","b"],"best""#, r#"["a"],"best""#, Some("nodes found")),
            ("3", "4", Some("nodes looked at")),
            (r#"{"evaluated""#, r#"{"failure":"f","evaluated""#, Some("failure")),
            (r#"{"evaluated""#, r#"{"fitError":"f","evaluated""#, Some("fit error")),
            (r#"{"searches""#, r#"{"error":"e","searches""#, Some("error")),
        ];
        for (from, to, expected) in cases {
            let found = differences(&answer(&upstream.replacen(from, to, 1)), &answer(upstream));
            assert_eq!(
                found.first().map(|found| found.what.as_str()),
                expected,
                "{from} -> {to}"
            );
        }
    }
}
