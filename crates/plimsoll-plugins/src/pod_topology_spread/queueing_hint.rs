//! Which events may let a pod be spread.
//!
//! A hint sees the waiting pod and what changed, not the pods that are there nor the workloads that default constraints
//! take their selectors from. It differs from kube-scheduler where that one says "no" to a change that can help:
//!
//! - Default constraints may select any pod of the namespace. There the workloads are looked up when the hint is asked;
//!   what they selected before is not known either.
//! - A node whose labels come to match, or no longer match, what the pod needs of its node is counted, or no longer counted,
//!   for constraints that honour it. There only the labels of domains count.
//! - A label of its own that a constraint takes over decides which pods are counted, whether or not the pod is one of them.
//! - Pods that are told to go no longer count. There that is no event, nor are changes of workloads.

use plimsoll_framework::{
    Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, ObjectChange, QueueingHint,
};
use plimsoll_model::{
    Labels, Node, NodeInclusionPolicy, Pod, TopologySpreadConstraint, WhenUnsatisfiable, WorkloadKind, WorkloadSelector,
};

use super::PodTopologySpread;
use crate::node_affinity;
use crate::placed::is_placed;

impl EnqueueExtensions for PodTopologySpread {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let pod = Action::ADD | Action::UPDATE_POD_LABEL | Action::UPDATE_POD_TOLERATION | Action::DELETE;
        let node = Action::ADD | Action::DELETE | Action::UPDATE_NODE_LABEL | Action::UPDATE_NODE_TAINT;
        let mut events = vec![
            ClusterEvent::new(EventResource::Pod, pod),
            ClusterEvent::new(EventResource::Pod, Action::UPDATE),
            ClusterEvent::new(EventResource::Node, node),
        ];
        let workloads = WorkloadKind::ALL.map(EventResource::Workload);
        events.extend(workloads.map(|workload| ClusterEvent::new(workload, Action::ALL)));
        events
    }

    /// Every change of the status of every pod is such an update.
    fn may_help_some_pod(&self, registered: ClusterEvent, _: ClusterEvent, objects: &EventObjects) -> bool {
        registered.action != Action::UPDATE || objects.pod().is_some_and(departs)
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        event: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        if !self.may_help_some_pod(registered, event, objects) {
            return Ok(QueueingHint::Skip);
        }
        let for_departures = registered.action == Action::UPDATE;
        let hard = self.hard(pod)?;
        let may_help = match registered.resource {
            EventResource::Node => objects.node().is_none_or(|change| hard.node_may_help(change)),
            EventResource::Workload(_) => objects.workload().is_none_or(|change| hard.workload_may_help(change)),
            _ if for_departures => objects.pod().is_none_or(|change| hard.a_departure_may_help(change)),
            _ => objects.pod().is_none_or(|change| hard.pod_may_help(change)),
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

/// The constraints of the waiting pod that can keep it from nodes.
struct Hard<'a> {
    pod: &'a Pod,
    constraints: Vec<&'a TopologySpreadConstraint>,
    /// Whether they are the default ones, whose selectors are those of the pod's workloads.
    defaults: bool,
    match_label_keys: bool,
}

impl PodTopologySpread {
    /// The hard constraints of a pod; or what is wrong with them.
    fn hard<'a>(&'a self, pod: &'a Pod) -> Result<Hard<'a>, String> {
        let own = &pod.spec.topology_spread_constraints;
        let defaults = own.is_empty();
        let all = if defaults { &self.defaults } else { own };
        let hard = all
            .iter()
            .filter(|spread| spread.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule);
        let constraints: Vec<_> = hard.collect();
        for selector in constraints.iter().filter_map(|spread| spread.label_selector.as_ref()) {
            selector
                .check()
                .map_err(|error| format!("obtaining pod's hard topology spread constraints: {error}"))?;
        }
        Ok(Hard {
            pod,
            constraints,
            defaults,
            match_label_keys: self.match_label_keys,
        })
    }
}

impl Hard<'_> {
    fn pod_may_help(&self, change: ObjectChange<'_, Pod>) -> bool {
        let mut both = [change.before(), change.after()].into_iter().flatten();
        if both.any(|pod| !self.involves(pod)) {
            return false;
        }
        match change {
            ObjectChange::Added(pod) | ObjectChange::Deleted(pod) => self.may_count(&pod.labels),
            ObjectChange::Updated { old, new } if new.uid == self.pod.uid => self.own_update_may_help(old, new),
            ObjectChange::Updated { old, new } => self.labels_may_help(&old.labels, &new.labels),
        }
    }

    /// Whether a pod is the waiting one, or has a place where it may count.
    fn involves(&self, other: &Pod) -> bool {
        other.uid == self.pod.uid || (is_placed(other) && other.name.namespace == self.pod.name.namespace)
    }

    fn own_update_may_help(&self, old: &Pod, new: &Pod) -> bool {
        (old.spec.tolerations != new.spec.tolerations && self.constraints.iter().any(|spread| honours_taints(spread)))
            || self.labels_may_help(&old.labels, &new.labels)
            || self.takes_over_another_value(&old.labels, &new.labels)
    }

    fn labels_may_help(&self, old: &Labels, new: &Labels) -> bool {
        let differs = |spread: &&TopologySpreadConstraint| {
            self.defaults || self.selects(spread, old) != self.selects(spread, new)
        };
        old != new && self.constraints.iter().any(differs)
    }

    fn takes_over_another_value(&self, old: &Labels, new: &Labels) -> bool {
        let mut keys = self.constraints.iter().flat_map(|spread| &spread.match_label_keys);
        self.match_label_keys && keys.any(|key| old.get(key) != new.get(key))
    }

    fn may_count(&self, labels: &Labels) -> bool {
        let selects = |spread: &&TopologySpreadConstraint| self.defaults || self.selects(spread, labels);
        self.constraints.iter().any(selects)
    }

    /// Whether one of the pod's own constraints selects pods with these labels.
    fn selects(&self, spread: &TopologySpreadConstraint, labels: &Labels) -> bool {
        let taken_over = |key| {
            let own = self.pod.labels.get(key);
            own.is_none() || own == labels.get(key)
        };
        let selector = spread.label_selector.as_ref();
        selector.is_some_and(|selector| selector.matches(labels))
            && (!self.match_label_keys || spread.match_label_keys.iter().all(|key| taken_over(key)))
    }

    fn a_departure_may_help(&self, change: ObjectChange<'_, Pod>) -> bool {
        let counted = |old: &Pod| self.involves(old) && self.may_count(&old.labels);
        !change.is_of(&self.pod.uid) && change.before().is_some_and(counted)
    }

    fn node_may_help(&self, change: ObjectChange<'_, Node>) -> bool {
        match change {
            ObjectChange::Added(node) | ObjectChange::Deleted(node) => self.has_every_key(node),
            ObjectChange::Updated { old, new } => {
                let counts = self.has_every_key(new);
                counts != self.has_every_key(old)
                    || (counts
                        && (self.moves_between_domains(old, new)
                            || old.spec.taints != new.spec.taints
                            || self.is_needed_otherwise(old, new)))
            }
        }
    }

    fn has_every_key(&self, node: &Node) -> bool {
        let mut keys = self.constraints.iter().map(|spread| &spread.topology_key);
        keys.all(|key| node.labels.contains_key(key))
    }

    fn moves_between_domains(&self, old: &Node, new: &Node) -> bool {
        let mut keys = self.constraints.iter().map(|spread| &spread.topology_key);
        keys.any(|key| old.labels.get(key) != new.labels.get(key))
    }

    /// Whether the node came to be, or is no more, one that the pod may use, where that decides if it counts.
    fn is_needed_otherwise(&self, old: &Node, new: &Node) -> bool {
        self.constraints.iter().any(|spread| honours_affinity(spread))
            && node_affinity::allows(self.pod, old) != node_affinity::allows(self.pod, new)
    }

    /// Default constraints select what the workloads of the pod select.
    fn workload_may_help(&self, change: ObjectChange<'_, WorkloadSelector>) -> bool {
        let workload = change.after().or_else(|| change.before());
        let beside = |workload: &WorkloadSelector| workload.name.namespace == self.pod.name.namespace;
        self.defaults && !self.constraints.is_empty() && workload.is_some_and(beside)
    }
}

/// Whether a pod has been told to go.
fn departs(change: ObjectChange<'_, Pod>) -> bool {
    match change {
        ObjectChange::Updated { old, new } => new.is_terminating() && !old.is_terminating(),
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => false,
    }
}

fn honours_taints(spread: &TopologySpreadConstraint) -> bool {
    spread.node_taints_policy == Some(NodeInclusionPolicy::Honor)
}

fn honours_affinity(spread: &TopologySpreadConstraint) -> bool {
    matches!(spread.node_affinity_policy, None | Some(NodeInclusionPolicy::Honor))
}

#[cfg(test)]
mod tests;
