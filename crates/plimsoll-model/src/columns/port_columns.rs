use std::collections::BTreeMap;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::{Map, NodeIndex, NodeSet};
use crate::host_port::addresses_overlap;
use crate::{HostPort, Protocol};

/// Host ports in use. A port may be in use twice on a node (a foreign scheduler, an extender): it is free when both
/// users are gone.
#[derive(Debug, Clone, Default)]
pub(super) struct PortColumns {
    by_port: Map<(Protocol, i32), SmallVec<[AddressUse; 1]>>,
}

#[derive(Debug, Clone)]
struct AddressUse {
    ip: CompactString,
    nodes: NodeSet,
    /// Users beyond the first.
    further: BTreeMap<NodeIndex, u32>,
}

impl PortColumns {
    pub(super) fn add(&mut self, row: NodeIndex, port: &HostPort) {
        let uses = self.by_port.entry((port.protocol.clone(), port.port)).or_default();
        let at = uses.iter().position(|used| used.ip == port.ip).unwrap_or_else(|| {
            uses.push(AddressUse {
                ip: port.ip.clone(),
                nodes: NodeSet::new(),
                further: BTreeMap::new(),
            });
            uses.len() - 1
        });
        if !uses[at].nodes.insert(row) {
            *uses[at].further.entry(row).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, row: NodeIndex, port: &HostPort) {
        let key = (port.protocol.clone(), port.port);
        let Some(uses) = self.by_port.get_mut(&key) else { return };
        let Some(at) = uses.iter().position(|used| used.ip == port.ip) else {
            return;
        };
        uses[at].remove(row);
        if uses[at].nodes.is_empty() {
            uses.swap_remove(at);
        }
        if uses.is_empty() {
            self.by_port.remove(&key);
        }
    }

    pub(super) fn conflicts(&self, wanted: &[HostPort]) -> NodeSet {
        let mut taken = NodeSet::new();
        for port in wanted {
            let uses = self
                .by_port
                .get(&(port.protocol.clone(), port.port))
                .into_iter()
                .flatten();
            for used in uses.filter(|used| addresses_overlap(&used.ip, &port.ip)) {
                taken.union_with(&used.nodes);
            }
        }
        taken
    }
}

impl AddressUse {
    fn remove(&mut self, row: NodeIndex) {
        match self.further.get_mut(&row) {
            Some(1) => {
                self.further.remove(&row);
            }
            Some(users) => *users -= 1,
            None => {
                self.nodes.remove(row);
            }
        }
    }
}
