use std::fmt;

/// At which stage finding, reserving or binding volumes failed inside; names are kube-scheduler's, since a metric carries them
/// as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VolumeStage {
    /// While volumes were looked for.
    Predicate,
    /// While they were reserved in memory.
    Assume,
    /// While they were bound.
    Bind,
}

impl VolumeStage {
    /// Every stage.
    pub const ALL: [Self; 3] = [Self::Predicate, Self::Assume, Self::Bind];

    /// The label in the metric.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Predicate => "predicate",
            Self::Assume => "assume",
            Self::Bind => "bind",
        }
    }
}

impl fmt::Display for VolumeStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
