//! From where a volume that a claim has can be reached.

use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use plimsoll_model::storage::{MigratedVolume, PersistentVolume, Topology};

/// Those of the nodes from which a volume is reached; none if there is no such volume. `Err` if one of the nodes knows it as a
/// volume of a CSI driver, and it cannot be translated into one.
pub(super) fn reached_within(columns: &Columns, volume: &str, nodes: &NodeSet) -> Result<Option<NodeSet>, String> {
    let storage = columns.storage();
    let Some(topology) = storage.topology_of(volume) else {
        return Ok(None);
    };
    let mut reached = columns.reach(topology).within(nodes);
    if let Some(migrated) = storage.migrated_topology_of(volume) {
        let mut moved = columns.nodes_migrated(migrated.plugin);
        moved.intersect_with(nodes);
        if !moved.is_empty() {
            let topology = migrated.topology.as_ref().map_err(|error| untranslatable(error))?;
            reached.subtract(&moved);
            reached.union_with(&columns.reach(*topology).within(&moved));
        }
    }
    Ok(Some(reached))
}

/// Whether a volume is reached from one node; `Err` as for [`reached_within`].
pub(super) fn is_reached_from(columns: &Columns, volume: &PersistentVolume, node: NodeIndex) -> Result<bool, String> {
    let moved = |plugin: &str| {
        let csi_node = columns.storage().csi_node(columns.name(node));
        csi_node.is_some_and(|node| node.migrated_plugins.iter().any(|moved| moved == plugin))
    };
    let topology = match MigratedVolume::of(volume).filter(|migrated| moved(migrated.plugin)) {
        Some(migrated) => migrated.topology.map_err(|error| untranslatable(&error))?,
        None => Topology::of_affinity(volume.node_affinity.as_deref()),
    };
    Ok(columns.is_in_topology(node, &topology))
}

fn untranslatable(error: &str) -> String {
    format!("could not translate pv: {error}")
}
