//! What traces cost, held against what they cost with a collector that is well.

use std::fmt;

use plimsoll_bench::run::Measured;
use plimsoll_bench::{Estimate, median, ratio};

/// The share of throughput that a collector which is not well may cost.
const MOST: f64 = 0.02;

/// The collector against which the others are held.
const WELL: &str = "takes";

/// Which pods are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// As it comes when nothing but a collector is named: all of them.
    All,
    /// One in a hundred, as `docs/observability.md` advises for a large cluster.
    OnePercent,
}

impl Sampling {
    /// In the order of the tables.
    pub const ALL: [Self; 2] = [Self::All, Self::OnePercent];

    fn name(self) -> &'static str {
        match self {
            Self::All => "all pods (default)",
            Self::OnePercent => "1 % of pods",
        }
    }
}

/// One way to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    collector: &'static str,
    sampling: Option<Sampling>,
}

impl Case {
    /// No collector is named.
    pub fn untraced() -> Self {
        Self {
            collector: "none",
            sampling: None,
        }
    }

    /// With a collector that does this.
    pub fn traced(collector: &'static str, sampling: Sampling) -> Self {
        Self {
            collector,
            sampling: Some(sampling),
        }
    }

    /// The variables that say which pods are told of.
    pub fn environment(self) -> Vec<(&'static str, &'static str)> {
        match self.sampling {
            None | Some(Sampling::All) => Vec::new(),
            Some(Sampling::OnePercent) => vec![
                ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
                ("OTEL_TRACES_SAMPLER_ARG", "0.01"),
            ],
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sampling = self.sampling.map_or("", Sampling::name);
        write!(f, "{} | {sampling}", self.collector)
    }
}

/// What is told of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    round: usize,
    case: Case,
    pods_per_second: f64,
    cpu: f64,
    peak_mib: f64,
    exported: f64,
    dropped: f64,
}

/// All runs.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    runs: Vec<Run>,
}

impl Pairs {
    /// The first lines of a table of single runs.
    pub fn runs_heading() -> &'static str {
        "| round | collector | told of | pods/s | CPU ms/pod | peak MiB | spans out | dropped |\n\
         |---|---|---|---|---|---|---|---|"
    }

    /// Adds a run, and gives the line about it.
    pub fn add(&mut self, round: usize, case: Case, measured: &Measured) -> String {
        let spans = |exported: bool| {
            let spans = measured.spans.iter();
            let of_kind = spans.filter(|(what, _)| (what.as_str() == "exported") == exported);
            of_kind.fold(0.0, |sum, (_, count)| sum + count)
        };
        #[expect(clippy::cast_precision_loss, reason = "bytes of memory, told in mebibytes")]
        let peak_mib = measured.peak_memory as f64 / f64::from(1 << 20);
        let run = Run {
            round,
            case,
            pods_per_second: measured.throughput.drained.unwrap_or(f64::NAN),
            cpu: measured.cpu_ms_per_pod.unwrap_or(f64::NAN),
            peak_mib,
            exported: spans(true),
            dropped: spans(false),
        };
        self.runs.push(run);
        let Run {
            pods_per_second,
            cpu,
            exported,
            dropped,
            ..
        } = run;
        format!("| {round} | {case} | {pods_per_second:.0} | {cpu:.4} | {peak_mib:.0} | {exported:.0} | {dropped:.0} |")
    }

    fn of(&self, case: Case, number: fn(&Run) -> f64) -> Vec<f64> {
        let runs = self.runs.iter().filter(|run| run.case == case);
        runs.map(number).collect()
    }

    /// The most pods a second of any round. What else a machine does only ever slows a run down, so that the fastest of many
    /// runs tell more of the program and less of the machine than those in the middle.
    fn fastest(&self, case: Case) -> f64 {
        self.of(case, |run| run.pods_per_second)
            .into_iter()
            .fold(f64::NAN, f64::max)
    }

    /// How many times as much of it there is with this case as with the one that is well, round by round.
    fn against(&self, case: Case, well: Case, number: fn(&Run) -> f64) -> Option<Estimate> {
        let of_round = |round| self.runs.iter().find(|run| run.round == round && run.case == well);
        let runs = self.runs.iter().filter(|run| run.case == case);
        let pairs: Vec<_> = runs
            .filter_map(|run| Some((number(run), number(of_round(run.round)?))))
            .collect();
        ratio(&pairs)
    }
}

/// Whether throughput stays within what is allowed, as far as the interval tells.
fn verdict(throughput: Option<Estimate>) -> &'static str {
    match throughput.and_then(|ratio| ratio.interval) {
        Some((low, _)) if low >= 1.0 - MOST => "yes",
        Some((_, high)) if high < 1.0 - MOST => "NO",
        _ => "cannot be told",
    }
}

fn interval(estimate: Option<Estimate>) -> String {
    let Some(Estimate { value, interval, .. }) = estimate else {
        return "–".to_owned();
    };
    match interval {
        Some((low, high)) => format!("{value:.3} ({low:.3}–{high:.3})"),
        None => format!("{value:.3}"),
    }
}

/// A table for each sampling: medians, and ratios with the interval of 95 % confidence.
impl fmt::Display for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for sampling in Sampling::ALL {
            let well = Case::traced(WELL, sampling);
            writeln!(f, "Told of: {}\n", sampling.name())?;
            writeln!(
                f,
                "| collector | pods/s | to `{WELL}` | within {:.0} % | fastest | to `{WELL}` | CPU ms/pod | to `{WELL}` | peak MiB \
                 | spans out | dropped |\n|---|---|---|---|---|---|---|---|---|---|---|",
                MOST * 100.0
            )?;
            let mut seen: Vec<Case> = Vec::new();
            for run in &self.runs {
                let belongs = run.case.sampling.is_none_or(|of| of == sampling);
                if belongs && !seen.contains(&run.case) {
                    seen.push(run.case);
                }
            }
            // Rounds begin with another one each.
            seen.sort_by_key(|case| (case.sampling.is_some(), case.collector != WELL, case.collector));
            for case in seen {
                let middle = |number| median(&self.of(case, number)).unwrap_or(f64::NAN);
                let against = |number| self.against(case, well, number).filter(|_| case != well);
                let throughput = against(|run| run.pods_per_second);
                let ill = case.sampling.is_some() && case != well;
                writeln!(
                    f,
                    "| {} | {:.0} | {} | {} | {:.0} | {:.3} | {:.4} | {} | {:.0} | {:.0} | {:.0} |",
                    case.collector,
                    middle(|run| run.pods_per_second),
                    interval(throughput),
                    if ill { verdict(throughput) } else { "" },
                    self.fastest(case),
                    self.fastest(case) / self.fastest(well),
                    middle(|run| run.cpu),
                    interval(against(|run| run.cpu)),
                    middle(|run| run.peak_mib),
                    middle(|run| run.exported),
                    middle(|run| run.dropped),
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(well: [f64; 3], ill: [f64; 3]) -> Pairs {
        let run = |collector, round, pods_per_second| Run {
            round,
            case: Case::traced(collector, Sampling::All),
            pods_per_second,
            cpu: 1.0,
            peak_mib: 50.0,
            exported: 0.0,
            dropped: 7.0,
        };
        let rounds = well.into_iter().zip(ill).enumerate();
        let runs = rounds.flat_map(|(round, (well, ill))| [run(WELL, round, well), run("down", round, ill)]);
        Pairs { runs: runs.collect() }
    }

    #[test]
    fn a_collector_that_costs_more_than_is_allowed_is_told_so_and_noise_is_told_apart() {
        let line = |pairs: &Pairs| {
            let text = pairs.to_string();
            text.lines()
                .find(|line| line.starts_with("| down"))
                .unwrap_or_default()
                .to_owned()
        };
        let holds = line(&pairs([1000.0, 2000.0, 900.0], [1001.0, 2004.0, 899.0]));
        assert!(
            holds.starts_with("| down | 1001 | 1.001 (") && holds.contains("| yes |"),
            "{holds}"
        );
        let broken = line(&pairs([1000.0, 2000.0, 900.0], [900.0, 1790.0, 811.0]));
        assert!(broken.contains("| NO |"), "{broken}");
        let noisy = line(&pairs([1000.0, 2000.0, 900.0], [800.0, 2600.0, 900.0]));
        assert!(noisy.contains("| cannot be told | 2600 | 1.300 |"), "{noisy}");
    }
}
