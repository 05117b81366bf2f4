//! What the engine knows of each node, for whoever debugs it.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_model::Pod;
use plimsoll_model::columns::{Figures, NodeIndex};

use super::Engine;

/// Amounts of resources on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources {
    /// Thousandths of a core.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// How many pods.
    pub pods: i64,
    /// Units of other resources that the node has, by name.
    pub scalars: BTreeMap<CompactString, i64>,
}

/// What the columns say of one node, and who counts there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDump {
    /// Its name.
    pub name: CompactString,
    /// Whether it has no object any more, and only its pods are left.
    pub deleted: bool,
    /// What the pods on it request.
    pub requested: Resources,
    /// What pods may use.
    pub allocatable: Resources,
    /// Who counts on it, claims included, in the order in which they came.
    pub pods: Vec<Arc<Pod>>,
    /// Who is nominated to it.
    pub nominated: Vec<Arc<Pod>>,
}

impl Engine {
    /// At most so many nodes, by name, behind this one. A walk over their pods, and over all nominations, which only debugging
    /// is worth.
    pub fn dump(&self, after: Option<&str>, limit: usize) -> Vec<NodeDump> {
        let mut nominated: BTreeMap<&str, Vec<Arc<Pod>>> = BTreeMap::new();
        for (uid, node) in self.nominations() {
            nominated.entry(node).or_default().extend(self.ledger.pod(uid).cloned());
        }
        let names = self.ledger.node_names_after(after, limit);
        let dump = |name: &CompactString| self.dump_node(name, nominated.remove(name.as_str()).unwrap_or_default());
        names.into_iter().map(dump).collect()
    }

    fn dump_node(&self, name: &CompactString, nominated: Vec<Arc<Pod>>) -> NodeDump {
        let columns = self.columns();
        let row = columns.index_of(name).map(NodeIndex::as_usize);
        let cell = |column: &[i64]| row.and_then(|row| column.get(row).copied()).unwrap_or(0);
        let mut requested = Resources {
            milli_cpu: cell(columns.requested_cpu()),
            memory: cell(columns.requested_memory()),
            ephemeral_storage: cell(columns.requested_ephemeral_storage()),
            pods: cell(columns.pod_count()),
            scalars: BTreeMap::new(),
        };
        let mut allocatable = Resources {
            milli_cpu: cell(columns.allocatable_cpu()),
            memory: cell(columns.allocatable_memory()),
            ephemeral_storage: cell(columns.allocatable_ephemeral_storage()),
            pods: cell(columns.allowed_pods()),
            scalars: BTreeMap::new(),
        };
        let node = self.ledger.node(name);
        let scalars = node.map(|node| &node.status.allocatable.amounts.scalars);
        for (scalar, _) in scalars.into_iter().flatten() {
            if let Some(column) = columns.scalar(scalar) {
                let figure = |figures: Figures<'_>| row.map_or(0, |row| figures.at(row));
                requested.scalars.insert(scalar.clone(), figure(column.requested));
                allocatable.scalars.insert(scalar.clone(), figure(column.allocatable));
            }
        }
        NodeDump {
            name: name.clone(),
            deleted: node.is_none(),
            requested,
            allocatable,
            pods: self.ledger.guests(name).cloned().collect(),
            nominated,
        }
    }
}
