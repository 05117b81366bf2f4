use std::collections::BTreeMap;
use std::fmt;

use super::HintAnswer;
use crate::question::Coverage;

/// How many changes there were of each kind, and what plugins said of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Cases.
    pub cases: u64,
    /// Cases that stand for an event, by its label.
    pub events: BTreeMap<String, u64>,
    /// Answers of each plugin, by what it said.
    pub hints: BTreeMap<(String, String), u64>,
}

impl Coverage<HintAnswer> for Hints {
    fn count(&mut self, upstream: &HintAnswer) {
        self.cases += 1;
        for event in upstream.events.iter().flatten() {
            *self.events.entry(event.clone()).or_default() += 1;
        }
        for (plugin, hint) in upstream.hints.values().flatten() {
            *self.hints.entry((plugin.clone(), hint.clone())).or_default() += 1;
        }
    }

    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        for (event, count) in &other.events {
            *self.events.entry(event.clone()).or_default() += count;
        }
        for (hint, count) in &other.hints {
            *self.hints.entry(hint.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} changes; those that stand for an event:", self.cases)?;
        for (event, count) in &self.events {
            writeln!(f, "  {count:>8}  {event}")?;
        }
        writeln!(f, "answers:")?;
        for ((plugin, hint), count) in &self.hints {
            writeln!(f, "  {count:>8}  {hint:<5}  {plugin}")?;
        }
        Ok(())
    }
}
