//! Extension points that narrow the nodes.

use std::borrow::Cow;

use compact_str::CompactString;
use plimsoll_model::columns::{NodeIndex, NodeSet};
use smallvec::SmallVec;

use super::{CycleContext, Plugin};
use crate::{CycleState, EffectReply, EffectRequest, FilterPass, ReasonCode, Status};

/// What a pre-filter says of the pod as a whole.
#[derive(Debug)]
pub enum PreFilterOutcome {
    /// Go on; this plugin's filter runs.
    Continue,
    /// This plugin's filter has nothing to do in this cycle.
    Skip,
    /// Only these nodes can pass this plugin.
    Restrict(Restriction),
    /// No node can take the pod (`Unschedulable` or `UnschedulableAndUnresolvable`), or an internal failure (`Error`).
    Stop(Status),
}

/// The nodes that a pre-filter leaves. It may know of nodes by name that are not there: what users read depends on whether
/// several plugins have no name in common, or only no node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restriction {
    /// Nodes that are there.
    pub nodes: NodeSet,
    /// Names that no node has.
    pub absent: Vec<CompactString>,
}

impl Restriction {
    /// The nodes that are there.
    pub fn iter(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.nodes.iter()
    }
}

impl FromIterator<NodeIndex> for Restriction {
    fn from_iter<T: IntoIterator<Item = NodeIndex>>(nodes: T) -> Self {
        Self {
            nodes: nodes.into_iter().collect(),
            absent: Vec::new(),
        }
    }
}

/// Looks at the pod once per cycle, before any node.
pub trait PreFilter: Plugin {
    /// Judges the pod and prepares what the filter needs.
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome;
}

/// The texts behind a reason code; mostly one.
pub type Reasons = SmallVec<[Cow<'static, str>; 1]>;

/// Narrows the set of feasible nodes.
pub trait Filter: Plugin {
    /// Rejects nodes through `pass`; `Err` is an internal failure that ends the attempt.
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String>;

    /// The texts behind a code that this plugin gave, in the order users read them.
    fn reasons(&self, cycle: CycleContext<'_>, state: &CycleState, code: ReasonCode) -> Reasons;

    /// Whether neither pods on one node nor that node itself ever change its verdict on another. Nodes that nominated pods
    /// contend for are then judged all at once, else one by one, each with only its own nominated pods on it; and a new node
    /// is taken to help a pod that several such filters rejected only if it suits all of them.
    fn judges_nodes_alone(&self) -> bool {
        false
    }

    /// Whether its verdict on a node follows from what the pod asks for (its spec but for volumes and claims, and its status as
    /// to resources), the plugin's arguments and that node's row in the columns alone. It is then not asked again about nodes
    /// that have not changed ([`Columns::changed_since`](plimsoll_model::columns::Columns::changed_since)) when another such pod comes. Such a filter
    /// [judges nodes alone](Filter::judges_nodes_alone), and looks only at the nodes that it is shown.
    fn follows_rows(&self) -> bool {
        false
    }

    /// Sorts nodes by what it mostly lets through or rejects together, such as zones: equal marks for those. A hint, which helps
    /// to find the best node without a look at all and is no part of what it decides; a mark should follow from the node's row
    /// alone. Whether it has sorted them.
    fn sort_out(
        &self,
        _cycle: CycleContext<'_>,
        _state: &CycleState,
        _nodes: &[NodeIndex],
        _marks: &mut [u64],
    ) -> bool {
        false
    }

    /// What the filter sees of the pods on nodes. Preemption tries nodes without some of their pods, and need not do more
    /// than is seen.
    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Everything
    }

    /// What a node that this filter has rejected lacks for the pod, for people: amounts and names, where
    /// [`reasons`](Filter::reasons) only says of what kind. Asked on demand, of a few nodes; empty when there is no more to
    /// say.
    fn lacking(&self, _cycle: CycleContext<'_>, _state: &CycleState, _node: NodeIndex) -> Vec<String> {
        Vec::new()
    }

    /// How far a node that this filter has rejected is from taking the pod, in thousandths of what the pod asks for: it tells
    /// which of the nodes that lack the same is nearest. Asked on demand, of each such node; 0 when nodes are all as near.
    fn distance(&self, _cycle: CycleContext<'_>, _state: &CycleState, _node: NodeIndex) -> u32 {
        0
    }
}

/// What a filter sees of the pods on nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodsSeen {
    /// Nothing: what it says of a node is the same with any pods there.
    Nothing,
    /// How many there are on the node that it judges, and what they request together. Such a filter
    /// [judges nodes alone](Filter::judges_nodes_alone).
    Requests,
    /// Anything, on any node.
    Everything,
}

/// A filter that needs I/O over the nodes that passed all others, as HTTP extenders do.
pub trait EffectFilter: Plugin {
    /// What to ask, or nothing when the plugin is not interested in the pod.
    fn request(&self, cycle: CycleContext<'_>, state: &mut CycleState, feasible: &NodeSet) -> Option<EffectRequest>;

    /// Narrows the nodes by what came back; `Err` is an internal failure that ends the attempt.
    fn apply(
        &self,
        cycle: CycleContext<'_>,
        state: &mut CycleState,
        reply: EffectReply,
        pass: &mut FilterPass<'_>,
    ) -> Result<(), String>;

    /// The texts behind a code that this plugin gave.
    fn reasons(&self, cycle: CycleContext<'_>, state: &CycleState, code: ReasonCode) -> Reasons;
}
