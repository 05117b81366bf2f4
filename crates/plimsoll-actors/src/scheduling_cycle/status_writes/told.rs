use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll_client::{NominationPatch, PodStatusPatch};
use plimsoll_model::{Delta, Pod, PodCondition, ResourceVersion, Uid};

use super::merged;

/// What was written to the statuses of pods and does not show in the pods that are handed out yet. A pod is tried again before
/// the stream tells of the last patch when its room comes at once, and what is to be written then must not be held against
/// what it said before that.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<Uid, Written>);

#[derive(Debug, Default)]
struct Written {
    patch: PodStatusPatch,
    /// The version at which the stream showed it. Somebody may have written something else since.
    seen: Option<ResourceVersion>,
}

impl Told {
    /// It was written.
    pub(super) fn tell(&mut self, uid: &Uid, patch: &PodStatusPatch) {
        let told = self.0.entry(uid.clone()).or_default();
        told.patch = merged(std::mem::take(&mut told.patch), patch.clone());
        told.seen = None;
    }

    /// The pod is handed out as the stream tells of it.
    pub(super) fn handed_out(&mut self, pod: &Pod) {
        let is_past = |told: &Written| {
            shows(pod, &told.patch) || told.seen.is_some_and(|version| pod.resource_version >= version)
        };
        if self.0.get(&pod.uid).is_some_and(is_past) {
            self.0.remove(&pod.uid);
        }
    }

    /// A change in the stream.
    pub(super) fn see(&mut self, delta: &Delta) {
        if self.0.is_empty() {
            return;
        }
        if let Some(uid) = over(delta) {
            self.0.remove(uid);
        } else if let Delta::PodUpdated { new: pod, .. } = delta
            && let Some(told) = self.0.get_mut(&pod.uid)
            && told.seen.is_none()
            && shows(pod, &told.patch)
        {
            told.seen = Some(pod.resource_version);
        }
    }

    /// The pod as it is once the stream tells of all that was written, and of these patches after that.
    pub(super) fn shown<'a, 'b>(
        &'b self,
        pod: &'a Pod,
        later: impl Iterator<Item = &'b PodStatusPatch>,
    ) -> Cow<'a, Pod> {
        let written = self.0.get(&pod.uid).map(|told| &told.patch);
        let patches = written.into_iter().chain(later).cloned();
        let Some(told) = patches.reduce(merged) else {
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

/// The pod that is bound or gone by this change: nobody is told anything more of it.
pub(super) fn over(delta: &Delta) -> Option<&Uid> {
    match delta {
        Delta::PodAdded(pod) | Delta::PodUpdated { new: pod, .. } if pod.node_name().is_some() => Some(&pod.uid),
        Delta::PodDeleted(pod) => Some(&pod.uid),
        _ => None,
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
