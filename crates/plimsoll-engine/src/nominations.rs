use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use plimsoll_model::{Footprint, Pod, Uid};

/// Pods that wait for room being made on a node: filters for others of no higher priority count them as if there. That is
/// also why no two preemptions count on the same freed room: to a pod of the same or a lower priority the room that is being
/// made is taken, and a pod of a higher priority that takes it ends the nomination.
#[derive(Default)]
pub(crate) struct Nominations {
    by_pod: HashMap<Uid, CompactString, FixedState>,
    by_node: BTreeMap<CompactString, Vec<Nominated>>,
    /// Pods that are no longer nominated to a node which their status never named, and the node.
    ended_unseen: Vec<(Arc<Pod>, CompactString)>,
}

struct Nominated {
    pod: Arc<Pod>,
    priority: i32,
}

/// A nominated pod that counts against the pod being placed.
pub(crate) struct Contender {
    pub(crate) index: NodeIndex,
    pub(crate) footprint: Arc<Footprint>,
}

impl Nominations {
    /// Follows an unassigned pod of ours: the node in its status counts; when neither this version nor the last names one,
    /// what was decided here stays.
    pub(crate) fn observe(&mut self, old: Option<&Pod>, new: &Arc<Pod>) {
        let was_named = old.is_some_and(|old| old.status.nominated_node_name.is_some());
        match &new.status.nominated_node_name {
            Some(node) => self.set(new, node.clone()),
            None if was_named => self.remove(&new.uid),
            None => {
                if let Some(node) = self.by_pod.get(&new.uid).cloned() {
                    self.set(new, node);
                }
            }
        }
    }

    pub(crate) fn set(&mut self, pod: &Arc<Pod>, node: CompactString) {
        if let Some((earlier, before)) = self.take(&pod.uid).filter(|(_, before)| *before != node) {
            self.note_end(earlier, before);
        }
        self.by_pod.insert(pod.uid.clone(), node.clone());
        self.by_node.entry(node).or_default().push(Nominated {
            pod: Arc::clone(pod),
            priority: pod.priority(),
        });
    }

    /// Takes back what was decided here: the node in the pod's status counts, if it names one.
    pub(crate) fn restore(&mut self, pod: &Arc<Pod>) {
        // Nobody has been tried since, and so nobody was turned away by it.
        drop(self.take(&pod.uid));
        if let Some(node) = &pod.status.nominated_node_name {
            self.set(pod, node.clone());
        }
    }

    pub(crate) fn remove(&mut self, uid: &Uid) {
        if let Some((pod, node)) = self.take(uid) {
            self.note_end(pod, node);
        }
    }

    /// The pod has this node: what was kept for it there is now its own.
    pub(crate) fn placed(&mut self, uid: &Uid, node: &str) {
        if let Some((pod, before)) = self.take(uid).filter(|(_, before)| before != node) {
            self.note_end(pod, before);
        }
    }

    /// The pods that have ceased to be nominated since this was last asked, with the node, but for those of which changes of the
    /// pod tell.
    pub(crate) fn take_ended_unseen(&mut self) -> Vec<(Arc<Pod>, CompactString)> {
        std::mem::take(&mut self.ended_unseen)
    }

    fn take(&mut self, uid: &Uid) -> Option<(Arc<Pod>, CompactString)> {
        let node = self.by_pod.remove(uid)?;
        let there = self.by_node.get_mut(&node)?;
        let at = there.iter().position(|nominated| nominated.pod.uid == *uid)?;
        let Nominated { pod, .. } = there.remove(at);
        if there.is_empty() {
            self.by_node.remove(&node);
        }
        Some((pod, node))
    }

    /// Whoever was turned away by a nomination hears of its end from the stream, where its status named the node.
    fn note_end(&mut self, pod: Arc<Pod>, node: CompactString) {
        if pod.status.nominated_node_name.as_ref() != Some(&node) {
            self.ended_unseen.push((pod, node));
        }
    }

    pub(crate) fn node_of(&self, uid: &Uid) -> Option<&CompactString> {
        self.by_pod.get(uid)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Uid, &str)> {
        let nodes = self.by_node.iter();
        nodes.flat_map(|(node, there)| there.iter().map(move |nominated| (&nominated.pod.uid, node.as_str())))
    }

    /// Pods below a priority that are nominated to a node, in the order in which they came to be.
    pub(crate) fn below(&self, node: &str, priority: i32) -> impl Iterator<Item = &Arc<Pod>> {
        let nominated = self.by_node.get(node).into_iter().flatten();
        nominated
            .filter(move |nominated| nominated.priority < priority)
            .map(|nominated| &nominated.pod)
    }

    /// The pods for which room on a node is kept from this one, by name.
    pub(crate) fn ahead_of<'a>(&'a self, pod: &'a Pod, node: &str) -> impl Iterator<Item = &'a Arc<Pod>> {
        let there = self.by_node.get(node).into_iter().flatten();
        there
            .filter(|nominated| nominated.counts_against(pod))
            .map(|nominated| &nominated.pod)
    }

    /// Nominated pods of at least the pod's priority on nodes in `scope`, those of one node next to each other.
    pub(crate) fn contenders(&self, pod: &Pod, scope: &NodeSet, columns: &Columns) -> Vec<Contender> {
        let mut contenders = Vec::new();
        let mut add = |index, there: &[Nominated]| {
            let nominated = there.iter().filter(|nominated| nominated.counts_against(pod));
            contenders.extend(nominated.map(|nominated| Contender {
                index,
                footprint: Arc::clone(nominated.pod.footprint()),
            }));
        };
        // A pod that was nominated is tried on its node first, alone.
        if let (1, Some(only)) = (scope.len(), scope.first()) {
            add(
                only,
                self.by_node.get(columns.name(only)).map_or(&[][..], Vec::as_slice),
            );
            return contenders;
        }
        for (node, there) in &self.by_node {
            if let Some(index) = columns.index_of(node).filter(|index| scope.contains(*index)) {
                add(index, there);
            }
        }
        contenders
    }
}

impl Nominated {
    /// Whether the pod being placed must leave it room.
    fn counts_against(&self, pod: &Pod) -> bool {
        self.pod.uid != pod.uid && self.priority >= pod.priority()
    }
}
