//! Storage as a cycle sees it: the objects as the API server has them, and what pods of ours have reserved of them.
//!
//! Volumes are filed so that a pod's claims find theirs without a look at all of them, and everything that is reached from
//! some nodes only shares its topology, a set of nodes, with all that is reached from the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use compact_str::CompactString;

use super::{Columns, Map, NodeIndex, NodeSet};
use crate::ObjectName;
use crate::storage::{
    ClaimReference, CsiDriver, CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject, Topology,
    VolumeAttachment,
};

mod capacities;
mod reach;
mod reservations;
#[cfg(test)]
mod tests;
mod topologies;
mod volumes;

pub use capacities::Room;
pub use reach::Reach;
pub use topologies::TopologyId;
pub use volumes::{BySize, MigratedTopology};

use capacities::Capacities;
use reservations::Reservations;
use topologies::Topologies;
use volumes::Volumes;

/// The objects of storage, by name.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    classes: Map<CompactString, Class>,
    drivers: Map<CompactString, Arc<CsiDriver>>,
    csi_nodes: Map<CompactString, Arc<CsiNode>>,
    /// The nodes on which an in-tree plugin has moved to CSI.
    migrated: Map<CompactString, BTreeSet<CompactString>>,
    capacities: Capacities,
    attachments: Map<CompactString, Arc<VolumeAttachment>>,
    volumes: Volumes,
    claims: Map<ObjectName, Arc<PersistentVolumeClaim>>,
    reservations: Reservations,
    topologies: Topologies,
}

#[derive(Debug, Clone)]
struct Class {
    object: Arc<StorageClass>,
    allowed: TopologyId,
}

impl Storage {
    /// A class by name.
    pub fn class(&self, name: &str) -> Option<&Arc<StorageClass>> {
        self.classes.get(name).map(|class| &class.object)
    }

    /// Where volumes of a class may be made.
    pub fn allowed(&self, class: &str) -> Option<TopologyId> {
        self.classes.get(class).map(|class| class.allowed)
    }

    /// A CSI driver by name.
    pub fn driver(&self, name: &str) -> Option<&Arc<CsiDriver>> {
        self.drivers.get(name)
    }

    /// What CSI drivers say of the node of this name.
    pub fn csi_node(&self, node: &str) -> Option<&Arc<CsiNode>> {
        self.csi_nodes.get(node)
    }

    /// Where a volume of a class with this many bytes can be made, as CSI drivers tell: the tightest room first.
    pub fn rooms(&self, class: &str, bytes: i64) -> impl Iterator<Item = Room> {
        self.capacities.with_room(class, bytes)
    }

    /// A volume by name, as the API server has it.
    pub fn volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        self.volumes.get(name).map(|volume| &volume.object)
    }

    /// From where a volume is reached.
    pub fn topology_of(&self, volume: &str) -> Option<TopologyId> {
        self.volumes.get(volume).map(|volume| volume.topology)
    }

    /// From where a volume is reached on nodes where its plugin has moved to CSI, if that differs.
    pub fn migrated_topology_of(&self, volume: &str) -> Option<&MigratedTopology> {
        self.volumes.get(volume)?.migrated.as_ref()
    }

    /// Volumes of a class that are for nobody and that a claim can have, by topology.
    pub fn free_volumes(&self, class: &str) -> impl Iterator<Item = (TopologyId, &BySize)> {
        self.volumes.free(class)
    }

    /// Volumes that are for a claim of this name, told or reserved, by name.
    pub fn volumes_of_claim(&self, claim: &ObjectName) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.volumes.of_claim(claim).map(|volume| &volume.object)
    }

    /// Whom a volume is for: what the API server says, else what a pod of ours has reserved.
    pub fn volume_claim<'a>(&'a self, volume: &'a PersistentVolume) -> Option<&'a ClaimReference> {
        let told = volume.claim.as_ref();
        told.or_else(|| self.reservations.claim_of(&volume.name.name))
    }

    /// A claim, as the API server has it.
    pub fn claim(&self, name: &ObjectName) -> Option<&Arc<PersistentVolumeClaim>> {
        self.claims.get(name)
    }

    /// The node for which a claim's volume is to be made: what the API server says, else what a pod of ours has reserved.
    pub fn selected_node<'a>(&'a self, claim: &'a PersistentVolumeClaim) -> Option<&'a CompactString> {
        let told = claim.selected_node.as_ref();
        told.or_else(|| self.reservations.node_of(&claim.name))
    }

    fn set(&mut self, object: &StorageObject) {
        match object.clone() {
            StorageObject::StorageClass(class) => self.set_class(class),
            StorageObject::CsiDriver(driver) => drop(self.drivers.insert(driver.name.name.clone(), driver)),
            StorageObject::CsiNode(node) => self.set_csi_node(node),
            StorageObject::CsiStorageCapacity(capacity) => self.capacities.set(&capacity, &mut self.topologies),
            StorageObject::VolumeAttachment(attachment) => {
                self.attachments.insert(attachment.name.name.clone(), attachment);
            }
            StorageObject::PersistentVolume(volume) => {
                self.volumes.set(&volume, &mut self.topologies);
                self.file_volume(&volume.name.name);
            }
            StorageObject::PersistentVolumeClaim(claim) => drop(self.claims.insert(claim.name.clone(), claim)),
        }
    }

    fn remove(&mut self, object: &StorageObject) {
        let name = object.name();
        match object {
            StorageObject::StorageClass(_) => self.remove_class(&name.name),
            StorageObject::CsiDriver(_) => drop(self.drivers.remove(&name.name)),
            StorageObject::CsiNode(_) => self.remove_csi_node(&name.name),
            StorageObject::CsiStorageCapacity(_) => self.capacities.remove(name, &mut self.topologies),
            StorageObject::VolumeAttachment(_) => drop(self.attachments.remove(&name.name)),
            StorageObject::PersistentVolume(_) => self.volumes.remove(&name.name, &mut self.topologies),
            StorageObject::PersistentVolumeClaim(_) => drop(self.claims.remove(name)),
        }
    }

    fn set_class(&mut self, object: Arc<StorageClass>) {
        let name = object.name.name.clone();
        let allowed = self.topologies.add(Topology::of_allowed(&object.allowed_topologies));
        self.remove_class(&name);
        self.classes.insert(name, Class { object, allowed });
    }

    fn remove_class(&mut self, name: &str) {
        if let Some(class) = self.classes.remove(name) {
            self.topologies.remove(class.allowed);
        }
    }

    fn set_csi_node(&mut self, node: Arc<CsiNode>) {
        let name = node.name.name.clone();
        self.remove_csi_node(&name);
        for plugin in &node.migrated_plugins {
            self.migrated.entry(plugin.clone()).or_default().insert(name.clone());
        }
        self.csi_nodes.insert(name, node);
    }

    fn remove_csi_node(&mut self, name: &str) {
        let Some(node) = self.csi_nodes.remove(name) else {
            return;
        };
        for plugin in &node.migrated_plugins {
            if let Some(nodes) = self.migrated.get_mut(plugin) {
                nodes.remove(name);
                if nodes.is_empty() {
                    self.migrated.remove(plugin);
                }
            }
        }
    }

    /// A node has come, gone or changed its labels.
    pub(super) fn note_node(&mut self, row: NodeIndex) {
        self.topologies.note(row);
    }

    fn file_volume(&mut self, name: &str) {
        let reserved = self.reservations.claim_of(name).map(|claim| &claim.name);
        self.volumes.file(name, reserved);
    }

    /// The topologies that may matter to a pod with this claim.
    fn topologies_of_claim(&self, name: &ObjectName) -> Vec<TopologyId> {
        let Some(claim) = self.claims.get(name) else {
            return Vec::new();
        };
        if let Some(volume) = self.volumes.get(&claim.volume) {
            let migrated = volume.migrated.as_ref();
            let migrated = migrated.and_then(|migrated| migrated.topology.as_ref().ok().copied());
            return [Some(volume.topology), migrated].into_iter().flatten().collect();
        }
        let mut topologies: Vec<TopologyId> = self.free_volumes(&claim.class).map(|(topology, _)| topology).collect();
        topologies.extend(self.volumes.of_claim(name).map(|volume| volume.topology));
        topologies.extend(self.allowed(&claim.class));
        let bytes = claim.requested.unwrap_or(0);
        topologies.extend(self.rooms(&claim.class, bytes).map(|room| room.topology));
        topologies
    }
}

impl Columns {
    /// The objects of storage.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Adds or updates an object of storage.
    pub fn set_storage(&mut self, object: &StorageObject) {
        self.storage.set(object);
        self.count_storage(object, true);
    }

    /// Takes an object of storage away.
    pub fn remove_storage(&mut self, object: &StorageObject) {
        self.storage.remove(object);
        self.count_storage(object, false);
    }

    fn count_storage(&mut self, object: &StorageObject, is_there: bool) {
        self.version += 1;
        let rows = self
            .volumes
            .storage_changed(object, is_there, &self.storage, &self.rows);
        for row in rows {
            self.changed_at[row.as_usize()] = self.version;
        }
    }

    /// Brings the topologies up to date that a pod with this claim may ask about. Without it they are found out anew each
    /// time they are asked for.
    pub fn prepare_claim(&mut self, claim: &ObjectName) {
        for topology in self.storage.topologies_of_claim(claim) {
            self.catch_up(topology);
        }
    }

    /// The nodes on which an in-tree plugin has moved to CSI.
    pub fn nodes_migrated(&self, plugin: &str) -> NodeSet {
        let names = self.storage.migrated.get(plugin).into_iter().flatten();
        let nodes = names.filter_map(|name| self.index_of(name));
        nodes.filter(|node| self.nodes.contains(*node)).collect()
    }
}
