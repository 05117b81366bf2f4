use compact_str::CompactString;

use super::{Map, NodeIndex, NodeSet, slot};
use crate::NodeImage;

/// Which nodes have which images.
#[derive(Debug, Clone, Default)]
pub(super) struct ImageColumns {
    by_name: Map<CompactString, u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    of_node: Vec<Box<[u32]>>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    name: CompactString,
    size: i64,
    nodes: NodeSet,
    holders: usize,
}

/// One image name over all nodes.
#[derive(Debug, Clone, Copy)]
pub struct ImageColumn<'a> {
    /// Bytes, as said by the first node that reported the name.
    pub size: i64,
    /// Nodes that have it.
    pub nodes: &'a NodeSet,
}

impl ImageColumns {
    pub(super) fn column(&self, name: &str) -> Option<ImageColumn<'_>> {
        let entry = self.entries.get(slot(&self.by_name, name)?)?;
        Some(ImageColumn {
            size: entry.size,
            nodes: &entry.nodes,
        })
    }

    /// Whether anything changed. The only holder of an image may correct its size; of a name that a node reports twice
    /// the first size counts.
    pub(super) fn set(&mut self, row: NodeIndex, images: &[NodeImage]) -> bool {
        let mut changed = false;
        let mut held: Vec<u32> = Vec::with_capacity(images.iter().map(|image| image.names.len()).sum());
        for (name, size) in images
            .iter()
            .flat_map(|image| image.names.iter().map(|name| (name, image.size_bytes)))
        {
            let id = self.id_of(name);
            if !held.contains(&id) {
                held.push(id);
                changed |= self.entries[id as usize].hold(row, size);
            }
        }
        if row.as_usize() >= self.of_node.len() {
            self.of_node.resize(row.as_usize() + 1, Box::default());
        }
        let before = std::mem::take(&mut self.of_node[row.as_usize()]);
        for id in before.iter().filter(|id| !held.contains(id)) {
            self.let_go(*id, row);
            changed = true;
        }
        self.of_node[row.as_usize()] = held.into();
        changed
    }

    fn id_of(&mut self, name: &CompactString) -> u32 {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        self.entries[id as usize].name.clone_from(name);
        self.by_name.insert(name.clone(), id);
        id
    }

    fn let_go(&mut self, id: u32, row: NodeIndex) {
        let entry = &mut self.entries[id as usize];
        entry.nodes.remove(row);
        entry.holders -= 1;
        if entry.holders == 0 {
            self.by_name.remove(&entry.name);
            *entry = Entry::default();
            self.free.push(id);
        }
    }
}

impl Entry {
    fn hold(&mut self, row: NodeIndex, size: i64) -> bool {
        let is_new = self.nodes.insert(row);
        self.holders += usize::from(is_new);
        let corrected = self.holders == 1 && self.size != size;
        if corrected {
            self.size = size;
        }
        is_new || corrected
    }
}
