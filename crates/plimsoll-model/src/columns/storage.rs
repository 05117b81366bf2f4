//! Storage as a cycle sees it: the objects as the API server has them, and what pods of ours have reserved of them.

use std::sync::Arc;

use compact_str::CompactString;

use super::{Columns, Map};
use crate::ObjectName;
use crate::storage::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject,
    VolumeAttachment,
};

/// The objects of storage, by name.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    classes: Map<CompactString, Arc<StorageClass>>,
    drivers: Map<CompactString, Arc<CsiDriver>>,
    csi_nodes: Map<CompactString, Arc<CsiNode>>,
    capacities: Map<ObjectName, Arc<CsiStorageCapacity>>,
    attachments: Map<CompactString, Arc<VolumeAttachment>>,
    volumes: Map<CompactString, Arc<PersistentVolume>>,
    claims: Map<ObjectName, Arc<PersistentVolumeClaim>>,
}

impl Storage {
    /// A class by name.
    pub fn class(&self, name: &str) -> Option<&Arc<StorageClass>> {
        self.classes.get(name)
    }

    /// A CSI driver by name.
    pub fn driver(&self, name: &str) -> Option<&Arc<CsiDriver>> {
        self.drivers.get(name)
    }

    /// What CSI drivers say of the node of this name.
    pub fn csi_node(&self, node: &str) -> Option<&Arc<CsiNode>> {
        self.csi_nodes.get(node)
    }

    /// A volume by name, as the API server has it.
    pub fn volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        self.volumes.get(name)
    }

    /// A claim, as the API server has it.
    pub fn claim(&self, name: &ObjectName) -> Option<&Arc<PersistentVolumeClaim>> {
        self.claims.get(name)
    }

    fn set(&mut self, object: &StorageObject) {
        match object.clone() {
            StorageObject::StorageClass(class) => drop(self.classes.insert(class.name.name.clone(), class)),
            StorageObject::CsiDriver(driver) => drop(self.drivers.insert(driver.name.name.clone(), driver)),
            StorageObject::CsiNode(node) => drop(self.csi_nodes.insert(node.name.name.clone(), node)),
            StorageObject::CsiStorageCapacity(capacity) => {
                self.capacities.insert(capacity.name.clone(), capacity);
            }
            StorageObject::VolumeAttachment(attachment) => {
                self.attachments.insert(attachment.name.name.clone(), attachment);
            }
            StorageObject::PersistentVolume(volume) => drop(self.volumes.insert(volume.name.name.clone(), volume)),
            StorageObject::PersistentVolumeClaim(claim) => drop(self.claims.insert(claim.name.clone(), claim)),
        }
    }

    fn remove(&mut self, object: &StorageObject) {
        let name = object.name();
        match object {
            StorageObject::StorageClass(_) => drop(self.classes.remove(&name.name)),
            StorageObject::CsiDriver(_) => drop(self.drivers.remove(&name.name)),
            StorageObject::CsiNode(_) => drop(self.csi_nodes.remove(&name.name)),
            StorageObject::CsiStorageCapacity(_) => drop(self.capacities.remove(name)),
            StorageObject::VolumeAttachment(_) => drop(self.attachments.remove(&name.name)),
            StorageObject::PersistentVolume(_) => drop(self.volumes.remove(&name.name)),
            StorageObject::PersistentVolumeClaim(_) => drop(self.claims.remove(name)),
        }
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
}
