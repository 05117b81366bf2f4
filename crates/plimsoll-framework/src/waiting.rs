use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_model::{Moment, Pod, Uid};
use smallvec::SmallVec;

/// A permit plugin's wait for a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitWait {
    /// The plugin that asked for it.
    pub plugin: &'static str,
    /// For how long, at most 15 minutes.
    pub timeout: Duration,
    /// When the pod is turned away.
    pub until: Moment,
}

/// A pod that has a claim on a node and waits at Permit.
#[derive(Debug, Clone)]
pub struct WaitingPod {
    /// The pod in the version that was judged.
    pub pod: Arc<Pod>,
    /// The node that was chosen.
    pub node: CompactString,
    /// Since when it waits.
    pub since: Moment,
    /// Who has not allowed it yet, and until when each waits.
    pub waits: SmallVec<[PermitWait; 1]>,
}

impl WaitingPod {
    /// Whether this plugin has yet to allow it.
    pub fn waits_for(&self, plugin: &str) -> bool {
        self.waits.iter().any(|wait| wait.plugin == plugin)
    }
}

/// The pods that wait at Permit, those of all profiles, the longest waiting first.
#[derive(Debug, Default)]
pub struct WaitingPods {
    by_claim: BTreeMap<u64, WaitingPod>,
}

impl WaitingPods {
    /// Nobody waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &WaitingPod> {
        self.by_claim.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_claim.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.by_claim.is_empty()
    }

    /// The pod of this claim waits. Claims are numbered in the order in which they are made.
    pub fn insert(&mut self, claim: u64, waiting: WaitingPod) {
        self.by_claim.insert(claim, waiting);
    }

    /// The pod of this claim waits no longer.
    pub fn remove(&mut self, claim: u64) -> Option<WaitingPod> {
        self.by_claim.remove(&claim)
    }
}

/// What is to become of a pod that waits at Permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitDecision {
    /// The plugin waits no longer for it; when no other does, the pod goes on.
    Allow,
    /// The pod is turned away.
    Reject {
        /// What users read.
        message: String,
    },
}

/// A plugin's word on a pod that waits at Permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitVerdict {
    /// The pod.
    pub pod: Uid,
    /// The plugin that decides; of an allowed pod its own wait ends, a rejected one is booked on it.
    pub plugin: &'static str,
    /// What it decides.
    pub decision: PermitDecision,
}
