use std::borrow::Cow;

use super::super::{Columns, Map, NodeIndex, NodeSet};
use super::Reach;
use crate::storage::Topology;

/// A topology that something of storage has. The number may stand for another one once nothing has this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopologyId(u32);

impl TopologyId {
    fn slot(self) -> usize {
        self.0 as usize
    }
}

/// More changes of nodes are not remembered: topologies that have missed one are matched with all nodes again.
const MOST_CHANGES: usize = 4096;

/// Topologies, each once, however many volumes have it, and the nodes that are in it.
///
/// Nodes that change are noted only. A topology catches up when a pod is looked at that may need it, which is one comparison
/// as long as no node has come, gone or changed its labels.
#[derive(Debug, Clone, Default)]
pub(super) struct Topologies {
    slots: Vec<Slot>,
    by_topology: Map<Topology, TopologyId>,
    free: Vec<TopologyId>,
    /// Rows whose node has come, gone or changed its labels, in that order.
    changes: Vec<NodeIndex>,
    /// How many changes are no longer in the list.
    forgotten: usize,
}

#[derive(Debug, Clone)]
struct Slot {
    topology: Topology,
    users: usize,
    reach: Reach,
    /// How many changes it has seen; none before it was matched with nodes at all.
    seen: Option<usize>,
}

/// What a topology has missed.
enum Missed {
    Nothing,
    Rows(std::ops::Range<usize>),
    All,
}

impl Topologies {
    /// One more user of a topology.
    pub(super) fn add(&mut self, topology: Topology) -> TopologyId {
        if let Some(id) = self.by_topology.get(&topology) {
            self.slots[id.slot()].users += 1;
            return *id;
        }
        let slot = Slot {
            topology: topology.clone(),
            users: 1,
            reach: Reach::default(),
            seen: None,
        };
        let id = if let Some(id) = self.free.pop() {
            self.slots[id.slot()] = slot;
            id
        } else {
            self.slots.push(slot);
            TopologyId(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        };
        self.by_topology.insert(topology, id);
        id
    }

    /// One user less.
    pub(super) fn remove(&mut self, id: TopologyId) {
        let Some(slot) = self.slots.get_mut(id.slot()) else {
            return;
        };
        slot.users = slot.users.saturating_sub(1);
        if slot.users == 0 {
            self.by_topology.remove(&slot.topology);
            slot.topology = Topology::EVERYWHERE;
            slot.reach = Reach::default();
            self.free.push(id);
        }
    }

    pub(super) fn note(&mut self, row: NodeIndex) {
        if self.by_topology.is_empty() {
            return;
        }
        if self.changes.len() == MOST_CHANGES {
            self.forgotten += MOST_CHANGES;
            self.changes.clear();
        }
        self.changes.push(row);
    }

    #[cfg(test)]
    pub(super) fn is_unused(&self) -> bool {
        self.by_topology.is_empty() && self.free.len() == self.slots.len()
    }

    fn now(&self) -> usize {
        self.forgotten + self.changes.len()
    }

    fn missed(&self, slot: &Slot) -> Missed {
        match slot.seen {
            Some(seen) if seen == self.now() => Missed::Nothing,
            Some(seen) if seen >= self.forgotten => Missed::Rows(seen - self.forgotten..self.changes.len()),
            _ => Missed::All,
        }
    }
}

impl Columns {
    /// The nodes of a topology: at hand if it has been [caught up](Self::prepare_claim), else found out anew.
    pub fn reach(&self, id: TopologyId) -> Cow<'_, Reach> {
        let topologies = &self.storage.topologies;
        let Some(slot) = topologies.slots.get(id.slot()) else {
            return Cow::Owned(Reach::default());
        };
        match topologies.missed(slot) {
            Missed::Nothing => Cow::Borrowed(&slot.reach),
            Missed::Rows(_) | Missed::All => Cow::Owned(self.nodes_in(&slot.topology).into()),
        }
    }

    /// Whether a node is in a topology, known or not.
    pub fn is_in_topology(&self, node: NodeIndex, topology: &Topology) -> bool {
        self.nodes.contains(node) && self.labels.of(node).is_some_and(|labels| topology.includes(labels))
    }

    fn nodes_in(&self, topology: &Topology) -> NodeSet {
        match topology.terms() {
            None => self.nodes.clone(),
            Some(terms) => self.match_terms(terms),
        }
    }

    /// Lets a topology see what has become of nodes since it last did.
    pub(super) fn catch_up(&mut self, id: TopologyId) {
        let topologies = &self.storage.topologies;
        let Some(slot) = topologies.slots.get(id.slot()) else {
            return;
        };
        let reach = match topologies.missed(slot) {
            Missed::Nothing => return,
            Missed::All => self.nodes_in(&slot.topology).into(),
            Missed::Rows(changes) => {
                let mut reach = slot.reach.clone();
                for row in &topologies.changes[changes] {
                    reach.set(*row, self.is_in_topology(*row, &slot.topology));
                }
                reach
            }
        };
        let now = topologies.now();
        let slot = &mut self.storage.topologies.slots[id.slot()];
        slot.reach = reach;
        slot.seen = Some(now);
    }
}
