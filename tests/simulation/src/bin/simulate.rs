//! `simulate --seeds N --start S`: random runs on virtual time, one per seed. Ends with 1 when any broke a promise.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, builder::PossibleValuesParser, builder::TypedValueParser};
use plimsoll_model::guard::Guard;
use plimsoll_simulation::campaign::{self, Campaign};
use plimsoll_simulation::chaos::{Outcome, Steps};
use plimsoll_simulation::seed_run::{SeedRun, parting};
use plimsoll_simulation::shrink::{BUDGET, shrink};

/// Lines of the trace shown before and after two runs part.
const AROUND: usize = 5;

/// Runs whole schedulers with random faults on virtual time.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Seeds at work at a time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Keeps what came of each seed in this file, and goes on from what is in it.
    #[arg(long)]
    state: Option<PathBuf>,
    /// Writes the report into this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Leaves failing runs as they are.
    #[arg(long)]
    no_shrinking: bool,
    /// Makes this one run instead.
    #[arg(long)]
    seed: Option<u64>,
    /// With `--seed`: takes these of its steps alone.
    #[arg(long, value_delimiter = ',', requires = "seed")]
    steps: Option<Vec<usize>>,
    /// Breaks this guard in every run.
    #[arg(long, conflicts_with = "state", value_parser = guards())]
    broken: Option<Guard>,
    /// With `--seed`: makes the run twice and compares them message by message.
    #[arg(long, requires = "seed")]
    twice: bool,
    /// With `--seed`: shows so many of the last lines of its trace.
    #[arg(long, requires = "seed", default_value_t = 0)]
    trace: usize,
}

fn guards() -> impl TypedValueParser<Value = Guard> {
    PossibleValuesParser::new(Guard::ALL.map(Guard::name)).try_map(|name| {
        let named = Guard::ALL.into_iter().find(|guard| guard.name() == name);
        named.context("no such guard").map_err(|error| error.to_string())
    })
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let holds = match arguments.seed {
        Some(seed) => {
            let run = SeedRun {
                seed,
                steps: arguments.steps.clone().map_or_else(Steps::all, Steps::only),
                broken: arguments.broken,
            };
            one(&run, &arguments)?
        }
        None => many(&arguments)?,
    };
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn many(arguments: &Arguments) -> anyhow::Result<bool> {
    let mut out = std::io::stdout();
    let asked = Campaign {
        seeds: arguments.start..arguments.start.saturating_add(arguments.seeds),
        jobs: arguments.jobs,
        state: arguments.state.clone(),
        shrinks: !arguments.no_shrinking,
        broken: arguments.broken,
    };
    let report = campaign::run(&asked, &mut out)?;
    write!(out, "\n{report}")?;
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    Ok(report.holds())
}

fn one(run: &SeedRun, arguments: &Arguments) -> anyhow::Result<bool> {
    let mut out = std::io::stdout();
    let outcome = run.make();
    for line in &outcome.trace[outcome.trace.len().saturating_sub(arguments.trace)..] {
        writeln!(out, "{line}")?;
    }
    for problem in &outcome.problems {
        writeln!(out, "! {problem}")?;
    }
    let (messages, placed) = (outcome.trace.len(), outcome.placements.len());
    let mut holds = outcome.problems.is_empty();
    writeln!(
        out,
        "{run}: {} problems, {messages} lines, {placed} pods placed",
        outcome.problems.len()
    )?;
    if arguments.twice {
        let again = run.make();
        match parting(&outcome, &again) {
            None => writeln!(out, "made twice, and the same line by line")?,
            Some(line) => {
                holds = false;
                show_parting(&mut out, line, &outcome, &again)?;
            }
        }
    }
    if !outcome.problems.is_empty() && !arguments.no_shrinking {
        write!(out, "{}", shrink(run, outcome, BUDGET))?;
    }
    Ok(holds)
}

fn show_parting(out: &mut impl Write, line: usize, one: &Outcome, other: &Outcome) -> std::io::Result<()> {
    for (name, outcome) in [("first", one), ("second", other)] {
        writeln!(out, "the {name} run around line {line}:")?;
        let lines = outcome.trace.iter().skip(line.saturating_sub(AROUND)).take(2 * AROUND);
        for line in lines {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
