use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll_client::{NominationPatch, PodStatusPatch};
use plimsoll_model::{Delta, Pod, PodCondition, Uid};

use super::merged;

/// What was written to the statuses of pods and does not show in the pods that are handed out yet. A pod is tried again before
/// the stream tells of the last patch when its room comes at once, and what is to be written then must not be held against
/// what it said before that.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<Uid, PodStatusPatch>);

impl Told {
    pub(super) fn tell(&mut self, uid: &Uid, patch: &PodStatusPatch) {
        let told = self.0.entry(uid.clone()).or_default();
        *told = merged(std::mem::take(told), patch.clone());
    }

    /// It was not written.
    pub(super) fn forget(&mut self, uid: &Uid) {
        self.0.remove(uid);
    }

    /// The pod is handed out as the stream tells of it.
    pub(super) fn handed_out(&mut self, pod: &Pod) {
        if self.0.get(&pod.uid).is_some_and(|told| shows(pod, told)) {
            self.0.remove(&pod.uid);
        }
    }

    /// Nobody is told anything more of pods that are bound or gone.
    pub(super) fn see(&mut self, delta: &Delta) {
        if self.0.is_empty() {
            return;
        }
        match delta {
            Delta::PodAdded(pod) | Delta::PodUpdated { new: pod, .. } if pod.node_name().is_some() => {
                self.0.remove(&pod.uid);
            }
            Delta::PodDeleted(pod) => {
                self.0.remove(&pod.uid);
            }
            _ => {}
        }
    }

    /// The pod as it is once the stream tells of all that was written.
    pub(super) fn shown<'a>(&self, pod: &'a Pod) -> Cow<'a, Pod> {
        let Some(told) = self.0.get(&pod.uid) else {
            return Cow::Borrowed(pod);
        };
        let mut shown = pod.clone();
        match &told.nominated_node_name {
            NominationPatch::Keep => {}
            NominationPatch::Clear => shown.status.nominated_node_name = None,
            NominationPatch::Set(node) => shown.status.nominated_node_name = Some(node.as_str().into()),
        }
        if let Some(condition) = &told.condition {
            shown.status.pod_scheduled = Some(Box::new(PodCondition {
                status: condition.status.as_str().into(),
                reason: condition.reason.as_str().into(),
                message: condition.message.clone(),
                last_transition_time: Some(condition.last_transition_time.clone()),
                observed_generation: Some(condition.observed_generation),
            }));
        }
        Cow::Owned(shown)
    }
}

fn shows(pod: &Pod, told: &PodStatusPatch) -> bool {
    let nominated = pod.status.nominated_node_name.as_deref();
    let nomination = match &told.nominated_node_name {
        NominationPatch::Keep => true,
        NominationPatch::Clear => nominated.is_none_or(str::is_empty),
        NominationPatch::Set(node) => nominated == Some(node.as_str()),
    };
    nomination
        && told.condition.as_ref().is_none_or(|condition| {
            pod.status.pod_scheduled.as_deref().is_some_and(|shown| {
                shown.status == condition.status
                    && shown.reason == condition.reason
                    && shown.message == condition.message
            })
        })
}
