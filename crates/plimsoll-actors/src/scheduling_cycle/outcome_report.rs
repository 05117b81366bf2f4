//! How the end of an attempt is told: to the queue, to metrics, in the pod's status and as an event.

use compact_str::CompactString;
use plimsoll_client::{ConditionPatch, EventType, NominationPatch, PodStatusPatch};
use plimsoll_engine::{
    ClaimTimeline, Diagnosis, DropReason, Failure, FailureReason, Nomination, Outcome, StatusReport, TransitionTime,
    event_note, status_report,
};
use plimsoll_model::{Moment, Pod, Timestamp};
use plimsoll_queue::{Outcome as QueueOutcome, PoppedPod, SET_ASIDE_MESSAGE};
use plimsoll_telemetry::logs::{V2, V3};
use plimsoll_telemetry::{AttemptResult, TraceId};

use super::SchedulingCycleState;
use super::recording::{Attempted, Failed};
use crate::attempt_record::{AttemptOutcome, PlannedPreemption};
use crate::event_recorder::{PodEvent, report};
use crate::log_subject::trace_of;
use crate::scheduling_queue::QueueMessage;

impl SchedulingCycleState {
    /// The cycle of a pod is over. `kept` is its trace, if that is certain to be kept.
    pub(super) fn conclude(&mut self, popped: PoppedPod, outcome: Outcome, kept: Option<TraceId>, now: Moment) {
        let pod = &popped.pod;
        if let Some(attempted) = self.attempted.get(&pod.uid) {
            self.metrics.attempts().node_sought(now.since(attempted.begun), kept);
        }
        match outcome {
            Outcome::Placed(placement) => {
                self.remember_choice(&placement, now);
                tracing::debug!(
                    name: V3, pod = %pod.name, node = %placement.node, trace_id = %trace_of(pod),
                    "Attempting to bind pod to node"
                );
            }
            Outcome::Unschedulable(mut diagnosis) => {
                if diagnosis.preemption_tried {
                    self.metrics.preemption().attempted();
                }
                if let Some(plan) = diagnosis.preemption.take() {
                    self.preempt(popped, diagnosis, plan, now);
                    return;
                }
                if diagnosis.preemption_tried {
                    tracing::info!(
                        name: V2, pod = %pod.name, trace_id = %trace_of(pod),
                        "No preemption candidate is found; preemption is not helpful for scheduling"
                    );
                }
                self.conclude_unschedulable(pod, diagnosis, None, now);
            }
            Outcome::Failed {
                message,
                judged_at,
                nominate,
            } => {
                tell_error(pod, &message);
                self.settle(pod, QueueOutcome::Failed { judged_at });
                let failure = (FailureReason::SchedulerError, message.as_str());
                self.explain(pod, failure, Failed::default(), &nominate, now);
            }
            // Its profile went between the queue and here. Should the queue have it again by then, it is tried again.
            Outcome::Dropped(DropReason::UnknownProfile) => {
                self.attempted.remove(&pod.uid);
                let judged_at = self.engine.applied();
                self.settle(pod, QueueOutcome::Failed { judged_at });
            }
            Outcome::Dropped(reason) => {
                let attempted = self.attempted.remove(&pod.uid);
                if let Some(attempted) = attempted.filter(|_| matches!(reason, DropReason::Deleting | DropReason::Gone))
                {
                    self.record_end(pod, attempted, AttemptOutcome::Gone, ClaimTimeline::default(), now);
                }
                if reason == DropReason::Deleting {
                    let note = format!("skip schedule deleting pod: {}", pod.name);
                    self.tell_user(pod, EventType::Warning, "FailedScheduling", "Scheduling", note);
                }
                self.settle(pod, QueueOutcome::Dropped);
            }
        }
    }

    /// No node will do now.
    pub(super) fn conclude_unschedulable(
        &mut self,
        pod: &Pod,
        diagnosis: Diagnosis,
        preemption: Option<PlannedPreemption>,
        now: Moment,
    ) {
        if diagnosis.no_nodes {
            tracing::info!(
                name: V2, pod = %pod.name, trace_id = %trace_of(pod),
                "Unable to schedule pod; no nodes are registered to the cluster; waiting"
            );
        } else {
            tell_no_fit(pod, &diagnosis.message);
        }
        let judged_at = diagnosis.judged_at;
        let failed = Failed {
            plugins: diagnosis.plugins.clone(),
            preemption,
            rejections: diagnosis.rejections,
            ..Failed::default()
        };
        let back = if diagnosis.plugins.is_empty() {
            QueueOutcome::Failed { judged_at }
        } else {
            QueueOutcome::Rejected {
                plugins: diagnosis.plugins,
                pending_plugins: diagnosis.pending_plugins,
                preemption_plugins: diagnosis.preemption_plugins,
                judged_at,
            }
        };
        self.settle(pod, back);
        if let Some(at) = diagnosis.retry_at {
            let uid = pod.uid.clone();
            self.queue.tell(QueueMessage::RetryAt { uid, at });
        }
        let failure = (FailureReason::Unschedulable, diagnosis.message.as_str());
        self.explain(pod, failure, failed, &diagnosis.nominate, now);
    }

    /// Deciding the pod panicked: it waits as long as a pod may, or until somebody changes it.
    pub(super) fn set_aside(&mut self, popped: &PoppedPod, panic: &str, now: Moment) {
        let message = format!("{SET_ASIDE_MESSAGE}: {panic}");
        self.settle(&popped.pod, QueueOutcome::SetAside);
        let failure = (FailureReason::SchedulerError, message.as_str());
        self.explain(&popped.pod, failure, Failed::default(), &Nomination::Clear, now);
    }

    /// No profile takes the pod, so that nobody will try it.
    pub(super) fn report_unmatched(&mut self, pod: &Pod) {
        let note = format!(
            "no profile of scheduler {} takes this pod: its labels and its namespace's labels match none of their rules",
            pod.spec.scheduler_name
        );
        self.tell_user(pod, EventType::Warning, "FailedScheduling", "Scheduling", note);
    }

    /// The pod had a node and is certainly not bound there.
    pub(super) fn fail_after_choice(
        &mut self,
        pod: &Pod,
        node: CompactString,
        failure: Failure,
        after_choice: ClaimTimeline,
        now: Moment,
    ) {
        let failed = Failed {
            plugins: failure.plugins.clone(),
            node: Some(node),
            after_choice,
            ..Failed::default()
        };
        let back = if failure.reason == FailureReason::Unschedulable {
            tell_no_fit(pod, &failure.message);
            QueueOutcome::Rejected {
                plugins: failure.plugins,
                pending_plugins: failure.pending_plugins,
                preemption_plugins: Vec::new(),
                judged_at: failure.judged_at,
            }
        } else {
            tell_error(pod, &failure.message);
            QueueOutcome::Failed {
                judged_at: failure.judged_at,
            }
        };
        self.settle(pod, back);
        let told = (failure.reason, failure.message.as_str());
        self.explain(pod, told, failed, &Nomination::Clear, now);
    }

    /// The pod was deleted while it waited at Permit. Its status is gone with it, but events outlive their objects.
    pub(super) fn report_removed(&mut self, pod: &Pod, message: String, now: Moment) -> Option<Attempted> {
        let attempted = self.observe_attempt(pod, AttemptResult::Unschedulable, now);
        self.tell_user(pod, EventType::Warning, "FailedScheduling", "Scheduling", message);
        attempted
    }

    /// The pod is bound.
    pub(super) fn report_bound(
        &mut self,
        pod: &Pod,
        node: &CompactString,
        (evaluated, feasible): (usize, usize),
        timeline: ClaimTimeline,
        now: Moment,
    ) {
        tracing::info!(
            name: V2, pod = %pod.name, node = node.as_str(), evaluatedNodes = evaluated, feasibleNodes = feasible,
            trace_id = %trace_of(pod), "Successfully bound pod to node"
        );
        self.past.forget(&pod.uid);
        let text = format!("Successfully assigned {} to {node}", pod.name);
        self.tell_user(pod, EventType::Normal, "Scheduled", "Binding", text);
        if let Some(attempted) = self.observe_attempt(pod, AttemptResult::Scheduled, now) {
            let since_first = attempted.initial_attempt.map(|first| now.since(first));
            let trace = self.kept_trace(&attempted, AttemptResult::Scheduled, now);
            self.metrics
                .attempts()
                .pod_scheduled(attempted.attempts, since_first, attempted.flushed, trace);
            let outcome = AttemptOutcome::Scheduled { node: node.clone() };
            self.record_end(pod, attempted, outcome, timeline, now);
        }
    }

    /// Writes the chosen node to the status of a pod whose binding will take a while.
    pub(super) fn write_expectation(&mut self, pod: &Pod, node: &str) {
        let patch = PodStatusPatch {
            nominated_node_name: NominationPatch::Set(node.to_owned()),
            ..PodStatusPatch::default()
        };
        self.patch_status(pod, patch);
    }

    fn explain(
        &mut self,
        pod: &Pod,
        (reason, message): (FailureReason, &str),
        failed: Failed,
        nominate: &Nomination,
        now: Moment,
    ) {
        let result = match reason {
            FailureReason::Unschedulable => AttemptResult::Unschedulable,
            FailureReason::SchedulerError => AttemptResult::Error,
        };
        let attempted = self.observe_attempt(pod, result, now);
        let record = attempted.map(|attempted| self.record_failure(pod, attempted, (reason, message), failed, now));
        if let Some(record) = &record {
            self.keep_attempt(record);
        }
        self.tell_user(
            pod,
            EventType::Warning,
            "FailedScheduling",
            "Scheduling",
            event_note(message),
        );
        // What was written last may not show in the pod as it was judged.
        let report = status_report(&self.status_writes.shown(pod), reason, message, nominate);
        if let Some(report) = report {
            let patch = self.status_patch(report);
            self.patch_status(pod, patch);
            if let Some(record) = record {
                self.remember_patch(&record, now);
            }
        }
    }

    pub(super) fn clear_nomination(&mut self, pod: &Pod) {
        let patch = PodStatusPatch {
            nominated_node_name: NominationPatch::Clear,
            ..PodStatusPatch::default()
        };
        self.patch_status(pod, patch);
    }

    fn status_patch(&self, report: StatusReport) -> PodStatusPatch {
        let wall = || Timestamp::new(plimsoll_client::seconds_text(self.clock.wall()));
        let condition = report.condition.map(|condition| ConditionPatch {
            kind: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: condition.reason.as_str().to_owned(),
            message: condition.message,
            last_transition_time: match condition.last_transition {
                TransitionTime::Keep(Some(time)) => time,
                TransitionTime::Keep(None) | TransitionTime::Now => wall(),
            },
            observed_generation: condition.observed_generation,
        });
        let nominated_node_name = match report.nominated_node_name {
            None => NominationPatch::Keep,
            Some(node) if node.is_empty() => NominationPatch::Clear,
            Some(node) => NominationPatch::Set(node.into()),
        };
        PodStatusPatch {
            condition,
            nominated_node_name,
            ..PodStatusPatch::default()
        }
    }

    fn patch_status(&mut self, pod: &Pod, patch: PodStatusPatch) {
        if let Some(job) = self.status_writes.submit(pod, patch) {
            self.workers.dispatch(job);
        }
    }

    fn tell_user(&self, pod: &Pod, event_type: EventType, reason: &'static str, action: &'static str, note: String) {
        let of = (trace_of(pod), &self.token);
        report(&self.recorder, &self.metrics, of, || {
            PodEvent::about(pod, event_type, reason, action, note, self.clock.wall())
        });
    }
}

fn tell_error(pod: &Pod, message: &str) {
    tracing::error!(pod = %pod.name, err = message, trace_id = %trace_of(pod), "Error scheduling pod; retrying");
}

fn tell_no_fit(pod: &Pod, message: &str) {
    tracing::info!(
        name: V2, pod = %pod.name, err = message, trace_id = %trace_of(pod), "Unable to schedule pod; no fit; waiting"
    );
}
