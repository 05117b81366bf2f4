//! Choosing workloads by their labels and names.

use std::str::FromStr;

use super::Workload;

/// Labels separated by commas that a workload must have, or with `-` in front must not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelFilter {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl FromStr for LabelFilter {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut filter = Self::default();
        for label in text.split(',').map(str::trim).filter(|label| !label.is_empty()) {
            match label.strip_prefix('-') {
                Some(label) => filter.unwanted.push(label.to_owned()),
                None => filter.wanted.push(label.trim_start_matches('+').to_owned()),
            }
        }
        Ok(filter)
    }
}

impl LabelFilter {
    /// Whether the workload has what is wanted, and nothing else.
    pub fn takes(&self, workload: &Workload) -> bool {
        let has = |label: &String| workload.labels.contains(label);
        self.wanted.iter().all(has) && !self.unwanted.iter().any(has)
    }
}
