use compact_str::CompactString;

use super::{Map, NodeIndex};

/// Which row belongs to which name.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    names: Vec<CompactString>,
    by_name: Map<CompactString, NodeIndex>,
    free: Vec<NodeIndex>,
}

impl Rows {
    pub(super) fn capacity(&self) -> usize {
        self.names.len()
    }

    pub(super) fn index_of(&self, name: &str) -> Option<NodeIndex> {
        self.by_name.get(name).copied()
    }

    pub(super) fn name(&self, row: NodeIndex) -> &str {
        self.names.get(row.as_usize()).map_or("", CompactString::as_str)
    }

    /// The row of this name; a free or new one when it has none.
    pub(super) fn claim(&mut self, name: &str) -> NodeIndex {
        if let Some(row) = self.index_of(name) {
            return row;
        }
        let row = self.free.pop().unwrap_or_else(|| {
            self.names.push(CompactString::default());
            NodeIndex::from_usize(self.names.len() - 1)
        });
        self.names[row.as_usize()] = name.into();
        self.by_name.insert(name.into(), row);
        row
    }

    pub(super) fn release(&mut self, row: NodeIndex) {
        let name = std::mem::take(&mut self.names[row.as_usize()]);
        self.by_name.remove(&name);
        self.free.push(row);
    }
}
