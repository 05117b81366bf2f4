//! `simulate --seeds N --start S`: random runs on virtual time, one per seed. Ends with 1 when any broke a promise.

use std::io::Write;
use std::process::ExitCode;

use plimsoll_simulation::chaos::{Outcome, simulate};

/// Lines of the trace shown of a run that failed.
const LINES: usize = 200;
/// Seeds between two signs of life.
const PROGRESS: u64 = 25;

fn main() -> std::io::Result<ExitCode> {
    let (seeds, start) = (argument("--seeds").unwrap_or(100), argument("--start").unwrap_or(0));
    let mut out = std::io::stdout().lock();
    let (mut placed, mut failed) = (0, Vec::new());
    for seed in start..start.saturating_add(seeds) {
        let outcome = simulate(seed);
        placed += outcome.placements.len();
        if !outcome.problems.is_empty() {
            failed.push(seed);
            show(&mut out, &outcome)?;
        }
        let done = seed - start + 1;
        if done % PROGRESS == 0 || done == seeds {
            writeln!(
                out,
                "{done} of {seeds} seeds, {placed} pods placed, failed seeds: {failed:?}"
            )?;
        }
    }
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn argument(name: &str) -> Option<u64> {
    std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1)?
        .parse()
        .ok()
}

fn show(out: &mut impl Write, outcome: &Outcome) -> std::io::Result<()> {
    writeln!(out, "seed {} failed:", outcome.seed)?;
    for problem in &outcome.problems {
        writeln!(out, "  {problem}")?;
    }
    for line in &outcome.trace[outcome.trace.len().saturating_sub(LINES)..] {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}
