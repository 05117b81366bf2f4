//! Why a pod is pending: what `/debug/explain` answers, and `plimsoll explain` shows.
//!
//! The answer is put together from what the owners of the pod's state tell of it at about the same time: the cache, the
//! queue, the cycle and the Evictor. Nothing of it is kept.

mod compose;
mod explainer;
mod waiting;

use serde::{Deserialize, Serialize};

use self::compose::{Facts, explain, unknown};
pub use self::explainer::Explainer;

/// What is known of one pod. Times are the leader's, as `2026-11-28T02:30:00Z`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Explanation {
    /// `namespace/name`.
    pub pod: String,
    /// Its UID; none of a pod that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// When this was so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Where it stands, in a word.
    pub state: PodState,
    /// Where it stands, in a sentence.
    pub summary: String,
    /// `spec.schedulerName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    /// The node that it is bound to, or to be bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The node that it is nominated to: room is made or kept there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// Its place in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
    /// Whom or what it waits for.
    pub waits_for: Vec<WaitFor>,
    /// Its last attempts under this leader, the last one first.
    pub attempts: Vec<PastAttempt>,
    /// What would help it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_help: Option<WouldHelp>,
}

/// Where a pod stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PodState {
    /// The API server has told of no such pod that is not finished.
    #[default]
    Unknown,
    /// No profile of this scheduler takes it.
    NotOurs,
    /// It is to be deleted, and not scheduled any more.
    Deleting,
    /// It has a node.
    Bound,
    /// A node is chosen, and its binding is under way.
    BeingBound,
    /// Its cycle goes on.
    BeingTried,
    /// A plugin does not let it into the queue.
    Gated,
    /// It waits for its victims to be on their way.
    Preempting,
    /// It waits for its turn.
    Active,
    /// It waits for the end of its backoff.
    BackingOff,
    /// It waits for something to change that may help.
    Unschedulable,
    /// It has come just now, or its last attempt has ended just now.
    InTransit,
}

/// A place in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueuePlace {
    /// `active`, `backoff`, `error backoff`, `unschedulable`, `gated`, `in flight` or `placed`.
    pub place: String,
    /// Since when.
    pub since: String,
    /// The event that brought it there, as `queue_incoming_pods_total` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// When it is looked at next if nothing happens before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_look: Option<String>,
    /// The same, where its last attempt asked for it: what spoke against the pod may be over then, of which no event tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// How many pods are in that place.
    pub pods: usize,
    /// How many of them come before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<usize>,
    /// Since when the queue has known the pod.
    pub added: String,
    /// Attempts so far under this leader.
    pub attempts: u32,
    /// Plugins that turned it away in its last attempt.
    pub rejected_by: Vec<String>,
}

/// Whom or what a pod waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WaitFor {
    /// `Gate`, `Victims`, `Extender`, `Permit`, `PreBind`, `Binding`, `Plugin` or `Nomination`.
    pub kind: String,
    /// In words.
    pub what: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Until when at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Pods that it waits for, each as `namespace/name`, with a word on how far it has come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
}

/// An attempt that ended without a node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PastAttempt {
    /// Which one it was, from 1.
    pub attempt: u32,
    /// When it ended.
    pub ended: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The reason in the pod's condition: `Unschedulable` or `SchedulerError`.
    pub reason: String,
    /// The message in the pod's condition.
    pub message: String,
    /// How many nodes each plugin rejected.
    pub rejections: Vec<Rejection>,
    /// The node on which others were to make room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// The pods that were to go for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<String>,
}

/// Nodes that one plugin rejected for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rejection {
    /// The plugin, or `Extender`.
    pub plugin: String,
    /// How many nodes.
    pub nodes: u32,
    /// Why.
    pub reason: String,
    /// Some of the nodes.
    pub examples: Vec<String>,
}

/// What would help, judged by the cluster as it is now; extenders are not asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WouldHelp {
    /// In a sentence, where no node by itself would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes that the fewest plugins reject and that lack the least, nearest first.
    pub nearest: Vec<NearNode>,
}

/// A node, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NearNode {
    /// Its name.
    pub node: String,
    /// Nothing is known to keep the pod from it.
    pub fits: bool,
    /// What it lacks.
    pub lacks: Vec<Lack>,
}

/// Something that a node lacks for a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lack {
    /// The plugin that says so; `Nomination` where room is kept for other pods.
    pub plugin: String,
    /// What, with amounts and names where the plugin tells them.
    pub what: String,
    /// Whether the end of other pods on the node may help.
    pub preemptible: bool,
}

/// What a replica answers that does not lead.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NotLeading {
    /// For people.
    pub error: String,
    /// Who leads, by its identity in the lease; empty when nobody does.
    pub leader: String,
    /// Where the leader serves, as an `https` URL, if it has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_address: Option<String>,
}
