//! The same rules, one node, one claim and one volume at a time, and what they say of random clusters.

use std::collections::BTreeMap;

use plimsoll_model::storage::{
    ClaimReference, MigratedVolume, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject, Topology,
    VolumePhase,
};
use plimsoll_model::testing::pod;
use plimsoll_model::{Node, Pod};
use proptest::prelude::*;

use super::super::{BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING};
use super::World;

pub(super) mod cluster;

use cluster::{CLAIMS, Objects, PLUGIN, cluster_shape};

/// What one node offers.
#[derive(Debug, Default, PartialEq)]
struct Offer {
    reasons: Vec<&'static str>,
    bindings: Vec<(String, String)>,
    provisions: Vec<String>,
}

impl Objects {
    fn offer(&self, node: &Node) -> Offer {
        let mut offer = Offer::default();
        let bound = self.claims.iter().filter(|claim| !claim.volume.is_empty());
        let mut reasons = [false; 4];
        for claim in bound {
            let Some(volume) = self.volumes.iter().find(|volume| volume.name.name == claim.volume) else {
                reasons[3] = true;
                break;
            };
            if !self.bound_volume_reached(volume, node) {
                reasons[0] = true;
                break;
            }
        }
        self.delayed(node, &mut reasons, &mut offer);
        let texts = [NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING];
        offer.reasons = texts
            .into_iter()
            .zip(reasons)
            .filter(|(_, held)| *held)
            .map(|(text, _)| text)
            .collect();
        if !offer.reasons.is_empty() {
            offer.bindings.clear();
            offer.provisions.clear();
        }
        offer
    }

    fn bound_volume_reached(&self, volume: &PersistentVolume, node: &Node) -> bool {
        let csi_node = self.csi_nodes.iter().find(|csi_node| csi_node.name.name == node.name);
        let moved = csi_node.is_some_and(|node| node.migrated_plugins.iter().any(|plugin| plugin == PLUGIN));
        match MigratedVolume::of(volume).filter(|_| moved) {
            Some(migrated) => migrated.topology.unwrap().includes(&node.labels),
            None => reached(volume, node),
        }
    }

    fn delayed(&self, node: &Node, reasons: &mut [bool; 4], offer: &mut Offer) {
        let delayed: Vec<_> = self.claims.iter().filter(|claim| claim.volume.is_empty()).collect();
        let mut to_provision = Vec::new();
        let mut to_match = Vec::new();
        for claim in delayed {
            match self.selected_node(claim) {
                Some(selected) if selected != node.name => {
                    reasons[1] = true;
                    return;
                }
                Some(_) => to_provision.push(claim),
                None => to_match.push(claim),
            }
        }
        to_match.sort_by_key(|claim| claim.requested.unwrap_or(0));
        let mut chosen: Vec<&str> = Vec::new();
        for claim in to_match {
            match self.matching(claim, node, &chosen) {
                Some(volume) => {
                    chosen.push(&volume.name.name);
                    offer
                        .bindings
                        .push((volume.name.name.to_string(), claim.name.name.to_string()));
                }
                None => to_provision.push(claim),
            }
        }
        for claim in to_provision {
            let class = self
                .classes
                .iter()
                .find(|class| class.name.name == claim.class)
                .unwrap();
            if class.provisioner == "kubernetes.io/no-provisioner"
                || !Topology::of_allowed(&class.allowed_topologies).includes(&node.labels)
            {
                reasons[1] = true;
                return;
            }
            if !self.has_room(class, claim, node) {
                reasons[2] = true;
                return;
            }
            offer.provisions.push(claim.name.name.to_string());
        }
    }

    fn selected_node(&self, claim: &PersistentVolumeClaim) -> Option<String> {
        let reserved = self.reservation.provisioned.contains(&claim.name);
        let told = claim.selected_node.as_ref().map(ToString::to_string);
        told.or_else(|| reserved.then(|| self.reservation.node.to_string()))
    }

    fn claim_of(&self, volume: &PersistentVolume) -> Option<ClaimReference> {
        let held = self
            .reservation
            .volumes
            .iter()
            .find(|(name, _)| *name == volume.name.name);
        volume.claim.clone().or_else(|| {
            held.map(|(_, claim)| ClaimReference {
                name: claim.clone(),
                uid: None,
            })
        })
    }

    fn matching(&self, claim: &PersistentVolumeClaim, node: &Node, chosen: &[&str]) -> Option<&PersistentVolume> {
        let mut smallest: Option<&PersistentVolume> = None;
        let requested = claim.requested.unwrap_or(0);
        for volume in self.volumes.iter().filter(|volume| volume.class == claim.class) {
            let reference = self.claim_of(volume);
            let is_own = reference.as_ref().is_some_and(|reference| {
                reference.name == claim.name && reference.uid.as_ref().is_none_or(|uid| *uid == claim.uid)
            });
            if chosen.contains(&volume.name.name.as_str())
                || (reference.is_some() && !is_own)
                || volume.capacity.unwrap_or(0) < requested
                || volume.volume_mode.unwrap_or_default() != claim.volume_mode.unwrap_or_default()
                || volume.deleting
            {
                continue;
            }
            if is_own {
                return reached(volume, node).then_some(volume);
            }
            if volume.phase == VolumePhase::Available
                && claim
                    .selector
                    .as_ref()
                    .is_none_or(|selector| selector.matches(&volume.labels))
                && reached(volume, node)
                && volume.access_modes.contains(claim.access_modes)
                && smallest.is_none_or(|smallest| smallest.capacity > volume.capacity)
            {
                smallest = Some(volume);
            }
        }
        smallest
    }

    fn has_room(&self, class: &StorageClass, claim: &PersistentVolumeClaim, node: &Node) -> bool {
        let driver = self
            .drivers
            .iter()
            .find(|driver| driver.name().name == class.provisioner);
        let tells = matches!(driver, Some(StorageObject::CsiDriver(driver)) if driver.storage_capacity);
        let Some(bytes) = claim.requested.filter(|_| tells) else {
            return true;
        };
        self.rooms.iter().any(|room| {
            room.class == class.name.name
                && room.capacity >= Some(bytes)
                && room
                    .node_topology
                    .as_ref()
                    .is_some_and(|selector| selector.matches(&node.labels))
        })
    }
}

fn reached(volume: &PersistentVolume, node: &Node) -> bool {
    Topology::of_affinity(volume.node_affinity.as_deref()).includes(&node.labels)
}

pub(super) fn consumer() -> Pod {
    CLAIMS.iter().fold(pod("p"), |pod, claim| pod.claim(claim)).build()
}

fn offers_of(world: &mut World, pod: &Pod) -> BTreeMap<String, Offer> {
    let filtered = world.filter(pod).unwrap();
    let names = filtered.into_iter().map(|(node, reasons)| {
        let mut offer = Offer {
            reasons,
            ..Offer::default()
        };
        if offer.reasons.is_empty() {
            let reservation = world.reserve(pod, &node);
            let bindings = reservation.volumes.iter();
            offer.bindings = bindings
                .map(|(volume, claim)| (volume.to_string(), claim.name.to_string()))
                .collect();
            offer.provisions = reservation
                .provisioned
                .iter()
                .map(|claim| claim.name.to_string())
                .collect();
        }
        (node, offer)
    });
    names.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn columns_offer_on_each_node_what_a_look_at_each_volume_offers(shape in cluster_shape()) {
        let objects = Objects::of(&shape);
        let mut world = World { columns: objects.columns() };
        let offers = offers_of(&mut world, &consumer());
        let expected = objects.nodes.iter().map(|node| (node.name.to_string(), objects.offer(node)));
        prop_assert_eq!(offers, expected.collect::<BTreeMap<_, _>>());
    }
}
