use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chaos::{Counters, Outcome};

/// What came of one seed: a line of the state file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedRecord {
    /// Which seed.
    pub seed: u64,
    /// Everything that must not be.
    pub problems: Vec<String>,
    /// The smallest run that fails like it, in words and as a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Pods that had a node in the end.
    pub placed: u64,
    /// Messages between actors.
    pub messages: u64,
    /// What there was of what is hard.
    pub counters: Counters,
    /// How often what was done to the cluster and its replicas, by the words for it.
    pub deeds: BTreeMap<String, u64>,
}

impl SeedRecord {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let mut deeds = BTreeMap::new();
        for deed in outcome.steps.iter().flat_map(|words| words.split("; ")) {
            let name = words_of(deed);
            if !name.is_empty() {
                *deeds.entry(name).or_default() += 1;
            }
        }
        let count = |lines: usize| u64::try_from(lines).unwrap_or(u64::MAX);
        let is_message = |line: &&String| !line.contains(" * ");
        Self {
            seed: outcome.seed,
            problems: outcome.problems.clone(),
            failure: None,
            placed: count(outcome.placements.len()),
            messages: count(outcome.trace.iter().filter(is_message).count()),
            counters: outcome.counters,
            deeds,
        }
    }
}

/// The words that a deed's description begins with: `suspend replica-3 for 2s` is one of `suspend`.
fn words_of(deed: &str) -> String {
    let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let words: Vec<_> = deed.split_whitespace().take_while(is_plain).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_are_counted_by_what_was_done_not_to_whom() {
        let outcome = Outcome {
            steps: vec![
                "create pod p1-1 {}; create pod p1-2 {}".to_owned(),
                String::new(),
                "suspend replica-3-1 for 2s".to_owned(),
            ],
            trace: vec![
                "     1.000 replica-0-1 Supervisor: TermBegan 1".to_owned(),
                "     2.000 * suspend replica-3-1 for 2s".to_owned(),
            ],
            ..Outcome::default()
        };
        let record = SeedRecord::of(&outcome);
        let deeds: Vec<_> = record
            .deeds
            .iter()
            .map(|(deed, times)| (deed.as_str(), *times))
            .collect();
        assert_eq!(deeds, [("create pod", 2), ("suspend", 1)]);
        assert_eq!(record.messages, 1);
    }
}
