//! Whose word stood against nodes in a preemption that found none.

use plimsoll_model::VolumeKind;

use super::*;

fn disk() -> VolumeKind {
    VolumeKind::GcePersistentDisk {
        pd_name: "disk".into(),
        read_only: false,
    }
}

#[test]
fn plugins_that_turn_nodes_down_without_their_victims_too_are_told_apart_from_those_that_turned_the_pod_away() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(guest("low", "n1", "1500m", 0));
    cluster.run(guest("keeper", "n1", "100m", 200).volume(disk()));
    cluster.run(guest("peer", "n2", "1500m", 200));
    let diagnosis = cluster.refuse_built(preemptor("1").volume(disk()));
    assert_eq!(diagnosis.plugins, ["NodeResourcesFit"]);
    assert_eq!(diagnosis.preemption_plugins, ["VolumeRestrictions"]);
    assert!(
        said(&diagnosis).contains("1 node(s) had no available disk"),
        "{}",
        diagnosis.message
    );
}

#[test]
fn a_plugin_that_turned_the_pod_away_and_its_preemption_is_named_once() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.run(guest("low", "n1", "100m", 0));
    cluster.run(guest("keeper", "n1", "1900m", 200));
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(diagnosis.plugins, ["NodeResourcesFit"]);
    assert!(diagnosis.preemption_plugins.is_empty());
}
