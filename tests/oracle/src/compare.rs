//! What differs between two answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::answer::{Answer, Score, Verdict};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs and who said it: the same for all differences with the same cause, as far as one can tell.
    pub what: String,
    /// Where and how.
    pub text: String,
}

impl Difference {
    fn new(what: impl Into<String>, place: &str, ours: &impl fmt::Debug, upstream: &impl fmt::Debug) -> Self {
        Self {
            what: what.into(),
            text: format!("{place}: ours {ours:?}, upstream {upstream:?}"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.what, self.text)
    }
}

/// Everything in which the answers differ. The order of a verdict's reasons is upstream's map order, so it is nobody's.
pub fn differences(ours: &Answer, upstream: &Answer) -> Vec<Difference> {
    let mut found = Vec::new();
    text("error", ours.error.as_ref(), upstream.error.as_ref(), &mut found);
    let one_of_several = |failure: &String| upstream.other_failures.contains(failure);
    if !ours.failure.as_ref().is_some_and(one_of_several) {
        text("failure", ours.failure.as_ref(), upstream.failure.as_ref(), &mut found);
    }
    if let (Some(_), _) | (_, Some(_)) = (&ours.pre_filter, &upstream.pre_filter) {
        verdict(
            "pre-filter",
            "all nodes",
            ours.pre_filter.as_ref(),
            upstream.pre_filter.as_ref(),
            &mut found,
        );
    }
    if ours.restricted != upstream.restricted {
        found.push(Difference::new(
            "pre-filter nodes",
            "the pod",
            &ours.restricted,
            &upstream.restricted,
        ));
    }
    for node in keys(&ours.verdicts, &upstream.verdicts) {
        verdict(
            "filter",
            node,
            ours.verdicts.get(node),
            upstream.verdicts.get(node),
            &mut found,
        );
    }
    scores(ours, upstream, &mut found);
    for node in keys(&ours.volumes, &upstream.volumes) {
        let (ours, upstream) = (ours.volumes.get(node), upstream.volumes.get(node));
        if ours != upstream {
            found.push(Difference::new("volumes", node, &ours, &upstream));
        }
    }
    // What follows from the others comes last.
    if ours.rejectors != upstream.rejectors {
        found.push(Difference::new(
            "rejectors",
            "the pod",
            &ours.rejectors,
            &upstream.rejectors,
        ));
    }
    text(
        "fit error",
        ours.fit_error.as_ref(),
        upstream.fit_error.as_ref(),
        &mut found,
    );
    found
}

fn text(what: &str, ours: Option<&String>, upstream: Option<&String>, found: &mut Vec<Difference>) {
    if ours != upstream {
        found.push(Difference::new(what, "the pod", &ours, &upstream));
    }
}

fn keys<'a, V>(one: &'a BTreeMap<String, V>, other: &'a BTreeMap<String, V>) -> BTreeSet<&'a str> {
    one.keys().chain(other.keys()).map(String::as_str).collect()
}

fn verdict(point: &str, node: &str, ours: Option<&Verdict>, upstream: Option<&Verdict>, found: &mut Vec<Difference>) {
    let sorted = |verdict: &Verdict| {
        let mut verdict = verdict.clone();
        verdict.reasons.sort_unstable();
        verdict
    };
    let (ours, upstream) = (ours.map(sorted), upstream.map(sorted));
    if ours == upstream {
        return;
    }
    let who = |verdict: &Option<Verdict>| {
        verdict
            .as_ref()
            .map_or("passes", |verdict| verdict.plugin.as_str())
            .to_owned()
    };
    let what = match (who(&ours), who(&upstream)) {
        (ours, upstream) if ours == upstream => format!("{point} of {ours}"),
        (ours, upstream) => format!("{point} ({ours} here, {upstream} there)"),
    };
    found.push(Difference::new(what, node, &ours, &upstream));
}

fn scores(ours: &Answer, upstream: &Answer, found: &mut Vec<Difference>) {
    let (Some(our_scores), Some(their_scores)) = (&ours.scores, &upstream.scores) else {
        if ours.scores.is_some() != upstream.scores.is_some() {
            let (ours, upstream) = (ours.scores.is_some(), upstream.scores.is_some());
            found.push(Difference::new("whether nodes are scored", "the pod", &ours, &upstream));
        }
        return;
    };
    let none = BTreeMap::new();
    for plugin in keys(our_scores, their_scores) {
        let (ours, upstream) = (
            our_scores.get(plugin).unwrap_or(&none),
            their_scores.get(plugin).unwrap_or(&none),
        );
        for node in keys(ours, upstream) {
            // A plugin that has nothing to say may say so or give nothing: nobody can tell.
            let score = |side: &BTreeMap<String, Score>| side.get(node).copied().unwrap_or_default();
            let (ours, upstream) = (score(ours), score(upstream));
            if ours.raw != upstream.raw {
                found.push(Difference::new(
                    format!("raw score of {plugin}"),
                    node,
                    &ours.raw,
                    &upstream.raw,
                ));
            } else if ours != upstream {
                let what = format!("normalised score of {plugin}");
                found.push(Difference::new(what, node, &ours, &upstream));
            }
        }
    }
    if ours.totals != upstream.totals {
        found.push(Difference::new("totals", "the pod", &ours.totals, &upstream.totals));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> Answer {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_part_of_an_answer_is_compared() {
        let base = r#"{"verdicts":{"a":{"code":"Unschedulable","reasons":["x","y"],"plugin":"P"}},
            "scores":{"S":{"b":{"raw":1,"normalised":2,"weighted":4}}},"totals":{"b":4}}"#;
        let cases = [
            (r#"x","y"#, r#"y","x"#, None),
            (r#"x","y"#, "x", Some("filter of P")),
            (r#""Unschedulable""#, r#""Other""#, Some("filter of P")),
            (r#""plugin":"P""#, r#""plugin":"Q""#, Some("filter (P here, Q there)")),
            (r#""a":{"#, r#""c":{"#, Some("filter (P here, passes there)")),
            (r#""raw":1"#, r#""raw":7"#, Some("raw score of S")),
            (r#""normalised":2"#, r#""normalised":3"#, Some("normalised score of S")),
            (r#""weighted":4"#, r#""weighted":6"#, Some("normalised score of S")),
            (r#"{"b":4}"#, r#"{"b":5}"#, Some("totals")),
            (
                r#"{"verdicts""#,
                r#"{"restricted":[],"verdicts""#,
                Some("pre-filter nodes"),
            ),
            (r#"{"verdicts""#, r#"{"failure":"f","verdicts""#, Some("failure")),
            (r#"{"verdicts""#, r#"{"error":"e","verdicts""#, Some("error")),
            (r#"{"verdicts""#, r#"{"fitError":"e","verdicts""#, Some("fit error")),
            (r#"{"verdicts""#, r#"{"rejectors":["P"],"verdicts""#, Some("rejectors")),
            (
                r#"{"verdicts""#,
                r#"{"volumes":{"b":{"bound":{"v":"c"}}},"verdicts""#,
                Some("volumes"),
            ),
            (
                r#"{"verdicts""#,
                r#"{"preFilter":{"code":"c","reasons":[],"plugin":"P"},"verdicts""#,
                Some("pre-filter (passes here, P there)"),
            ),
            (
                r#""S":{"#,
                r#""Z":{"c":{"raw":0,"normalised":0,"weighted":0}},"S":{"#,
                None,
            ),
        ];
        for (from, to, expected) in cases {
            let found = differences(&answer(base), &answer(&base.replacen(from, to, 1)));
            assert_eq!(
                found.first().map(|found| found.what.as_str()),
                expected,
                "{from} -> {to}"
            );
        }
    }
}
