//! `oracle --cases N --seed S`: random cases against kube-scheduler's own plugins. Ends with 1 when any differs.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use plimsoll_oracle::{Availability, Case, HintCase, PreemptionCase, Question, SearchCase, campaign, find};

/// Compares Plimsoll's plugins with kube-scheduler's own on random clusters.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to ask both sides.
    #[arg(long, value_enum, default_value_t = Ask::Verdicts)]
    ask: Ask,
    /// How many cases.
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// Which cases: each seed has its own.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of the first case.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Takes the cases whose numbers are so far apart: in one of three, those that divide by three, volumes have a part.
    #[arg(long, default_value_t = 1)]
    step: u64,
    /// Processes at work at a time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Prints the case with this number instead.
    #[arg(long)]
    print: Option<u64>,
    /// Shows both answers to the case in this file instead (as a mismatch prints it).
    #[arg(long)]
    replay: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ask {
    /// What plugins say of nodes.
    Verdicts,
    /// What changes of objects mean to a pod that waits.
    Hints,
    /// Which nodes are found when a share of them is looked at.
    Searches,
    /// Who has to go for a pod that finds no node.
    Preemptions,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.ask {
        Ask::Verdicts => run::<Case>(&arguments),
        Ask::Hints => run::<HintCase>(&arguments),
        Ask::Searches => run::<SearchCase>(&arguments),
        Ask::Preemptions => run::<PreemptionCase>(&arguments),
    }
}

fn run<Q: Question>(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout();
    if let Some(number) = arguments.print {
        writeln!(out, "{}", serde_json::to_string(&Q::generate(arguments.seed, number))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let program = match find()? {
        Availability::Ready(program) => program,
        Availability::Skip(reason) => anyhow::bail!("kube-scheduler's own plugins cannot be asked: {reason}"),
    };
    if let Some(file) = &arguments.replay {
        let text = std::fs::read(file).with_context(|| file.display().to_string())?;
        let case: Q = serde_json::from_slice(&text)?;
        let (ours, upstream) = campaign::answers(&program, &case)?;
        writeln!(out, "ours:     {}", serde_json::to_string(&ours)?)?;
        writeln!(out, "upstream: {}", serde_json::to_string(&upstream)?)?;
        let compared = case.compare(&ours, &upstream);
        for difference in &compared.unlisted {
            writeln!(out, "{difference}")?;
        }
        for line in &compared.intended {
            writeln!(out, "intended: {line}")?;
        }
        write!(out, "{}", campaign::row(&case, &upstream, &compared.unlisted)?)?;
        return Ok(exit_code(compared.unlisted.is_empty()));
    }
    let numbers = campaign::Numbers {
        start: arguments.start,
        cases: arguments.cases,
        step: arguments.step,
    };
    let report = campaign::run::<Q>(&program, arguments.seed, numbers, arguments.jobs, &mut out)?;
    writeln!(out, "seed {}: {report}", arguments.seed)?;
    Ok(exit_code(report.mismatches.is_empty()))
}

fn exit_code(equal: bool) -> ExitCode {
    if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
