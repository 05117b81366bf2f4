use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_framework::{Code, Effect, Extender, VolumeStage};
use plimsoll_model::storage::VolumeWrite;
use plimsoll_model::{Moment, Pod, Uid};

use crate::{ClaimId, ClaimTimeline, Failure};

/// What the engine wants done or known, besides the outcome of a cycle. Handled after the [`Step`](crate::Step) of the
/// same call, in order.
#[derive(Debug)]
pub enum Notice {
    /// POST this binding (with the pod's UID) and answer with exactly one
    /// [`ClaimInput`](crate::ClaimInput).
    SendBinding {
        /// To be given with the answer.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// Where to bind it.
        node: CompactString,
    },
    /// Let this extender bind the pod and answer with exactly one [`ClaimInput`](crate::ClaimInput):
    /// [`ExtenderFailed`](crate::ClaimInput::ExtenderFailed) unless it has bound the pod or was not asked.
    BindThrough {
        /// To be given with the answer.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// Where to bind it.
        node: CompactString,
        /// Who binds it.
        extender: Arc<Extender>,
    },
    /// An extender failed, and the attempt goes on without its answer.
    ExtenderIgnored {
        /// The pod.
        pod: Arc<Pod>,
        /// Who.
        extender: Arc<Extender>,
        /// At what: `filter`, `prioritize`, `bind` or `preempt`.
        verb: &'static str,
        /// In what way.
        error: String,
    },
    /// GET this pod, not from a cache, and answer with [`ClaimInput::Read`](crate::ClaimInput::Read).
    ReadPod {
        /// To be given with the answer.
        claim: ClaimId,
        /// The pod; a found one counts only with the same UID.
        pod: Arc<Pod>,
    },
    /// Perform this I/O and answer with [`Engine::pre_bind_done`](crate::Engine::pre_bind_done).
    PreBind {
        /// To be given with the answer.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// The node that was chosen.
        node: CompactString,
        /// What to do.
        effect: Effect,
    },
    /// Make this write to an object of storage, which must be done before the pod is bound, and answer exactly once with
    /// [`Engine::volume_written`](crate::Engine::volume_written).
    WriteVolume {
        /// To be given with the answer.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// What to write.
        write: VolumeWrite,
    },
    /// So often something has failed inside with volumes.
    VolumeErrors {
        /// At which stage.
        stage: VolumeStage,
        /// How often.
        count: u32,
    },
    /// Write the chosen node to the pod's `status.nominatedNodeName`: binding will take a while.
    Expect {
        /// The pod.
        pod: Arc<Pod>,
        /// The node that was chosen.
        node: CompactString,
    },
    /// The pod is bound by us; said once, whether the answer or the watch told it first.
    Bound {
        /// The claim, which may be over already.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// Where it is bound.
        node: CompactString,
        /// Nodes looked at.
        evaluated_nodes: usize,
        /// Nodes that would have done.
        feasible_nodes: usize,
        /// When the cycle that placed it began.
        begun_at: Moment,
        /// When the node was chosen.
        assumed_at: Moment,
        /// What came after that, and how long it took.
        timeline: ClaimTimeline,
    },
    /// A read or the watch showed that somebody else bound the pod. It is not to be tried again; after a read the claim
    /// stands on the other node until the watch shows it. Said once.
    BoundElsewhere {
        /// The claim.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// Where it is.
        node: CompactString,
    },
    /// The pod is certainly not bound: it goes back to the queue.
    BindFailed {
        /// The claim, which is over.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// Where it would have gone.
        node: CompactString,
        /// Why.
        failure: Failure,
        /// What was done since the node was chosen, and how long it took.
        timeline: ClaimTimeline,
    },
    /// The pod is gone or going without a node; nothing is to be done for it.
    PodGone {
        /// The claim, which is over.
        claim: ClaimId,
        /// The pod.
        pod: Arc<Pod>,
        /// What users are told when it waited at Permit: no plugin turned it away, it was `removed`.
        message: Option<String>,
    },
    /// The pod waits at Permit no longer.
    PermitWaitEnded {
        /// The pod.
        pod: Arc<Pod>,
        /// `Success` when every plugin allowed it, `Unschedulable` when it was turned away, was late or is gone, `Error`
        /// when the term ended.
        code: Code,
        /// How long it waited.
        waited: Duration,
    },
    /// The pod's scheduler name is ours, but by its labels and its namespace's labels no profile takes it: it stays pending
    /// until these or the configuration change. Said once each time it comes to that.
    Unmatched {
        /// The pod.
        pod: Arc<Pod>,
    },
    /// Plugins of a cycle that found a node want these waiting pods to be tried at once.
    Activate {
        /// Which.
        pods: Vec<Uid>,
    },
    /// A claim gave up its room, and the columns show it; or room is kept no more for a pod whose status never said that it
    /// was. As good as the deletion of an assigned pod.
    Released {
        /// The pod that had it.
        pod: Arc<Pod>,
        /// Where there is room now.
        node: CompactString,
    },
}
