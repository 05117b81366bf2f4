use std::fmt;

/// Where a plugin takes part; names are kube-scheduler's, since metrics and traces carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExtensionPoint {
    /// Gates, in the queue.
    PreEnqueue,
    /// The pod as a whole.
    PreFilter,
    /// Every node.
    Filter,
    /// Room for a pod that no node will do for.
    PostFilter,
    /// Before scoring.
    PreScore,
    /// The feasible nodes.
    Score,
    /// Bringing the scores of one plugin into 0..=100; kube-scheduler counts it as a point of its own for plugins only.
    ScoreExtensionNormalize,
    /// The chosen node.
    Reserve,
    /// Taking that back.
    Unreserve,
    /// The last word before binding.
    Permit,
    /// Which plugins have work to do before binding.
    PreBindPreFlight,
    /// That work.
    PreBind,
    /// The binding.
    Bind,
    /// The pod is bound.
    PostBind,
}

impl ExtensionPoint {
    /// The name used in metrics and traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreEnqueue => "PreEnqueue",
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::ScoreExtensionNormalize => "ScoreExtensionNormalize",
            Self::Reserve => "Reserve",
            Self::Unreserve => "Unreserve",
            Self::Permit => "Permit",
            Self::PreBindPreFlight => "PreBindPreFlight",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }
}

impl fmt::Display for ExtensionPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
