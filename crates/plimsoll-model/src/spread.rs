use compact_str::CompactString;
use serde::Deserialize;

use crate::LabelSelector;
use crate::decode::or_default;

/// What happens when a spread constraint can't be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(from = "CompactString")]
pub enum WhenUnsatisfiable {
    /// The pod waits; so it does for a word not known here.
    #[default]
    DoNotSchedule,
    /// The node is only less attractive.
    ScheduleAnyway,
}

/// Whether something about the pod decides which nodes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "CompactString")]
pub enum NodeInclusionPolicy {
    /// Nodes that the pod can't use are not counted.
    Honor,
    /// Every node is counted; so it is for a word not known here.
    Ignore,
}

/// How evenly pods must be spread over the values of a node label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpreadConstraint {
    /// Largest allowed difference between domains.
    #[serde(default, deserialize_with = "or_default")]
    pub max_skew: i32,
    /// Node label whose values are the domains.
    #[serde(default, deserialize_with = "or_default")]
    pub topology_key: CompactString,
    /// What happens when it can't be met.
    #[serde(default, deserialize_with = "or_default")]
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// The pods that are counted; none matches nothing.
    #[serde(default)]
    pub label_selector: Option<LabelSelector>,
    /// Fewer domains than this count as if one were empty.
    #[serde(default)]
    pub min_domains: Option<i32>,
    /// Whether node selector and affinity matter; none means `Honor`.
    #[serde(default)]
    pub node_affinity_policy: Option<NodeInclusionPolicy>,
    /// Whether taints matter; none means `Ignore`.
    #[serde(default)]
    pub node_taints_policy: Option<NodeInclusionPolicy>,
    /// Labels of the pod itself whose values narrow the selector.
    #[serde(default, deserialize_with = "or_default")]
    pub match_label_keys: Vec<CompactString>,
}

// An unknown word must not make a pod unreadable: what it occupies would not be counted.

impl From<CompactString> for WhenUnsatisfiable {
    fn from(text: CompactString) -> Self {
        if text == "ScheduleAnyway" {
            Self::ScheduleAnyway
        } else {
            Self::DoNotSchedule
        }
    }
}

impl From<CompactString> for NodeInclusionPolicy {
    fn from(text: CompactString) -> Self {
        if text == "Honor" { Self::Honor } else { Self::Ignore }
    }
}
