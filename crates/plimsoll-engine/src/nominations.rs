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
    by_pod: HashMap<Uid, Nominated, FixedState>,
    by_node: BTreeMap<CompactString, Vec<Uid>>,
    /// Pods that are no longer nominated to a node which their status never named, and the node.
    ended_unseen: Vec<(Arc<Pod>, CompactString)>,
}

struct Nominated {
    pod: Arc<Pod>,
    node: CompactString,
    priority: i32,
    footprint: Arc<Footprint>,
}

/// A nominated pod that counts against the pod being placed.
pub(crate) struct Contender {
    pub(crate) index: NodeIndex,
    pub(crate) node: CompactString,
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
                if let Some(node) = self.by_pod.get(&new.uid).map(|nominated| nominated.node.clone()) {
                    self.set(new, node);
                }
            }
        }
    }

    pub(crate) fn set(&mut self, pod: &Arc<Pod>, node: CompactString) {
        if let Some(before) = self.take(&pod.uid).filter(|before| before.node != node) {
            self.note_end(before);
        }
        self.by_node.entry(node.clone()).or_default().push(pod.uid.clone());
        let nominated = Nominated {
            pod: Arc::clone(pod),
            node,
            priority: pod.priority(),
            footprint: Arc::clone(pod.footprint()),
        };
        self.by_pod.insert(pod.uid.clone(), nominated);
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
        if let Some(nominated) = self.take(uid) {
            self.note_end(nominated);
        }
    }

    /// The pod has this node: what was kept for it there is now its own.
    pub(crate) fn placed(&mut self, uid: &Uid, node: &str) {
        if let Some(nominated) = self.take(uid).filter(|nominated| nominated.node != node) {
            self.note_end(nominated);
        }
    }

    /// The pods that have ceased to be nominated since this was last asked, with the node, but for those of which changes of the
    /// pod tell.
    pub(crate) fn take_ended_unseen(&mut self) -> Vec<(Arc<Pod>, CompactString)> {
        std::mem::take(&mut self.ended_unseen)
    }

    fn take(&mut self, uid: &Uid) -> Option<Nominated> {
        let nominated = self.by_pod.remove(uid)?;
        if let Some(uids) = self.by_node.get_mut(&nominated.node) {
            uids.retain(|other| other != uid);
            if uids.is_empty() {
                self.by_node.remove(&nominated.node);
            }
        }
        Some(nominated)
    }

    /// Whoever was turned away by a nomination hears of its end from the stream, where its status named the node.
    fn note_end(&mut self, Nominated { pod, node, .. }: Nominated) {
        if pod.status.nominated_node_name.as_ref() != Some(&node) {
            self.ended_unseen.push((pod, node));
        }
    }

    pub(crate) fn node_of(&self, uid: &Uid) -> Option<&CompactString> {
        self.by_pod.get(uid).map(|nominated| &nominated.node)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Uid, &str)> {
        self.by_node
            .iter()
            .flat_map(|(node, uids)| uids.iter().map(move |uid| (uid, node.as_str())))
    }

    /// Pods below a priority that are nominated to a node, in the order in which they came to be.
    pub(crate) fn below(&self, node: &str, priority: i32) -> impl Iterator<Item = &Arc<Pod>> {
        let uids = self.by_node.get(node).into_iter().flatten();
        let nominated = uids.filter_map(|uid| self.by_pod.get(uid));
        nominated
            .filter(move |nominated| nominated.priority < priority)
            .map(|nominated| &nominated.pod)
    }

    /// The pods for which room on a node is kept from this one, by name.
    pub(crate) fn ahead_of<'a>(&'a self, pod: &'a Pod, node: &str) -> impl Iterator<Item = &'a Arc<Pod>> {
        let uids = self.by_node.get(node).into_iter().flatten();
        let others = uids
            .filter(|uid| **uid != pod.uid)
            .filter_map(|uid| self.by_pod.get(uid));
        others
            .filter(|nominated| nominated.priority >= pod.priority())
            .map(|nominated| &nominated.pod)
    }

    /// Nominated pods of at least the pod's priority on nodes in `scope`.
    pub(crate) fn contenders(&self, pod: &Arc<Pod>, scope: &NodeSet, columns: &Columns) -> Vec<Contender> {
        if self.by_pod.is_empty() {
            return Vec::new();
        }
        let mut contenders = Vec::new();
        for (node, uids) in &self.by_node {
            let Some(index) = columns.index_of(node).filter(|index| scope.contains(*index)) else {
                continue;
            };
            let nominated = uids
                .iter()
                .filter(|uid| **uid != pod.uid)
                .filter_map(|uid| self.by_pod.get(uid));
            for nominated in nominated.filter(|nominated| nominated.priority >= pod.priority()) {
                contenders.push(Contender {
                    index,
                    node: node.clone(),
                    footprint: Arc::clone(&nominated.footprint),
                });
            }
        }
        contenders
    }
}
