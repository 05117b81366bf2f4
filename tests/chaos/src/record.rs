//! What is kept of a campaign, so that the next call goes on with it.

use std::fmt;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::fault::Plan;
use crate::hand_over::HandOver;
use crate::lease::LeaseTimes;

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Its number.
    pub round: u64,
    /// The times of the election.
    pub lease: LeaseTimes,
    /// What was done.
    pub plan: Plan,
    /// The changes of leaders.
    pub hand_overs: Vec<HandOver>,
    /// Pods bound.
    pub bound: u64,
    /// Pods deleted by the scheduler to make room.
    pub evicted: u64,
    /// Writes of schedulers of which it was judged whether the lease allowed them.
    pub fenced: u64,
    /// Writes of schedulers for which the audit logs name nobody.
    pub unattributed: u64,
    /// Requests that were never answered by the end.
    pub unanswered: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How long it took, once all was mended and the churn had ended, until everything was settled, in seconds.
    #[serde(default)]
    pub settling: f64,
    /// What was not settled for long then.
    #[serde(default)]
    pub slow: Vec<String>,
    /// Broken promises.
    pub violations: Vec<String>,
    /// Where logs and data are kept, when there are violations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// A number of rounds run by one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When it began, UTC.
    pub began: String,
    /// The commit of the tree that it was started in.
    pub commit: String,
    /// Its first round.
    pub from: u64,
    /// How many rounds it has done.
    pub rounds: u64,
}

/// All rounds of a seed so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// What everything is drawn from.
    pub seed: u64,
    /// The calls, in order.
    pub sessions: Vec<Session>,
    /// The rounds, in order; each has its place.
    pub rounds: Vec<RoundRecord>,
    /// Rounds that could not be played to their end, with the reason; each was tried again.
    pub broken_off: Vec<String>,
}

const FILE: &str = "state.json";

impl Campaign {
    /// What the folder holds, or a beginning.
    pub fn open(dir: &Path, seed: u64) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        if !path.exists() {
            return Ok(Self {
                seed,
                sessions: Vec::new(),
                rounds: Vec::new(),
                broken_off: Vec::new(),
            });
        }
        let campaign: Self = serde_json::from_slice(&std::fs::read(&path)?)
            .with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(
            campaign.seed == seed,
            "{} is about seed {}; another seed needs another folder",
            path.display(),
            campaign.seed
        );
        Ok(campaign)
    }

    /// Writes everything down; a reader sees the old file or the new one.
    pub fn save(&self, dir: &Path) -> anyhow::Result<()> {
        replace(&dir.join(FILE), &serde_json::to_vec(self)?)
    }

    /// The number of the next round.
    pub fn next_round(&self) -> u64 {
        self.rounds.len() as u64
    }

    /// How many promises were broken.
    pub fn violations(&self) -> usize {
        self.rounds.iter().map(|round| round.violations.len()).sum()
    }

    /// How many faults there were.
    pub fn faults(&self) -> usize {
        self.rounds.iter().map(|round| round.plan.faults.len()).sum()
    }
}

/// Puts a file in its place at once.
pub(crate) fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let next = path.with_extension("next");
    std::fs::write(&next, content)?;
    std::fs::rename(&next, path)?;
    Ok(())
}

/// One line of progress.
impl fmt::Display for RoundRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.plan.faults.iter().map(ToString::to_string).collect();
        write!(f, "round {}: {}", self.round, faults.join(" + "))?;
        let totals: Vec<String> = self
            .hand_overs
            .iter()
            .map(|hand_over| {
                hand_over
                    .total()
                    .map_or_else(|| "?".to_owned(), |total| format!("{total:.2}"))
            })
            .collect();
        if !totals.is_empty() {
            write!(f, "; next leader bound after {} s", totals.join(", "))?;
        }
        write!(f, "; {} pods bound, {:.1} s", self.bound, self.seconds)?;
        self.slow
            .iter()
            .take(3)
            .try_for_each(|open| write!(f, "\n    slow: {open}"))?;
        self.violations
            .iter()
            .try_for_each(|violation| write!(f, "\n    BROKEN: {violation}"))?;
        if let Some(kept) = &self.kept {
            write!(f, "\n    everything is kept in {kept}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_controlplane::WorkDir;

    use super::*;

    #[test]
    fn a_campaign_goes_on_where_it_was_and_only_with_its_seed() {
        let dir = WorkDir::new("campaign-test").unwrap();
        let mut campaign = Campaign::open(dir.path(), 7).unwrap();
        assert_eq!(campaign.next_round(), 0);
        campaign.rounds.push(RoundRecord {
            round: 0,
            lease: LeaseTimes::Quick,
            plan: Plan::draw(7, 0, LeaseTimes::Quick),
            hand_overs: Vec::new(),
            bound: 3,
            evicted: 0,
            fenced: 4,
            unattributed: 0,
            unanswered: 0,
            seconds: 5.5,
            settling: 0.5,
            slow: Vec::new(),
            violations: vec!["a".to_owned()],
            kept: None,
        });
        campaign.save(dir.path()).unwrap();
        let again = Campaign::open(dir.path(), 7).unwrap();
        assert_eq!(again, campaign);
        assert_eq!((again.next_round(), again.violations()), (1, 1));
        assert!(Campaign::open(dir.path(), 8).is_err());
    }
}
