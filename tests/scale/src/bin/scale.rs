//! `scale --nodes N --pods P`: how many decisions per second in one process, beside kube-scheduler's own code. See
//! `docs/benchmarks.md`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use plimsoll_oracle::{Availability, find};
use plimsoll_scale::{Plan, run};

/// As the scheduler itself has it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Fills a made-up cluster pod by pod, without an API server.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many nodes
    #[arg(long, default_value_t = 100_000)]
    nodes: u32,
    /// How many pods
    #[arg(long, default_value_t = 1_000_000)]
    pods: u32,
    /// Which cluster of all of that size
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many apps grow at a time, a pod each in turn
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// Look at all nodes for each pod, whatever is known from others
    #[arg(long)]
    look_at_all: bool,
    /// How many pods of each kind kube-scheduler's own code places beside ours; 0 for none
    #[arg(long, default_value_t = 200)]
    compared: u32,
    /// How many pods are on nodes when it does; a tenth of all unless given
    #[arg(long)]
    compare_at: Option<u32>,
    /// Writes everything to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut say = |line: &str| {
        // Whoever reads it may have gone; the report is still written.
        let _ = writeln!(std::io::stderr(), "{line}");
    };
    let upstream = match (arguments.compared, find) {
        (0, _) => None,
        (_, find) => match find()? {
            Availability::Ready(program) => Some(program),
            Availability::Skip(reason) => {
                say(&format!("*** without kube-scheduler: {reason} ***"));
                None
            }
        },
    };
    let plan = Plan {
        nodes: arguments.nodes,
        pods: arguments.pods,
        seed: arguments.seed,
        at_once: arguments.at_once,
        looking_at_all: arguments.look_at_all,
        upstream,
        compare_at: arguments
            .compare_at
            .unwrap_or(arguments.pods / 10)
            .clamp(1, arguments.pods),
        compared: arguments.compared,
    };
    let report = run(&plan, &mut say)?;
    writeln!(std::io::stdout(), "{report}")?;
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(if report.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
