//! Pods that wait at Permit: who waits, and what is said of them from inside and outside of cycles.

use plimsoll_framework::{Code, PermitDecision, PermitVerdict, Status, WaitingPod, WaitingPods};
use plimsoll_model::{Moment, Uid};

use super::Engine;
use crate::fit_error::chosen_node_message;
use crate::record::PreBindWork;
use crate::{ClaimId, Failure, FailureReason, Notice};

impl Engine {
    /// The pods that wait at Permit.
    pub fn waiting_pods(&self) -> &WaitingPods {
        &self.waiting
    }

    /// A permit plugin lets a waiting pod go; when it was the last, binding begins. Nothing happens to a pod that does not
    /// wait for this plugin, and nothing is remembered.
    pub fn allow(&mut self, pod: &Uid, plugin: &str, now: Moment, out: &mut Vec<Notice>) {
        self.on_allowed(pod, plugin, now, out);
        self.heed_verdicts(now, out);
    }

    /// A plugin turns a waiting pod away, whichever plugins it waits for. Nothing happens to a pod that does not wait, and
    /// nothing is remembered.
    pub fn reject(&mut self, pod: &Uid, plugin: &'static str, message: &str, now: Moment, out: &mut Vec<Notice>) {
        self.on_rejected(pod, plugin, message, now, out);
        self.heed_verdicts(now, out);
    }

    /// Does what plugins have said of waiting pods. That may make plugins say more; it comes to an end, since each verdict
    /// that has an effect ends a wait.
    pub(super) fn heed_verdicts(&mut self, now: Moment, out: &mut Vec<Notice>) {
        while let Some(PermitVerdict { pod, plugin, decision }) = self.verdicts.pop_front() {
            match decision {
                PermitDecision::Allow => self.on_allowed(&pod, plugin, now, out),
                PermitDecision::Reject { message } => self.on_rejected(&pod, plugin, &message, now, out),
            }
        }
    }

    fn on_allowed(&mut self, pod: &Uid, plugin: &str, now: Moment, out: &mut Vec<Notice>) {
        let Some(id) = self.ledger.claim_of(pod) else { return };
        let Some(record) = self.records.get_mut(id).filter(|record| !record.permits.is_empty()) else {
            return;
        };
        record.permits.retain(|wait| wait.plugin != plugin);
        if record.permits.is_empty() {
            self.end_wait(id, None, now, out);
        } else {
            self.show_waiting(id);
        }
        self.proceed(id, now, out);
    }

    fn on_rejected(&mut self, pod: &Uid, plugin: &'static str, message: &str, now: Moment, out: &mut Vec<Notice>) {
        if let Some(id) = self.ledger.claim_of(pod) {
            self.turn_away(id, plugin, message, now, out);
        }
    }

    /// Gives up a claim that waits at Permit.
    pub(super) fn turn_away(
        &mut self,
        id: ClaimId,
        plugin: &'static str,
        message: &str,
        now: Moment,
        out: &mut Vec<Notice>,
    ) {
        let Some(record) = self.records.get(id).filter(|record| !record.permits.is_empty()) else {
            return;
        };
        let failure = Failure {
            reason: FailureReason::Unschedulable,
            message: rejection_message(plugin, message),
            plugins: vec![plugin],
            pending_plugins: Vec::new(),
            // Until its permits are there the pod counts as in flight: what happened since the choice may help.
            judged_at: record.judged_at,
        };
        self.fail_waiting(id, failure, now, out);
    }

    /// Lets a claim go whose pod is a victim of preemption, if nothing has been sent for it yet: then no API call is needed,
    /// and its room is free at once. Whether that was so.
    pub fn reject_for_preemption(&mut self, id: ClaimId, now: Moment, out: &mut Vec<Notice>) -> bool {
        let Some(record) = self.records.get(id) else {
            return false;
        };
        let message = if !record.permits.is_empty() {
            "waiting on permit for pod: preempted".to_owned()
        } else if record.pre_bind != PreBindWork::None {
            let name = record.pre_bind_plugin().map_or("", |plugin| plugin.name());
            format!("running PreBind plugin {name:?}: preempted by DefaultPreemption")
        } else {
            return false;
        };
        let failure = Failure {
            reason: FailureReason::SchedulerError,
            message,
            plugins: Vec::new(),
            pending_plugins: Vec::new(),
            judged_at: record.judged_at,
        };
        self.fail_waiting(id, failure, now, out);
        self.heed_verdicts(now, out);
        true
    }

    /// Lets plugins see for whom the claim waits at Permit, if it does.
    pub(super) fn show_waiting(&mut self, id: ClaimId) {
        let Some(record) = self.records.get(id).filter(|record| !record.permits.is_empty()) else {
            return;
        };
        let waiting = WaitingPod {
            pod: record.claim.pod().clone(),
            node: record.claim.node().into(),
            since: record.assumed_at,
            waits: record.permits.clone(),
        };
        self.waiting.insert(id.as_u64(), waiting);
    }

    /// The claim does not wait at Permit any longer, for this reason or because every plugin has allowed it; whether it did.
    pub(super) fn end_wait(
        &mut self,
        id: ClaimId,
        failure: Option<&Failure>,
        now: Moment,
        out: &mut Vec<Notice>,
    ) -> bool {
        let Some(waiting) = self.waiting.remove(id.as_u64()) else {
            return false;
        };
        // A claim that still waits when its pod is gone ends without a failure.
        let allowed = self.records.get(id).is_some_and(|record| record.permits.is_empty());
        let code = match failure.map(|failure| failure.reason) {
            None if allowed => Code::Success,
            None | Some(FailureReason::Unschedulable) => Code::Unschedulable,
            Some(FailureReason::SchedulerError) => Code::Error,
        };
        out.push(Notice::PermitWaitEnded {
            pod: waiting.pod,
            code,
            waited: now.since(waiting.since),
        });
        true
    }
}

fn rejection_message(plugin: &'static str, message: &str) -> String {
    chosen_node_message(&Status::new(Code::Unschedulable, plugin, message))
}

/// What users are told of a pod that was deleted while it waited.
pub(super) fn removed_message() -> String {
    rejection_message("", "removed")
}
