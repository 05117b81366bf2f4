use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::case::Case;
use crate::compare::Difference;

/// What both sides are asked: a case with the means to make it, to answer it and to tell answers apart.
pub trait Question: fmt::Debug + Clone + Send + Serialize + DeserializeOwned {
    /// What a side answers.
    type Answer: fmt::Debug + Serialize + DeserializeOwned;
    /// What was exercised.
    type Coverage: Coverage<Self::Answer>;

    /// How the other program is told what is asked.
    const MODE: &'static [&'static str];
    /// Whether differences of one case have causes of their own, so that each is told; else all follow from the first.
    const INDEPENDENT: bool;
    /// The table of tests/oracle/tests/table.rs that its rows belong to.
    const TABLE: &'static str;

    /// The one with this number among those of a seed; the same each time.
    fn generate(seed: u64, number: u64) -> Self;

    /// Plimsoll's answer; a panic is an answer like any other.
    fn judge(&self) -> Self::Answer;

    /// How the answers differ.
    fn compare(&self, ours: &Self::Answer, upstream: &Self::Answer) -> Comparison;

    /// What of upstream's answer a row of the table needs that is about these differences.
    fn abridge(answer: Value, _differences: &[Difference]) -> Value {
        answer
    }

    /// All of its objects, to be looked at by the API server's validation.
    fn objects(&self) -> Case;
}

/// Counts what cases exercised.
pub trait Coverage<Answer>: fmt::Debug + fmt::Display + Default + Send {
    /// Counts a case by what upstream said of it.
    fn count(&mut self, upstream: &Answer);

    /// Adds what another worker counted.
    fn add(&mut self, other: &Self);
}

/// How two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// What should be the same.
    pub unlisted: Vec<Difference>,
    /// The lines of docs/differences.md that the rest is for.
    pub intended: Vec<&'static str>,
}

impl Comparison {
    /// Of differences that an intended one explains altogether, if there is any.
    pub(crate) fn of(unlisted: Vec<Difference>, intended: Option<&'static str>) -> Self {
        match intended {
            Some(line) => Self {
                unlisted: Vec::new(),
                intended: vec![line],
            },
            None => Self {
                unlisted,
                intended: Vec::new(),
            },
        }
    }
}
