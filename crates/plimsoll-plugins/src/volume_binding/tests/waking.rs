//! Whatever makes a node fit as far as the plugin knows, its hint brings the pod back.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_framework::{Action, EventObjects, EventResource};
use plimsoll_model::Pod;
use plimsoll_model::storage::{StorageObject, VolumeReservation};
use plimsoll_model::testing::pod;
use proptest::prelude::*;

use super::super::construct;
use super::World;
use super::naive::cluster::{Objects, cluster_shape};
use super::naive::consumer;
use crate::fixture::{Listener, made};

fn fitting(objects: &Objects, pod: &Pod) -> BTreeSet<String> {
    let mut world = World {
        columns: objects.columns(),
    };
    if world.stopped(pod).is_some() {
        return BTreeSet::new();
    }
    let filtered = world.filter(pod).unwrap().into_iter();
    filtered
        .filter(|(_, reasons)| reasons.is_empty())
        .map(|(node, _)| node)
        .collect()
}

/// What one object becomes: as it is in another cluster, or gone.
fn replace<T: Clone>(objects: &mut Vec<T>, other: &[T], at: usize) -> (Option<T>, Option<T>) {
    let (old, new) = (objects.get(at).cloned(), other.get(at).cloned());
    match (&old, &new) {
        (Some(_), Some(new)) => objects[at] = new.clone(),
        (Some(_), None) => drop(objects.remove(at)),
        (None, Some(new)) => objects.push(new.clone()),
        (None, None) => {}
    }
    (old, new)
}

/// Makes one change, and says whether it brings the pod back.
fn change(objects: &mut Objects, other: &Objects, kind: usize, at: usize, waiting: &Pod) -> bool {
    let listener = Listener::of(&made(construct));
    macro_rules! storage {
        ($list:ident) => {{
            let (old, new) = replace(&mut objects.$list, &other.$list, at);
            let object = |object| StorageObject::from(Arc::new(object));
            (old.is_some() || new.is_some()) && listener.wakes_on_storage(waiting, old.map(object), new.map(object))
        }};
    }
    match kind {
        0 => {
            let (old, new) = replace(&mut objects.nodes, &other.nodes, at);
            let action = Action::UPDATE_NODE_LABEL;
            old.is_some() && listener.wakes_on_node(action, waiting, old.as_ref(), new.as_ref())
        }
        1 => storage!(csi_nodes),
        2 => storage!(volumes),
        3 => storage!(claims),
        4 => {
            // Of a class only where it makes volumes may change.
            let Some(class) = objects.classes.get_mut(at) else {
                return false;
            };
            let old = class.clone();
            class
                .allowed_topologies
                .clone_from(&other.classes[at].allowed_topologies);
            let new = StorageObject::from(Arc::new(class.clone()));
            listener.wakes_on_storage(waiting, Some(Arc::new(old).into()), Some(new))
        }
        5 => {
            // Of room only how much there is.
            let Some((room, other)) = objects.rooms.get_mut(at).zip(other.rooms.get(at)) else {
                return false;
            };
            let old = room.clone();
            room.capacity = other.capacity;
            let new = StorageObject::from(Arc::new(room.clone()));
            listener.wakes_on_storage(waiting, Some(Arc::new(old).into()), Some(new))
        }
        6 => {
            let (old, new) = replace(&mut objects.drivers, &other.drivers, at);
            (old.is_some() || new.is_some()) && listener.wakes_on_storage(waiting, old, new)
        }
        _ => {
            objects.reservation = VolumeReservation::default();
            let ended = pod("other").claim("data").on("n1").build();
            let objects = EventObjects::Pod {
                old: Some(Arc::new(ended)),
                new: None,
            };
            listener.wakes(EventResource::AssignedPod, Action::DELETE, waiting, &objects)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn any_change_that_makes_a_node_fit_brings_the_pod_back(
        before in cluster_shape(),
        other in cluster_shape(),
        kind in 0_usize..8,
        at in 0_usize..12,
    ) {
        let waiting = consumer();
        let (mut objects, other) = (Objects::of(&before), Objects::of(&other));
        let fitted = fitting(&objects, &waiting);
        let wakes = change(&mut objects, &other, kind, at % [20, 20, 12, 3, 2, 4, 2, 1][kind], &waiting);
        let fits = fitting(&objects, &waiting);
        let helped: Vec<_> = fits.difference(&fitted).collect();
        prop_assert!(helped.is_empty() || wakes, "{helped:?} by {kind} {at}");
    }
}
