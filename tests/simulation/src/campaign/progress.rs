use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::{Report, SeedRecord};
use crate::seed_run::SeedRun;

/// What has come of the seeds so far, and the file that keeps it: first a line that tells the program, then one for each
/// seed.
#[derive(Debug)]
pub struct Progress {
    seeds: Range<u64>,
    fingerprint: String,
    records: BTreeMap<u64, SeedRecord>,
    file: Option<File>,
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    fingerprint: String,
}

impl Progress {
    /// What an earlier call has left in this file, if any.
    pub(super) fn open(file: Option<&Path>, seeds: Range<u64>) -> anyhow::Result<Self> {
        Self::of(fingerprint(), file, seeds)
    }

    fn of(fingerprint: String, path: Option<&Path>, seeds: Range<u64>) -> anyhow::Result<Self> {
        let mut progress = Self {
            seeds,
            fingerprint,
            records: BTreeMap::new(),
            file: None,
        };
        if let Some(path) = path {
            progress.take_file(path).with_context(|| path.display().to_string())?;
        }
        Ok(progress)
    }

    fn take_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = if path.exists() {
            std::fs::read_to_string(path)?
        } else {
            String::new()
        };
        // The last line may have been cut short.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = whole.lines();
        if let Some(head) = lines.next() {
            let head: Head = serde_json::from_str(head)?;
            ensure!(
                head.fingerprint == self.fingerprint,
                "these seeds were run by another version, which does other things with them: remove the file to start anew"
            );
        }
        for line in lines {
            let record: SeedRecord = serde_json::from_str(line)?;
            self.records.insert(record.seed, record);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(u64::try_from(whole.len())?)?;
        if whole.is_empty() {
            let fingerprint = self.fingerprint.clone();
            writeln!(file, "{}", serde_json::to_string(&Head { fingerprint })?)?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// How many seeds there are.
    pub(super) fn seeds(&self) -> usize {
        self.seeds.clone().count()
    }

    /// Those that were not run yet.
    pub(super) fn left(&self) -> Vec<u64> {
        let is_left = |seed: &u64| !self.records.contains_key(seed);
        self.seeds.clone().filter(is_left).collect()
    }

    pub(super) fn take(&mut self, record: SeedRecord) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", serde_json::to_string(&record)?)?;
        }
        self.records.insert(record.seed, record);
        Ok(())
    }

    fn asked_for(&self) -> impl Iterator<Item = &SeedRecord> {
        self.records.range(self.seeds.clone()).map(|(_, record)| record)
    }

    /// The seeds that failed.
    pub(super) fn failed(&self) -> Vec<u64> {
        let failed = self.asked_for().filter(|record| !record.problems.is_empty());
        failed.map(|record| record.seed).collect()
    }

    pub(super) fn report(&self) -> Report {
        Report::of(self.fingerprint.clone(), self.seeds.clone(), self.asked_for())
    }
}

/// Tells versions apart: what the first seed does, message by message. Whoever changes the scheduler or the faults changes
/// what seeds mean.
fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    SeedRun::whole(0).make().trace.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::Outcome;

    fn record(seed: u64) -> SeedRecord {
        SeedRecord::of(&Outcome {
            seed,
            problems: if seed == 3 { vec!["bad".to_owned()] } else { Vec::new() },
            ..Outcome::default()
        })
    }

    #[test]
    fn an_interrupted_campaign_goes_on_where_it_was_and_a_line_cut_short_is_run_again() -> anyhow::Result<()> {
        let path = std::env::temp_dir().join(format!("plimsoll-campaign-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let open = |version: &str| Progress::of(version.to_owned(), Some(&path), 0..6);
        let mut first = open("one")?;
        for seed in [0, 3, 1] {
            first.take(record(seed))?;
        }
        drop(first);
        let text = std::fs::read_to_string(&path)?;
        std::fs::write(&path, &text[..text.len() - 5])?;
        let mut second = open("one")?;
        assert_eq!(second.left(), [1, 2, 4, 5]);
        assert_eq!(second.failed(), [3]);
        second.take(record(1))?;
        drop(second);
        assert_eq!(open("one")?.left(), [2, 4, 5]);
        assert!(open("two").is_err());
        std::fs::remove_file(&path)?;
        Ok(())
    }
}
