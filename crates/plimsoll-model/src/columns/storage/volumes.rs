use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compact_str::CompactString;

use super::super::Map;
use super::TopologyId;
use super::topologies::Topologies;
use crate::ObjectName;
use crate::storage::{MigratedVolume, PersistentVolume, Topology, VolumePhase};

/// A volume as it is kept.
#[derive(Debug, Clone)]
pub(super) struct Volume {
    pub(super) object: Arc<PersistentVolume>,
    pub(super) topology: TopologyId,
    pub(super) migrated: Option<MigratedTopology>,
    filed: Filed,
}

/// From where an in-tree volume is reached on nodes where its plugin has moved to CSI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedTopology {
    /// The in-tree plugin.
    pub plugin: &'static str,
    /// What the driver makes of its node affinity; or why the volume cannot be translated.
    pub topology: Result<TopologyId, String>,
}

/// Under what a volume can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Filed {
    /// Nothing: it is for nobody, and nobody can have it.
    Nowhere,
    /// Its class, topology and size: a claim that it suits can have it.
    Free,
    /// The claim that it is for.
    For(ObjectName),
}

/// By size and then name: the order in which a claim takes them.
pub type BySize = BTreeMap<(i64, CompactString), Arc<PersistentVolume>>;

/// Volumes by name, by the claim that they are for, and, those that are free, by class, topology and size.
#[derive(Debug, Clone, Default)]
pub(super) struct Volumes {
    by_name: Map<CompactString, Volume>,
    by_claim: Map<ObjectName, BTreeSet<CompactString>>,
    free: Map<CompactString, BTreeMap<TopologyId, BySize>>,
}

impl Volumes {
    pub(super) fn get(&self, name: &str) -> Option<&Volume> {
        self.by_name.get(name)
    }

    /// Those that are for a claim of this name, by name.
    pub(super) fn of_claim(&self, claim: &ObjectName) -> impl Iterator<Item = &Volume> {
        let names = self.by_claim.get(claim).into_iter().flatten();
        names.filter_map(|name| self.by_name.get(name))
    }

    pub(super) fn free(&self, class: &str) -> impl Iterator<Item = (TopologyId, &BySize)> {
        let of_class = self.free.get(class).into_iter().flatten();
        of_class.map(|(topology, volumes)| (*topology, volumes))
    }

    /// Adds or replaces a volume. It is not filed yet.
    pub(super) fn set(&mut self, object: &Arc<PersistentVolume>, topologies: &mut Topologies) {
        let topology = Topology::of_affinity(object.node_affinity.as_deref());
        let migrated = MigratedVolume::of(object).map(|migrated| MigratedTopology {
            plugin: migrated.plugin,
            topology: migrated.topology.map(|topology| topologies.add(topology)),
        });
        let volume = Volume {
            object: Arc::clone(object),
            topology: topologies.add(topology),
            migrated,
            filed: Filed::Nowhere,
        };
        self.remove(&object.name.name, topologies);
        self.by_name.insert(object.name.name.clone(), volume);
    }

    pub(super) fn remove(&mut self, name: &str, topologies: &mut Topologies) {
        let Some(volume) = self.by_name.remove(name) else {
            return;
        };
        self.unfile(&volume);
        topologies.remove(volume.topology);
        if let Some(Ok(topology)) = volume.migrated.map(|migrated| migrated.topology) {
            topologies.remove(topology);
        }
    }

    /// Files a volume anew: `reserved` is the claim that a pod of ours has reserved it for.
    pub(super) fn file(&mut self, name: &str, reserved: Option<&ObjectName>) {
        let Some(mut volume) = self.by_name.remove(name) else {
            return;
        };
        let told = volume.object.claim.as_ref().map(|claim| &claim.name);
        let filed = match told.or(reserved) {
            Some(claim) => Filed::For(claim.clone()),
            None if is_up_for_grabs(&volume.object) => Filed::Free,
            None => Filed::Nowhere,
        };
        self.unfile(&volume);
        match &filed {
            Filed::Nowhere => {}
            Filed::Free => {
                let of_class = self.free.entry(volume.object.class.clone()).or_default();
                let by_size = of_class.entry(volume.topology).or_default();
                by_size.insert(size_and_name(&volume.object), Arc::clone(&volume.object));
            }
            Filed::For(claim) => {
                self.by_claim.entry(claim.clone()).or_default().insert(name.into());
            }
        }
        volume.filed = filed;
        self.by_name.insert(name.into(), volume);
    }

    fn unfile(&mut self, volume: &Volume) {
        let object = &volume.object;
        match &volume.filed {
            Filed::Nowhere => {}
            Filed::Free => {
                let Some(of_class) = self.free.get_mut(&object.class) else {
                    return;
                };
                if let Some(by_size) = of_class.get_mut(&volume.topology) {
                    by_size.remove(&size_and_name(object));
                    if by_size.is_empty() {
                        of_class.remove(&volume.topology);
                    }
                }
                if of_class.is_empty() {
                    self.free.remove(&object.class);
                }
            }
            Filed::For(claim) => {
                if let Some(names) = self.by_claim.get_mut(claim) {
                    names.remove(&object.name.name);
                    if names.is_empty() {
                        self.by_claim.remove(claim);
                    }
                }
            }
        }
    }
}

/// Whether some claim may get a volume that is for nobody.
fn is_up_for_grabs(volume: &PersistentVolume) -> bool {
    volume.phase == VolumePhase::Available && !volume.deleting
}

fn size_and_name(volume: &PersistentVolume) -> (i64, CompactString) {
    (volume.capacity.unwrap_or(0), volume.name.name.clone())
}
