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

use crate::allowed::allowed;
use crate::answer::Answer;
use crate::case::Case;
use crate::compare::{Difference, differences};
use crate::coverage::Coverage;
use crate::generate::case;
use crate::ours::judge;
use crate::shrink::shrink;
use crate::upstream::{Answers, Questions, Upstream};

/// Cases on their way to the other process.
const IN_FLIGHT: usize = 64;
/// Cases between two signs of life.
const PROGRESS: u64 = 10_000;
/// Cases tried to make one smaller.
const SHRINKING: usize = 4000;

/// What a campaign found.
#[derive(Debug, Default)]
pub struct Report {
    /// What was exercised.
    pub coverage: Coverage,
    /// How many cases showed each intended difference, by its line in docs/differences.md.
    pub allowed: BTreeMap<&'static str, u64>,
    /// The first case of each kind of difference that is not intended.
    pub mismatches: Vec<Mismatch>,
}

/// A case in which the sides differ and should not.
#[derive(Debug)]
pub struct Mismatch {
    /// Its number among the cases of the seed.
    pub number: u64,
    /// How many cases had a difference of this kind.
    pub cases: u64,
    /// The smallest case found that still shows the first of the differences.
    pub smallest: Case,
    /// How the sides differ in the smallest case.
    pub differences: Vec<Difference>,
}

/// Compares the cases with these numbers of a seed, `jobs` at a time. Signs of life go to `out`.
pub fn run(
    program: &Path,
    seed: u64,
    numbers: Range<u64>,
    jobs: usize,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Report> {
    let jobs = u64::try_from(jobs.max(1))?;
    let done = AtomicU64::new(0);
    let total = numbers.end.saturating_sub(numbers.start);
    let out = Mutex::new(out);
    let mut findings = Findings::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|job| {
                let numbers = (numbers.start + job..numbers.end).step_by(usize::try_from(jobs).unwrap_or(1));
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
pub fn answers(program: &Path, case: &Case) -> anyhow::Result<(Answer, Answer)> {
    let (_process, mut questions, mut answers) = Upstream::start(program, &[])?;
    questions.ask(case)?;
    Ok((judge(case), answers.next()?))
}

/// Those of a seed's cases that hold objects which the API server would not take, with its reasons.
pub fn invalid(program: &Path, seed: u64, numbers: Range<u64>) -> anyhow::Result<Vec<(u64, String)>> {
    let (_process, mut questions, mut answers) = Upstream::start(program, &["--validate"])?;
    let mut found = Vec::new();
    for number in numbers {
        questions.ask(&case(seed, number))?;
        if let Some(reasons) = answers.next()?.error {
            found.push((number, reasons));
        }
    }
    Ok(found)
}

#[derive(Default)]
struct Findings {
    coverage: Coverage,
    allowed: BTreeMap<&'static str, u64>,
    /// By kind of difference: the first case and how many there were.
    mismatches: BTreeMap<String, (u64, Case, u64)>,
}

fn work(
    program: &Path,
    seed: u64,
    numbers: impl Iterator<Item = u64> + Send,
    progress: impl Fn(),
) -> anyhow::Result<Findings> {
    let (_process, questions, mut answers) = Upstream::start(program, &[])?;
    let (asked, to_compare) = sync_channel(IN_FLIGHT);
    thread::scope(|scope| {
        let asking = scope.spawn(move || ask(questions, seed, numbers, &asked));
        let findings = compare(&to_compare, &mut answers, progress);
        drop(to_compare);
        let asked = asking.join().map_err(|_| anyhow!("asking panicked"))?;
        findings.and_then(|findings| asked.map(|()| findings))
    })
}

fn ask(
    mut questions: Questions,
    seed: u64,
    numbers: impl Iterator<Item = u64>,
    asked: &SyncSender<(u64, Case)>,
) -> anyhow::Result<()> {
    for number in numbers {
        let case = case(seed, number);
        questions.ask(&case)?;
        if asked.send((number, case)).is_err() {
            break;
        }
    }
    Ok(())
}

fn compare(asked: &Receiver<(u64, Case)>, answers: &mut Answers, progress: impl Fn()) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    while let Ok((number, case)) = asked.recv() {
        let ours = judge(&case);
        let upstream = answers.next().with_context(|| format!("case {number}"))?;
        findings.coverage.count(&upstream);
        if let Some(first) = differences(&ours, &upstream).into_iter().next() {
            if let Some(allowed) = allowed(&case, &upstream) {
                *findings.allowed.entry(allowed.line).or_default() += 1;
            } else {
                let entry = findings.mismatches.entry(first.what).or_insert((number, case, 0));
                entry.2 += 1;
            }
        }
        progress();
    }
    Ok(findings)
}

impl Findings {
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

    fn report(self, program: &Path) -> anyhow::Result<Report> {
        let mut mismatches = Vec::new();
        if !self.mismatches.is_empty() {
            let (_process, mut questions, mut answers) = Upstream::start(program, &[])?;
            for (what, (number, case, cases)) in self.mismatches {
                let mut compare = |case: &Case| {
                    questions.ask(case)?;
                    let upstream = answers.next()?;
                    let found = differences(&judge(case), &upstream);
                    anyhow::Ok(if allowed(case, &upstream).is_some() {
                        Vec::new()
                    } else {
                        found
                    })
                };
                let shows = |case: &Case| Ok(compare(case)?.iter().any(|found| found.what == what));
                let smallest = shrink(&case, SHRINKING, shows)?;
                let differences = compare(&smallest)?;
                mismatches.push(Mismatch {
                    number,
                    cases,
                    smallest,
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

impl fmt::Display for Report {
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

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "MISMATCH in {} cases, case {} the first, shrunk:",
            self.cases, self.number
        )?;
        for difference in &self.differences {
            writeln!(f, "  {difference}")?;
        }
        // A file of tests/oracle/cases as it stands.
        let text = serde_json::to_string(&self.smallest).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}
