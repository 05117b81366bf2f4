use std::sync::Arc;

use super::{Map, NodeIndex, NodeSet};
use crate::Taint;

/// A list of taints that nodes have. The number may stand for another list once no node has this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TaintClass(u32);

impl TaintClass {
    fn slot(self) -> usize {
        self.0 as usize
    }
}

/// Nodes grouped by their taints: there are few different lists, so filters decide once per list.
#[derive(Debug, Clone, Default)]
pub(super) struct TaintClasses {
    class: Vec<TaintClass>,
    slots: Vec<Slot>,
    by_taints: Map<Arc<[Taint]>, TaintClass>,
    free: Vec<TaintClass>,
}

#[derive(Debug, Clone)]
struct Slot {
    taints: Arc<[Taint]>,
    nodes: NodeSet,
}

const NO_NODES: &NodeSet = &NodeSet::new();

impl TaintClasses {
    pub(super) fn grow(&mut self, length: usize) {
        self.class.resize(length, TaintClass::default());
    }

    pub(super) fn classes(&self) -> &[TaintClass] {
        &self.class
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TaintClass, &[Taint])> {
        let numbered = (0..).map(TaintClass).zip(&self.slots);
        numbered
            .filter(|(_, slot)| !slot.nodes.is_empty())
            .map(|(class, slot)| (class, &*slot.taints))
    }

    pub(super) fn nodes(&self, class: TaintClass) -> &NodeSet {
        self.slots.get(class.slot()).map_or(NO_NODES, |slot| &slot.nodes)
    }

    pub(super) fn of(&self, row: NodeIndex) -> &[Taint] {
        let slot = self
            .class
            .get(row.as_usize())
            .and_then(|class| self.slots.get(class.slot()));
        slot.filter(|slot| slot.nodes.contains(row))
            .map_or(&[], |slot| &slot.taints)
    }

    /// Whether anything changed.
    pub(super) fn set(&mut self, row: NodeIndex, taints: &[Taint]) -> bool {
        let has_class = self.nodes(self.class[row.as_usize()]).contains(row);
        if has_class && self.of(row) == taints {
            return false;
        }
        self.clear(row);
        let class = self.class_of(taints);
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
            self.by_taints.remove(&slot.taints);
            self.free.push(class);
        }
    }

    fn class_of(&mut self, taints: &[Taint]) -> TaintClass {
        if let Some(class) = self.by_taints.get(taints) {
            return *class;
        }
        let taints: Arc<[Taint]> = taints.into();
        let slot = Slot {
            taints: Arc::clone(&taints),
            nodes: NodeSet::new(),
        };
        let class = if let Some(class) = self.free.pop() {
            self.slots[class.slot()] = slot;
            class
        } else {
            self.slots.push(slot);
            TaintClass(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        };
        self.by_taints.insert(taints, class);
        class
    }
}
