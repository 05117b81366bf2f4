use std::collections::BTreeSet;
use std::sync::Arc;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::counts::Counts;
use super::numbered::Numbered;
use super::rows::Rows;
use super::{AttachableVolume, Columns, Map, NodeIndex, NodeSet, Storage, VolumeHandle};
use crate::storage::{CsiNode, VolumeAttachment, VolumeSource};

/// How many volumes each CSI driver has attached to each node, and how many it can attach there.
///
/// A volume counts once per node, however many pods there use it and whether or not an attachment says so too. A node's
/// number of volumes changes only when the first user of a volume comes or the last one goes, so that a cycle finds sums.
#[derive(Debug, Clone, Default)]
pub(super) struct Attachments {
    drivers: Numbered<CompactString, Driver>,
    volumes: Numbered<(u32, VolumeHandle), Attached>,
    /// Nodes of which CSI drivers say something, and the drivers that they name.
    csi_nodes: NodeSet,
    drivers_of: Map<NodeIndex, SmallVec<[u32; 4]>>,
    told: Map<CompactString, Told>,
    by_volume: Map<CompactString, BTreeSet<CompactString>>,
    by_node: Map<CompactString, BTreeSet<CompactString>>,
}

/// One CSI driver; rows beyond the end of a column have nothing.
#[derive(Debug, Clone, Default)]
struct Driver {
    used: Vec<u32>,
    limits: Vec<Option<i32>>,
    installed: NodeSet,
}

/// A volume in use.
#[derive(Debug, Clone, Default)]
struct Attached {
    by_pods: Counts,
    by_attachments: Counts,
    /// How many keep its number.
    holders: usize,
}

/// A `VolumeAttachment`, and what it counts as: nothing while its node or its volume is not there.
#[derive(Debug, Clone)]
struct Told {
    attachment: Arc<VolumeAttachment>,
    counted: Option<(NodeIndex, u32)>,
}

// === Volumes ===

impl Attachments {
    /// A number for the volume, good until it is let go as often as it was held.
    pub(super) fn hold(&mut self, volume: &AttachableVolume) -> u32 {
        let driver = self.driver(&volume.driver);
        let key = (driver, volume.handle.clone());
        let number = match self.volumes.find(&key) {
            Some(number) => number,
            None => self.volumes.insert(key, Attached::default()),
        };
        if let Some(attached) = self.volumes.value_mut(number) {
            attached.holders += 1;
        }
        number
    }

    /// Only when nobody uses it on the holder's behalf any more.
    pub(super) fn let_go(&mut self, number: u32) {
        let Some(attached) = self.volumes.value_mut(number) else {
            return;
        };
        attached.holders = attached.holders.saturating_sub(1);
        if attached.holders == 0 {
            self.volumes.remove(number);
        }
    }

    pub(super) fn find(&self, volume: &AttachableVolume) -> Option<u32> {
        let driver = self.drivers.find(&volume.driver)?;
        self.volumes.find(&(driver, volume.handle.clone()))
    }

    /// How often pods on a node use the volume.
    pub(super) fn uses(&self, number: u32, row: NodeIndex) -> u32 {
        let attached = self.volumes.get(number);
        attached.map_or(0, |(_, attached)| attached.by_pods.get(row.as_usize()))
    }

    pub(super) fn add_uses(&mut self, number: u32, row: NodeIndex, uses: u32) {
        self.change(number, row, |attached, at| attached.by_pods.add(at, uses));
    }

    pub(super) fn remove_uses(&mut self, number: u32, row: NodeIndex, uses: u32) {
        self.change(number, row, |attached, at| attached.by_pods.subtract(at, uses));
    }

    fn change(&mut self, number: u32, row: NodeIndex, change: impl FnOnce(&mut Attached, usize)) {
        let Some(((driver, _), _)) = self.volumes.get(number) else {
            return;
        };
        let driver = *driver;
        let Some(attached) = self.volumes.value_mut(number) else {
            return;
        };
        let was_there = attached.is_on(row);
        change(attached, row.as_usize());
        let is_there = attached.is_on(row);
        if let Some(driver) = self.drivers.value_mut(driver).filter(|_| was_there != is_there) {
            let used = cell(&mut driver.used, row);
            *used = if is_there { *used + 1 } else { used.saturating_sub(1) };
        }
    }

    fn driver(&mut self, name: &CompactString) -> u32 {
        match self.drivers.find(name) {
            Some(number) => number,
            None => self.drivers.insert(name.clone(), Driver::default()),
        }
    }
}

impl Attached {
    fn is_on(&self, row: NodeIndex) -> bool {
        let at = row.as_usize();
        self.by_pods.get(at) > 0 || self.by_attachments.get(at) > 0
    }
}

// === What the API server says ===

impl Attachments {
    /// An attachment is there as given, or gone. The row that counts differently for it before, and after.
    pub(super) fn set_attachment(
        &mut self,
        attachment: &Arc<VolumeAttachment>,
        is_there: bool,
        storage: &Storage,
        rows: &Rows,
    ) -> SmallVec<[NodeIndex; 2]> {
        let name = &attachment.name.name;
        let mut touched = self.forget(name);
        if !is_there {
            return touched;
        }
        let told = Told {
            attachment: Arc::clone(attachment),
            counted: None,
        };
        self.told.insert(name.clone(), told);
        let of_node = self.by_node.entry(attachment.node.clone()).or_default();
        of_node.insert(name.clone());
        if let Some(volume) = &attachment.volume {
            self.by_volume.entry(volume.clone()).or_default().insert(name.clone());
        }
        touched.extend(self.recount(name, storage, rows));
        touched
    }

    fn forget(&mut self, name: &CompactString) -> SmallVec<[NodeIndex; 2]> {
        let Some(Told { attachment, counted }) = self.told.remove(name) else {
            return SmallVec::new();
        };
        take_out(&mut self.by_node, &attachment.node, name);
        if let Some(volume) = &attachment.volume {
            take_out(&mut self.by_volume, volume, name);
        }
        self.uncount(counted).into_iter().collect()
    }

    /// A volume is there, or gone, or another one.
    pub(super) fn volume_changed(&mut self, volume: &str, storage: &Storage, rows: &Rows) -> Vec<NodeIndex> {
        let names = self.by_volume.get(volume).into_iter().flatten();
        let names: Vec<CompactString> = names.cloned().collect();
        names
            .iter()
            .flat_map(|name| self.recount(name, storage, rows))
            .collect()
    }

    /// What CSI drivers say of the node in a row, if they say anything. Whether they say, or have said, anything.
    pub(super) fn set_csi_node(&mut self, row: NodeIndex, csi_node: Option<&CsiNode>) -> bool {
        let was_there = self.clear_csi_node(row);
        let Some(csi_node) = csi_node else { return was_there };
        self.csi_nodes.insert(row);
        let mut named = SmallVec::new();
        for given in &csi_node.drivers {
            let number = self.driver(&given.name);
            if !named.contains(&number) {
                named.push(number);
            }
            if let Some(driver) = self.drivers.value_mut(number) {
                driver.installed.insert(row);
                if given.limit.is_some() {
                    *cell(&mut driver.limits, row) = given.limit;
                }
            }
        }
        self.drivers_of.insert(row, named);
        true
    }

    fn clear_csi_node(&mut self, row: NodeIndex) -> bool {
        for number in self.drivers_of.remove(&row).into_iter().flatten() {
            if let Some(driver) = self.drivers.value_mut(number) {
                driver.installed.remove(row);
                if let Some(limit) = driver.limits.get_mut(row.as_usize()) {
                    *limit = None;
                }
            }
        }
        self.csi_nodes.remove(row)
    }

    /// A node of this name gets a row.
    pub(super) fn enter(&mut self, row: NodeIndex, name: &str, storage: &Storage, rows: &Rows) {
        if let Some(csi_node) = storage.csi_node(name) {
            self.set_csi_node(row, Some(csi_node));
        }
        for attachment in self.of_node(name) {
            self.recount(&attachment, storage, rows);
        }
    }

    /// The node of this name loses its row.
    pub(super) fn leave(&mut self, row: NodeIndex, name: &str) {
        self.clear_csi_node(row);
        for attachment in self.of_node(name) {
            let counted = self.told.get_mut(&attachment).and_then(|told| told.counted.take());
            self.uncount(counted);
        }
    }

    fn of_node(&self, name: &str) -> Vec<CompactString> {
        self.by_node.get(name).into_iter().flatten().cloned().collect()
    }

    /// Brings what an attachment counts as in line with what there is; the rows concerned.
    fn recount(&mut self, name: &str, storage: &Storage, rows: &Rows) -> SmallVec<[NodeIndex; 2]> {
        let Some(told) = self.told.get_mut(name) else {
            return SmallVec::new();
        };
        let before = told.counted.take();
        let attachment = Arc::clone(&told.attachment);
        let row = rows.index_of(&attachment.node);
        let after = row.zip(volume_of(&attachment, storage)).map(|(row, volume)| {
            let number = self.hold(&volume);
            self.change(number, row, |attached, at| attached.by_attachments.add(at, 1));
            (row, number)
        });
        let mut touched: SmallVec<[NodeIndex; 2]> = self.uncount(before).into_iter().collect();
        touched.extend(after.map(|(row, _)| row));
        if let Some(told) = self.told.get_mut(name) {
            told.counted = after;
        }
        touched
    }

    fn uncount(&mut self, counted: Option<(NodeIndex, u32)>) -> Option<NodeIndex> {
        let (row, number) = counted?;
        self.change(number, row, |attached, at| attached.by_attachments.subtract(at, 1));
        self.let_go(number);
        Some(row)
    }

    #[cfg(test)]
    pub(super) fn is_without_volumes(&self) -> bool {
        self.volumes.len() == 0
    }
}

/// What an attachment attaches: only CSI volumes, by the driver that it names itself.
fn volume_of(attachment: &VolumeAttachment, storage: &Storage) -> Option<AttachableVolume> {
    let volume = storage.volume(attachment.volume.as_deref()?)?;
    match &volume.source {
        VolumeSource::Csi { handle, .. } if !attachment.attacher.is_empty() => Some(AttachableVolume {
            driver: attachment.attacher.clone(),
            handle: VolumeHandle::Named(handle.clone()),
        }),
        _ => None,
    }
}

fn take_out(index: &mut Map<CompactString, BTreeSet<CompactString>>, key: &str, name: &str) {
    if let Some(names) = index.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            index.remove(key);
        }
    }
}

fn cell<T: Clone + Default>(column: &mut Vec<T>, row: NodeIndex) -> &mut T {
    if row.as_usize() >= column.len() {
        column.resize(row.as_usize() + 1, T::default());
    }
    &mut column[row.as_usize()]
}

// === Questions ===

/// What a CSI driver has attached where, and what it can attach.
#[derive(Debug, Clone, Copy)]
pub struct AttachColumn<'a> {
    driver: &'a Driver,
}

impl<'a> AttachColumn<'a> {
    /// How many of its volumes pods on a node use, or are attached there.
    pub fn used(self, node: NodeIndex) -> u32 {
        self.driver.used.get(node.as_usize()).copied().unwrap_or(0)
    }

    /// How many volumes it can attach to a node; none when there is no limit.
    pub fn limit(self, node: NodeIndex) -> Option<i32> {
        self.driver.limits.get(node.as_usize()).copied().flatten()
    }

    /// The nodes that name it among their drivers.
    pub fn installed(self) -> &'a NodeSet {
        &self.driver.installed
    }
}

impl Columns {
    /// The volumes of a CSI driver, if anything names it.
    pub fn attach_column(&self, driver: &str) -> Option<AttachColumn<'_>> {
        let drivers = &self.volumes.attachments.drivers;
        let (_, driver) = drivers.get(drivers.find(&driver.into())?)?;
        Some(AttachColumn { driver })
    }

    /// Nodes and ghosts of which CSI drivers say something: those that have a `CSINode`.
    pub fn csi_nodes(&self) -> &NodeSet {
        &self.volumes.attachments.csi_nodes
    }

    /// The nodes and ghosts on which pods use a volume, in no order that means anything.
    pub fn nodes_using(&self, volume: &AttachableVolume) -> impl Iterator<Item = NodeIndex> {
        let attachments = &self.volumes.attachments;
        let attached = attachments
            .find(volume)
            .and_then(|number| attachments.volumes.get(number));
        let rows = attached.into_iter().flat_map(|(_, attached)| attached.by_pods.iter());
        rows.map(|(row, _)| NodeIndex::from_usize(row))
    }
}
