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

/// Throughput in pods for what the API server's work for one costs. That work is the same whatever becomes of spans, but dearer
/// when the machine is slow, as virtual machines are now and then: both are slowed down alike, which this leaves out.
fn at_one_speed(run: &Run) -> f64 {
    run.pods_per_second * run.api_server
}

/// What is told of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    round: usize,
    case: Case,
    pods_per_second: f64,
    cpu: f64,
    api_server: f64,
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
        "| round | collector | told of | pods/s | CPU ms/pod | API server's | peak MiB | spans out | dropped |\n\
         |---|---|---|---|---|---|---|---|---|"
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
            api_server: measured.api_server_cpu_ms_per_pod,
            peak_mib,
            exported: spans(true),
            dropped: spans(false),
        };
        self.runs.push(run);
        let Run {
            pods_per_second,
            cpu,
            api_server,
            exported,
            dropped,
            ..
        } = run;
        format!(
            "| {round} | {case} | {pods_per_second:.0} | {cpu:.4} | {api_server:.4} | {peak_mib:.0} | {exported:.0} | {dropped:.0} |"
        )
    }

    fn of(&self, case: Case, number: fn(&Run) -> f64) -> Vec<f64> {
        let runs = self.runs.iter().filter(|run| run.case == case);
        runs.map(number).collect()
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

/// Whether throughput stays within what is allowed, as far as the intervals tell: one of the two shows it, and neither shows
/// the contrary.
fn verdict(throughput: Option<Estimate>, at_one_speed: Option<Estimate>) -> &'static str {
    let both = [throughput, at_one_speed];
    let intervals = || both.iter().filter_map(|ratio| ratio.as_ref()?.interval);
    if intervals().any(|(_, high)| high < 1.0 - MOST) {
        "NO"
    } else if intervals().any(|(low, _)| low >= 1.0 - MOST) {
        "yes"
    } else {
        "cannot be told"
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
            if self.of(well, at_one_speed).is_empty() {
                continue;
            }
            writeln!(f, "Told of: {}\n", sampling.name())?;
            writeln!(
                f,
                "| collector | pods/s | to `{WELL}` | at one speed | within {:.0} % | CPU ms/pod | to `{WELL}` | peak MiB \
                 | spans out | dropped |\n|---|---|---|---|---|---|---|---|---|---|",
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
                let (throughput, steady) = (against(|run| run.pods_per_second), against(at_one_speed));
                let ill = case.sampling.is_some() && case != well;
                writeln!(
                    f,
                    "| {} | {:.0} | {} | {} | {} | {:.4} | {} | {:.0} | {:.0} | {:.0} |",
                    case.collector,
                    middle(|run| run.pods_per_second),
                    interval(throughput),
                    interval(steady),
                    if ill { verdict(throughput, steady) } else { "" },
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
        at_speeds(well.map(|rate| (rate, 1.0)), ill.map(|rate| (rate, 1.0)))
    }

    /// Of runs with a throughput and what the API server's work for a pod cost.
    fn at_speeds(well: [(f64, f64); 3], ill: [(f64, f64); 3]) -> Pairs {
        let run = |collector, round, (pods_per_second, api_server)| Run {
            round,
            case: Case::traced(collector, Sampling::All),
            pods_per_second,
            cpu: 1.0,
            api_server,
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
        assert!(noisy.contains("| cannot be told |"), "{noisy}");
    }

    #[test]
    fn what_slows_the_api_server_down_as_well_is_the_machine() {
        let well = [(1000.0, 0.1), (800.0, 0.125), (1000.0, 0.1)];
        let slowed = at_speeds(well, [(800.0, 0.125), (999.0, 0.1), (500.0, 0.2)]).to_string();
        let line = slowed.lines().find(|line| line.starts_with("| down"));
        assert!(
            line.is_some_and(|line| line.contains("| 1.000 (0.998–1.001) | yes |")),
            "{slowed}"
        );
        let slow = at_speeds(well, [(800.0, 0.1), (640.0, 0.125), (800.0, 0.1)]).to_string();
        assert!(slow.contains("| NO |"), "{slow}");
    }
}
