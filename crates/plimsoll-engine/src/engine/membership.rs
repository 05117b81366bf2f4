use std::sync::Arc;

use plimsoll_framework::{Membership, Profile};
use plimsoll_model::{Namespace, Pod, Uid};

use super::Engine;
use crate::Notice;
use crate::plan::Plan;

/// Which profile a pod belongs to, as far as its labels and its namespace's labels decide.
impl Engine {
    pub(super) fn plan_for(&self, pod: &Pod) -> Option<&Arc<Plan>> {
        self.plans
            .of(pod, self.ledger.columns().namespace_labels(&pod.name.namespace))
    }

    /// The profile that takes the pod.
    pub fn profile_of(&self, pod: &Pod) -> Option<&Arc<Profile>> {
        self.plan_for(pod).map(|plan| &plan.profile)
    }

    /// Whether the pod is there and belongs to a profile.
    pub fn takes(&self, uid: &Uid) -> bool {
        self.ledger.pod(uid).is_some_and(|pod| self.plan_for(pod).is_some())
    }

    /// Whose the pod is.
    pub fn membership(&self, pod: &Pod) -> Membership {
        let namespace = self.ledger.columns().namespace_labels(&pod.name.namespace);
        self.plans.index().membership(pod, namespace)
    }

    /// A pod without node and claim is there, or has changed.
    pub(super) fn on_waiting(&mut self, old: Option<&Pod>, new: &Arc<Pod>) {
        if self.plan_for(new).is_some() {
            self.nominations.observe(old, new);
            return;
        }
        self.nominations.remove(&new.uid);
        self.adoptions.end(&new.uid);
        let was_told = old.is_some_and(|old| self.membership(old) == Membership::Unmatched);
        if !was_told && !new.is_terminating() && self.membership(new) == Membership::Unmatched {
            self.untold.push(Arc::clone(new));
        }
    }

    /// The labels of a namespace have changed, and with them perhaps the profiles of its pods.
    pub(super) fn on_namespace(&mut self, old: Option<&Namespace>, new: Option<&Namespace>) {
        let Some(name) = new.or(old).map(|namespace| &namespace.name) else {
            return;
        };
        let (old, new) = (old.map(|old| &old.labels), new.map(|new| &new.labels));
        if !self.plans.index().reads_namespaces() || old == new {
            return;
        }
        for pod in self.ledger.waiting() {
            if pod.name.namespace == *name && self.plans.index().membership(&pod, old) != self.membership(&pod) {
                self.judge_membership(&pod);
            }
        }
    }

    /// Profiles or namespaces have changed around a waiting pod.
    pub(super) fn judge_membership(&mut self, pod: &Arc<Pod>) {
        match self.membership(pod) {
            Membership::Of(_) if self.nominations.node_of(&pod.uid).is_none() => self.nominations.observe(None, pod),
            Membership::Of(_) => {}
            Membership::Unmatched => {
                self.nominations.remove(&pod.uid);
                self.adoptions.end(&pod.uid);
                self.untold.push(Arc::clone(pod));
            }
            Membership::Undecided | Membership::Foreign => {
                self.nominations.remove(&pod.uid);
                self.adoptions.end(&pod.uid);
            }
        }
    }

    /// Tells of pods that no profile takes.
    pub(super) fn tell_unmatched(&mut self, out: &mut Vec<Notice>) {
        out.extend(self.untold.drain(..).map(|pod| Notice::Unmatched { pod }));
    }
}
