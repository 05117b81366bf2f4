use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::Serialize;

use super::SeedRecord;
use crate::chaos::Counters;

/// What came of a campaign.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Tells versions of scheduler and faults apart.
    pub fingerprint: String,
    /// The first seed.
    pub start: u64,
    /// How many seeds were run.
    pub seeds: u64,
    /// Those that failed.
    pub failed: Vec<SeedRecord>,
    /// Pods that had a node in the end.
    pub placed: u64,
    /// Messages between actors.
    pub messages: u64,
    /// What there was of what is hard.
    pub counters: Counters,
    /// How often what was done to clusters and replicas.
    pub deeds: BTreeMap<String, u64>,
}

impl Report {
    pub(super) fn of<'a>(
        fingerprint: String,
        seeds: Range<u64>,
        records: impl Iterator<Item = &'a SeedRecord>,
    ) -> Self {
        let mut report = Self {
            fingerprint,
            start: seeds.start,
            seeds: 0,
            failed: Vec::new(),
            placed: 0,
            messages: 0,
            counters: Counters::default(),
            deeds: BTreeMap::new(),
        };
        for record in records {
            report.seeds += 1;
            report.placed += record.placed;
            report.counters += record.counters;
            report.messages += record.messages;
            for (deed, times) in &record.deeds {
                *report.deeds.entry(deed.clone()).or_default() += times;
            }
            if !record.problems.is_empty() {
                report.failed.push(record.clone());
            }
        }
        report
    }

    /// Whether every seed held.
    pub fn holds(&self) -> bool {
        self.failed.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} seeds from {} on (version {}): {} pods placed, {} messages",
            self.seeds, self.start, self.fingerprint, self.placed, self.messages
        )?;
        writeln!(f, "{:#?}", self.counters)?;
        for (deed, times) in &self.deeds {
            writeln!(f, "  {times:8} {deed}")?;
        }
        if self.holds() {
            return writeln!(f, "no promise was broken");
        }
        for record in &self.failed {
            writeln!(f, "\nFAILED seed {}:", record.seed)?;
            let problems = || record.problems.join("\n");
            writeln!(f, "{}", record.failure.clone().unwrap_or_else(problems))?;
        }
        let seeds: Vec<_> = self.failed.iter().map(|record| record.seed).collect();
        writeln!(f, "{} seeds failed: {seeds:?}", seeds.len())
    }
}
