//! `bench`: Plimsoll and kube-scheduler measured side by side. See `docs/benchmarks.md`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};
use plimsoll_bench::binder::bind_all;
use plimsoll_bench::contestant::Contestant;
use plimsoll_bench::machine::Machine;
use plimsoll_bench::plan::Plan;
use plimsoll_bench::report::{Record, Report, compare, means, runs_heading, table};
use plimsoll_bench::run::Mode;
use plimsoll_bench::workload::{LabelFilter, Workload, own_folder, read_folder, upstream_folder};

/// Plimsoll and kube-scheduler measured side by side on this machine.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Measures
    Run(RunArguments),
    /// Lists workloads, and why some cannot be run
    List(Choice),
    /// The dumb binder, which `run` starts
    #[command(hide = true)]
    Bind {
        /// How it reaches the API server
        #[arg(long)]
        kubeconfig: PathBuf,
    },
}

/// Which workloads.
#[derive(Debug, Parser)]
struct Choice {
    /// A folder of workload files in upstream's format; our own unless given
    #[arg(long, value_name = "DIR", conflicts_with = "upstream")]
    workloads: Option<PathBuf>,
    /// Upstream's own files, as they come with the Go module of Kubernetes
    #[arg(long)]
    upstream: bool,
    /// Only those with these labels; with - in front, only those without
    #[arg(long, value_name = "LABELS", default_value = "", allow_hyphen_values = true)]
    labels: LabelFilter,
    /// Only those with one of these in `topic/case/name`
    names: Vec<String>,
}

#[derive(Debug, Parser)]
struct RunArguments {
    #[command(flatten)]
    choice: Choice,
    /// Against what, and how pods come
    #[arg(long, value_delimiter = ',', default_values = ["null", "drain"])]
    modes: Vec<Mode>,
    /// Who; Plimsoll and kube-scheduler unless given, and for plain pods the dumb binder and kube-scheduler with JSON
    #[arg(long, value_delimiter = ',')]
    contestants: Vec<Contestant>,
    /// How often each is measured, in turn
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Pods a second in the mode `rate`; half of what kube-scheduler reached in the mode `open` unless given
    #[arg(long, value_name = "PODS")]
    rate: Option<f64>,
    /// Let kube-scheduler look at all nodes, as Plimsoll does by itself
    #[arg(long)]
    all_nodes: bool,
    /// How long a batch of pods may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    limit: u64,
    /// Writes everything to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    match Arguments::parse().what {
        What::Run(arguments) => runtime.block_on(Box::pin(measure(&arguments))),
        What::List(choice) => list(&choice),
        What::Bind { kubeconfig } => {
            runtime.block_on(Box::pin(bind_all(&kubeconfig)))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl Choice {
    fn workloads(&self) -> anyhow::Result<Vec<Workload>> {
        let folder = match &self.workloads {
            Some(folder) => folder.clone(),
            None if self.upstream => upstream_folder()?.context("without Go there are no files of upstream's")?,
            None => own_folder(),
        };
        let named = |workload: &Workload| {
            let id = workload.id();
            self.names.is_empty() || self.names.iter().any(|name| id.contains(name.as_str()))
        };
        let mut all = read_folder(&folder)?;
        all.retain(|workload| self.labels.takes(workload) && named(workload));
        ensure!(!all.is_empty(), "no workload is chosen");
        Ok(all)
    }
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}")
}

fn list(choice: &Choice) -> anyhow::Result<ExitCode> {
    for workload in choice.workloads()? {
        let labels: Vec<&str> = workload.labels.iter().map(String::as_str).collect();
        let labels = labels.join(",");
        match &workload.lacking {
            None => say(&format!("{} [{labels}]", workload.id()))?,
            Some(reason) => say(&format!("{} [{labels}] cannot be run: {reason}", workload.id()))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails when a run failed or a promise was broken, once all is told.
async fn measure(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let plan = Plan {
        workloads: arguments.choice.workloads()?,
        modes: arguments.modes.clone(),
        contestants: arguments.contestants.clone(),
        rounds: arguments.rounds.max(1),
        rate: arguments.rate,
        all_nodes: arguments.all_nodes,
        limit: Duration::from_secs(arguments.limit),
    };
    let mut machine = Machine::look();
    say(runs_heading())?;
    let tell = |record: &Record| {
        // Whoever reads it may have gone; the report is still written.
        let _ = say(&record.to_string());
    };
    let Some((runs, skipped)) = Box::pin(plan.carry_out(tell)).await? else {
        say("*** no control plane on this machine: nothing is measured ***")?;
        return Ok(ExitCode::SUCCESS);
    };
    machine.look_again();
    let comparisons = compare(&runs);
    let report = Report {
        machine,
        command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        means: means(&comparisons),
        comparisons,
        runs,
        skipped,
    };
    say(&format!("\n{}", table(&report)))?;
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    let broken = |record: &Record| {
        let judged = record.outcome.as_ref().and_then(|outcome| outcome.judged.as_ref());
        record.failure.is_some() || judged.is_some_and(|judged| judged.violations > 0)
    };
    let ours = report
        .runs
        .iter()
        .filter(|record| record.contestant == Contestant::Plimsoll);
    Ok(if ours.into_iter().any(broken) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
