//! Which events may let a pod near those it must be near, or away from those it must not.
//!
//! A hint sees the waiting pod and what changed, not the pods that are there. It differs from kube-scheduler where that one
//! says "no" to a change that can help:
//!
//! - A pod that matches one of several anti-affinity terms keeps the waiting pod away, so that it helps when it goes.
//!   There it must match all.
//! - When the last of those goes that the pod must be near, and the pod means itself too, it becomes the first of its kind
//!   and may go anywhere. There that counts for nothing.
//! - Namespaces may be meant by their labels, which are not known here: they count as meant. There as not meant, unless
//!   those without labels are.
//! - Pods that are there may have anti-affinity of their own towards the waiting pod, over any label: nodes that are new or
//!   leave a domain help pods without terms too. There only terms of the waiting pod count.
//! - Vanishing nodes and labels of namespaces have no events there.

use plimsoll_framework::{
    Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, ObjectChange, QueueingHint,
};
use plimsoll_model::{Labels, Namespace, Node, Pod, PodAffinityTerm};

use super::InterPodAffinity;
use super::rules::{check, required};
use crate::placed::is_placed;

impl EnqueueExtensions for InterPodAffinity {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let pod = Action::ADD | Action::UPDATE_POD_LABEL | Action::DELETE;
        let node = Action::ADD | Action::DELETE | Action::UPDATE_NODE_LABEL;
        vec![
            ClusterEvent::new(EventResource::Pod, pod),
            ClusterEvent::new(EventResource::Node, node),
            ClusterEvent::new(EventResource::Namespace, Action::ALL),
        ]
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let terms = Terms::of(pod)?;
        let may_help = match registered.resource {
            EventResource::Node => objects.node().is_none_or(|change| terms.node_may_help(change)),
            EventResource::Namespace => objects
                .namespace()
                .is_none_or(|change| terms.namespace_may_help(change)),
            _ => match objects.pod() {
                Some(change) => terms.pod_may_help(change)?,
                None => true,
            },
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

/// What the waiting pod demands.
struct Terms<'a> {
    pod: &'a Pod,
    affinity: &'a [PodAffinityTerm],
    anti_affinity: &'a [PodAffinityTerm],
}

impl<'a> Terms<'a> {
    /// Of a pod; or what is wrong with them.
    fn of(pod: &'a Pod) -> Result<Self, String> {
        let all = pod.spec.affinity.as_deref();
        let affinity = all.and_then(|all| all.pod_affinity.as_ref());
        let anti_affinity = all.and_then(|all| all.pod_anti_affinity.as_ref());
        check(affinity, anti_affinity)?;
        Ok(Self {
            pod,
            affinity: required(affinity),
            anti_affinity: required(anti_affinity),
        })
    }

    fn pod_may_help(&self, change: ObjectChange<'_, Pod>) -> Result<bool, String> {
        if let ObjectChange::Updated { new, .. } = change
            && new.uid == self.pod.uid
        {
            // Only labels are heard of: there may be anti-affinity towards the old ones.
            return Ok(true);
        }
        if [change.before(), change.after()]
            .into_iter()
            .flatten()
            .any(|pod| !is_placed(pod))
        {
            return Ok(false);
        }
        Ok(match change {
            ObjectChange::Added(new) => self.draws_to(new),
            ObjectChange::Updated { old, new } => {
                (!self.draws_to(old) && self.draws_to(new))
                    || self.keeps_away_only_from(old, new)
                    || (self.draws_to(old) && !self.draws_to(new) && self.draws_to(self.pod))
            }
            ObjectChange::Deleted(old) => {
                self.anti_affinity.iter().any(|term| self.means(term, old))
                    || self.is_kept_away_by(old)?
                    || (self.draws_to(old) && self.draws_to(self.pod))
            }
        })
    }

    fn means(&self, term: &PodAffinityTerm, other: &Pod) -> bool {
        may_mean(term, &self.pod.name.namespace, other)
    }

    /// Whether a pod may be one that all affinity terms mean.
    fn draws_to(&self, other: &Pod) -> bool {
        !self.affinity.is_empty() && self.affinity.iter().all(|term| self.means(term, other))
    }

    /// Whether some anti-affinity term means a pod as it was, and not as it is.
    fn keeps_away_only_from(&self, old: &Pod, new: &Pod) -> bool {
        let mut terms = self.anti_affinity.iter();
        terms.any(|term| self.means(term, old) && !self.means(term, new))
    }

    fn is_kept_away_by(&self, other: &Pod) -> Result<bool, String> {
        let anti_affinity = other
            .spec
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.pod_anti_affinity.as_ref());
        check(None, anti_affinity)?;
        let mut terms = required(anti_affinity).iter();
        Ok(terms.any(|term| may_mean(term, &other.name.namespace, self.pod)))
    }

    fn node_may_help(&self, change: ObjectChange<'_, Node>) -> bool {
        match change {
            // Without terms of its own it was kept away by others, who may not be there.
            ObjectChange::Added(new) => {
                self.affinity.is_empty() || !self.anti_affinity.is_empty() || self.has_some_affinity_key(&new.labels)
            }
            ObjectChange::Updated { old, new } => {
                leaves_a_domain(&old.labels, &new.labels) || self.gains_a_key(old, new)
            }
            ObjectChange::Deleted(old) => !old.labels.is_empty(),
        }
    }

    fn has_some_affinity_key(&self, labels: &Labels) -> bool {
        self.affinity.iter().any(|term| labels.contains_key(&term.topology_key))
    }

    fn gains_a_key(&self, old: &Node, new: &Node) -> bool {
        let mut keys = self.affinity.iter().map(|term| &term.topology_key);
        keys.any(|key| new.labels.contains_key(key) && !old.labels.contains_key(key))
    }

    /// Pods that are there may mean the waiting pod by the labels of its namespace, and its own terms may mean others so.
    fn namespace_may_help(&self, change: ObjectChange<'_, Namespace>) -> bool {
        let (before, after) = (change.before(), change.after());
        let Some(namespace) = after.or(before) else {
            return false;
        };
        let none = Labels::default();
        let labels = [before, after].map(|namespace| namespace.map_or(&none, |namespace| &namespace.labels));
        let own = namespace.name == self.pod.name.namespace;
        labels[0] != labels[1]
            && (own
                || self
                    .affinity
                    .iter()
                    .chain(self.anti_affinity)
                    .any(asks_for_namespace_labels))
    }
}

/// Whether a term of a pod in this namespace may mean a pod: namespaces that are meant by their labels are taken for meant.
fn may_mean(term: &PodAffinityTerm, owner_namespace: &str, other: &Pod) -> bool {
    let namespace = &other.name.namespace;
    let in_namespace = term.namespace_selector.is_some()
        || term.namespaces.contains(namespace)
        || (term.namespaces.is_empty() && namespace == owner_namespace);
    in_namespace
        && term
            .label_selector
            .as_ref()
            .is_some_and(|selector| selector.matches(&other.labels))
}

/// A selector that is content with no labels means every namespace, whatever its labels.
fn asks_for_namespace_labels(term: &PodAffinityTerm) -> bool {
    let selector = term.namespace_selector.as_ref();
    selector.is_some_and(|selector| !selector.matches(&Labels::default()))
}

/// Whether a label is gone or has another value.
fn leaves_a_domain(old: &Labels, new: &Labels) -> bool {
    old.iter().any(|(key, value)| new.get(key) != Some(value))
}

#[cfg(test)]
mod tests;
