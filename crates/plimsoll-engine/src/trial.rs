use compact_str::CompactString;
use plimsoll_framework::Status;
use plimsoll_model::storage::VolumeReservation;

use crate::{Candidate, Diagnosis};

/// What a cycle would make of a pod, node by node: the same steps, nothing claimed and nothing remembered.
///
/// Extenders are not asked, and scores are given even when only one node would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trial {
    /// An internal failure that would end the attempt, with its text.
    pub failure: Option<String>,
    /// A pre-filter turned the pod away as a whole; no node was looked at.
    pub rejection: Option<Status>,
    /// The nodes that the pre-filters leave, when they name the only ones that will do.
    pub restriction: Option<Vec<CompactString>>,
    /// Every node, in the order of the columns; none when no filter ran.
    pub nodes: Vec<NodeTrial>,
    /// Scores over the nodes that will do, in their order; plugins that had nothing to say are left out.
    pub scores: Vec<PluginScores>,
    /// Why no node will do, when that is so.
    pub diagnosis: Option<Diagnosis>,
    /// What plugins would hold of storage on each of the nodes that will do, in their order, or why they cannot; none unless
    /// it was asked for.
    pub reservations: Vec<Result<VolumeReservation, Status>>,
}

/// What preemption would do for a pod that no node will do for; see [`Trial`].
///
/// Every potential node is looked at, in the order of nodes, whatever the plugin's arguments say of fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionTrial {
    /// What would become of the attempt: its text, the nomination and the plan.
    pub diagnosis: Diagnosis,
    /// Every candidate, those that violate no budget first.
    pub candidates: Vec<Candidate>,
}

/// What the filters make of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTrial {
    /// Its name.
    pub name: CompactString,
    /// Why it will not do; none when it will.
    pub rejection: Option<Status>,
}

/// One score plugin's column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginScores {
    /// Its name.
    pub plugin: &'static str,
    /// Multiplies the normalised scores in the total.
    pub weight: i64,
    /// As the plugin gave them.
    pub raw: Vec<i64>,
    /// Brought to 0..=100.
    pub normalised: Vec<i64>,
}

impl Trial {
    /// The nodes that will do.
    pub fn feasible(&self) -> impl Iterator<Item = &NodeTrial> {
        self.nodes.iter().filter(|node| node.rejection.is_none())
    }

    /// Each feasible node with the weighted sum of its scores.
    pub fn totals(&self) -> impl Iterator<Item = (&str, i64)> {
        self.feasible().enumerate().map(|(at, node)| {
            let weighted = |scores: &PluginScores| scores.normalised.get(at).map_or(0, |score| score * scores.weight);
            (node.name.as_str(), self.scores.iter().map(weighted).sum())
        })
    }
}
