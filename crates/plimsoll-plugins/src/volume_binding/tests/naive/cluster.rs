//! Random clusters as plain objects, and as columns.

use std::sync::Arc;

use plimsoll_model::columns::Columns;
use plimsoll_model::storage::{
    AccessModes, ClaimReference, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass,
    StorageObject, TopologySelectorTerm, VolumeBindingMode, VolumeMode, VolumePhase, VolumeReservation, VolumeSource,
};
use plimsoll_model::testing::{claim, csi_driver, csi_node, node, storage_capacity, storage_class, volume};
use plimsoll_model::{LabelSelector, Labels, Node, ObjectName, Operator, Requirement, Uid};
use proptest::prelude::*;

const ZONE: &str = "topology.kubernetes.io/zone";
const ZONES: [&str; 3] = ["a", "b", "c"];
const CLASSES: [&str; 2] = ["fast", "slow"];
pub(in super::super) const CLAIMS: [&str; 3] = ["c0", "c1", "c2"];
const NODES: usize = 20;
pub(in super::super) const PLUGIN: &str = "kubernetes.io/gce-pd";

fn node_name(number: usize) -> String {
    format!("n{number}")
}

#[derive(Debug, Clone)]
pub(in super::super) struct ClusterShape {
    zones: Vec<Option<usize>>,
    migrated: Vec<bool>,
    volumes: Vec<VolumeShape>,
    claims: Vec<ClaimShape>,
    classes: Vec<ClassShape>,
    rooms: Vec<(usize, i64, Option<usize>)>,
    reserved: Vec<(usize, usize)>,
    selected: Option<(usize, usize)>,
}

#[derive(Debug, Clone)]
struct VolumeShape {
    class: usize,
    size: i64,
    place: Place,
    claim: Option<(usize, bool)>,
    flags: [bool; 6],
}

#[derive(Debug, Clone)]
enum Place {
    Everywhere,
    Nowhere,
    Zones(usize, usize),
    Node(usize),
}

#[derive(Debug, Clone)]
struct ClaimShape {
    class: usize,
    size: i64,
    bound: Option<usize>,
    selected: Option<usize>,
    flags: [bool; 4],
}

#[derive(Debug, Clone)]
struct ClassShape {
    provisions: bool,
    tells_room: bool,
    allowed: Option<usize>,
}

fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.15)
}

fn volume_shape() -> impl Strategy<Value = VolumeShape> {
    let place = prop_oneof![
        2 => Just(Place::Everywhere),
        1 => Just(Place::Nowhere),
        3 => (0..ZONES.len(), 0..ZONES.len()).prop_map(|(one, other)| Place::Zones(one, other)),
        4 => (0..NODES).prop_map(Place::Node),
    ];
    let claim = proptest::option::weighted(0.25, (0..CLAIMS.len(), any::<bool>()));
    let flags = [rarely(), rarely(), rarely(), rarely(), rarely(), rarely()];
    (0..CLASSES.len(), 1_i64..5, place, claim, flags).prop_map(|(class, size, place, claim, flags)| VolumeShape {
        class,
        size,
        place,
        claim,
        flags,
    })
}

fn claim_shape() -> impl Strategy<Value = ClaimShape> {
    let flags = [rarely(), rarely(), rarely(), rarely()];
    (
        0..CLASSES.len(),
        1_i64..4,
        proptest::option::weighted(0.3, 0_usize..14),
        proptest::option::weighted(0.1, 0..NODES),
        flags,
    )
        .prop_map(|(class, size, bound, selected, flags)| ClaimShape {
            class,
            size,
            bound,
            selected,
            flags,
        })
}

pub(in super::super) fn cluster_shape() -> impl Strategy<Value = ClusterShape> {
    let class = (any::<bool>(), any::<bool>(), proptest::option::of(0..ZONES.len()));
    let class = class.prop_map(|(provisions, tells_room, allowed)| ClassShape {
        provisions,
        tells_room,
        allowed,
    });
    (
        proptest::collection::vec(proptest::option::weighted(0.9, 0..ZONES.len()), NODES),
        proptest::collection::vec(any::<bool>(), NODES),
        proptest::collection::vec(volume_shape(), 0..12),
        proptest::collection::vec(claim_shape(), CLAIMS.len()),
        proptest::collection::vec(class, CLASSES.len()),
        proptest::collection::vec((0..CLASSES.len(), 1_i64..4, proptest::option::of(0..ZONES.len())), 0..4),
        proptest::collection::vec((0_usize..12, 0..CLAIMS.len()), 0..3),
        proptest::option::weighted(0.2, (0..CLAIMS.len(), 0..NODES)),
    )
        .prop_map(
            |(zones, migrated, volumes, claims, classes, rooms, reserved, selected)| ClusterShape {
                zones,
                migrated,
                volumes,
                claims,
                classes,
                rooms,
                reserved,
                selected,
            },
        )
}

/// Plain objects.
pub(in super::super) struct Objects {
    pub(in super::super) nodes: Vec<Node>,
    pub(in super::super) csi_nodes: Vec<CsiNode>,
    pub(in super::super) volumes: Vec<PersistentVolume>,
    pub(in super::super) claims: Vec<PersistentVolumeClaim>,
    pub(in super::super) classes: Vec<StorageClass>,
    pub(in super::super) rooms: Vec<CsiStorageCapacity>,
    pub(in super::super) drivers: Vec<StorageObject>,
    pub(in super::super) reservation: VolumeReservation,
}

impl Objects {
    pub(in super::super) fn of(shape: &ClusterShape) -> Self {
        let nodes = shape.zones.iter().enumerate().map(|(number, zone)| {
            let name = node_name(number);
            let zone = zone.map(|zone| (ZONE, ZONES[zone]));
            let moved = zone
                .map(|(_, zone)| ("topology.gke.io/zone", zone))
                .filter(|_| number % 3 != 0);
            let labels: Labels = zone.into_iter().chain(moved).chain([("host", name.as_str())]).collect();
            node(&name).with(|node| node.labels = labels).build()
        });
        let csi_nodes = shape.migrated.iter().enumerate().map(|(number, migrated)| {
            let plugins = migrated.then(|| PLUGIN.into()).into_iter().collect();
            csi_node(&node_name(number))
                .with(|node| node.migrated_plugins = plugins)
                .build()
        });
        let volumes = shape
            .volumes
            .iter()
            .enumerate()
            .map(|(number, shape)| shape.volume(number));
        let claims = shape
            .claims
            .iter()
            .enumerate()
            .map(|(number, shape)| shape.claim(number));
        let classes = shape
            .classes
            .iter()
            .enumerate()
            .map(|(number, shape)| shape.class(number));
        let rooms = shape.rooms.iter().enumerate().map(|(number, (class, size, zone))| {
            let selector = zone.map(|zone| LabelSelector::of_labels([(ZONE, ZONES[zone])].into_iter().collect()));
            storage_capacity(&format!("room-{number}"), CLASSES[*class])
                .with(|room| {
                    room.capacity = Some(*size);
                    room.node_topology = selector.or_else(|| (number % 2 == 0).then(LabelSelector::default));
                })
                .build()
        });
        let drivers = shape.classes.iter().enumerate().map(|(number, shape)| {
            csi_driver(&format!("driver-{number}"))
                .with(|driver| driver.storage_capacity = shape.tells_room)
                .object()
        });
        let mut reservation = VolumeReservation {
            volumes: shape
                .reserved
                .iter()
                .map(|(volume, claim)| {
                    (
                        format!("v{volume:02}").into(),
                        ObjectName::new("default", CLAIMS[*claim]),
                    )
                })
                .collect(),
            ..VolumeReservation::default()
        };
        reservation.volumes.sort();
        reservation.volumes.dedup_by(|one, other| one.0 == other.0);
        if let Some((claim, node)) = shape.selected {
            reservation.provisioned = vec![ObjectName::new("default", CLAIMS[claim])];
            reservation.node = node_name(node).into();
        }
        Self {
            nodes: nodes.collect(),
            csi_nodes: csi_nodes.collect(),
            volumes: volumes.collect(),
            claims: claims.collect(),
            classes: classes.collect(),
            rooms: rooms.collect(),
            drivers: drivers.collect(),
            reservation,
        }
    }

    pub(in super::super) fn columns(&self) -> Columns {
        let mut columns = Columns::new();
        // Half of the nodes come before storage, half after it.
        let (early, late) = self.nodes.split_at(NODES / 2);
        for node in early {
            columns.set_node(node);
        }
        let storage = self.drivers.iter().cloned();
        let storage = storage.chain(self.csi_nodes.iter().cloned().map(|object| Arc::new(object).into()));
        let storage = storage.chain(self.classes.iter().cloned().map(|object| Arc::new(object).into()));
        let storage = storage.chain(self.claims.iter().cloned().map(|object| Arc::new(object).into()));
        let storage = storage.chain(self.volumes.iter().cloned().map(|object| Arc::new(object).into()));
        let storage = storage.chain(self.rooms.iter().cloned().map(|object| Arc::new(object).into()));
        for object in storage {
            columns.set_storage(&object);
        }
        for claim in &self.claims {
            columns.prepare_claim(&claim.name);
        }
        for node in late {
            columns.set_node(node);
        }
        columns.reserve_volumes(&Uid::from("another"), &self.reservation);
        columns
    }
}

impl VolumeShape {
    fn volume(&self, number: usize) -> PersistentVolume {
        let mut built = volume(&format!("v{number:02}")).class(CLASSES[self.class]);
        built = match self.place {
            Place::Everywhere => built,
            Place::Nowhere => built.with(|volume| volume.node_affinity = Some([].into())),
            Place::Zones(one, other) => built.reachable(ZONE, &[ZONES[one], ZONES[other]]),
            Place::Node(node) => built.reachable("host", &[&node_name(node)]),
        };
        let [in_tree, block, shared, labelled, gone, unavailable] = self.flags;
        built
            .with(|volume| {
                volume.capacity = Some(self.size);
                if in_tree {
                    volume.source = VolumeSource::GcePersistentDisk { pd_name: "d".into() };
                }
                if block {
                    volume.volume_mode = Some(VolumeMode::Block);
                }
                if shared {
                    volume.access_modes = AccessModes::READ_WRITE_ONCE | AccessModes::READ_WRITE_MANY;
                }
                if labelled {
                    volume.labels = [("disk", "ssd"), (ZONE, "a")].into_iter().collect();
                }
                volume.deleting = gone;
                if unavailable {
                    volume.phase = VolumePhase::Pending;
                }
                volume.claim = self.claim.map(|(claim, by_name)| ClaimReference {
                    name: ObjectName::new("default", CLAIMS[claim]),
                    uid: (!by_name).then(|| Uid::new(format!("uid-{}", CLAIMS[claim]))),
                });
            })
            .build()
    }
}

impl ClaimShape {
    fn claim(&self, number: usize) -> PersistentVolumeClaim {
        let [shared, selects, block, no_size] = self.flags;
        claim(CLAIMS[number])
            .class(CLASSES[self.class])
            .with(|claim| {
                claim.requested = (!no_size).then_some(self.size);
                if let Some(volume) = self.bound {
                    claim.volume = format!("v{volume:02}").into();
                    claim.bind_completed = true;
                }
                claim.selected_node = self.selected.map(|node| node_name(node).into());
                if shared {
                    claim.access_modes = AccessModes::READ_WRITE_MANY;
                }
                if selects {
                    claim.selector = Some(LabelSelector {
                        match_expressions: vec![Requirement::new("disk", Operator::In, ["ssd"])],
                        ..LabelSelector::default()
                    });
                }
                if block {
                    claim.volume_mode = Some(VolumeMode::Block);
                }
            })
            .build()
    }
}

impl ClassShape {
    fn class(&self, number: usize) -> StorageClass {
        let allowed = self.allowed.map(|zone| TopologySelectorTerm {
            expressions: vec![(ZONE.into(), vec![ZONES[zone].into()])],
        });
        storage_class(CLASSES[number])
            .with(|class| {
                class.binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer);
                class.provisioner = if self.provisions {
                    format!("driver-{number}").into()
                } else {
                    "kubernetes.io/no-provisioner".into()
                };
                class.allowed_topologies = allowed.into_iter().collect();
            })
            .build()
    }
}
