//! `plimsoll demo`: a cluster on one machine. An embedded API server lives in this process, three replicas of the
//! scheduler are processes of their own, and half-way through the leader is killed on stage.

mod amounts;
mod api;
mod check;
mod folder;
mod kubelet;
mod leadership;
mod nodes;
mod replica;
mod report;
mod show;
mod stage;
mod workload;

use std::pin::pin;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::FalseyValueParser;
use futures::future::{Either, select};
use plimsoll::help::HELP_WIDTH;
use tokio::signal::unix::{SignalKind, signal};

use self::show::Show;

/// How it ends.
const AFTER_HELP: &str = "\
Exit status:
  0  played, and all that is checked at its end holds
  1  something does not hold, or it was interrupted

Examples:
  plimsoll demo --keep
      plays for some twenty seconds and leaves the cluster running, with commands to look around";

/// Shows three replicas at work on 200 nodes and 2,000 pods, the leader killed half-way
///
/// It needs nothing but this program: the API server is in memory, and nodes are names.
#[derive(Debug, Parser)]
#[command(name = "plimsoll demo", bin_name = "plimsoll demo", after_help = AFTER_HELP, term_width = HELP_WIDTH)]
pub(crate) struct DemoFlags {
    /// Leave it all running at the end, and print how to look around
    #[arg(long, env = "KEEP", value_parser = FalseyValueParser::new())]
    keep: bool,
    /// Seed of the cluster and the pods
    #[arg(long, default_value_t = 1876)]
    seed: u64,
}

/// Plays the show. Code 1 when the check at its end finds anything wrong.
pub(crate) async fn run(flags: DemoFlags) -> anyhow::Result<ExitCode> {
    let mut show = Show::open(flags.seed).await?;
    let Some(played) = unless_signalled(show.play()).await? else {
        anyhow::bail!("interrupted")
    };
    let mut violations = match played {
        Ok(violations) => violations,
        Err(error) => return Err(show.fail(error)),
    };
    if flags.keep {
        show.invite()?;
        if let Some(failed) = unless_signalled(show.go_on()).await? {
            failed?;
        }
    }
    violations.extend(show.close().await?);
    show.verdict(&violations)
}

/// What came of `work`, or nothing when SIGTERM or SIGINT came first.
pub(crate) async fn unless_signalled<T>(work: impl Future<Output = T>) -> std::io::Result<Option<T>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let terminated = pin!(terminate.recv());
    let interrupted = pin!(interrupt.recv());
    Ok(match select(select(terminated, interrupted), pin!(work)).await {
        Either::Left(_) => None,
        Either::Right((done, _)) => Some(done),
    })
}
