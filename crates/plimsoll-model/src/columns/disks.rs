use compact_str::CompactString;

use super::counts::Counts;
use super::{Columns, Map, NodeIndex, NodeSet};
use crate::VolumeKind;

/// In-tree disks in use that two pods may not share, or only to read.
#[derive(Debug, Clone, Default)]
pub(super) struct Disks {
    by_disk: Map<Disk, Uses>,
}

/// What makes two disks the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Disk {
    Gce(CompactString),
    Ebs(CompactString),
    Iscsi(CompactString),
    /// One for each monitor: images are the same if they have one of them in common.
    Rbd {
        monitor: CompactString,
        pool: CompactString,
        image: CompactString,
    },
}

/// How often a disk is in use on each node.
#[derive(Debug, Clone, Default)]
struct Uses {
    all: Counts,
    to_write: Counts,
}

impl Disks {
    pub(super) fn add(&mut self, row: NodeIndex, volume: &VolumeKind) {
        let to_write = u32::from(!volume.only_reads_disk());
        each_disk(volume, |disk| {
            let uses = self.by_disk.entry(disk).or_default();
            uses.all.add(row.as_usize(), 1);
            uses.to_write.add(row.as_usize(), to_write);
        });
    }

    pub(super) fn remove(&mut self, row: NodeIndex, volume: &VolumeKind) {
        let to_write = u32::from(!volume.only_reads_disk());
        each_disk(volume, |disk| {
            let Some(uses) = self.by_disk.get_mut(&disk) else {
                return;
            };
            uses.all.subtract(row.as_usize(), 1);
            uses.to_write.subtract(row.as_usize(), to_write);
            if uses.all.is_empty() {
                self.by_disk.remove(&disk);
            }
        });
    }

    fn conflicts(&self, wanted: &[VolumeKind]) -> NodeSet {
        let mut taken = NodeSet::new();
        for volume in wanted {
            each_disk(volume, |disk| {
                let Some(uses) = self.by_disk.get(&disk) else { return };
                let against = if volume.only_reads_disk() {
                    &uses.to_write
                } else {
                    &uses.all
                };
                for (row, _) in against.iter() {
                    taken.insert(NodeIndex::from_usize(row));
                }
            });
        }
        taken
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_disk.is_empty()
    }
}

fn each_disk(volume: &VolumeKind, mut take: impl FnMut(Disk)) {
    match volume {
        VolumeKind::GcePersistentDisk { pd_name, .. } => take(Disk::Gce(pd_name.clone())),
        VolumeKind::AwsElasticBlockStore { volume_id, .. } => take(Disk::Ebs(volume_id.clone())),
        VolumeKind::Iscsi { iqn, .. } => take(Disk::Iscsi(iqn.clone())),
        VolumeKind::Rbd {
            monitors, pool, image, ..
        } => {
            for monitor in monitors {
                take(Disk::Rbd {
                    monitor: monitor.clone(),
                    pool: pool.clone(),
                    image: image.clone(),
                });
            }
        }
        _ => {}
    }
}

impl Columns {
    /// Nodes where pods use an in-tree disk (GCE, AWS, iSCSI, Ceph) that one of the volumes wants: in another way than both
    /// reading it, and an AWS disk in whatever way.
    pub fn disk_conflicts(&self, wanted: &[VolumeKind]) -> NodeSet {
        let mut taken = self.volumes.disks.conflicts(wanted);
        taken.intersect_with(&self.nodes);
        taken
    }
}
