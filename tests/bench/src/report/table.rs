//! The report as tables in Markdown.

use std::fmt::Write as _;

use super::{Clock, Comparison, Means, Medians, Ratios, Record, Report, pods_per_second};
use crate::statistics::Estimate;

/// The first lines of a table of single runs.
pub fn runs_heading() -> &'static str {
    "| workload | mode | round | | pods | pods/s | CPU ms/pod | peak MiB | p99 wait ms | broken |\n\
     |---|---|---|---|---|---|---|---|---|---|"
}

/// A line about one run, as soon as it is over.
impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (workload, mode, round, who) = (&self.workload, self.mode.name(), self.round, self.contestant.name());
        write!(f, "| {workload} | {mode} | {round} | {who} |")?;
        if let Some(failure) = &self.failure {
            let first = failure.lines().next().unwrap_or_default();
            return write!(f, " failed: {first} | | | | | |");
        }
        let clock = Clock::of(&[self]);
        let medians = Medians::of(&[self], clock);
        let pods = self.measured().map_or(0, |measured| measured.throughput.pods);
        let rate = self
            .measured()
            .and_then(|measured| pods_per_second(self.mode, clock, measured));
        write!(
            f,
            " {pods} | {} | {} | {} | {} | {} |",
            number(rate, 1),
            number(medians.cpu_ms_per_pod, 3),
            mebibytes(medians.peak_memory),
            number(medians.latency_p99, 0),
            whole(medians.violations),
        )
    }
}

/// Everything that is to be read by people.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", report.machine);
    let _ = writeln!(
        text,
        "| workload | mode | | pods/s | windows p50 / p90 | CPU ms/pod | with start | peak / end MiB | wait p50 / p99 ms | \
         first pod after s | requests/pod | broken |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for comparison in &report.comparisons {
        rows(&mut text, comparison);
    }
    if !report.means.is_empty() {
        let _ = writeln!(
            text,
            "\nGeometric means of the ratios, Plimsoll to kube-scheduler, more is better:\n"
        );
        let _ = writeln!(
            text,
            "| mode | workloads | pods/s | CPU per pod | memory |\n|---|---|---|---|---|"
        );
        for means in &report.means {
            mean_row(&mut text, means);
        }
    }
    super::quality::table(&mut text, &report.runs);
    let failed: Vec<&Record> = report.runs.iter().filter(|record| record.failure.is_some()).collect();
    if !failed.is_empty() {
        let _ = writeln!(text, "\nRuns that failed:\n");
        for record in failed {
            let (who, failure) = (record.contestant.name(), record.failure.as_deref().unwrap_or_default());
            let _ = writeln!(text, "- {} ({}, {who}): {failure}", record.workload, record.mode.name());
        }
    }
    if !report.skipped.is_empty() {
        let _ = writeln!(text, "\nNot run:\n");
        for skipped in &report.skipped {
            let mode = skipped
                .mode
                .map_or_else(String::new, |mode| format!(" ({})", mode.name()));
            let _ = writeln!(text, "- {}{mode}: {}", skipped.workload, skipped.reason);
        }
    }
    text
}

fn rows(text: &mut String, comparison: &Comparison) {
    let (workload, mode) = (&comparison.workload, comparison.mode.name());
    for (contestant, medians) in &comparison.medians {
        let threshold = match comparison.threshold {
            Some(threshold) if comparison.mode == crate::run::Mode::Open => format!(" (upstream wants {threshold})"),
            _ => String::new(),
        };
        let failures = match medians.failures {
            0 => String::new(),
            failures => format!(", {failures} of {} failed", medians.runs),
        };
        let _ = writeln!(
            text,
            "| {workload} | {mode} | {}{failures} | {}{threshold} | {} / {} | {} | {} | {} / {} | {} / {} | {} | {} | {} |",
            contestant.name(),
            number(medians.pods_per_second, 1),
            number(medians.window_p50, 0),
            number(medians.window_p90, 0),
            number(medians.cpu_ms_per_pod, 3),
            number(medians.cpu_ms_per_pod_with_start, 3),
            mebibytes(medians.peak_memory),
            mebibytes(medians.last_memory),
            number(medians.latency_p50, 0),
            number(medians.latency_p99, 0),
            number(medians.first_after, 2),
            number(medians.requests_per_pod, 2),
            whole(medians.violations),
        );
    }
    ratio_row(text, comparison);
}

fn ratio_row(text: &mut String, comparison: &Comparison) {
    let Ratios {
        pods_per_second,
        cpu,
        memory,
        latency_p99,
        latency_p99_beyond_floor,
        first_after,
        json_cost,
    } = &comparison.ratios;
    if pods_per_second.is_none() && cpu.is_none() {
        return;
    }
    let waits = match latency_p99_beyond_floor {
        Some(beyond) => format!("{}, beyond the floor {}", times(*latency_p99), times(Some(*beyond))),
        None => times(*latency_p99),
    };
    let _ = writeln!(
        text,
        "| {} | {} | **ratio** | {} | | {} | | {} | {waits} | {} | | |",
        comparison.workload,
        comparison.mode.name(),
        times(*pods_per_second),
        times(*cpu),
        times(*memory),
        times(*first_after),
    );
    if let Some(cost) = json_cost {
        let (workload, mode) = (&comparison.workload, comparison.mode.name());
        let cost = times(Some(*cost));
        let _ = writeln!(
            text,
            "| {workload} | {mode} | JSON costs kube-scheduler | | | {cost} | | | | | | |"
        );
    }
}

fn mean_row(text: &mut String, means: &Means) {
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} |",
        means.mode.name(),
        means.workloads,
        number(means.pods_per_second, 2),
        number(means.cpu, 2),
        number(means.memory, 2),
    );
}

fn whole(number: Option<usize>) -> String {
    number.map_or_else(|| "–".to_owned(), |number| number.to_string())
}

fn number(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.digits$}"))
}

fn mebibytes(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / f64::from(1 << 20)), 0)
}

/// A ratio, with its interval where there is one.
fn times(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate {
            value, interval: None, ..
        }) => format!("**{value:.2}**"),
        Some(Estimate {
            value,
            interval: Some((low, high)),
            ..
        }) => format!("**{value:.2}** ({low:.2} to {high:.2})"),
    }
}
