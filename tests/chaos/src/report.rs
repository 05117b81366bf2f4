//! A campaign in numbers, for programs and for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::fault::Kind;
use crate::hand_over::{HandOver, Histogram, Summary};
use crate::lease::LeaseTimes;
use crate::record::{Campaign, RoundRecord, Session, replace};

/// The numbers.
#[derive(Debug, Serialize)]
struct Report<'a> {
    seed: u64,
    sessions: &'a [Session],
    rounds: usize,
    rounds_at_default_times: usize,
    faults: usize,
    pods_bound: u64,
    pods_evicted: u64,
    writes_judged: u64,
    writes_unattributed: u64,
    violations: Vec<Violation<'a>>,
    broken_off: &'a [String],
    by_fault: Vec<FaultRow>,
    /// Seconds from the fault to the next leader's first Binding, with the quick times.
    quick: Times,
    /// The same with the default times.
    default: Times,
}

#[derive(Debug, Serialize)]
struct Violation<'a> {
    round: u64,
    what: &'a str,
    kept: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct FaultRow {
    fault: &'static str,
    count: usize,
    /// Changes of leaders that it was the last fault before.
    hand_overs: usize,
    median: Option<f64>,
    longest: Option<f64>,
}

/// Histograms of hand-overs, by their parts.
#[derive(Debug, Serialize)]
struct Times {
    total: Summary,
    fault_to_lease: Summary,
    lease_to_bind: Summary,
    /// What the new leaders measured themselves.
    stages: BTreeMap<String, Summary>,
    /// Changes of leaders without a fault before.
    unprovoked: usize,
}

/// Writes `report.json` and `report.md`.
pub(crate) fn write(campaign: &Campaign, dir: &Path) -> anyhow::Result<()> {
    let report = Report::new(campaign);
    replace(&dir.join("report.json"), &serde_json::to_vec_pretty(&report)?)?;
    replace(&dir.join("report.md"), report.text().as_bytes())
}

impl<'a> Report<'a> {
    fn new(campaign: &'a Campaign) -> Self {
        let rounds = &campaign.rounds;
        let sum = |of: fn(&RoundRecord) -> u64| rounds.iter().map(of).sum();
        let violation = |round: &'a RoundRecord| {
            let told = round.violations.iter();
            told.map(|what| Violation {
                round: round.round,
                what,
                kept: round.kept.as_deref(),
            })
        };
        Self {
            seed: campaign.seed,
            sessions: &campaign.sessions,
            rounds: rounds.len(),
            rounds_at_default_times: at(rounds, LeaseTimes::Default).count(),
            faults: campaign.faults(),
            pods_bound: sum(|round| round.bound),
            pods_evicted: sum(|round| round.evicted),
            writes_judged: sum(|round| round.fenced),
            writes_unattributed: sum(|round| round.unattributed),
            violations: rounds.iter().flat_map(violation).collect(),
            broken_off: &campaign.broken_off,
            by_fault: Kind::ALL.into_iter().map(|kind| FaultRow::new(kind, rounds)).collect(),
            quick: Times::new(rounds, LeaseTimes::Quick),
            default: Times::new(rounds, LeaseTimes::Default),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, to: &mut String) -> std::fmt::Result {
        writeln!(to, "# Real faults, seed {}\n", self.seed)?;
        writeln!(
            to,
            "{} rounds ({} with the default times), {} faults, {} pods bound, {} evicted for others, {} writes of\n\
             schedulers judged by the lease ({} could not be), **{} violations**, {} rounds broken off and repeated.\n",
            self.rounds,
            self.rounds_at_default_times,
            self.faults,
            self.pods_bound,
            self.pods_evicted,
            self.writes_judged,
            self.writes_unattributed,
            self.violations.len(),
            self.broken_off.len()
        )?;
        for violation in &self.violations {
            let kept = violation.kept.unwrap_or("nothing kept");
            // The rest is the end of a log.
            let what = violation.what.lines().next().unwrap_or_default();
            writeln!(to, "- round {}: {what} ({kept})", violation.round)?;
        }
        writeln!(
            to,
            "\n| begun (UTC) | commit | from round | rounds |\n|---|---|---|---|"
        )?;
        for session in self.sessions {
            let Session {
                began,
                commit,
                from,
                rounds,
            } = session;
            writeln!(to, "| {began} | {commit} | {from} | {rounds} |")?;
        }
        writeln!(
            to,
            "\n| fault | count | hand-overs | median to the next bind | longest |\n|---|---|---|---|---|"
        )?;
        let seconds = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), |time| format!("{time:.2} s"));
        for row in &self.by_fault {
            let (median, longest) = (seconds(row.median), seconds(row.longest));
            let (fault, count, changes) = (row.fault, row.count, row.hand_overs);
            writeln!(to, "| {fault} | {count} | {changes} | {median} | {longest} |")?;
        }
        self.quick.write_text("a lease of 3 s, 2 s, 0.5 s", to)?;
        self.default.write_text("the default lease of 15 s, 10 s, 2 s", to)
    }
}

impl FaultRow {
    fn new(kind: Kind, rounds: &[RoundRecord]) -> Self {
        let faults = rounds.iter().flat_map(|round| &round.plan.faults);
        let caused = quick_hand_overs(rounds).filter(|hand_over| hand_over.cause == Some(kind));
        let times = Histogram::new(caused.filter_map(HandOver::total));
        Self {
            fault: kind.label(),
            count: faults.filter(|fault| fault.kind == kind).count(),
            hand_overs: times.count(),
            median: times.percentile(50),
            longest: times.percentile(100),
        }
    }
}

impl Times {
    fn new(rounds: &[RoundRecord], lease: LeaseTimes) -> Self {
        let all: Vec<&HandOver> = at(rounds, lease).flat_map(|round| &round.hand_overs).collect();
        let summary = |of: fn(&HandOver) -> Option<f64>| Histogram::new(all.iter().filter_map(|one| of(one))).summary();
        let mut stages: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (stage, seconds) in all.iter().flat_map(|one| &one.stages) {
            stages.entry(stage.clone()).or_default().push(*seconds);
        }
        Self {
            total: summary(HandOver::total),
            fault_to_lease: summary(|one| one.fault_to_lease),
            lease_to_bind: summary(|one| one.lease_to_bind),
            stages: stages
                .into_iter()
                .map(|(stage, times)| (stage, Histogram::new(times).summary()))
                .collect(),
            unprovoked: all.iter().filter(|one| one.cause.is_none()).count(),
        }
    }

    fn write_text(&self, lease: &str, to: &mut String) -> std::fmt::Result {
        if self.lease_to_bind.count == 0 {
            return Ok(());
        }
        writeln!(to, "\n## Hand-overs with {lease}\n")?;
        if self.unprovoked > 0 {
            writeln!(to, "{} without a fault before.\n", self.unprovoked)?;
        }
        let parts = [
            ("from the fault to the next leader's first bind", &self.total),
            (
                "from the fault until the lease names the next leader",
                &self.fault_to_lease,
            ),
            ("from then to its first bind", &self.lease_to_bind),
        ];
        for (what, summary) in parts {
            writeln!(to, "{}, {what}:\n\n{summary}", summary.count)?;
        }
        for (stage, summary) in &self.stages {
            writeln!(to, "`{stage}` since the lease was won:\n\n{summary}")?;
        }
        Ok(())
    }
}

fn at(rounds: &[RoundRecord], lease: LeaseTimes) -> impl Iterator<Item = &RoundRecord> {
    rounds.iter().filter(move |round| round.lease == lease)
}

fn quick_hand_overs(rounds: &[RoundRecord]) -> impl Iterator<Item = &HandOver> {
    at(rounds, LeaseTimes::Quick).flat_map(|round| &round.hand_overs)
}
