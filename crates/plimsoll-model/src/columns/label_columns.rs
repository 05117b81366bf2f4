use std::num::NonZeroU32;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::{DomainCounts, Map, NodeIndex, NodeSet};
use crate::Labels;

/// One value of one label key. The number may stand for another value once no node has this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(NonZeroU32);

impl ValueId {
    pub(super) const fn slot(self) -> usize {
        self.0.get() as usize - 1
    }

    pub(super) fn of_slot(slot: usize) -> Self {
        let number = u32::try_from(slot).unwrap_or(u32::MAX).saturating_add(1);
        Self(NonZeroU32::new(number).unwrap_or(NonZeroU32::MAX))
    }
}

/// A key that ever had more values than this keeps no set of nodes for each: a host name has as many values as there are nodes,
/// a zone has a few.
const FEW_VALUES: usize = 32;

/// Labels of all nodes, one column per key.
#[derive(Debug, Clone, Default)]
pub(super) struct LabelColumns {
    by_key: Map<CompactString, KeyColumn>,
    of_node: Vec<Labels>,
}

#[derive(Debug, Clone, Default)]
struct KeyColumn {
    /// As long as the highest row that ever had the key.
    ids: Vec<Option<ValueId>>,
    nodes: NodeSet,
    values: Vec<Value>,
    by_text: Map<CompactString, ValueId>,
    free: Vec<ValueId>,
    has_many_values: bool,
    /// Of all values together.
    node_count: usize,
}

#[derive(Debug, Clone, Default)]
struct Value {
    text: CompactString,
    node_count: usize,
    /// The numbers of its rows, combined by exclusive or: of a single one the number itself.
    rows: u32,
    /// Empty if there are many values.
    nodes: NodeSet,
}

impl LabelColumns {
    pub(super) fn column(&self, key: &str) -> Option<LabelColumn<'_>> {
        self.by_key.get(key).map(|column| LabelColumn { column })
    }

    pub(super) fn of(&self, row: NodeIndex) -> Option<&Labels> {
        self.of_node.get(row.as_usize())
    }

    /// Whether anything changed; only keys whose values differ are touched.
    pub(super) fn set(&mut self, row: NodeIndex, labels: &Labels) -> bool {
        if row.as_usize() >= self.of_node.len() {
            self.of_node.resize(row.as_usize() + 1, Labels::default());
        }
        if self.of_node[row.as_usize()] == *labels {
            return false;
        }
        let before = std::mem::replace(&mut self.of_node[row.as_usize()], labels.clone());
        for (key, value) in before.iter() {
            if labels.get(key) != Some(value) {
                self.unset(row, key);
            }
        }
        for (key, value) in labels.iter() {
            if before.get(key) != Some(value) {
                self.by_key.entry(key.into()).or_default().set(row, value);
            }
        }
        true
    }

    fn unset(&mut self, row: NodeIndex, key: &str) {
        let Some(column) = self.by_key.get_mut(key) else { return };
        column.unset(row);
        if column.by_text.is_empty() {
            self.by_key.remove(key);
        }
    }
}

impl KeyColumn {
    fn set(&mut self, row: NodeIndex, value: &str) {
        let id = self.id_of(value);
        self.values[id.slot()].node_count += 1;
        self.values[id.slot()].rows ^= row.as_u32();
        if !self.has_many_values {
            self.values[id.slot()].nodes.insert(row);
        }
        self.nodes.insert(row);
        self.node_count += 1;
        if row.as_usize() >= self.ids.len() {
            self.ids.resize(row.as_usize() + 1, None);
        }
        self.ids[row.as_usize()] = Some(id);
    }

    fn unset(&mut self, row: NodeIndex) {
        let Some(id) = self.ids.get_mut(row.as_usize()).and_then(Option::take) else {
            return;
        };
        self.nodes.remove(row);
        self.node_count -= 1;
        let value = &mut self.values[id.slot()];
        value.node_count -= 1;
        value.rows ^= row.as_u32();
        value.nodes.remove(row);
        if value.node_count == 0 {
            self.by_text.remove(&value.text);
            value.text = CompactString::default();
            self.free.push(id);
        }
    }

    fn id_of(&mut self, value: &str) -> ValueId {
        if let Some(id) = self.by_text.get(value) {
            return *id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.values.push(Value::default());
            ValueId::of_slot(self.values.len() - 1)
        });
        if self.values.len() > FEW_VALUES && !self.has_many_values {
            self.has_many_values = true;
            self.values.iter_mut().for_each(|value| value.nodes = NodeSet::new());
        }
        self.values[id.slot()].text = value.into();
        self.by_text.insert(value.into(), id);
        id
    }
}

/// The values of one label key over all nodes.
#[derive(Debug, Clone, Copy)]
pub struct LabelColumn<'a> {
    column: &'a KeyColumn,
}

impl<'a> LabelColumn<'a> {
    /// Nodes that have the label, with whatever value.
    pub fn nodes(self) -> &'a NodeSet {
        &self.column.nodes
    }

    /// The value of each node; may be shorter than the other columns: rows beyond the end have none.
    pub fn ids(self) -> &'a [Option<ValueId>] {
        &self.column.ids
    }

    /// The value of one node.
    pub fn value(self, node: NodeIndex) -> Option<ValueId> {
        self.column.ids.get(node.as_usize()).copied().flatten()
    }

    /// The text of a value that some node has.
    pub fn text(self, id: ValueId) -> &'a str {
        self.column
            .values
            .get(id.slot())
            .map_or("", |value| value.text.as_str())
    }

    /// The value with this text, if some node has it.
    pub fn id_of(self, text: &str) -> Option<ValueId> {
        self.column.by_text.get(text).copied()
    }

    /// The values that nodes have.
    pub fn values(self) -> impl Iterator<Item = (ValueId, &'a str)> {
        let numbered = self
            .column
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.node_count > 0);
        numbered.map(|(slot, value)| (ValueId::of_slot(slot), value.text.as_str()))
    }

    /// A bound for tables over values: every value's [`ValueId`] maps below it with [`LabelColumn::slot`].
    pub fn slots(self) -> usize {
        self.column.values.len()
    }

    /// Position of a value in a table of [`LabelColumn::slots`] entries.
    pub fn slot(self, id: ValueId) -> usize {
        id.slot()
    }

    /// How many nodes have this value.
    pub fn node_count(self, id: ValueId) -> usize {
        self.column.values.get(id.slot()).map_or(0, |value| value.node_count)
    }

    /// Whether each value has a single node, as host names should: then a node is a domain of its own.
    pub fn tells_all_apart(self) -> bool {
        self.column.has_many_values && self.column.by_text.len() == self.column.node_count
    }

    /// Whether there are so few values that their nodes are known as sets.
    pub fn has_few_values(self) -> bool {
        !self.column.has_many_values
    }

    /// Which values some of these nodes have, by slot.
    pub fn slots_among(self, nodes: &NodeSet) -> Vec<bool> {
        if self.has_few_values() {
            let values = self.column.values.iter();
            return values.map(|value| value.nodes.intersects(nodes)).collect();
        }
        let mut among = vec![false; self.slots()];
        for value in nodes.iter().filter_map(|node| self.value(node)) {
            among[value.slot()] = true;
        }
        among
    }

    /// The nodes that have this value.
    pub fn nodes_with(self, id: ValueId) -> NodeSet {
        if self.column.has_many_values {
            NodeSet::from_column(self.ids(), |own| *own == Some(id))
        } else {
            self.column
                .values
                .get(id.slot())
                .map(|value| value.nodes.clone())
                .unwrap_or_default()
        }
    }

    /// The nodes whose value has a slot that passes; asked once per slot, not per node.
    pub fn nodes_in_slots(self, passes: impl FnMut(usize) -> bool) -> NodeSet {
        let table: Vec<bool> = (0..self.slots()).map(passes).collect();
        self.nodes_in_table(&table)
    }

    /// The nodes that have one of these values.
    pub fn nodes_with_any<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> NodeSet {
        let ids: Vec<ValueId> = texts.into_iter().filter_map(|text| self.id_of(text)).collect();
        match ids.as_slice() {
            [] => NodeSet::new(),
            [only] => self.nodes_with(*only),
            several => {
                let mut table = vec![false; self.slots()];
                for id in several {
                    table[id.slot()] = true;
                }
                self.nodes_in_table(&table)
            }
        }
    }

    /// The nodes whose value passes; asked once per value, not per node.
    pub fn nodes_where(self, mut passes: impl FnMut(&str) -> bool) -> NodeSet {
        let mut table = vec![false; self.slots()];
        for (id, text) in self.values() {
            table[id.slot()] = passes(text);
        }
        self.nodes_in_table(&table)
    }

    /// The nodes in domains where any of the counts has pods. The counts must be by this label.
    pub fn nodes_in_domains<'d>(self, counts: impl IntoIterator<Item = DomainCounts<'d>>) -> NodeSet {
        let counts: SmallVec<[DomainCounts<'d>; 2]> = counts.into_iter().collect();
        if let Some(nodes) = self.single_nodes_in(&counts) {
            return nodes;
        }
        let mut table = vec![false; self.slots()];
        for (value, _) in counts.into_iter().flat_map(DomainCounts::iter) {
            if let Some(cell) = table.get_mut(value.slot()) {
                *cell = true;
            }
        }
        self.nodes_in_table(&table)
    }

    /// The same where there are many values, but of those with pods each has a single node.
    fn single_nodes_in(self, counts: &[DomainCounts<'_>]) -> Option<NodeSet> {
        if self.has_few_values() {
            return None;
        }
        let mut nodes = NodeSet::new();
        for (value, _) in counts.iter().flat_map(|counts| counts.iter()) {
            match self.column.values.get(value.slot()) {
                Some(value) if value.node_count == 1 => {
                    nodes.insert(NodeIndex::new(value.rows));
                }
                Some(value) if value.node_count > 1 => return None,
                _ => {}
            }
        }
        Some(nodes)
    }

    fn nodes_in_table(self, table: &[bool]) -> NodeSet {
        if self.column.has_many_values {
            return NodeSet::from_column(self.ids(), |own| own.is_some_and(|id| table[id.slot()]));
        }
        let mut nodes = NodeSet::new();
        for (value, _) in self.column.values.iter().zip(table).filter(|(_, passes)| **passes) {
            nodes.union_with(&value.nodes);
        }
        nodes
    }
}
