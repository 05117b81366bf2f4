use std::sync::Arc;

use plimsoll_client::{BindReply, PatchReply, PodRead, VolumeReply};
use plimsoll_engine::{ClaimId, NodeDump};
use plimsoll_framework::EffectReply;
use plimsoll_model::{Change, Delta, Pod, Seq, Uid};
use plimsoll_queue::Release;
use plimsoll_telemetry::PageOf;

use super::CycleAccount;
use crate::assembled_config::AssembledConfig;
use crate::auditor::{AuditMarker, Restatements};
use crate::binding_workers::ExtenderBindReply;
use crate::claim_input::read_kind;
use crate::debugging::NodeListing;
use crate::elector::ElectorMessage;
use crate::informer_cache::Changes;
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::permits::WaitingReport;
use crate::scheduling_queue::Attempt;
use crate::trace_context::TraceContext;

/// What the cycle hears.
#[derive(Debug)]
pub enum CycleMessage {
    /// From the cache, the same stream as the queue's.
    Changes(Changes),
    /// From the cache: switch to this configuration, after the cycle that may be waiting. The queue switches at the same
    /// number.
    Reconfigure {
        /// The configuration.
        assembled: Arc<AssembledConfig>,
        /// The number of the switch in the stream of changes.
        seq: Seq,
    },
    /// From the queue, in answer to [`QueueMessage::Ready`](crate::scheduling_queue::QueueMessage::Ready): the pod is the
    /// cycle's until it is settled.
    Attempt(Attempt),
    /// From the task that performed a cycle's effect.
    EffectAnswered {
        /// What came of it.
        reply: EffectReply,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// From the task that performed a claim's pre-bind work.
    PreBindAnswered {
        /// The claim.
        claim: ClaimId,
        /// What came of it.
        reply: EffectReply,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// From a worker: exactly one for each [`WriteJob::Bind`](crate::binding_workers::WriteJob::Bind).
    BindAnswered {
        /// The claim.
        claim: ClaimId,
        /// What came back.
        reply: BindReply,
        /// The trace that went out with the binding.
        trace: TraceContext,
    },
    /// From the call of an extender: exactly one for each
    /// [`WriteJob::BindThrough`](crate::binding_workers::WriteJob::BindThrough).
    ExtenderBindAnswered {
        /// The claim.
        claim: ClaimId,
        /// What came back.
        reply: ExtenderBindReply,
        /// The trace that went out with the call.
        trace: TraceContext,
    },
    /// From a worker: exactly one for each [`WriteJob::Read`](crate::binding_workers::WriteJob::Read).
    ReadAnswered {
        /// The claim.
        claim: ClaimId,
        /// What came back.
        read: PodRead,
        /// The trace that went out with the read.
        trace: TraceContext,
    },
    /// From a worker: exactly one for each [`WriteJob::Volume`](crate::binding_workers::WriteJob::Volume).
    VolumeWritten {
        /// The claim.
        claim: ClaimId,
        /// What came back.
        reply: VolumeReply,
        /// The trace that went out with the write.
        trace: TraceContext,
    },
    /// From a worker: exactly one for each [`WriteJob::Status`](crate::binding_workers::WriteJob::Status).
    StatusAnswered {
        /// The pod.
        uid: Uid,
        /// What came back.
        reply: PatchReply,
        /// The trace that went out with the patch.
        trace: TraceContext,
    },
    /// From a plugin's code outside of cycles, through [`Permits`](crate::permits::Permits): the plugin waits no longer
    /// for the pod at Permit. When no other does either, binding begins in the same turn. A pod that does not wait for the
    /// plugin when the message is taken up is left alone, and nothing is remembered.
    Allow {
        /// The pod.
        pod: Uid,
        /// The plugin.
        plugin: &'static str,
    },
    /// From the same: turn the pod away that waits at Permit, whichever plugins it waits for. What was reserved for it is
    /// taken back, users read the message, and the queue books it on the plugin. The first word on a pod counts: one that
    /// has been allowed by all, turned away or deleted before is left alone.
    Reject {
        /// The pod.
        pod: Uid,
        /// The plugin.
        plugin: &'static str,
        /// What users read.
        message: String,
    },
    /// From the Evictor, in the synchronous mode: exactly one for each plan. The pod goes back to the queue.
    PreemptionExecuted {
        /// The pod that room is made for.
        preemptor: Uid,
        /// An error is what a victim stays for.
        result: Result<(), String>,
        /// The pod's trace.
        trace: TraceContext,
    },
    /// From the Evictor: every victim is seen on its way out, so that the pod may be tried.
    VictimsGoing {
        /// The pod that room is made for.
        preemptor: Uid,
        /// The number of its plan.
        plan: u64,
    },
    /// From the Evictor: a preemption is over.
    PreemptionOver {
        /// The pod that room was made for.
        preemptor: Uid,
        /// The number of its plan.
        plan: u64,
        /// What becomes of the pod, if this was its last plan.
        release: Option<Release>,
        /// Every pod that its plan named and the cycle has not turned away itself.
        named: Vec<Uid>,
        /// Victims that were not told to go.
        spared: Vec<Uid>,
    },
    /// From the HTTP server or from plugins: who waits at Permit? Answered at once.
    WaitingPods(Reply<WaitingReport>),
    /// From the HTTP server, through supervisor and term: what is known of this pod? Answered at once, or as soon as no cycle
    /// waits for an effect.
    Explain(Arc<Pod>, Reply<Box<CycleAccount>>),
    /// From the HTTP server, through supervisor and term: what there is on some of the nodes. Answered at once.
    ListNodes(PageOf, Reply<NodeListing>),
    /// From the cache, for debugging: what there is on every node. Answered at once.
    Dump(Reply<Vec<NodeDump>>),
    /// From the alarm: a claim, a permit wait or a status write is due.
    Tick,
    /// From the queue: tell what there is, and send the marker back.
    Audit(AuditMarker),
    /// From the cache: the truth about pods that an audit found something wrong with.
    Restate(Restatements),
    /// From the cache: what came before holds everything that the API server held when the lease was won. The cycle acts
    /// from now on, and asks for its first pod.
    Begin,
    /// From the term: take no more pods, and answer when no write of ours is undecided.
    Drain(Reply<()>),
    /// From the elector: are you there? Answered with [`ElectorMessage::Alive`].
    Probe(Mailbox<ElectorMessage>),
}

impl Summary for CycleMessage {
    fn summary(&self) -> String {
        match self {
            Self::Changes(changes) => changes_summary(&changes.changes),
            Self::Attempt(attempt) => format!(
                "Attempt {} seq={} trace={}",
                attempt.popped.pod.name,
                attempt.popped.seq.as_u64(),
                attempt.trace
            ),
            Self::Reconfigure { seq, .. } => format!("Reconfigure seq={}", seq.as_u64()),
            Self::EffectAnswered { reply, .. } => format!("EffectAnswered ok={}", reply.is_ok()),
            Self::PreBindAnswered { claim, reply, .. } => {
                format!("PreBindAnswered {} ok={}", claim.as_u64(), reply.is_ok())
            }
            Self::BindAnswered { claim, reply, .. } => format!("BindAnswered {} {reply:?}", claim.as_u64()),
            Self::ExtenderBindAnswered { claim, reply, .. } => {
                format!("ExtenderBindAnswered {} {reply:?}", claim.as_u64())
            }
            Self::ReadAnswered { claim, read, .. } => format!("ReadAnswered {} {}", claim.as_u64(), read_kind(read)),
            Self::VolumeWritten { claim, reply, .. } => format!("VolumeWritten {} {reply:?}", claim.as_u64()),
            Self::StatusAnswered { uid, reply, .. } => format!("StatusAnswered {uid} {reply:?}"),
            Self::Allow { pod, plugin } => format!("Allow {pod} {plugin}"),
            Self::Reject { pod, plugin, .. } => format!("Reject {pod} {plugin}"),
            Self::PreemptionExecuted { preemptor, result, .. } => {
                format!("PreemptionExecuted {preemptor} {result:?}")
            }
            Self::VictimsGoing { preemptor, plan } => format!("VictimsGoing {preemptor} plan={plan}"),
            Self::PreemptionOver {
                preemptor,
                plan,
                release,
                named,
                spared,
            } => format!(
                "PreemptionOver {preemptor} plan={plan} {release:?} named={} spared={}",
                named.len(),
                spared.len()
            ),
            Self::WaitingPods(_) => "WaitingPods".to_owned(),
            Self::Explain(pod, _) => format!("Explain {}", pod.name),
            Self::ListNodes(..) => "ListNodes".to_owned(),
            Self::Dump(_) => "Dump".to_owned(),
            Self::Tick => "Tick".to_owned(),
            Self::Audit(marker) => format!("Audit {}", marker.number),
            Self::Restate(restatements) => format!("Restate {}", restatements.pods.len()),
            Self::Begin => "Begin".to_owned(),
            Self::Drain(_) => "Drain".to_owned(),
            Self::Probe(_) => "Probe".to_owned(),
        }
    }
}

/// How many, and the newest version of a pod and of a node among them: what the columns show from then on.
fn changes_summary(changes: &[Change]) -> String {
    let (mut pods, mut nodes) = (0, 0);
    for change in changes {
        match &change.delta {
            Delta::PodAdded(pod) | Delta::PodUpdated { new: pod, .. } | Delta::PodDeleted(pod) => {
                pods = pod.resource_version.as_u64().max(pods);
            }
            Delta::NodeAdded(node) | Delta::NodeUpdated { new: node, .. } | Delta::NodeDeleted(node) => {
                nodes = node.resource_version.as_u64().max(nodes);
            }
            _ => {}
        }
    }
    format!("Changes {} pods@{pods} nodes@{nodes}", changes.len())
}
