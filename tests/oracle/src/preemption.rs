//! Who has to go for a pod that finds no node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::allowed::allowed_preemption;
use crate::case::Case;
use crate::question::{Comparison, Question};

mod compare;
mod coverage;
mod ours;
mod ranks;

use ranks::Ranks;

pub use compare::preemption_differences;
pub use coverage::Preemptions;

/// A cluster whose pod finds no node, most likely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct PreemptionCase(pub Case);

/// What a side does for the pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PreemptionAnswer {
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// An internal failure that ended the attempt before its post-filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Some node will do.
    #[serde(skip_serializing_if = "is_false")]
    pub placed: bool,
    /// What users read, with what the post-filters said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit_error: Option<String>,
    /// Upstream: the status of the post-filters together, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Upstream: their message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The node that the pod is nominated to from now on, or empty; without one it stays as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nomination: Option<String>,
    /// What becomes of each node that was tried without some of its pods. Ours: of those where that helps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tried: BTreeMap<String, Tried>,
    /// Upstream: the nodes of which any may be chosen. Ours: the one that was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<String>,
    /// The pods that are told to go, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<String>,
    /// The pods that lose their nomination.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<String>,
    /// Upstream: the number of the rule that left one of several nodes; 6 is chance.
    #[serde(skip_serializing_if = "is_zero")]
    pub decided: usize,
}

/// What becomes of a node without some of its pods.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Tried {
    /// The pods that have to go, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<String>,
    /// How many of them a budget would rather keep.
    #[serde(skip_serializing_if = "is_zero")]
    pub violations: usize,
    /// The status code's name.
    pub code: String,
    /// Upstream: why the node will not do even so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Upstream: how many pods are less important than the one to place.
    #[serde(skip_serializing_if = "is_zero")]
    pub lower: usize,
    /// Upstream: why the node will not do with all of its pods.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub before: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl Question for PreemptionCase {
    type Answer = PreemptionAnswer;
    type Coverage = Preemptions;

    const MODE: &'static [&'static str] = &["--preemption"];
    const INDEPENDENT: bool = false;
    const TABLE: &'static str = "PREEMPTIONS";

    fn generate(seed: u64, number: u64) -> Self {
        Self(crate::generate::crowded(seed, number))
    }

    fn judge(&self) -> PreemptionAnswer {
        ours::judge(&self.0)
    }

    fn compare(&self, ours: &PreemptionAnswer, upstream: &PreemptionAnswer) -> Comparison {
        let ranks = Ranks::of(&self.0);
        let unlisted = preemption_differences(&ranks.settled(ours), &ranks.settled(upstream));
        let allowed = allowed_preemption(self, upstream).filter(|_| !unlisted.is_empty());
        Comparison::of(unlisted, allowed.map(|allowed| allowed.line))
    }

    fn objects(&self) -> Case {
        self.0.clone()
    }
}
