//! Every priority that a release of Kubernetes ever had a name for.

use std::fmt;

use crate::{ScoringStrategyType, UtilizationShapePoint};

/// What became of a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// This plugin scores in its place.
    Plugin(&'static str),
    /// As [`Meaning::Plugin`], and not quite the same: why.
    Roughly(&'static str, &'static str),
    /// A way to score by the used share of resources.
    Resources(Strategy),
    /// Nothing: why.
    Nothing(&'static str),
}

/// A way to score by the used share of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    Least,
    Most,
    Ratio,
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(plugin) | Self::Roughly(plugin, _) => f.write_str(plugin),
            Self::Resources(strategy) => f.write_str(strategy.plugin()),
            Self::Nothing(why) => f.write_str(why),
        }
    }
}

impl Strategy {
    pub(super) fn kind(self) -> ScoringStrategyType {
        match self {
            Self::Least => ScoringStrategyType::LeastAllocated,
            Self::Most => ScoringStrategyType::MostAllocated,
            Self::Ratio => ScoringStrategyType::RequestedToCapacityRatio,
        }
    }

    /// The plugin that scores so when `NodeResourcesFit` scores in another way already.
    pub(super) fn plugin(self) -> &'static str {
        match self {
            Self::Least => "NodeResourcesLeastAllocated",
            Self::Most => "NodeResourcesMostAllocated",
            Self::Ratio => "RequestedToCapacityRatio",
        }
    }
}

/// In order of names.
pub(super) const KNOWN: &[(&str, Meaning)] = &[
    (
        "BalancedResourceAllocation",
        Meaning::Roughly(
            "NodeResourcesBalancedAllocation",
            "nodes are judged by what the pod changes in their balance, as kube-scheduler does today",
        ),
    ),
    ("EqualPriority", Meaning::Nothing("it gives every node the same score")),
    ("EvenPodsSpreadPriority", Meaning::Plugin("PodTopologySpread")),
    ("ImageLocalityPriority", Meaning::Plugin("ImageLocality")),
    ("InterPodAffinityPriority", Meaning::Plugin("InterPodAffinity")),
    ("LeastRequestedPriority", Meaning::Resources(Strategy::Least)),
    ("MostRequestedPriority", Meaning::Resources(Strategy::Most)),
    ("NodeAffinityPriority", Meaning::Plugin("NodeAffinity")),
    ("NodePreferAvoidPodsPriority", Meaning::Plugin("NodePreferAvoidPods")),
    ("RequestedToCapacityRatioPriority", Meaning::Resources(Strategy::Ratio)),
    (
        "ResourceLimitsPriority",
        Meaning::Nothing("it was off unless a feature gate was set, and went without a successor"),
    ),
    ("SelectorSpreadPriority", Meaning::Plugin("SelectorSpread")),
    ("ServiceSpreadingPriority", Meaning::Plugin("ServiceSpreading")),
    ("TaintTolerationPriority", Meaning::Plugin("TaintToleration")),
];

/// What kube-scheduler 1.22 preferred when a Policy named no priorities, with weights.
pub(super) const DEFAULTS: [(&str, i64); 9] = [
    ("BalancedResourceAllocation", 1),
    ("EvenPodsSpreadPriority", 2),
    ("ImageLocalityPriority", 1),
    ("InterPodAffinityPriority", 1),
    ("LeastRequestedPriority", 1),
    ("NodeAffinityPriority", 1),
    ("NodePreferAvoidPodsPriority", 10_000),
    ("SelectorSpreadPriority", 1),
    ("TaintTolerationPriority", 1),
];

/// The function of `RequestedToCapacityRatioPriority` without an argument: emptier is better.
pub(super) const DEFAULT_SHAPE: [UtilizationShapePoint; 2] = [
    UtilizationShapePoint {
        utilization: 0,
        score: 10,
    },
    UtilizationShapePoint {
        utilization: 100,
        score: 0,
    },
];

/// What became of the priority of that name.
pub(super) fn find(name: &str) -> Option<Meaning> {
    let known = KNOWN.iter().find(|(known, _)| *known == name)?;
    Some(known.1)
}
