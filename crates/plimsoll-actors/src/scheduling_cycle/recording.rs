//! What is remembered of an attempt until its outcome is known, and the record that is then made of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_client::PatchReply;
use plimsoll_engine::{
    ClaimId, ClaimTimeline, DropReason, FailureReason, Outcome, Placement, PreemptionPlan, Rejection, Timeline,
};
use plimsoll_framework::{Code, Effect, EffectReply};
use plimsoll_model::{Moment, Pod, Uid};
use plimsoll_queue::{PoppedPod, Stays};
use plimsoll_telemetry::{AttemptResult, TraceId};
use smallvec::SmallVec;

use super::SchedulingCycleState;
use crate::attempt_record::{
    AttemptOutcome, AttemptRecord, Call, CallKind, Calls, PermitWaited, PlannedPreemption, PodIdentity, Reason, SLOW,
};
use crate::call_outcome::{self, CallOutcome};
use crate::trace_context::{TraceContext, attempt_span};
use crate::tracer::{LateCall, TracerMessage};

/// A scheduling cycle that took longer than this keeps its times, in case the whole attempt turns out to be slow. It is what
/// kube-scheduler logs as slow.
const SLOW_CYCLE: Duration = Duration::from_millis(100);

/// What is remembered of a pod from the time it is handed out until it is settled.
#[derive(Debug, Clone)]
pub(super) struct Attempted {
    pub(super) profile: String,
    pub(super) attempts: u32,
    pub(super) initial_attempt: Option<Moment>,
    pub(super) flushed: bool,
    pub(super) begun: Moment,
    added: Moment,
    trace: TraceContext,
    /// It is told of though nothing goes wrong with it.
    sampled: bool,
    /// An earlier attempt has failed, and was told.
    retried: bool,
    stays: Stays,
    decided: Option<Moment>,
    nodes: (usize, usize),
    /// What the cycle did that chose a node, if it may be told.
    timeline: Option<Box<Timeline>>,
    permit_wait: Option<PermitWaited>,
    calls: Calls,
}

impl Attempted {
    /// Why the attempt, which did not fail, is told of, if it is.
    pub(super) fn told_because(&self, now: Moment) -> Option<Reason> {
        if self.retried {
            Some(Reason::Retried)
        } else if now.since(self.begun) > SLOW {
            Some(Reason::Slow)
        } else {
            self.sampled.then_some(Reason::Sampled)
        }
    }
}

/// What is told of a failed attempt beside what was remembered of it.
#[derive(Debug, Default)]
pub(super) struct Failed {
    pub(super) plugins: Vec<&'static str>,
    /// The node, if one had been chosen.
    pub(super) node: Option<CompactString>,
    /// What was done since it was chosen.
    pub(super) after_choice: ClaimTimeline,
    pub(super) preemption: Option<PlannedPreemption>,
    pub(super) rejections: Vec<Rejection>,
}

/// What plugins or extenders are asked outside, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asking {
    begun: Moment,
    calls: Vec<CallKind>,
}

/// Status patches under way of attempts that were told of; as many as there are status writes.
#[derive(Debug, Default)]
pub(super) struct Patches(BTreeMap<Uid, Patch>);

#[derive(Debug)]
struct Patch {
    trace: TraceContext,
    attempt: u64,
    pod: PodIdentity,
    begun: Moment,
    tries: u32,
}

/// Whether an earlier attempt of the pod has failed, by this leader or another: each failure is told in the pod's status.
fn has_failed_before(popped: &PoppedPod) -> bool {
    let condition = popped.pod.status.pod_scheduled.as_deref();
    popped.attempts > 1
        || condition.is_some_and(|condition| condition.status == "False" && condition.reason != "SchedulingGated")
}

impl SchedulingCycleState {
    /// A pod's attempt begins.
    pub(super) fn remember(&mut self, popped: &mut PoppedPod, trace: TraceContext, now: Moment) {
        let pod = &popped.pod;
        let (sampled, retried) = match &self.tracing {
            None => (false, false),
            Some(tracing) => {
                let profile = self.engine.profile_of(pod);
                let ratio = profile.and_then(|profile| profile.trace_sampling_ratio);
                (tracing.is_sampled(trace, ratio), has_failed_before(popped))
            }
        };
        // Whether the attempt will be slow, or fail, nobody knows yet. A pass over all nodes costs two looks at the clock.
        if self.tracing.is_some() {
            self.engine.time_plugins();
        }
        self.attempted.insert(
            pod.uid.clone(),
            Attempted {
                profile: pod.spec.scheduler_name.to_string(),
                attempts: popped.attempts,
                initial_attempt: popped.initial_attempt,
                flushed: popped.flushed,
                begun: now,
                added: popped.added,
                trace,
                sampled,
                retried,
                stays: std::mem::take(&mut popped.stays),
                decided: None,
                nodes: (0, 0),
                timeline: None,
                permit_wait: None,
                calls: Calls::default(),
            },
        );
    }

    /// The trace of an attempt that ends now with this result, if it is told of.
    pub(super) fn kept_trace(&self, attempted: &Attempted, result: AttemptResult, now: Moment) -> Option<TraceId> {
        self.tracing.as_ref()?;
        let told = result != AttemptResult::Scheduled || attempted.told_because(now).is_some();
        told.then(|| TraceId(attempted.trace.trace_id()))
    }

    /// The trace of an attempt that is under way, if it is told of however it ends.
    fn certain_trace(&self, uid: &Uid) -> Option<TraceId> {
        self.tracing.as_ref()?;
        let attempted = self.attempted.get(uid)?;
        (attempted.sampled || attempted.retried).then(|| TraceId(attempted.trace.trace_id()))
    }

    /// The trace of an attempt whose cycle came to this, if it is certain that it is told of.
    pub(super) fn trace_of_cycle(&self, uid: &Uid, outcome: &Outcome) -> Option<TraceId> {
        match outcome {
            Outcome::Unschedulable(_) | Outcome::Failed { .. } => self.trace_of_failure(uid),
            Outcome::Placed(_) | Outcome::Dropped(DropReason::Deleting | DropReason::Gone) => self.certain_trace(uid),
            Outcome::Dropped(_) => None,
        }
    }

    /// The trace of an attempt whose wait at Permit has ended with this code, if it is certain that it is told of.
    pub(super) fn trace_of_wait(&self, uid: &Uid, code: Code) -> Option<TraceId> {
        if code == Code::Success {
            self.certain_trace(uid)
        } else {
            self.trace_of_failure(uid)
        }
    }

    /// The trace of an attempt that is under way and fails: it is told of in any case.
    pub(super) fn trace_of_failure(&self, uid: &Uid) -> Option<TraceId> {
        self.tracing.as_ref()?;
        self.attempted
            .get(uid)
            .map(|attempted| TraceId(attempted.trace.trace_id()))
    }

    /// The trace of an attempt that ends now with the pod bound, if it is told of.
    pub(super) fn trace_of_success(&self, uid: &Uid, now: Moment) -> Option<TraceId> {
        let attempted = self.attempted.get(uid)?;
        self.kept_trace(attempted, AttemptResult::Scheduled, now)
    }

    /// The span of an attempt that is under way, if it is told of.
    pub(super) fn span_of_attempt(&self, uid: &Uid) -> Option<u64> {
        let attempted = self.attempted.get(uid).filter(|_| self.tracing.is_some())?;
        Some(attempt_span(
            uid,
            self.token.number(),
            attempted.begun,
            attempted.attempts,
        ))
    }

    /// A node was chosen.
    pub(super) fn remember_choice(&mut self, placement: &Placement, now: Moment) {
        let Some(attempted) = self.attempted.get_mut(&placement.pod.uid) else {
            return;
        };
        attempted.decided = Some(now);
        attempted.nodes = (placement.evaluated_nodes, placement.feasible_nodes);
        let told = attempted.sampled || attempted.retried || now.since(attempted.begun) > SLOW_CYCLE;
        if told && self.tracing.is_some() {
            attempted.timeline = Some(Box::new(self.engine.timeline().clone()));
        }
    }

    /// A wait at Permit is over.
    pub(super) fn remember_permit_wait(&mut self, uid: &Uid, code: Code, waited: Duration, now: Moment) {
        if let Some(attempted) = self.attempted.get_mut(uid) {
            let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
            let from = Moment::from_nanos(now.as_nanos().saturating_sub(waited));
            attempted.permit_wait = Some(PermitWaited { from, to: now, code });
        }
    }

    /// What a plugin, or the extenders, are to be asked outside.
    pub(super) fn asking(&self, effect: &Effect, now: Moment) -> Option<Asking> {
        self.tracing.as_ref().map(|_| Asking {
            begun: now,
            calls: call_outcome::calls_of(effect),
        })
    }

    /// What came of that.
    pub(super) fn remember_effect(&mut self, uid: &Uid, asking: Asking, reply: &EffectReply, now: Moment) {
        let outcomes = call_outcome::of_effect(reply, asking.calls.len());
        for (what, outcome) in asking.calls.into_iter().zip(outcomes) {
            self.remember_call(uid, what, asking.begun, outcome, now);
        }
    }

    /// The API server, or an extender that binds, has answered a claim.
    pub(super) fn remember_answer(&mut self, claim: ClaimId, what: CallKind, outcome: CallOutcome, now: Moment) {
        if self.tracing.is_none() {
            return;
        }
        let asked = self.asked.get(&claim).copied();
        let uid = self.engine.claim(claim).map(|claim| claim.pod().uid.clone());
        if let (Some(begun), Some(uid)) = (asked, uid) {
            self.remember_call(&uid, what, begun, outcome, now);
        }
    }

    /// The pod is bound. When the watch has shown it before the answer came, nothing is told of the answer any more.
    pub(super) fn remember_seen(&mut self, claim: ClaimId, uid: &Uid, now: Moment) {
        let asked = self.asked.get(&claim).filter(|_| self.tracing.is_some());
        if let Some(begun) = asked.copied() {
            self.remember_call(uid, CallKind::Bind, begun, ("seen", None), now);
        }
    }

    fn remember_call(&mut self, uid: &Uid, what: CallKind, begun: Moment, (outcome, error): CallOutcome, now: Moment) {
        let Some(attempted) = self.attempted.get_mut(uid) else {
            return;
        };
        let calls = &mut attempted.calls;
        // A request that is repeated begins anew after its last answer.
        let before = calls.calls.iter().filter(|call| call.what == what);
        let tries = u32::try_from(before.clone().count()).unwrap_or(u32::MAX);
        let begun = before.map(|call| call.ended).fold(begun, Moment::max);
        calls.push(Call {
            what,
            begun,
            ended: now,
            attempt: tries.saturating_add(1),
            outcome,
            error,
        });
    }

    /// The attempt has failed. There is a record of it whoever wants it.
    pub(super) fn record_failure(
        &mut self,
        pod: &Pod,
        attempted: Attempted,
        (reason, message): (FailureReason, &str),
        failed: Failed,
        now: Moment,
    ) -> Arc<AttemptRecord> {
        let outcome = match reason {
            FailureReason::Unschedulable => AttemptOutcome::Unschedulable {
                plugins: failed.plugins,
                node: failed.node,
            },
            FailureReason::SchedulerError => AttemptOutcome::Error { node: failed.node },
        };
        let timeline = match attempted.decided {
            None => Some(self.engine.timeline().clone()),
            Some(_) => None,
        };
        let mut record = self.record(pod, attempted, (Reason::Failed, outcome), now);
        if let Some(timeline) = timeline {
            record.timeline = timeline;
        }
        message.clone_into(&mut record.message);
        record.after_choice = failed.after_choice;
        record.preemption = failed.preemption;
        record.rejections = failed.rejections;
        let record = Arc::new(record);
        if let Some(tracing) = &self.tracing {
            tracing.tell(TracerMessage::Attempt(Arc::clone(&record)));
        }
        record
    }

    /// The attempt is over otherwise; it is told of if there is a reason to.
    pub(super) fn record_end(
        &self,
        pod: &Pod,
        attempted: Attempted,
        outcome: AttemptOutcome,
        after_choice: ClaimTimeline,
        now: Moment,
    ) {
        let Some(tracing) = &self.tracing else { return };
        if let Some(reason) = attempted.told_because(now) {
            let mut record = self.record(pod, attempted, (reason, outcome), now);
            record.after_choice = after_choice;
            tracing.tell(TracerMessage::Attempt(Arc::new(record)));
        }
    }

    fn record(
        &self,
        pod: &Pod,
        attempted: Attempted,
        (reason, outcome): (Reason, AttemptOutcome),
        now: Moment,
    ) -> AttemptRecord {
        let term = self.token.number();
        AttemptRecord {
            trace: attempted.trace,
            span: attempt_span(&pod.uid, term, attempted.begun, attempted.attempts),
            reason,
            pod: PodIdentity::of(pod),
            profile: CompactString::from(attempted.profile),
            term,
            leads_alone: self.token.leads_alone(now),
            attempt: attempted.attempts,
            added: attempted.added,
            stays: attempted.stays,
            begun: attempted.begun,
            decided: attempted.decided.unwrap_or(now),
            ended: now,
            timeline: attempted.timeline.map(|timeline| *timeline).unwrap_or_default(),
            after_choice: ClaimTimeline::default(),
            evaluated_nodes: attempted.nodes.0,
            feasible_nodes: attempted.nodes.1,
            outcome,
            message: String::new(),
            rejections: Vec::new(),
            preemption: None,
            permit_wait: attempted.permit_wait,
            calls: attempted.calls,
        }
    }

    /// A patch of the pod's status is handed out that tells of this attempt.
    pub(super) fn remember_patch(&mut self, record: &AttemptRecord, now: Moment) {
        if self.tracing.is_some() && self.status_writes.is_under_way(&record.pod.uid) {
            let patch = Patch {
                trace: record.trace,
                attempt: record.span,
                pod: record.pod.clone(),
                begun: now,
                tries: 1,
            };
            self.patches.0.insert(record.pod.uid.clone(), patch);
        }
    }

    /// No patch of the pod is under way any more, though none had its last answer.
    pub(super) fn forget_patch(&mut self, uid: &Uid) {
        self.patches.0.remove(uid);
    }

    /// A patch has its answer. Nothing more is told of one that another has taken the place of.
    pub(super) fn tell_patch(&mut self, uid: &Uid, reply: &PatchReply, now: Moment) {
        let (Some(tracing), Some(patch)) = (&self.tracing, self.patches.0.get_mut(uid)) else {
            return;
        };
        let (outcome, error) = call_outcome::of_patch(reply);
        let call = Call {
            what: CallKind::Status,
            begun: patch.begun,
            ended: now,
            attempt: patch.tries,
            outcome,
            error,
        };
        tracing.tell(TracerMessage::Call(Box::new(LateCall {
            trace: patch.trace,
            attempt: patch.attempt,
            pod: patch.pod.clone(),
            call,
        })));
        if self.status_writes.is_under_way(uid) {
            (patch.begun, patch.tries) = (now, patch.tries + 1);
        } else {
            self.patches.0.remove(uid);
        }
    }
}

/// Who is to go, as records name them.
pub(super) fn planned(plan: &PreemptionPlan) -> PlannedPreemption {
    PlannedPreemption {
        node: plan.node.clone(),
        victims: plan.victims.iter().map(|victim| PodIdentity::of(&victim.pod)).collect(),
    }
}

/// Takes the calls of a plugin's effects by the claims that they are for.
#[derive(Debug, Default)]
pub(super) struct ClaimEffects(SmallVec<[(ClaimId, Asking); 1]>);

impl ClaimEffects {
    pub(super) fn begin(&mut self, claim: ClaimId, asking: Option<Asking>) {
        if let Some(asking) = asking {
            self.0.push((claim, asking));
        }
    }

    pub(super) fn end(&mut self, claim: ClaimId) -> Option<Asking> {
        let at = self.0.iter().position(|(of, _)| *of == claim)?;
        Some(self.0.swap_remove(at).1)
    }
}
