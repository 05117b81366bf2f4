//! After any sequence of changes the columns say of storage what the plain objects say, one node and one volume at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use proptest::prelude::*;

use super::super::{Columns, NodeIndex};
use super::Reach;
use crate::storage::{
    AccessModes, ClaimPhase, ClaimReference, CsiNode, CsiStorageCapacity, MigratedVolume, PersistentVolume,
    PersistentVolumeClaim, StorageClass, StorageObject, Topology, TopologySelectorTerm, VolumeBindingMode, VolumePhase,
    VolumeReservation, VolumeSource,
};
use crate::testing::node;
use crate::{LabelSelector, Labels, Node, NodeSelectorTerm, ObjectName, Operator, Requirement, ResourceVersion, Uid};

const NODES: [&str; 12] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"];
const ZONES: [&str; 3] = ["a", "b", "c"];
const CLASSES: [&str; 2] = ["fast", "slow"];
const CLAIMS: [&str; 3] = ["c0", "c1", "c2"];
const PODS: [&str; 3] = ["p0", "p1", "p2"];
const PLUGIN: &str = "kubernetes.io/gce-pd";

#[derive(Debug, Clone)]
enum Step {
    Node(usize, Option<usize>),
    NodeGone(usize),
    Volume(usize, VolumeShape),
    VolumeGone(usize),
    Claim(usize, Option<usize>, bool),
    ClaimGone(usize),
    Class(usize, Option<usize>),
    ClassGone(usize),
    Room(usize, Option<i64>, Option<usize>),
    RoomGone(usize),
    CsiNode(usize, bool),
    Reserve(usize, usize, usize),
    Unreserve(usize),
    Prepare(usize),
}

#[derive(Debug, Clone)]
struct VolumeShape {
    class: usize,
    size: i64,
    place: Place,
    claim: Option<usize>,
    available: bool,
    in_tree: bool,
}

#[derive(Debug, Clone)]
enum Place {
    Everywhere,
    Nowhere,
    Zone(usize),
    Node(usize),
    NotZone(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = prop_oneof![
        Just(Place::Everywhere),
        Just(Place::Nowhere),
        (0..ZONES.len()).prop_map(Place::Zone),
        (0..NODES.len()).prop_map(Place::Node),
        (0..ZONES.len()).prop_map(Place::NotZone),
    ];
    let shape = (
        0..CLASSES.len(),
        1_i64..5,
        place,
        proptest::option::weighted(0.3, 0..CLAIMS.len()),
        prop::bool::weighted(0.8),
        any::<bool>(),
    );
    let shape = shape.prop_map(|(class, size, place, claim, available, in_tree)| VolumeShape {
        class,
        size,
        place,
        claim,
        available,
        in_tree,
    });
    let zone = || proptest::option::of(0..ZONES.len());
    let step = prop_oneof![
        6 => (0..NODES.len(), zone()).prop_map(|(node, zone)| Step::Node(node, zone)),
        1 => (0..NODES.len()).prop_map(Step::NodeGone),
        6 => (0_usize..6, shape).prop_map(|(volume, shape)| Step::Volume(volume, shape)),
        1 => (0_usize..6).prop_map(Step::VolumeGone),
        2 => (0..CLAIMS.len(), proptest::option::of(0_usize..6), any::<bool>())
            .prop_map(|(claim, volume, selected)| Step::Claim(claim, volume, selected)),
        1 => (0..CLAIMS.len()).prop_map(Step::ClaimGone),
        1 => (0..CLASSES.len(), zone()).prop_map(|(class, zone)| Step::Class(class, zone)),
        1 => (0..CLASSES.len()).prop_map(Step::ClassGone),
        2 => (0_usize..4, proptest::option::of(1_i64..5), zone())
            .prop_map(|(room, size, zone)| Step::Room(room, size, zone)),
        1 => (0_usize..4).prop_map(Step::RoomGone),
        1 => (0..NODES.len(), any::<bool>()).prop_map(|(node, migrated)| Step::CsiNode(node, migrated)),
        2 => (0..PODS.len(), 0_usize..6, 0..CLAIMS.len())
            .prop_map(|(pod, volume, claim)| Step::Reserve(pod, volume, claim)),
        1 => (0..PODS.len()).prop_map(Step::Unreserve),
        3 => (0..CLAIMS.len()).prop_map(Step::Prepare),
    ];
    proptest::collection::vec(step, 0..60)
}

#[derive(Default)]
struct Objects {
    columns: Columns,
    nodes: BTreeMap<&'static str, Node>,
    storage: BTreeMap<(&'static str, ObjectName), StorageObject>,
    reservations: BTreeMap<&'static str, VolumeReservation>,
}

fn labels(zone: Option<usize>, name: &str) -> Labels {
    let zone = zone.map(|zone| ("topology.kubernetes.io/zone", ZONES[zone]));
    zone.into_iter().chain([("host", name)]).collect()
}

fn name_of(kind: &str, number: usize) -> ObjectName {
    ObjectName::new("", format!("{kind}-{number}"))
}

fn claim_name(claim: usize) -> ObjectName {
    ObjectName::new("default", CLAIMS[claim])
}

fn term(key: &str, operator: Operator, value: &str) -> Arc<[NodeSelectorTerm]> {
    let term = NodeSelectorTerm {
        match_expressions: vec![Requirement::new(key, operator, [value])],
        ..NodeSelectorTerm::default()
    };
    [term].into()
}

fn volume(number: usize, shape: &VolumeShape) -> PersistentVolume {
    let zone_key = "topology.kubernetes.io/zone";
    PersistentVolume {
        name: name_of("volume", number),
        uid: Uid::new(format!("volume-{number}")),
        resource_version: ResourceVersion::new(1),
        labels: Labels::new(),
        deleting: false,
        bound_by_controller: false,
        class: CLASSES[shape.class].into(),
        capacity: Some(shape.size),
        access_modes: AccessModes::READ_WRITE_ONCE,
        volume_mode: None,
        attributes_class: None,
        claim: shape.claim.map(|claim| ClaimReference {
            name: claim_name(claim),
            uid: None,
        }),
        node_affinity: match shape.place {
            Place::Everywhere => None,
            Place::Nowhere => Some([].into()),
            Place::Zone(zone) => Some(term(zone_key, Operator::In, ZONES[zone])),
            Place::NotZone(zone) => Some(term(zone_key, Operator::NotIn, ZONES[zone])),
            Place::Node(node) => Some(term("host", Operator::In, NODES[node])),
        },
        source: if shape.in_tree {
            VolumeSource::GcePersistentDisk { pd_name: "d".into() }
        } else {
            VolumeSource::Other
        },
        phase: if shape.available {
            VolumePhase::Available
        } else {
            VolumePhase::Released
        },
    }
}

fn claim(number: usize, volume: Option<usize>, selected: bool) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        name: claim_name(number),
        uid: Uid::from(CLAIMS[number]),
        resource_version: ResourceVersion::new(1),
        deleting: false,
        controller: None,
        class: CLASSES[number % CLASSES.len()].into(),
        volume: volume.map_or_else(CompactString::default, |volume| name_of("volume", volume).name),
        annotated: true,
        bind_completed: volume.is_some(),
        selected_node: selected.then(|| NODES[0].into()),
        requested: Some(1),
        access_modes: AccessModes::READ_WRITE_ONCE,
        volume_mode: None,
        selector: None,
        attributes_class: None,
        phase: ClaimPhase::Pending,
    }
}

impl Objects {
    fn take(&mut self, step: Step) {
        match step {
            Step::Node(number, zone) => {
                let name = NODES[number];
                let node = node(name).with(|node| node.labels = labels(zone, name)).build();
                self.columns.set_node(&node);
                self.nodes.insert(name, node);
            }
            Step::NodeGone(number) => {
                self.columns.remove_node(NODES[number]);
                self.nodes.remove(NODES[number]);
            }
            Step::Volume(number, shape) => self.set(Arc::new(volume(number, &shape)).into()),
            Step::VolumeGone(number) => self.remove("PersistentVolume", &name_of("volume", number)),
            Step::Claim(number, volume, selected) => self.set(Arc::new(claim(number, volume, selected)).into()),
            Step::ClaimGone(number) => self.remove("PersistentVolumeClaim", &claim_name(number)),
            Step::Class(number, zone) => self.set(Arc::new(class(number, zone)).into()),
            Step::ClassGone(number) => self.remove("StorageClass", &ObjectName::new("", CLASSES[number])),
            Step::Room(number, size, zone) => self.set(Arc::new(room(number, size, zone)).into()),
            Step::RoomGone(number) => self.remove("CSIStorageCapacity", &name_of("room", number)),
            Step::CsiNode(number, migrated) => self.set(Arc::new(csi_node(number, migrated)).into()),
            Step::Reserve(pod, volume, claim) => {
                let reservation = VolumeReservation {
                    volumes: vec![(name_of("volume", volume).name, claim_name(claim))],
                    provisioned: vec![claim_name((claim + 1) % CLAIMS.len())],
                    node: NODES[1].into(),
                };
                self.columns.reserve_volumes(&Uid::from(PODS[pod]), &reservation);
                self.reservations.insert(PODS[pod], reservation);
            }
            Step::Unreserve(pod) => {
                self.columns.unreserve_volumes(&Uid::from(PODS[pod]));
                self.reservations.remove(PODS[pod]);
            }
            Step::Prepare(claim) => self.columns.prepare_claim(&claim_name(claim)),
        }
    }

    fn set(&mut self, object: StorageObject) {
        self.columns.set_storage(&object);
        self.storage
            .insert((object.kind().as_str(), object.name().clone()), object);
    }

    fn remove(&mut self, kind: &'static str, name: &ObjectName) {
        if let Some(object) = self.storage.remove(&(kind, name.clone())) {
            self.columns.remove_storage(&object);
        }
    }

    fn volumes(&self) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.storage.values().filter_map(|object| match object {
            StorageObject::PersistentVolume(volume) => Some(volume),
            _ => None,
        })
    }

    /// The claim that a volume is for.
    fn claim_of(&self, volume: &PersistentVolume) -> Option<ObjectName> {
        let told = volume.claim.as_ref().map(|claim| claim.name.clone());
        let mut reserved = PODS.iter().filter_map(|pod| self.reservations.get(pod));
        told.or_else(|| {
            let mut volumes = reserved.by_ref().flat_map(|reservation| &reservation.volumes);
            let held = volumes.find(|(name, _)| *name == volume.name.name);
            held.map(|(_, claim)| claim.clone())
        })
    }

    fn reached(&self, topology: &Topology) -> Vec<u32> {
        let nodes = self.nodes.values().filter(|node| topology.includes(&node.labels));
        let rows = nodes.map(|node| self.columns.index_of(&node.name).unwrap().as_u32());
        let mut rows: Vec<u32> = rows.collect();
        rows.sort_unstable();
        rows
    }

    fn check(&self) {
        let storage = self.columns.storage();
        for volume in self.volumes() {
            let name = volume.name.name.as_str();
            let topology = Topology::of_affinity(volume.node_affinity.as_deref());
            let reach = self.columns.reach(storage.topology_of(name).unwrap());
            assert_eq!(rows(&reach), self.reached(&topology), "{name}");
            let migrated = MigratedVolume::of(volume).map(|migrated| self.reached(&migrated.topology.unwrap()));
            let kept = storage.migrated_topology_of(name);
            let kept = kept.map(|migrated| rows(&self.columns.reach(migrated.topology.clone().unwrap())));
            assert_eq!(kept, migrated, "{name}");
            let claim = storage.volume_claim(volume).map(|claim| &claim.name);
            assert_eq!(claim, self.claim_of(volume).as_ref(), "{name}");
        }
        for class in CLASSES {
            let free = storage.free_volumes(class).flat_map(|(_, by_size)| by_size.values());
            let mut free: Vec<_> = free.map(|volume| volume.name.clone()).collect();
            free.sort();
            let expected = self.volumes().filter(|volume| {
                volume.class == class && volume.phase == VolumePhase::Available && self.claim_of(volume).is_none()
            });
            assert_eq!(free, expected.map(|volume| volume.name.clone()).collect::<Vec<_>>());
            self.check_rooms(class);
        }
        for number in 0..CLAIMS.len() {
            let name = claim_name(number);
            let kept: Vec<_> = storage.volumes_of_claim(&name).map(|volume| &volume.name).collect();
            let expected = self
                .volumes()
                .filter(|volume| self.claim_of(volume).as_ref() == Some(&name));
            assert_eq!(kept, expected.map(|volume| &volume.name).collect::<Vec<_>>());
            if let Some(claim) = storage.claim(&name) {
                let mut reserved = self.reservations.values();
                let reserved = reserved.any(|reservation| reservation.provisioned.contains(&name));
                let told = claim.selected_node.as_deref();
                let expected = told.or_else(|| reserved.then_some(NODES[1]));
                assert_eq!(storage.selected_node(claim).map(CompactString::as_str), expected);
            }
        }
        self.check_migrated();
    }

    fn check_rooms(&self, class: &str) {
        for bytes in 0..6 {
            let rooms = self.columns.storage().rooms(class, bytes);
            let rooms: Vec<_> = rooms
                .map(|room| (room.capacity, rows(&self.columns.reach(room.topology))))
                .collect();
            let mut expected: Vec<_> = self
                .storage
                .values()
                .filter_map(|object| match object {
                    StorageObject::CsiStorageCapacity(capacity) => Some(capacity),
                    _ => None,
                })
                .filter_map(|capacity| {
                    let limit = capacity.maximum_volume_size.or(capacity.capacity)?;
                    let topology = Topology::of_selector(capacity.node_topology.as_ref()?);
                    let room = (capacity.capacity, self.reached(&topology));
                    (capacity.class == class && limit >= bytes).then(|| (limit, capacity.name.clone(), room))
                })
                .collect();
            expected.sort();
            let expected: Vec<_> = expected.into_iter().map(|(_, _, room)| room).collect();
            assert_eq!(rooms, expected);
        }
    }

    fn check_migrated(&self) {
        let migrated = self.columns.nodes_migrated(PLUGIN);
        let migrated: Vec<u32> = migrated.iter().map(NodeIndex::as_u32).collect();
        let mut expected: Vec<u32> = self
            .nodes
            .keys()
            .filter(|name| {
                let node = self.columns.storage().csi_node(name);
                node.is_some_and(|node| node.migrated_plugins.iter().any(|plugin| plugin == PLUGIN))
            })
            .map(|name| self.columns.index_of(name).unwrap().as_u32())
            .collect();
        expected.sort_unstable();
        assert_eq!(migrated, expected);
    }
}

fn rows(reach: &Reach) -> Vec<u32> {
    let mut set = crate::columns::NodeSet::new();
    reach.add_to(&mut set);
    set.iter().map(NodeIndex::as_u32).collect()
}

fn class(number: usize, zone: Option<usize>) -> StorageClass {
    StorageClass {
        name: ObjectName::new("", CLASSES[number]),
        uid: Uid::from(CLASSES[number]),
        resource_version: ResourceVersion::new(1),
        provisioner: "p".into(),
        binding_mode: Some(VolumeBindingMode::WaitForFirstConsumer),
        allowed_topologies: zone
            .map(|zone| TopologySelectorTerm {
                expressions: vec![("topology.kubernetes.io/zone".into(), vec![ZONES[zone].into()])],
            })
            .into_iter()
            .collect(),
    }
}

fn room(number: usize, size: Option<i64>, zone: Option<usize>) -> CsiStorageCapacity {
    let at = |zone: usize| -> Labels { [("topology.kubernetes.io/zone", ZONES[zone])].into_iter().collect() };
    CsiStorageCapacity {
        name: name_of("room", number),
        uid: Uid::new(format!("room-{number}")),
        resource_version: ResourceVersion::new(1),
        class: CLASSES[number % CLASSES.len()].into(),
        node_topology: zone.map(|zone| LabelSelector::of_labels(at(zone))),
        capacity: size,
        maximum_volume_size: size.filter(|size| size % 2 == 0),
    }
}

fn csi_node(number: usize, migrated: bool) -> CsiNode {
    CsiNode {
        name: ObjectName::new("", NODES[number]),
        uid: Uid::from(NODES[number]),
        resource_version: ResourceVersion::new(1),
        migrated_plugins: migrated.then(|| PLUGIN.into()).into_iter().collect(),
        drivers: Vec::new(),
    }
}

proptest! {
    #[test]
    fn columns_say_of_storage_what_the_objects_say(steps in steps()) {
        let mut objects = Objects::default();
        for step in steps {
            objects.take(step);
            objects.check();
        }
        // Caught up or not, and with everything gone nothing is left behind.
        for claim in 0..CLAIMS.len() {
            objects.take(Step::Prepare(claim));
        }
        objects.check();
        for pod in 0..PODS.len() {
            objects.take(Step::Unreserve(pod));
        }
        for object in std::mem::take(&mut objects.storage).into_values() {
            objects.columns.remove_storage(&object);
        }
        let left = format!("{:?}", objects.columns.storage().reservations);
        prop_assert_eq!(left, format!("{:?}", super::Reservations::default()));
        prop_assert!(objects.columns.storage().topologies.is_unused());
    }
}

#[test]
fn topologies_that_have_missed_too_much_are_matched_anew() {
    let mut objects = Objects::default();
    objects.take(Step::Claim(0, None, false));
    let shape = VolumeShape {
        class: 0,
        size: 2,
        place: Place::Zone(0),
        claim: None,
        available: true,
        in_tree: false,
    };
    objects.take(Step::Volume(0, shape));
    objects.take(Step::Node(0, Some(0)));
    objects.take(Step::Prepare(0));
    for turn in 0..5_000 {
        objects.take(Step::Node(0, Some(turn % 2)));
    }
    objects.take(Step::Node(1, Some(0)));
    objects.take(Step::Prepare(0));
    objects.check();
}
