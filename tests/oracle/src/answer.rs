use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one side makes of a case. Nodes that pass have no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Answer {
    /// Why there is no answer, such as a configuration that is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// An internal failure that would end the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Upstream: those of other nodes. Any of them may end the attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_failures: Vec<String>,
    /// The pod is turned away as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_filter: Option<Verdict>,
    /// The nodes that the pre-filters leave, when they name the only ones that will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restricted: Option<Vec<String>>,
    /// By node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub verdicts: BTreeMap<String, Verdict>,
    /// What users read when no node passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit_error: Option<String>,
    /// Plugins that turned the pod away when no node passes, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejectors: Vec<String>,
    /// By plugin and node; none when nothing was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<BTreeMap<String, BTreeMap<String, Score>>>,
    /// By node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<BTreeMap<String, i64>>,
    /// What would be done about the pod's volumes, by node that passes; none where there is nothing to do.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, Volumes>,
}

/// What is done about a pod's volumes on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Volumes {
    /// They cannot be reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Volumes that are there, and namespace and name of the claim that gets each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bound: BTreeMap<String, String>,
    /// Namespace and name of the claims for which volumes are to be made, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provisioned: Vec<String>,
}

/// Why a node, or every node, will not do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// The status code's name.
    pub code: String,
    /// What users read.
    pub reasons: Vec<String>,
    /// Who said so; empty when no single plugin did.
    pub plugin: String,
}

/// One plugin's score of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Score {
    /// As the plugin gave it.
    pub raw: i64,
    /// Brought to 0..=100.
    pub normalised: i64,
    /// Times its weight.
    pub weighted: i64,
}
