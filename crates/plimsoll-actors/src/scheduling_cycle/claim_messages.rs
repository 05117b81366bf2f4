//! What claims want done, and what comes back to them: bindings, reads, pre-bind work and status patches.

use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_client::{BindReply, PatchReply, PodRead, VolumeReply};
use plimsoll_engine::{Claim, ClaimId, ClaimState, ClaimTimeline, Notice};
use plimsoll_framework::{Action, ClusterEvent, EffectReply, EventObjects, EventResource, Extender};
use plimsoll_model::storage::VolumeWritten;
use plimsoll_model::{Moment, Pod, Uid};
use plimsoll_queue::Outcome as QueueOutcome;
use plimsoll_telemetry::logs::V1;
use plimsoll_telemetry::{HandOverStage, TraceId};

use super::{CycleMessage, SchedulingCycleState};
use crate::attempt_record::{AttemptOutcome, CallKind};
use crate::binding_workers::{ExtenderBindReply, WriteJob};
use crate::call_outcome;
use crate::claim_input::{bind_input, bind_kind, extender_bind_input, extender_bind_kind, read_input};
use crate::log_subject::trace_of;
use crate::permits::WaitingReport;
use crate::scheduling_queue::QueueMessage;
use crate::trace_context::TraceContext;
use crate::wall_times::WallTimes;

impl SchedulingCycleState {
    pub(super) fn act_on(&mut self, notices: Vec<Notice>, now: Moment) {
        if let Some(held) = &mut self.before_begin {
            held.extend(notices);
            return;
        }
        for notice in notices {
            self.act_on_one(notice, now);
        }
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each notice")]
    fn act_on_one(&mut self, notice: Notice, now: Moment) {
        match notice {
            Notice::SendBinding { claim, pod, node } => {
                let (uid, trace, node) = (pod.uid.clone(), TraceContext::of(&pod), Arc::from(node.as_str()));
                let job = WriteJob::Bind {
                    claim,
                    pod,
                    node,
                    trace,
                };
                self.send_binding(claim, &uid, job, now);
            }
            Notice::BindThrough {
                claim,
                pod,
                node,
                extender,
            } => {
                let (uid, trace, node) = (pod.uid.clone(), TraceContext::of(&pod), Arc::from(node.as_str()));
                let job = WriteJob::BindThrough {
                    claim,
                    pod,
                    node,
                    extender,
                    trace,
                };
                self.send_binding(claim, &uid, job, now);
            }
            Notice::ExtenderIgnored {
                pod,
                extender,
                verb,
                error,
            } => tell_ignored(&pod, &extender, verb, &error),
            Notice::ReadPod { claim, pod } => {
                self.asked.insert(claim, now);
                let trace = TraceContext::of(&pod);
                self.workers.dispatch(WriteJob::Read { claim, pod, trace });
            }
            Notice::PreBind { claim, pod, effect, .. } => {
                let asking = self.asking(&effect, now);
                self.claim_effects.begin(claim, asking);
                let trace = TraceContext::of(&pod);
                self.perform_writes(effect, move |reply| CycleMessage::PreBindAnswered {
                    claim,
                    reply,
                    trace,
                });
            }
            Notice::WriteVolume { claim, pod, write } => {
                self.asked.insert(claim, now);
                let job = self.volume_writes.submit(claim, &pod, write, now);
                self.workers.dispatch(job);
            }
            Notice::VolumeErrors { stage, count } => self.metrics.volumes().stage_failed(stage.as_str(), count),
            Notice::Expect { pod, node } => self.write_expectation(&pod, &node),
            Notice::Bound {
                claim,
                pod,
                node,
                evaluated_nodes,
                feasible_nodes,
                timeline,
                ..
            } => {
                self.remember_seen(claim, &pod.uid, now);
                self.measure_claim(&pod, &timeline, self.trace_of_success(&pod.uid, now));
                self.settle(&pod, QueueOutcome::Placed);
                self.report_bound(&pod, &node, (evaluated_nodes, feasible_nodes), timeline, now);
            }
            Notice::BoundElsewhere { pod, node, .. } => {
                tracing::warn!(pod = %pod.name, %node, trace_id = %trace_of(&pod), "Another scheduler has bound the pod");
                self.metrics.foreign_bind();
                if let Some(attempted) = self.attempted.remove(&pod.uid) {
                    let outcome = AttemptOutcome::BoundElsewhere { node };
                    self.record_end(&pod, attempted, outcome, ClaimTimeline::default(), now);
                }
                self.settle(&pod, QueueOutcome::Placed);
            }
            Notice::BindFailed {
                pod,
                node,
                failure,
                timeline,
                ..
            } => {
                self.measure_claim(&pod, &timeline, self.trace_of_failure(&pod.uid));
                tracing::info!(
                    name: V1, pod = %pod.name, %node, err = failure.message, trace_id = %trace_of(&pod), "Failed to bind pod"
                );
                self.fail_after_choice(&pod, node, failure, timeline, now);
            }
            Notice::PodGone { pod, message, .. } => {
                let attempted = match message {
                    Some(message) => self.report_removed(&pod, message, now),
                    None => self.attempted.remove(&pod.uid),
                };
                if let Some(attempted) = attempted {
                    self.record_end(&pod, attempted, AttemptOutcome::Gone, ClaimTimeline::default(), now);
                }
                self.settle(&pod, QueueOutcome::Dropped);
            }
            Notice::PermitWaitEnded { pod, code, waited } => {
                tracing::debug!(pod = %pod.name, %code, trace_id = %trace_of(&pod), "Pod waits on permit no longer");
                let kept = self.trace_of_wait(&pod.uid, code);
                self.metrics.attempts().permit_wait(code.as_str(), waited, kept);
                self.remember_permit_wait(&pod.uid, code, waited, now);
            }
            Notice::Unmatched { pod } => self.report_unmatched(&pod),
            Notice::Activate { pods } => {
                self.queue.tell(QueueMessage::Activate(pods));
            }
            Notice::Released { pod, node } => self.tell_of_room(&pod, node),
        }
    }

    /// `kept` is the attempt's trace, if it is told of.
    fn measure_claim(&mut self, pod: &Pod, timeline: &ClaimTimeline, kept: Option<TraceId>) {
        let profile = &pod.spec.scheduler_name;
        self.measured.claim_ended(&self.metrics, profile, timeline, kept);
    }

    fn send_binding(&mut self, claim: ClaimId, uid: &Uid, job: WriteJob, now: Moment) {
        self.asked.insert(claim, now);
        // An explanation still under way could otherwise land after the binding and contradict it.
        if let Some(job) = self.status_writes.after(uid, job) {
            self.forget_patch(uid);
            self.workers.dispatch(job);
        }
    }

    /// A claim's end is to waiting pods what the deletion of a placed pod is.
    fn tell_of_room(&self, pod: &Pod, node: CompactString) {
        let freed = ClusterEvent::new(EventResource::AssignedPod, Action::DELETE);
        let mut placed = Pod::clone(pod);
        placed.node_name = Some(node);
        let objects = EventObjects::Pod {
            old: Some(Arc::new(placed)),
            new: None,
        };
        self.queue.tell(QueueMessage::Observe(freed, objects));
    }

    pub(super) fn settle(&self, pod: &Pod, outcome: QueueOutcome) {
        self.queue.tell(QueueMessage::Settle {
            uid: pod.uid.clone(),
            outcome,
            trace: TraceContext::of(pod),
        });
    }

    pub(super) fn who_waits(&self, now: Moment) -> WaitingReport {
        WaitingReport {
            times: WallTimes::new(now, self.clock.wall()),
            pods: self.engine.waiting_pods().iter().cloned().collect(),
        }
    }

    pub(super) fn take_permit(&mut self, pod: &Uid, plugin: &str, now: Moment) {
        let mut notices = Vec::new();
        self.engine.allow(pod, plugin, now, &mut notices);
        self.act_on(notices, now);
    }

    pub(super) fn take_rejection(&mut self, pod: &Uid, plugin: &'static str, message: &str, now: Moment) {
        let mut notices = Vec::new();
        self.engine.reject(pod, plugin, message, now, &mut notices);
        self.act_on(notices, now);
    }

    pub(super) fn take_pre_bind_answer(&mut self, claim: ClaimId, reply: EffectReply, now: Moment) {
        let uid = self.engine.claim(claim).map(|claim| claim.pod().uid.clone());
        if let (Some(asking), Some(uid)) = (self.claim_effects.end(claim), uid) {
            self.remember_effect(&uid, asking, &reply, now);
        }
        let mut notices = Vec::new();
        self.engine.pre_bind_done(claim, reply, now, &mut notices);
        self.act_on(notices, now);
    }

    pub(super) fn take_bind_answer(&mut self, claim: ClaimId, reply: BindReply, now: Moment) {
        self.answers += 1;
        self.remember_answer(claim, CallKind::Bind, call_outcome::of_bind(&reply), now);
        self.asked.remove(&claim);
        self.metrics.bind_answered(bind_kind(&reply));
        if matches!(reply, BindReply::Created) {
            self.first_bind();
        }
        let mut notices = Vec::new();
        let input = bind_input(reply, &self.token, now);
        self.engine.bind_input(claim, input, now, &mut notices);
        self.act_on(notices, now);
    }

    pub(super) fn take_extender_bind_answer(&mut self, claim: ClaimId, reply: ExtenderBindReply, now: Moment) {
        self.answers += 1;
        let extender = self.engine.binder_of(claim).map(|extender| extender.url().to_owned());
        let what = CallKind::Extender {
            url: extender.unwrap_or_default(),
            verb: "bind",
        };
        self.remember_answer(claim, what, call_outcome::of_extender_bind(&reply), now);
        self.asked.remove(&claim);
        self.metrics.bind_answered(extender_bind_kind(&reply));
        if matches!(reply, ExtenderBindReply::Bound) {
            self.first_bind();
        }
        let mut notices = Vec::new();
        self.engine
            .bind_input(claim, extender_bind_input(reply, now), now, &mut notices);
        self.act_on(notices, now);
    }

    fn first_bind(&mut self) {
        if let Some(hand_over) = self.hand_over.take() {
            hand_over.reached(HandOverStage::FirstBind);
        }
    }

    pub(super) fn take_read_answer(&mut self, claim: ClaimId, read: PodRead, now: Moment) {
        self.answers += 1;
        self.remember_answer(claim, CallKind::Read, call_outcome::of_read(&read), now);
        self.asked.remove(&claim);
        let mut notices = Vec::new();
        if let Some(uid) = self.engine.claim(claim).map(|claim| claim.pod().uid.clone()) {
            self.engine.bind_input(claim, read_input(read, &uid), now, &mut notices);
        }
        self.act_on(notices, now);
    }

    pub(super) fn take_volume_answer(&mut self, claim: ClaimId, reply: VolumeReply, now: Moment) {
        self.answers += 1;
        if let Some(object) = self.volume_writes.object_of(claim) {
            let what = CallKind::Volume { object };
            self.remember_answer(claim, what, call_outcome::of_volume_write(&reply), now);
        }
        // Also when it is put off: the claim may be over before anything is asked again.
        self.asked.remove(&claim);
        if let Some(written) = self.volume_writes.answered(claim, reply, now) {
            self.tell_written(claim, written, now);
        }
    }

    /// The claim's step goes on; nothing of it is out any more.
    pub(super) fn tell_written(&mut self, claim: ClaimId, written: VolumeWritten, now: Moment) {
        self.asked.remove(&claim);
        let mut notices = Vec::new();
        self.engine.volume_written(claim, written, now, &mut notices);
        self.act_on(notices, now);
    }

    pub(super) fn take_status_answer(&mut self, uid: &Uid, reply: &PatchReply, now: Moment) {
        self.answers += 1;
        for job in self.status_writes.answered(uid, reply, now) {
            self.workers.dispatch(job);
        }
        self.tell_patch(uid, reply, now);
    }

    /// Whether every binding that was sent has its answer.
    pub(super) fn is_decided(&self) -> bool {
        let is_decided = |claim: &Claim| match claim.state() {
            ClaimState::Waiting | ClaimState::Bound | ClaimState::Moved | ClaimState::Ended => true,
            ClaimState::Sent
            | ClaimState::Seen
            | ClaimState::Unknown { .. }
            | ClaimState::Checking { .. }
            | ClaimState::Doubtful { .. }
            | ClaimState::Stopped => false,
        };
        self.engine.claims().all(is_decided) && self.status_writes.is_empty()
    }
}

/// An extender has failed and is done without. Operators read kube-scheduler's words.
fn tell_ignored(pod: &Pod, extender: &Extender, verb: &str, error: &str) {
    let (trace_id, pod, extender_url) = (trace_of(pod), &pod.name, extender.url());
    match verb {
        "prioritize" => tracing::debug!(
            %pod, extender = extender_url, err = error, %trace_id,
            "Failed to run extender's priority function. No score given by this extender."
        ),
        "bind" => tracing::info!(
            %pod, extender = extender_url, err = error, %trace_id,
            "Skipping extender in bind as it returned error and has ignorable flag set"
        ),
        _ if extender.ignorable() => tracing::info!(
            %pod, extender = extender_url, err = error, %trace_id,
            "Skipping extender as it returned error and has ignorable flag set"
        ),
        _ => tracing::error!(
            %pod, extender = extender_url, err = error, %trace_id,
            "Evaluation failed on nominated node"
        ),
    }
}
