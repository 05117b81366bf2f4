use plimsoll_framework::{Action, EventObjects, EventResource};
use plimsoll_model::storage::{StorageObject, TopologySelectorTerm};
use plimsoll_model::testing::{claim, csi_driver, csi_node, node, pod, storage_capacity, storage_class, volume};
use plimsoll_model::{Pod, VolumeKind};

use super::super::construct;
use crate::fixture::{Listener, made};

fn waiting_pod() -> Pod {
    pod("p")
        .claim("data")
        .volume(VolumeKind::Ephemeral { volume: "tmp".into() })
        .volume(VolumeKind::Csi {
            driver: "driver".into(),
        })
        .build()
}

fn wakes(old: Option<StorageObject>, new: Option<StorageObject>) -> bool {
    Listener::of(&made(construct)).wakes_on_storage(&waiting_pod(), old, new)
}

#[test]
fn events_wake_pods_as_kube_schedulers_hints_say_and_where_more_may_help() {
    let room = |size: Option<i64>, largest: Option<i64>| {
        let room = storage_capacity("room", "class").with(|room| {
            room.capacity = size;
            room.maximum_volume_size = largest;
        });
        Some(room.object())
    };
    let driver =
        |name: &str, tells: bool| Some(csi_driver(name).with(|driver| driver.storage_capacity = tells).object());
    let class = |zone: &'static str| {
        let term = TopologySelectorTerm {
            expressions: vec![("zone".into(), vec![zone.into()])],
        };
        Some(
            storage_class("c")
                .with(|class| class.allowed_topologies = vec![term])
                .object(),
        )
    };
    let other_class = || class("a").map(|_| storage_class("c").resource_version(2).object());
    let moved = |plugins: &[&'static str]| {
        let plugins = plugins.iter().map(|plugin| (*plugin).into()).collect();
        Some(csi_node("n").with(|node| node.migrated_plugins = plugins).object())
    };
    let object = |builder: StorageObject| Some(builder);
    let cases = [
        ("a new class", None, class("a"), true),
        ("another topology", class("a"), class("b"), true),
        ("any topology", class("a"), other_class(), true),
        ("the same topology", class("a"), class("a"), false),
        ("a new claim", None, object(claim("data").object()), true),
        (
            "a changed claim",
            object(claim("data").object()),
            object(claim("data").object()),
            true,
        ),
        ("a claim made for the pod", None, object(claim("p-tmp").object()), true),
        ("another claim", None, object(claim("other").object()), false),
        (
            "a claim elsewhere",
            None,
            object(claim("data").namespace("other").object()),
            false,
        ),
        ("a new volume", None, object(volume("v").object()), true),
        (
            "a changed volume",
            object(volume("v").object()),
            object(volume("v").object()),
            true,
        ),
        ("a new node of drivers", None, moved(&[]), true),
        ("a plugin has moved", moved(&[]), moved(&["kubernetes.io/gce-pd"]), true),
        ("nothing has moved", moved(&["x"]), moved(&["x"]), false),
        (
            "a driver that stops telling",
            driver("driver", true),
            driver("driver", false),
            true,
        ),
        (
            "a driver that starts telling",
            driver("driver", false),
            driver("driver", true),
            false,
        ),
        ("another driver", driver("other", true), driver("other", false), true),
        ("new room", None, room(None, None), true),
        ("more room", room(Some(1), None), room(Some(2), None), true),
        ("room at last", room(None, None), room(Some(1), None), true),
        ("the same room", room(Some(2), None), room(Some(2), None), false),
        ("less room", room(Some(2), None), room(Some(1), None), false),
        ("a volume that goes", object(volume("v").object()), None, true),
        ("a claim that goes", object(claim("data").object()), None, false),
        ("a class that goes", class("a"), None, false),
        (
            "a node of drivers that goes",
            moved(&["kubernetes.io/gce-pd"]),
            None,
            true,
        ),
        ("a driver that told and goes", driver("other", true), None, true),
        ("a driver that goes", driver("other", false), None, false),
        ("room that goes", room(Some(1), None), None, false),
        (
            "more room for no larger volume",
            room(Some(2), Some(1)),
            room(Some(3), Some(1)),
            false,
        ),
    ];
    for (what, old, new, expected) in cases {
        assert_eq!(wakes(old, new), expected, "{what}");
    }
}

#[test]
fn the_end_of_an_attempt_that_may_have_reserved_volumes_wakes_pods_with_claims() {
    let listener = Listener::of(&made(construct));
    let ended = pod("other").claim("data").on("n");
    let wakes = |waiting: &Pod, gone: Pod| listener.wakes_on_pod(Action::DELETE, waiting, Some(&gone), None);
    assert!(wakes(&waiting_pod(), ended.clone().build()));
    assert!(!wakes(&waiting_pod(), pod("other").on("n").build()));
    assert!(!wakes(
        &waiting_pod(),
        ended.clone().started("2026-01-01T00:00:00Z").build()
    ));
    assert!(!wakes(&pod("bare").build(), ended.build()));
}

#[test]
fn nodes_that_come_and_labels_that_change_wake_every_pod() {
    let listener = Listener::of(&made(construct));
    let nodes = EventObjects::Node {
        old: None,
        new: Some(std::sync::Arc::new(node("n").build())),
    };
    let wakes = |resource, action, objects: &EventObjects| listener.wakes(resource, action, &waiting_pod(), objects);
    assert!(wakes(EventResource::Node, Action::ADD, &nodes));
    assert!(wakes(EventResource::Node, Action::UPDATE_NODE_LABEL, &nodes));
    assert!(!wakes(EventResource::Node, Action::UPDATE_NODE_CONDITION, &nodes));
    assert!(!wakes(EventResource::CsiDriver, Action::ADD, &EventObjects::None));
}
