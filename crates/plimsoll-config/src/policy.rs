//! The `Policy` of Kubernetes 1.0 to 1.22 (`kind: Policy, apiVersion: v1`): predicates and priorities by name.
//!
//! [`decode_policy`](crate::decode_policy) reads one, [`Policy::convert`] makes a [`SchedulerConfig`](crate::SchedulerConfig)
//! of it. What became of each name is a table of this module and of the documentation.

mod convert;
mod error;
mod gathered;
mod predicates;
mod priorities;
#[cfg(test)]
mod tests;

pub use convert::{Converted, PolicyNote};
pub use error::{PolicyError, PolicyErrors};

use crate::{ExtenderConfig, ResourceWeight, UtilizationShapePoint};

/// A Policy as its file says it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// What nodes must meet. None means the defaults of the last release that read Policies, an empty list nothing.
    pub predicates: Option<Vec<PredicatePolicy>>,
    /// What makes nodes better. None means the defaults of the last release that read Policies, an empty list nothing.
    pub priorities: Option<Vec<PriorityPolicy>>,
    /// HTTP extenders.
    pub extenders: Vec<ExtenderConfig>,
    /// What a required affinity term of an existing pod adds to a node's score, 0 to 100; 0 leaves the default.
    pub hard_pod_affinity_symmetric_weight: i32,
    /// Whether a node is to tell all predicates that it fails, and not the first only.
    pub always_check_all_predicates: bool,
}

/// One entry of `predicates`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PredicatePolicy {
    /// A known name, one of a plugin of the user's own, or any name when there is an argument.
    pub name: String,
    /// Makes a predicate of a given type.
    pub argument: Option<PredicateArgument>,
}

/// Exactly one of these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PredicateArgument {
    /// Labels whose values the nodes of one service's pods share.
    pub service_affinity: Option<Vec<String>>,
    /// Labels that nodes must have, or must not have.
    pub labels_presence: Option<LabelsPresence>,
}

/// Labels that nodes must have, or must not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelsPresence {
    /// Keys of the labels.
    pub labels: Vec<String>,
    /// Whether they must be there.
    pub presence: bool,
}

/// One entry of `priorities`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriorityPolicy {
    /// A known name, one of a plugin of the user's own, or any name when there is an argument.
    pub name: String,
    /// Multiplies the score.
    pub weight: i64,
    /// Makes a priority of a given type.
    pub argument: Option<PriorityArgument>,
}

/// Exactly one of these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriorityArgument {
    /// The label over whose values a service's pods are spread.
    pub service_anti_affinity: Option<String>,
    /// A label that nodes should have, or should not have.
    pub label_preference: Option<LabelPreference>,
    /// A function of the used share of resources.
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatio>,
}

/// A label that nodes should have, or should not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelPreference {
    /// Key of the label.
    pub label: String,
    /// Whether it should be there.
    pub presence: bool,
}

/// A function of the used share of resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestedToCapacityRatio {
    /// Points of the function.
    pub shape: Vec<UtilizationShapePoint>,
    /// The resources; an empty list means cpu and memory.
    pub resources: Vec<ResourceWeight>,
}

impl PredicateArgument {
    fn count(&self) -> usize {
        usize::from(self.service_affinity.is_some()) + usize::from(self.labels_presence.is_some())
    }
}

impl PriorityArgument {
    fn count(&self) -> usize {
        usize::from(self.service_anti_affinity.is_some())
            + usize::from(self.label_preference.is_some())
            + usize::from(self.requested_to_capacity_ratio.is_some())
    }
}
