use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;

use super::super::Map;
use super::TopologyId;
use super::topologies::Topologies;
use crate::ObjectName;
use crate::storage::{CsiStorageCapacity, Topology};

/// What room CSI drivers have where, by class and by the largest volume that can be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Capacities {
    by_name: Map<ObjectName, Entry>,
    by_class: Map<CompactString, BTreeMap<(i64, ObjectName), Room>>,
}

#[derive(Debug, Clone)]
struct Entry {
    object: Arc<CsiStorageCapacity>,
    /// None if no volume can be made there.
    usable: Option<(i64, TopologyId)>,
}

/// Room for volumes of a class in one part of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The nodes that reach it.
    pub topology: TopologyId,
    /// Room in all, in bytes, if it is told.
    pub capacity: Option<i64>,
}

impl Capacities {
    /// Where a volume of this many bytes can be made: the tightest first, then by name.
    pub(super) fn with_room(&self, class: &str, bytes: i64) -> impl Iterator<Item = Room> {
        let of_class = self.by_class.get(class).into_iter();
        let enough = of_class.flat_map(move |rooms| rooms.range((bytes, ObjectName::new("", ""))..));
        enough.map(|(_, room)| *room)
    }

    pub(super) fn set(&mut self, object: &Arc<CsiStorageCapacity>, topologies: &mut Topologies) {
        let limit = object.maximum_volume_size.or(object.capacity);
        let usable = limit.zip(object.node_topology.as_ref());
        let usable = usable.map(|(limit, selector)| (limit, topologies.add(Topology::of_selector(selector))));
        self.remove(&object.name, topologies);
        if let Some((limit, topology)) = usable {
            let room = Room {
                topology,
                capacity: object.capacity,
            };
            let rooms = self.by_class.entry(object.class.clone()).or_default();
            rooms.insert((limit, object.name.clone()), room);
        }
        let entry = Entry {
            object: Arc::clone(object),
            usable,
        };
        self.by_name.insert(object.name.clone(), entry);
    }

    pub(super) fn remove(&mut self, name: &ObjectName, topologies: &mut Topologies) {
        let Some(Entry { object, usable }) = self.by_name.remove(name) else {
            return;
        };
        let Some((limit, topology)) = usable else { return };
        topologies.remove(topology);
        if let Some(rooms) = self.by_class.get_mut(&object.class) {
            rooms.remove(&(limit, name.clone()));
            if rooms.is_empty() {
                self.by_class.remove(&object.class);
            }
        }
    }
}
