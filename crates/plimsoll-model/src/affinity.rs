use compact_str::CompactString;
use serde::Deserialize;

use crate::decode::or_default;
use crate::{LabelSelector, NodeSelectorTerm, ParseSelectorError};

/// Where a pod wants to be and not to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// Towards nodes.
    #[serde(default)]
    pub node_affinity: Option<NodeAffinity>,
    /// Towards other pods.
    #[serde(default)]
    pub pod_affinity: Option<PodAffinity>,
    /// Away from other pods.
    #[serde(default)]
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// Which nodes a pod needs and which it would like.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(from = "WireNodeAffinity")]
pub struct NodeAffinity {
    /// One of these must match; an empty list matches no node, none at all matches every node.
    pub required: Option<Vec<NodeSelectorTerm>>,
    /// Each that matches adds its weight.
    pub preferred: Vec<PreferredTerm>,
}

/// A wish with a weight.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub struct PreferredTerm {
    /// 1 to 100; 0 makes it void.
    #[serde(default, deserialize_with = "or_default")]
    pub weight: i32,
    /// What is wished.
    #[serde(default, deserialize_with = "or_default")]
    pub preference: NodeSelectorTerm,
}

/// Which pods a pod must be, or would like to be, near; or far from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct PodAffinity {
    /// All must hold.
    #[serde(
        default,
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "or_default"
    )]
    pub required: Vec<PodAffinityTerm>,
    /// Each that holds adds its weight.
    #[serde(
        default,
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "or_default"
    )]
    pub preferred: Vec<WeightedPodAffinityTerm>,
}

/// Some pods, and the node label that says what "near" means.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAffinityTerm {
    /// Labels of the pods meant; none matches no pod.
    #[serde(default)]
    pub label_selector: Option<LabelSelector>,
    /// Namespaces of the pods meant, by name.
    #[serde(default, deserialize_with = "or_default")]
    pub namespaces: Vec<CompactString>,
    /// Namespaces of the pods meant, by their labels; an empty selector means all.
    #[serde(default)]
    pub namespace_selector: Option<LabelSelector>,
    /// Nodes with the same value of this label are near each other.
    #[serde(default, deserialize_with = "or_default")]
    pub topology_key: CompactString,
}

impl PodAffinityTerm {
    /// Whether both selectors can be parsed; if not, what is wrong with the first that can't be.
    pub fn check(&self) -> Result<(), ParseSelectorError> {
        let selectors = [&self.label_selector, &self.namespace_selector];
        selectors.into_iter().flatten().try_for_each(LabelSelector::check)
    }
}

/// A wish about other pods with a weight.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedPodAffinityTerm {
    /// 1 to 100.
    #[serde(default, deserialize_with = "or_default")]
    pub weight: i32,
    /// What is wished.
    #[serde(default, deserialize_with = "or_default")]
    pub pod_affinity_term: PodAffinityTerm,
}

#[derive(Deserialize)]
struct WireNodeAffinity {
    #[serde(default, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<WireNodeSelector>,
    #[serde(
        default,
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "or_default"
    )]
    preferred: Vec<PreferredTerm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireNodeSelector {
    #[serde(default, deserialize_with = "or_default")]
    node_selector_terms: Vec<NodeSelectorTerm>,
}

impl From<WireNodeAffinity> for NodeAffinity {
    fn from(wire: WireNodeAffinity) -> Self {
        Self {
            required: wire.required.map(|selector| selector.node_selector_terms),
            preferred: wire.preferred,
        }
    }
}
