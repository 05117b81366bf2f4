use std::collections::BTreeMap;
use std::fmt;

use super::PreemptionAnswer;
use crate::question::Coverage;

/// What preemptions came to, in cases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preemptions {
    /// Cases.
    pub cases: u64,
    /// What they showed, in no more than a few words.
    pub seen: BTreeMap<String, u64>,
}

impl Preemptions {
    fn see(&mut self, what: impl Into<String>, shown: bool) {
        if shown {
            *self.seen.entry(what.into()).or_default() += 1;
        }
    }

    fn choice(&mut self, upstream: &PreemptionAnswer) {
        let candidates = upstream.tried.values().filter(|tried| !tried.victims.is_empty());
        let several = candidates.clone().count() > 1;
        self.see("several nodes to choose from", several);
        if upstream.decided > 0 {
            self.see(format!("rule {} decides", upstream.decided), true);
        }
        self.see(
            "pods are spared",
            candidates.clone().any(|tried| tried.victims.len() < tried.lower),
        );
        self.see(
            "several victims",
            candidates.clone().any(|tried| tried.victims.len() > 1),
        );
        self.see(
            "a budget is violated",
            candidates.clone().any(|tried| tried.violations > 0),
        );
        let spares_budgets = candidates.clone().any(|tried| tried.violations == 0);
        self.see(
            "a budget is violated on some nodes only",
            spares_budgets && candidates.clone().any(|tried| tried.violations > 0),
        );
        let Some(chosen) = upstream.nomination.as_ref().and_then(|node| upstream.tried.get(node)) else {
            return;
        };
        let told = upstream.evicted.len();
        self.see("the pod is nominated", true);
        self.see(
            "some victims are on their way already",
            told > 0 && told < chosen.victims.len(),
        );
        self.see("all victims are on their way already", told == 0);
        self.see("others lose their nomination", !upstream.cleared.is_empty());
    }

    fn reasons(&mut self, upstream: &PreemptionAnswer) {
        let mut reasons: Vec<String> = Vec::new();
        for tried in upstream.tried.values() {
            let (when, text) = if tried.victims.is_empty() {
                ("in the way for good", &tried.text)
            } else {
                ("helped against", &tried.before)
            };
            reasons.extend(
                text.split(", ")
                    .map(|reason| format!("{when}: {}", without_names(reason))),
            );
        }
        if let Some(text) = &upstream.text {
            let tail = text.rsplit("preemption: ").next().unwrap_or_default();
            let told = if tail.contains("nodes are available") {
                "0/N nodes are available: …"
            } else {
                tail
            };
            reasons.push(format!("said: {}", without_names(told)));
            if tail.contains("Preemption is not helpful") {
                reasons.push("said of some nodes: Preemption is not helpful for scheduling".to_owned());
            }
        }
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            self.see(reason, true);
        }
    }
}

/// Names of nodes and the like would make each reason one of its own.
fn without_names(reason: &str) -> &str {
    reason.split('"').next().unwrap_or_default()
}

impl Coverage<PreemptionAnswer> for Preemptions {
    fn count(&mut self, upstream: &PreemptionAnswer) {
        self.cases += 1;
        self.see("some node will do", upstream.placed);
        self.see("the attempt fails", upstream.failure.is_some());
        self.see(
            "nobody is asked",
            upstream.fit_error.is_some() && upstream.code.is_none(),
        );
        self.see("a nomination is taken away", upstream.nomination.as_deref() == Some(""));
        self.see("the post-filters fail", upstream.code.as_deref() == Some("Error"));
        self.see("nodes are tried", !upstream.tried.is_empty());
        self.choice(upstream);
        self.reasons(upstream);
    }

    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        for (what, count) in &other.seen {
            *self.seen.entry(what.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Preemptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} clusters, of which so many showed:", self.cases)?;
        for (what, count) in &self.seen {
            writeln!(f, "  {count:>8}  {what}")?;
        }
        Ok(())
    }
}
