//! Many seeds, several at a time, each on a runtime of its own. What came of each seed is kept in a file when asked for,
//! so that a long campaign can be interrupted and gone on with.

mod progress;
mod record;
mod report;

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use plimsoll_model::guard::Guard;

pub use self::progress::Progress;
pub use self::record::SeedRecord;
pub use self::report::Report;
use crate::seed_run::SeedRun;
use crate::shrink::{BUDGET, shrink};

/// Seeds between two signs of life.
const EVERY: usize = 25;
/// A seed that takes longer, on the wall's clock, is named: something in it may go round and round without time passing.
const LONG: Duration = Duration::from_mins(2);
/// What an unoptimised run needs of a thread's stack.
const STACK: usize = 16 << 20;

/// What to run.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// Which seeds.
    pub seeds: Range<u64>,
    /// How many at a time.
    pub jobs: usize,
    /// Where to keep what came of each seed; seeds found there are not run again.
    pub state: Option<PathBuf>,
    /// Whether runs that fail are made smaller.
    pub shrinks: bool,
    /// A guard that does not hold in any of them.
    pub broken: Option<Guard>,
}

/// Runs the seeds. Signs of life and failures go to `out`.
pub fn run(campaign: &Campaign, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut progress = Progress::open(campaign.state.as_deref(), campaign.seeds.clone())?;
    let left = progress.left();
    let total = left.len();
    if total < progress.seeds() {
        writeln!(out, "{} seeds were run before", progress.seeds() - total)?;
    }
    let next = AtomicUsize::new(0);
    let under_way = Mutex::new(Vec::new());
    let (found, records) = channel();
    thread::scope(|scope| {
        for _ in 0..campaign.jobs.max(1) {
            let (left, next, under_way, found) = (&left, &next, &under_way, found.clone());
            let work = move || {
                while let Some(seed) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let change = |begins: bool| {
                        let mut under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
                        under_way.retain(|other| other != seed);
                        under_way.extend(begins.then_some(*seed));
                    };
                    change(true);
                    let record = try_seed(*seed, campaign);
                    change(false);
                    if found.send(record).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, work)
                .context("a thread for runs")?;
        }
        drop(found);
        let mut done = 0;
        loop {
            match records.recv_timeout(LONG) {
                Ok(record) => {
                    if let Some(failure) = &record.failure {
                        writeln!(out, "{failure}")?;
                    }
                    progress.take(record)?;
                    done += 1;
                    if done % EVERY == 0 || done == total {
                        let failed = progress.failed();
                        writeln!(out, "{done} of {total} seeds, failed: {failed:?}")?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
                    writeln!(out, "nothing new for {LONG:?}; under way: {under_way:?}")?;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        anyhow::Ok(())
    })?;
    Ok(progress.report())
}

fn try_seed(seed: u64, campaign: &Campaign) -> SeedRecord {
    let run = SeedRun {
        broken: campaign.broken,
        ..SeedRun::whole(seed)
    };
    let outcome = run.make();
    let mut record = SeedRecord::of(&outcome);
    if !outcome.problems.is_empty() {
        let smallest = shrink(&run, outcome, if campaign.shrinks { BUDGET } else { 0 });
        record.failure = Some(smallest.to_string());
    }
    record
}
