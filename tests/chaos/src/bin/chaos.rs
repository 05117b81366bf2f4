//! `chaos --rounds N --seed S`: real faults against three replicas on a real control plane. A second call goes on where the
//! first one ended. Ends with 1 when any promise was broken.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use plimsoll_chaos::{LeaseTimes, Options};
use plimsoll_cluster::suite::say;

/// Real faults against three replicas on a real control plane.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many rounds there shall be in the end, those of earlier calls included.
    #[arg(long, default_value_t = 30)]
    rounds: u64,
    /// What the faults are drawn from.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where state and reports are; `target/chaos/seed-<SEED>` unless set.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Uses the default lease of 15 s, 10 s, 2 s in every round, not in one of a hundred.
    #[arg(long)]
    default_lease: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let seed = arguments.seed;
    let options = Options {
        dir: arguments
            .dir
            .unwrap_or_else(|| PathBuf::from(format!("target/chaos/seed-{seed}"))),
        rounds: arguments.rounds,
        seed,
        lease: arguments.default_lease.then_some(LeaseTimes::Default),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let Some(campaign) = runtime.block_on(Box::pin(plimsoll_chaos::run(&options)))? else {
        return Ok(ExitCode::SUCCESS);
    };
    let report = options.dir.join("report.md");
    say(&std::fs::read_to_string(&report)?);
    say(&format!(
        "This is {}; report.json beside it has the same.",
        report.display()
    ));
    Ok(if campaign.violations() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
