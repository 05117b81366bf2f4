use std::hash::Hash;
use std::sync::Arc;

use super::{Map, NodeIndex, NodeSet};

/// A list of things (taints, for example) that some nodes have. The number may stand for another list once no node has
/// this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodeClass(u32);

impl NodeClass {
    fn slot(self) -> usize {
        self.0 as usize
    }
}

/// Nodes grouped by a list that each has: there are few different lists, so filters decide once per list.
#[derive(Debug, Clone)]
pub(super) struct NodeClasses<T> {
    class: Vec<NodeClass>,
    slots: Vec<Slot<T>>,
    by_list: Map<Arc<[T]>, NodeClass>,
    free: Vec<NodeClass>,
}

#[derive(Debug, Clone)]
struct Slot<T> {
    list: Arc<[T]>,
    nodes: NodeSet,
}

impl<T> Default for NodeClasses<T> {
    fn default() -> Self {
        Self {
            class: Vec::new(),
            slots: Vec::new(),
            by_list: Map::default(),
            free: Vec::new(),
        }
    }
}

const NO_NODES: &NodeSet = &NodeSet::new();

impl<T: Clone + Eq + Hash> NodeClasses<T> {
    pub(super) fn grow(&mut self, length: usize) {
        self.class.resize(length, NodeClass::default());
    }

    pub(super) fn classes(&self) -> &[NodeClass] {
        &self.class
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeClass, &[T])> {
        let numbered = (0..).map(NodeClass).zip(&self.slots);
        numbered
            .filter(|(_, slot)| !slot.nodes.is_empty())
            .map(|(class, slot)| (class, &*slot.list))
    }

    pub(super) fn nodes(&self, class: NodeClass) -> &NodeSet {
        self.slots.get(class.slot()).map_or(NO_NODES, |slot| &slot.nodes)
    }

    pub(super) fn of(&self, row: NodeIndex) -> &[T] {
        let slot = self
            .class
            .get(row.as_usize())
            .and_then(|class| self.slots.get(class.slot()));
        slot.filter(|slot| slot.nodes.contains(row))
            .map_or(&[], |slot| &slot.list)
    }

    /// Whether anything changed.
    pub(super) fn set(&mut self, row: NodeIndex, list: &[T]) -> bool {
        let has_class = self.nodes(self.class[row.as_usize()]).contains(row);
        if has_class && self.of(row) == list {
            return false;
        }
        self.clear(row);
        let class = self.class_of(list);
        self.slots[class.slot()].nodes.insert(row);
        self.class[row.as_usize()] = class;
        true
    }

    /// The row has no node any more.
    pub(super) fn clear(&mut self, row: NodeIndex) {
        let class = self.class[row.as_usize()];
        let Some(slot) = self.slots.get_mut(class.slot()) else {
            return;
        };
        if slot.nodes.remove(row) && slot.nodes.is_empty() {
            self.by_list.remove(&slot.list);
            self.free.push(class);
        }
    }

    fn class_of(&mut self, list: &[T]) -> NodeClass {
        if let Some(class) = self.by_list.get(list) {
            return *class;
        }
        let list: Arc<[T]> = list.into();
        let slot = Slot {
            list: Arc::clone(&list),
            nodes: NodeSet::new(),
        };
        let class = if let Some(class) = self.free.pop() {
            self.slots[class.slot()] = slot;
            class
        } else {
            self.slots.push(slot);
            NodeClass(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        };
        self.by_list.insert(list, class);
        class
    }
}
