//! Many cases against both sides.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, anyhow};

use crate::answer::Answer;
use crate::compare::Difference;
use crate::question::{Coverage, Question};
use crate::shrink::shrink;
use crate::upstream::{Answers, Questions, Upstream};

/// Cases on their way to the other process.
const IN_FLIGHT: usize = 64;
/// Cases between two signs of life.
const PROGRESS: u64 = 10_000;
/// Differences told of one case.
const DIFFERENCES_SHOWN: usize = 20;
/// Cases tried to make one smaller.
const SHRINKING: usize = 4000;

/// What a campaign found.
#[derive(Debug)]
pub struct Report<Q: Question> {
    /// What was exercised.
    pub coverage: Q::Coverage,
    /// How many cases showed each intended difference, by its line in docs/differences.md.
    pub allowed: BTreeMap<&'static str, u64>,
    /// The first case of each kind of difference that is not intended.
    pub mismatches: Vec<Mismatch<Q>>,
}

/// A case in which the sides differ and should not.
#[derive(Debug)]
pub struct Mismatch<Q: Question> {
    /// Its number among the cases of the seed.
    pub number: u64,
    /// How many cases had a difference of this kind.
    pub cases: u64,
    /// The smallest case found that still shows the first of the differences.
    pub smallest: Q,
    /// What upstream says of it.
    pub upstream: Q::Answer,
    /// How the sides differ in the smallest case.
    pub differences: Vec<Difference>,
}

/// Which cases of a seed.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// The number of the first.
    pub start: u64,
    /// How many.
    pub cases: u64,
    /// From one number to the next; at least 1.
    pub step: u64,
}

impl Numbers {
    /// The part of one of so many jobs.
    fn part(self, job: u64, jobs: u64) -> impl Iterator<Item = u64> + Send {
        let step = self.step.max(1);
        (job..self.cases)
            .step_by(usize::try_from(jobs).unwrap_or(1))
            .map(move |at| self.start + at * step)
    }
}

/// Compares the cases with these numbers of a seed, `jobs` at a time. Signs of life go to `out`.
pub fn run<Q: Question>(
    program: &Path,
    seed: u64,
    numbers: Numbers,
    jobs: usize,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Report<Q>> {
    let jobs = u64::try_from(jobs.max(1))?;
    let done = AtomicU64::new(0);
    let total = numbers.cases;
    let out = Mutex::new(out);
    let mut findings = Findings::<Q>::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|job| {
                let numbers = numbers.part(job, jobs);
                let (done, out) = (&done, &out);
                scope.spawn(move || {
                    work(program, seed, numbers, || {
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        if done.is_multiple_of(PROGRESS) {
                            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                            let _ = writeln!(out, "{done} of {total} cases");
                        }
                    })
                })
            })
            .collect();
        for worker in workers {
            let found = worker.join().map_err(|_| anyhow!("a worker panicked"))??;
            findings.add(found);
        }
        anyhow::Ok(())
    })?;
    findings.report(program)
}

/// Our answer to one case and upstream's.
pub fn answers<Q: Question>(program: &Path, case: &Q) -> anyhow::Result<(Q::Answer, Q::Answer)> {
    let (_process, mut questions, mut answers) = Upstream::start(program, Q::MODE)?;
    questions.ask(case)?;
    Ok((case.judge(), answers.wait()?))
}

/// Those of a seed's cases that hold objects which the API server would not take, with its reasons.
pub fn invalid<Q: Question>(program: &Path, seed: u64, numbers: Range<u64>) -> anyhow::Result<Vec<(u64, String)>> {
    let (_process, mut questions, mut answers) = Upstream::start(program, &["--validate"])?;
    let mut found = Vec::new();
    for number in numbers {
        questions.ask(&Q::generate(seed, number).objects())?;
        if let Some(reasons) = answers.wait::<Answer>()?.error {
            found.push((number, reasons));
        }
    }
    Ok(found)
}

struct Findings<Q: Question> {
    coverage: Q::Coverage,
    allowed: BTreeMap<&'static str, u64>,
    /// By kind of difference: the first case and how many there were.
    mismatches: BTreeMap<String, (u64, Q, u64)>,
}

impl<Q: Question> Default for Findings<Q> {
    fn default() -> Self {
        Self {
            coverage: Q::Coverage::default(),
            allowed: BTreeMap::new(),
            mismatches: BTreeMap::new(),
        }
    }
}

fn work<Q: Question>(
    program: &Path,
    seed: u64,
    numbers: impl Iterator<Item = u64> + Send,
    progress: impl Fn(),
) -> anyhow::Result<Findings<Q>> {
    let (_process, questions, mut answers) = Upstream::start(program, Q::MODE)?;
    let (asked, to_compare) = sync_channel(IN_FLIGHT);
    thread::scope(|scope| {
        let asking = scope.spawn(move || ask(questions, seed, numbers, &asked));
        let findings = compare(&to_compare, &mut answers, progress);
        drop(to_compare);
        let asked = asking.join().map_err(|_| anyhow!("asking panicked"))?;
        findings.and_then(|findings| asked.map(|()| findings))
    })
}

fn ask<Q: Question>(
    mut questions: Questions,
    seed: u64,
    numbers: impl Iterator<Item = u64>,
    asked: &SyncSender<(u64, Q)>,
) -> anyhow::Result<()> {
    for number in numbers {
        let case = Q::generate(seed, number);
        questions.ask(&case)?;
        if asked.send((number, case)).is_err() {
            break;
        }
    }
    Ok(())
}

fn compare<Q: Question>(
    asked: &Receiver<(u64, Q)>,
    answers: &mut Answers,
    progress: impl Fn(),
) -> anyhow::Result<Findings<Q>> {
    let mut findings = Findings::<Q>::default();
    while let Ok((number, case)) = asked.recv() {
        let ours = case.judge();
        let upstream = answers.wait().with_context(|| format!("case {number}"))?;
        findings.coverage.count(&upstream);
        let compared = case.compare(&ours, &upstream);
        for line in compared.intended {
            *findings.allowed.entry(line).or_default() += 1;
        }
        let told = if Q::INDEPENDENT { usize::MAX } else { 1 };
        for difference in compared.unlisted.into_iter().take(told) {
            let entry = findings.mismatches.entry(difference.what);
            entry.or_insert_with(|| (number, case.clone(), 0)).2 += 1;
        }
        progress();
    }
    Ok(findings)
}

impl<Q: Question> Findings<Q> {
    fn add(&mut self, other: Self) {
        self.coverage.add(&other.coverage);
        for (line, count) in other.allowed {
            *self.allowed.entry(line).or_default() += count;
        }
        for (what, (number, case, count)) in other.mismatches {
            match self.mismatches.entry(what) {
                Entry::Vacant(entry) => {
                    entry.insert((number, case, count));
                }
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.2 += count;
                    if number < known.0 {
                        (known.0, known.1) = (number, case);
                    }
                }
            }
        }
    }

    fn report(self, program: &Path) -> anyhow::Result<Report<Q>> {
        let mut mismatches = Vec::new();
        if !self.mismatches.is_empty() {
            let (_process, mut questions, mut answers) = Upstream::start(program, Q::MODE)?;
            for (what, (number, case, cases)) in self.mismatches {
                let mut ask = |case: &Q| {
                    questions.ask(case)?;
                    let upstream = answers.wait()?;
                    let compared = case.compare(&case.judge(), &upstream);
                    anyhow::Ok((upstream, compared.unlisted))
                };
                let told = if Q::INDEPENDENT { usize::MAX } else { 1 };
                let shows = |case: &Q| Ok(ask(case)?.1.iter().take(told).any(|found| found.what == what));
                let smallest = shrink(&case, SHRINKING, shows)?;
                let (upstream, differences) = ask(&smallest)?;
                mismatches.push(Mismatch {
                    number,
                    cases,
                    smallest,
                    upstream,
                    differences,
                });
            }
        }
        Ok(Report {
            coverage: self.coverage,
            allowed: self.allowed,
            mismatches,
        })
    }
}

impl<Q: Question> fmt::Display for Report<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.coverage)?;
        for (line, cases) in &self.allowed {
            writeln!(f, "intended in {cases} cases: {line}")?;
        }
        for mismatch in &self.mismatches {
            write!(f, "\n{mismatch}")?;
        }
        Ok(())
    }
}

impl<Q: Question> fmt::Display for Mismatch<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "MISMATCH in {} cases, case {} the first, shrunk; a row of {} in tests/oracle/tests/table.rs:",
            self.cases,
            self.number,
            Q::TABLE
        )?;
        for difference in self.differences.iter().take(DIFFERENCES_SHOWN) {
            writeln!(f, "    // {difference}")?;
        }
        write!(
            f,
            "{}",
            row(&self.smallest, &self.upstream, &self.differences).map_err(|_| fmt::Error)?
        )
    }
}

/// A case and upstream's answer as a row of the table of cases.
pub fn row<Q: Question>(case: &Q, upstream: &Q::Answer, differences: &[Difference]) -> anyhow::Result<String> {
    let case = serde_json::to_string(case)?;
    let upstream = Q::abridge(serde_json::to_value(upstream)?, differences);
    Ok(format!(
        "    (\n        r#\"{case}\"#,\n        r#\"{upstream}\"#,\n    ),\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_share_the_cases_and_none_is_left_out() {
        let numbers = Numbers {
            start: 6,
            cases: 7,
            step: 3,
        };
        let mut all: Vec<u64> = (0..2).flat_map(|job| numbers.part(job, 2)).collect();
        all.sort_unstable();
        assert_eq!(all, [6, 9, 12, 15, 18, 21, 24]);
    }
}
