use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use plimsoll_model::storage::{VolumeWrite, VolumeWritten};
use plimsoll_model::{Moment, Pod};
use smallvec::SmallVec;

use crate::{
    CycleState, EffectReply, EffectRequest, EnqueueExtensions, Feasible, FilterPass, LastAnswer, MAX_NODE_SCORE,
    MarkBasis, PostFilter, ReasonCode, Status, WaitingPods,
};

/// A named piece of scheduling behaviour. What it takes part in is what it puts into its [`Extensions`].
pub trait Plugin: Send + Sync + 'static {
    /// The name in profiles, metrics and messages.
    fn name(&self) -> &'static str;
}

/// What every extension point of a cycle may look at.
#[derive(Debug, Clone, Copy)]
pub struct CycleContext<'a> {
    /// The pod being placed.
    pub pod: &'a Pod,
    /// The cluster as of this cycle, claims included.
    pub columns: &'a Columns,
    /// The time of the cycle.
    pub now: Moment,
}

/// What a queue sort compares.
#[derive(Debug, Clone, Copy)]
pub struct QueueOrder<'a> {
    /// The waiting pod.
    pub pod: &'a Pod,
    /// When it entered the queue, or returned to it after its last attempt.
    pub timestamp: Moment,
}

/// Orders the active pods; exactly one per scheduler, the same in all profiles.
pub trait QueueSort: Plugin {
    /// `Less` means `a` is tried before `b`.
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering;
}

/// Whether a pod may enter the active queue; `Err` holds the text that says what it waits for.
pub type GateStatus = Result<(), String>;

/// Holds pods back before they are ever tried.
pub trait PreEnqueue: Plugin {
    /// Whether the pod may be tried now.
    fn pre_enqueue(&self, pod: &Pod) -> GateStatus;
}

/// Asks the columns to keep the counts that the plugin will read, before the pod is judged.
pub trait Prepare: Plugin {
    /// Called before the pre-filters, each time the pod is looked at, for every plugin that is enabled at any point.
    fn prepare(&self, pod: &Pod, columns: &mut Columns);
}

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
    /// that have not changed ([`Columns::changed_since`]) when another such pod comes. Such a filter
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

/// What a pre-score says.
#[derive(Debug, PartialEq, Eq)]
pub enum PreScoreOutcome {
    /// The plugin's score runs.
    Continue,
    /// The plugin's score has nothing to add in this cycle.
    Skip,
    /// An internal failure ends the attempt.
    Error(String),
}

/// Prepares scoring over the feasible nodes.
pub trait PreScore: Plugin {
    /// Prepares what the score needs.
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, feasible: &Feasible<'_>) -> PreScoreOutcome;
}

/// How raw scores become 0..=100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalize {
    /// Raw scores are in range already.
    No,
    /// `score * 100 / max` in integers; reversed: 100 minus that. A maximum of 0 or less leaves scores as they are, or
    /// makes them 100 when reversed.
    Default {
        /// Whether the highest raw score is the worst.
        reverse: bool,
    },
}

impl Normalize {
    /// Normalises a column of scores.
    pub fn apply(self, scores: &mut [i64]) {
        let Self::Default { reverse } = self else { return };
        let max = scores.iter().copied().max().unwrap_or(0).max(0);
        // Wraps where Go does: what comes of it is out of range, and told.
        let share = |score: i64| score.wrapping_mul(MAX_NODE_SCORE) / max;
        let normalized = |score: i64| match (max, reverse) {
            (0, true) => MAX_NODE_SCORE,
            (0, false) => score,
            (_, false) => share(score),
            (_, true) => MAX_NODE_SCORE.wrapping_sub(share(score)),
        };
        let mut normalized = LastAnswer::of(normalized);
        for score in scores {
            *score = normalized.to(*score);
        }
    }
}

/// Fills a column of scores, one per feasible node.
pub trait Score: Plugin {
    /// Writes the raw score of `feasible[i]` to `scores[i]`, which is 0 before; `Err` is an internal failure.
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String>;

    /// Whether a node's raw score is in 0..=100, needs no [`normalize`](Score::normalize), and follows from no more than
    /// [`Filter::follows_rows`] says.
    fn follows_rows(&self) -> bool {
        false
    }

    /// Whether every node gets the same score in 0..=100 in the end, whichever are feasible: then nobody need be asked. Called
    /// after the pre-scores.
    fn is_uniform(&self, _cycle: CycleContext<'_>, _state: &CycleState) -> bool {
        false
    }

    /// Whether it can tell nodes apart by marks, and what these follow from; asked after the pre-scores.
    ///
    /// Feasible nodes with the same mark get the same score in the end, and [`score`](Score::score) and
    /// [`normalize_scores`](Score::normalize_scores) come to that score also when they are shown one feasible node of each mark
    /// instead of all of them. The mark of a node follows from the pod's spec but for its volumes and claims, from the node's row,
    /// the pods there among it, and from the basis: as long as this is equal, nodes that have not changed
    /// ([`Columns::changed_since`]) keep their marks. Scores need not stay as they are.
    fn mark_basis(&self, _cycle: CycleContext<'_>, _state: &CycleState) -> Option<MarkBasis> {
        None
    }

    /// Writes the marks of these nodes, feasible or not; false when it cannot after all.
    fn mark(&self, _cycle: CycleContext<'_>, _state: &CycleState, _nodes: &[NodeIndex], _marks: &mut [u64]) -> bool {
        false
    }

    /// How raw scores become 0..=100.
    fn normalize(&self) -> Normalize {
        Normalize::No
    }

    /// Turns the raw scores of `feasible` into 0..=100, for plugins that do it in a way of their own; by default as
    /// [`Score::normalize`] says. `Err` is an internal failure.
    fn normalize_scores(
        &self,
        _cycle: CycleContext<'_>,
        _state: &CycleState,
        _feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        self.normalize().apply(scores);
        Ok(())
    }
}

/// Keeps in-memory reservations beside the claim itself.
pub trait Reserve: Plugin {
    /// Reserves on the chosen node; a rejection or an error undoes everything reserved so far.
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str) -> Result<(), Status>;

    /// Undoes `reserve`; called in reverse order, also for plugins whose reserve did not run: must be idempotent.
    fn unreserve(&self, pod: &Pod, state: &mut CycleState, node: &str);
}

/// Takes up what an earlier leader left half done for a pod, such as a volume that was reserved for it outside.
///
/// What an earlier term kept in memory is lost. What it wrote is among the API server's objects, and a plugin that knows these
/// may find there that something is reserved for a pod that waits. Unless it holds that again, the next pod may get it.
pub trait Adopt: Reserve {
    /// Called once for each waiting pod of the profile when a term begins: everything that the API server held by then is
    /// known, and nothing has been decided. A plugin that finds something reserved for the pod holds it from here on, as after
    /// [`Reserve::reserve`], and names the node.
    ///
    /// The pod is then nominated to that node, unless its status names one. What was adopted ends with one
    /// [`Reserve::unreserve`] for that node, with an empty state: just before the plugins of a cycle that chose a node for the
    /// pod reserve, when the pod is gone, has a node or has no profile any more, and when the term ends.
    fn adopt(&self, pod: &Pod, columns: &Columns) -> Option<CompactString>;
}

/// What a permit plugin says.
#[derive(Debug)]
pub enum PermitOutcome {
    /// Go on.
    Allow,
    /// Park the pod until allowed, rejected or timed out; capped at 15 minutes.
    Wait(Duration),
    /// Turn the pod away, or an internal failure.
    Stop(Status),
}

/// Has a last word before binding, and may make the pod wait.
pub trait Permit: Plugin {
    /// Decides on the pod that has a claim on `node`, knowing who waits already. What is to become of those it says to
    /// [`CycleState::allow_waiting`] and [`CycleState::reject_waiting`].
    fn permit(
        &self,
        cycle: CycleContext<'_>,
        state: &mut CycleState,
        node: &str,
        waiting: &WaitingPods,
    ) -> PermitOutcome;
}

/// What a pre-bind plugin needs before the pod can be bound.
pub enum PreBindOutcome {
    /// Nothing.
    Skip,
    /// This I/O must be done first; its failure fails the attempt. The pod is parked meanwhile and holds no worker.
    Needs(EffectRequest),
    /// Writes to objects of storage, and waiting for what others make of them: [`PreBind::step`] says what comes first.
    Steps,
}

/// What [`PreBind::step`] hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreBindInput {
    /// The first step.
    Begin,
    /// What became of the write that the last step asked for.
    Written(VolumeWritten),
    /// While it waited one of these has changed: the pod, its node or what CSI drivers say of that, a claim of the pod, or a
    /// volume that is or was made over to one or reserved for one. It may have nothing to do with what is waited for.
    Changed,
    /// The time until which it was to wait has come.
    Due,
}

/// What a pre-bind plugin wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreBindStep {
    /// Nothing: its work is done.
    Done,
    /// Make this write; [`PreBindInput::Written`] says what became of it, and nothing else comes before. One at a time, so
    /// that one that fails ends what comes after it.
    Write(VolumeWrite),
    /// Ask again when something has changed, or at this time at the latest. However many pods wait, they hold no worker.
    Wait {
        /// The latest time, by which the plugin most likely gives up.
        until: Moment,
    },
    /// The attempt has failed with this text, to which `running PreBind plugin …` is added.
    Fail(String),
}

/// Work that must be done outside before a pod can be bound.
pub trait PreBind: Plugin {
    /// What has to be done for the pod on `node`.
    fn pre_bind(&self, pod: &Pod, state: &CycleState, node: &str) -> PreBindOutcome;

    /// The next step of a plugin that has answered [`PreBindOutcome::Steps`]. It sees the columns as they are between two
    /// cycles, so up to any change that it is told of. Not called any more once the claim is over, whatever ended it: what the
    /// last write does then nobody hears of here.
    fn step(
        &self,
        _cycle: CycleContext<'_>,
        _state: &mut CycleState,
        _node: &str,
        _input: PreBindInput,
    ) -> PreBindStep {
        PreBindStep::Done
    }
}

/// How a bind plugin binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindAction {
    /// Leave it to the next bind plugin.
    Skip,
    /// POST a Binding to the API server.
    PostBinding,
}

/// Chooses how the pod is bound.
pub trait Bind: Plugin {
    /// How to bind the pod to `node`.
    fn bind(&self, pod: &Pod, node: &str) -> BindAction;
}

/// Hears of each bound pod.
pub trait PostBind: Plugin {
    /// The pod is bound to `node`.
    fn post_bind(&self, pod: &Pod, node: &str);
}

macro_rules! extensions {
    ($($(#[$doc:meta])* $field:ident: $point:ident),* $(,)?) => {
        /// The extension points that one plugin takes part in.
        #[derive(Clone, Default)]
        pub struct Extensions {
            $($(#[$doc])* pub $field: Option<Arc<dyn $point>>,)*
        }

        impl Extensions {
            /// Takes part in nothing yet.
            pub fn new() -> Self {
                Self::default()
            }

            $($(#[$doc])*
            #[must_use]
            pub fn $field(mut self, plugin: Arc<dyn $point>) -> Self {
                self.$field = Some(plugin);
                self
            })*
        }

        impl fmt::Debug for Extensions {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut points = f.debug_set();
                $(if self.$field.is_some() { points.entry(&stringify!($field)); })*
                points.finish()
            }
        }
    };
}

extensions! {
    /// Orders the active queue.
    queue_sort: QueueSort,
    /// Says which events bring back the pods that it rejects.
    enqueue: EnqueueExtensions,
    /// Gates pods.
    pre_enqueue: PreEnqueue,
    /// Asks for counts.
    prepare: Prepare,
    /// Looks at the pod before any node.
    pre_filter: PreFilter,
    /// Narrows nodes.
    filter: Filter,
    /// Narrows nodes with I/O, after all filters.
    effect_filter: EffectFilter,
    /// Has a try when no node will do.
    post_filter: PostFilter,
    /// Prepares scoring.
    pre_score: PreScore,
    /// Scores nodes.
    score: Score,
    /// Reserves in memory.
    reserve: Reserve,
    /// Holds again what was reserved outside before the term began.
    adopt: Adopt,
    /// Last word before binding.
    permit: Permit,
    /// Work before binding.
    pre_bind: PreBind,
    /// Binds.
    bind: Bind,
    /// Hears of bound pods.
    post_bind: PostBind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizing_is_integer_arithmetic_with_the_zero_cases_of_kube_scheduler() {
        let cases: [(&[i64], bool, &[i64]); 9] = [
            (&[1, 2, 3], false, &[33, 66, 100]),
            (&[1, 2, 3], true, &[67, 34, 0]),
            (&[0, 0], false, &[0, 0]),
            (&[0, 0], true, &[100, 100]),
            (&[-3, -1], false, &[-3, -1]),
            (&[-3, -1], true, &[100, 100]),
            (&[-1, 0], false, &[-1, 0]),
            (&[-1, 2], false, &[-50, 100]),
            (&[i64::MAX, 0], false, &[0, 0]),
        ];
        for (raw, reverse, expected) in cases {
            let mut scores = raw.to_vec();
            Normalize::Default { reverse }.apply(&mut scores);
            assert_eq!(scores, expected);
        }
    }
}
