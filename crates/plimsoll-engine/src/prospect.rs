use compact_str::CompactString;
use plimsoll_framework::{Resolvability, Status};
use plimsoll_model::ObjectName;

/// What would help a pod: the nodes that are nearest to taking it, and what each of them lacks. It is found out anew, on
/// demand, and nothing follows from it.
///
/// Each filter is asked about every node, whatever other filters say of it. Filters with I/O and extenders are not asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prospect {
    /// An internal failure that would end an attempt, with its text.
    pub failure: Option<String>,
    /// A pre-filter turns the pod away as a whole: no node would help.
    pub rejection: Option<Status>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The pre-filters that leave only some of them, and how many those are.
    pub restricted: Option<(Vec<&'static str>, usize)>,
    /// The nodes that lack the least, nearest first.
    pub nearest: Vec<NearNode>,
}

/// One node, and all that keeps the pod from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearNode {
    /// Its name.
    pub name: CompactString,
    /// Each filter that rejects it.
    pub lacks: Vec<Lack>,
    /// Pods that are nominated to the node and that room is kept for, when the pod would fit beside everybody else.
    pub kept_for: Vec<ObjectName>,
}

/// Why one filter rejects a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The filter's plugin.
    pub plugin: &'static str,
    /// What users read in conditions and events.
    pub reasons: Vec<String>,
    /// The same with amounts and names, as far as the plugin tells.
    pub details: Vec<String>,
    /// Whether the pod would fit if others went, or something outside happened.
    pub resolvability: Resolvability,
}

impl NearNode {
    /// Whether nothing is known to keep the pod from the node.
    pub fn fits(&self) -> bool {
        self.lacks.is_empty() && self.kept_for.is_empty()
    }
}
