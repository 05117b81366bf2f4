use std::sync::OnceLock;

use plimsoll_config::{FeatureGates, Gate, PluginArgs, UtilizationShapePoint, VolumeBindingArgs};
use plimsoll_framework::{CycleState, Extensions, Feasible, PreScoreOutcome};
use plimsoll_model::LabelSelector;
use plimsoll_model::Pod;
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::testing::{VolumeBuilder, claim, csi_driver, storage_capacity, volume};

use super::super::construct;
use super::{World, local, user, waiting};
use crate::fixture::{made, made_with};

fn gated(shape: Option<&[(i32, i32)]>) -> Extensions {
    let gates = FeatureGates::default().with(Gate::StorageCapacityScoring, true);
    let mut args = VolumeBindingArgs::with_gates(&gates);
    if let Some(shape) = shape {
        let points = shape.iter().map(|(utilization, score)| UtilizationShapePoint {
            utilization: *utilization,
            score: *score,
        });
        args.shape = Some(points.collect());
    }
    made_with(construct, Some(&PluginArgs::VolumeBinding(args)), &gates).unwrap()
}

fn scores(world: &mut World, plugin: &Extensions, pod: &Pod) -> Option<Vec<i64>> {
    let mut state = CycleState::new();
    world.pre_filter(plugin, pod, &mut state);
    world.judge(plugin, pod, &state).unwrap();
    scores_after(world, plugin, pod, state)
}

fn scores_after(world: &World, plugin: &Extensions, pod: &Pod, mut state: CycleState) -> Option<Vec<i64>> {
    let feasible: Vec<NodeIndex> = world.columns.nodes().iter().collect();
    let pre_score = plugin.pre_score.as_ref().unwrap();
    let list = OnceLock::new();
    let nodes = Feasible::new(world.columns.nodes(), &list);
    match pre_score.pre_score(world.cycle(pod), &mut state, &nodes) {
        PreScoreOutcome::Continue => {}
        PreScoreOutcome::Skip => return None,
        PreScoreOutcome::Error(error) => panic!("{error}"),
    }
    let mut column = vec![0; feasible.len()];
    let score = plugin.score.as_ref().unwrap();
    score.score(world.cycle(pod), &state, &feasible, &mut column).unwrap();
    Some(column)
}

fn sized(name: &str, node: &str, size: &str) -> VolumeBuilder {
    local(name, node).capacity(size)
}

#[test]
fn without_the_gate_it_does_not_score() {
    let mut world = World::new([waiting("data").object(), local("v", "a1").object()]);
    assert_eq!(scores(&mut world, &made(construct), &user(&["data"])), None);
}

#[test]
fn in_a_profile_without_the_filter_nothing_is_scored() {
    let mut world = World::new([waiting("data").object(), local("v", "a1").object()]);
    let (plugin, pod, mut state) = (gated(None), user(&["data"]), CycleState::new());
    world.pre_filter(&plugin, &pod, &mut state);
    assert_eq!(scores_after(&world, &plugin, &pod, state), Some(vec![0, 0, 0]));
}

#[test]
fn volumes_that_are_used_up_most_score_by_the_shape() {
    let mut world = World::new([
        waiting("data").requested("2Gi").object(),
        sized("v", "a1", "2Gi").object(),
        sized("w", "a2", "4Gi").object(),
        sized("x", "b1", "16Gi").object(),
    ]);
    let pod = user(&["data"]);
    // By default room that stays free counts: the share is 100, 50 and 12.
    assert_eq!(scores(&mut world, &gated(None), &pod), Some(vec![0, 50, 88]));
    let packing = gated(Some(&[(0, 0), (100, 10)]));
    assert_eq!(scores(&mut world, &packing, &pod), Some(vec![100, 50, 12]));
}

#[test]
fn classes_count_the_same_and_claims_of_one_add_up() {
    let mut world = World::new([
        waiting("one").requested("1Gi").object(),
        waiting("two").requested("2Gi").object(),
        claim("three").class("made").requested("1Gi").object(),
        sized("v", "a1", "2Gi").object(),
        sized("w", "a1", "4Gi").object(),
        volume("x").class("made").capacity("4Gi").object(),
    ]);
    let packing = gated(Some(&[(0, 0), (100, 10)]));
    let scores = scores(&mut world, &packing, &user(&["one", "two", "three"])).unwrap();
    // 3 of 6 of the one, 1 of 4 of the other: the mean of 50 and 25, rounded.
    assert_eq!(scores[0], 38);
}

#[test]
fn what_has_to_be_made_counts_against_the_room_on_the_node() {
    let room = |name: &str, zone: &str, size: i64| {
        storage_capacity(name, "made").with(|room| {
            room.node_topology = Some(LabelSelector::of_labels([("zone", zone)].into_iter().collect()));
            room.capacity = Some(size << 30);
        })
    };
    let mut world = World::new([
        claim("one").class("made").requested("1Gi").object(),
        claim("two").class("made").requested("1Gi").object(),
        room("a", "a", 4).object(),
        room("b", "b", 10).object(),
    ]);
    let packing = gated(Some(&[(0, 0), (100, 10)]));
    let pod = user(&["one", "two"]);
    // Without a driver that tells, nobody knows.
    assert_eq!(scores(&mut world, &packing, &pod), Some(vec![0, 0, 0]));
    world.set(
        csi_driver("driver")
            .with(|driver| driver.storage_capacity = true)
            .object(),
    );
    assert_eq!(scores(&mut world, &packing, &pod), Some(vec![50, 50, 20]));
    world.set(
        room("a", "a", 4)
            .with(|room| {
                room.maximum_volume_size = room.capacity.take();
            })
            .object(),
    );
    assert_eq!(scores(&mut world, &packing, &pod), Some(vec![100, 100, 20]));
}
