use plimsoll_model::storage::{AccessModes, TopologySelectorTerm, VolumeBindingMode, VolumePhase};
use plimsoll_model::testing::{claim, csi_driver, storage_capacity, storage_class};
use plimsoll_model::{LabelSelector, ObjectName, Operator, Requirement, Uid};

use super::super::{BIND_CONFLICT, NOT_ENOUGH_SPACE};
use super::{World, local, user, waiting};

#[test]
fn a_waiting_claim_gets_the_smallest_volume_that_suits_it() {
    let mut world = World::new([
        waiting("data").requested("2Gi").object(),
        local("small", "a1").capacity("1Gi").object(),
        local("large", "a1").capacity("9Gi").object(),
        local("right", "a1").capacity("3Gi").object(),
        local("same", "a1").capacity("3Gi").object(),
        local("other-class", "a1").class("made").capacity("2Gi").object(),
        local("block", "a1").capacity("2Gi").block().object(),
        local("shared", "a1")
            .capacity("2Gi")
            .access(AccessModes::READ_ONLY_MANY)
            .object(),
        local("pending", "a1")
            .capacity("2Gi")
            .phase(VolumePhase::Pending)
            .object(),
        local("going", "a1")
            .capacity("2Gi")
            .with(|volume| volume.deleting = true)
            .object(),
        local("special", "a1")
            .capacity("2Gi")
            .with(|volume| volume.attributes_class = Some("gold".into()))
            .object(),
        local("taken", "a1").capacity("2Gi").kept_for("another").object(),
        local("elsewhere", "b1").capacity("2Gi").object(),
    ]);
    let pod = user(&["data"]);
    let filtered = world.filter(&pod).unwrap();
    assert_eq!(filtered["a2"], [BIND_CONFLICT]);
    assert_eq!(world.feasible(&pod), ["a1", "b1"]);
    let chosen = |world: &mut World, node: &str| world.reserve(&pod, node).volumes[0].0.to_string();
    assert_eq!(chosen(&mut world, "a1"), "right");
    assert_eq!(chosen(&mut world, "b1"), "elsewhere");
    let selector = LabelSelector {
        match_expressions: vec![Requirement::new("disk", Operator::Exists, Vec::<String>::new())],
        ..LabelSelector::default()
    };
    world.set(waiting("data").requested("2Gi").selector(selector).object());
    assert_eq!(world.feasible(&pod), Vec::<String>::new());
    world.set(local("labelled", "a1").capacity("5Gi").label("disk", "ssd").object());
    assert_eq!(chosen(&mut world, "a1"), "labelled");
}

#[test]
fn a_selector_that_cannot_be_parsed_ends_the_attempt() {
    let selector = LabelSelector {
        match_expressions: vec![Requirement::new("disk", Operator::In, Vec::<String>::new())],
        ..LabelSelector::default()
    };
    let mut world = World::new([waiting("data").selector(selector).object(), local("v", "a1").object()]);
    assert_eq!(
        world.filter(&user(&["data"])).unwrap_err(),
        "error creating internal label selector for claim: default/data: values: Invalid value: null: for 'in', \
         'notin' operators, values set can't be empty"
    );
}

#[test]
fn small_claims_choose_first_and_no_volume_is_chosen_twice() {
    let mut world = World::new([
        waiting("large").requested("4Gi").object(),
        waiting("small").requested("1Gi").object(),
        local("v4", "a1").capacity("4Gi").object(),
        local("v5", "a1").capacity("5Gi").object(),
        local("w5", "a2").capacity("5Gi").object(),
    ]);
    let pod = user(&["large", "small"]);
    assert_eq!(world.feasible(&pod), ["a1"]);
    let name = |name: &str| ObjectName::new("default", name);
    assert_eq!(
        world.reserve(&pod, "a1").volumes,
        [("v4".into(), name("small")), ("v5".into(), name("large"))]
    );
}

#[test]
fn a_volume_that_is_kept_for_the_claim_is_the_only_one_that_it_takes() {
    let mut world = World::new([
        waiting("data").requested("2Gi").object(),
        local("kept", "a1")
            .capacity("9Gi")
            .phase(VolumePhase::Pending)
            .kept_for("data")
            .object(),
        local("right", "a1").capacity("2Gi").object(),
        local("better", "a2").capacity("2Gi").object(),
    ]);
    let pod = user(&["data"]);
    assert_eq!(world.feasible(&pod), ["a1"]);
    assert_eq!(world.reserve(&pod, "a1").volumes[0].0, "kept");
    // Too small to be had: as if it were not there.
    world.set(local("kept", "a1").capacity("1Gi").kept_for("data").object());
    assert_eq!(world.feasible(&pod), ["a1", "a2"]);
    assert_eq!(world.reserve(&pod, "a1").volumes[0].0, "right");
}

#[test]
fn what_another_pod_has_reserved_is_not_to_be_had() {
    let mut world = World::new([
        waiting("data").object(),
        waiting("other").object(),
        local("v", "a1").object(),
    ]);
    let reservation = world.reserve(&user(&["other"]), "a1");
    world.columns.reserve_volumes(&Uid::from("first"), &reservation);
    assert_eq!(world.feasible(&user(&["data"])), Vec::<String>::new());
    // A pod that shares the claim has the volume with it.
    assert_eq!(world.feasible(&user(&["other"])), ["a1"]);
    assert_eq!(world.reserve(&user(&["other"]), "a1"), reservation);
    world.columns.unreserve_volumes(&Uid::from("first"));
    assert_eq!(world.feasible(&user(&["data"])), ["a1"]);
}

#[test]
fn what_finds_no_volume_is_made_where_the_class_allows_it_and_there_is_room() {
    let in_zone = |zone: &str| LabelSelector::of_labels([("zone", zone)].into_iter().collect());
    let mut world = World::new([claim("data").class("made").requested("2Gi").object()]);
    let pod = user(&["data"]);
    assert_eq!(world.feasible(&pod), ["a1", "a2", "b1"]);
    let class = storage_class("made").with(|class| {
        class.binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer);
        class.provisioner = "driver".into();
        class.allowed_topologies = vec![TopologySelectorTerm {
            expressions: vec![("host".into(), vec!["a1".into(), "b1".into()])],
        }];
    });
    world.set(class.object());
    assert_eq!(world.filter(&pod).unwrap()["a2"], [BIND_CONFLICT]);
    assert_eq!(world.feasible(&pod), ["a1", "b1"]);
    world.set(
        csi_driver("driver")
            .with(|driver| driver.storage_capacity = true)
            .object(),
    );
    let filtered = world.filter(&pod).unwrap();
    assert_eq!(filtered["a1"], [NOT_ENOUGH_SPACE]);
    assert_eq!(filtered["a2"], [BIND_CONFLICT]);
    let room = |name: &str, zone: &str, capacity: i64, largest: Option<i64>| {
        storage_capacity(name, "made").with(|room| {
            room.node_topology = Some(in_zone(zone));
            room.capacity = Some(capacity << 30);
            room.maximum_volume_size = largest.map(|largest| largest << 30);
        })
    };
    world.set(room("a", "a", 9, Some(1)).object());
    world.set(room("b", "b", 2, None).object());
    assert_eq!(world.feasible(&pod), ["b1"]);
    let reservation = world.reserve(&pod, "b1");
    assert_eq!(reservation.provisioned, [ObjectName::new("default", "data")]);
    assert_eq!((reservation.node.as_str(), reservation.volumes.len()), ("b1", 0));
    // Without a size there is nothing to compare.
    world.set(
        claim("data")
            .class("made")
            .with(|claim| claim.requested = None)
            .object(),
    );
    assert_eq!(world.feasible(&pod), ["a1", "b1"]);
}

#[test]
fn a_claim_whose_node_is_chosen_goes_there_and_takes_no_volume_that_is_there() {
    let mut world = World::new([
        claim("data").class("made").selected_node("a2").object(),
        local("v", "a2").class("made").object(),
        claim("more").class("made").object(),
    ]);
    assert_eq!(world.filter(&user(&["data"])).unwrap()["a1"], [BIND_CONFLICT]);
    assert_eq!(world.feasible(&user(&["data"])), ["a2"]);
    let reservation = world.reserve(&user(&["data"]), "a2");
    assert_eq!((reservation.volumes.len(), reservation.provisioned.len()), (0, 1));
    let reservation = world.reserve(&user(&["more"]), "a1");
    world.columns.reserve_volumes(&Uid::from("first"), &reservation);
    assert_eq!(world.feasible(&user(&["more"])), ["a1"]);
    assert_eq!(world.feasible(&user(&["data", "more"])), Vec::<String>::new());
    world.set(claim("data").class("made").selected_node("nowhere").object());
    assert_eq!(world.feasible(&user(&["data"])), Vec::<String>::new());
}

#[test]
fn a_claim_that_is_mounted_twice_gets_one_volume() {
    let mut world = World::new([
        waiting("data").object(),
        local("v", "a1").object(),
        local("w", "a1").object(),
    ]);
    let reservation = world.reserve(&user(&["data", "data"]), "a1");
    assert_eq!(reservation.volumes, [("v".into(), ObjectName::new("default", "data"))]);
}
