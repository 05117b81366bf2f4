use plimsoll_framework::Status;
use plimsoll_model::storage::StorageObject;
use plimsoll_model::testing::{claim, storage_class, volume};

use super::*;
use crate::fixture::{Cluster, Listener, node, pod, unresolvable};

fn naming(claims: &[&str]) -> Pod {
    let volumes: Vec<String> = (claims.iter().enumerate())
        .map(|(at, claim)| format!(r#"{{"name":"v{at}","persistentVolumeClaim":{{"claimName":"{claim}"}}}}"#))
        .collect();
    pod(&format!(r#"{{"volumes":[{}]}}"#, volumes.join(",")))
}

/// Volume `pv` with these labels, and claim `c` that has it.
fn bound(labels: &[(&str, &str)]) -> [StorageObject; 2] {
    let pv = labels
        .iter()
        .fold(volume("pv"), |volume, (key, value)| volume.label(key, value));
    [pv.object(), claim("c").bound("pv").object()]
}

type Labels<'a> = &'a [(&'a str, &'a str)];

#[test]
fn a_node_must_be_in_the_zone_and_region_of_the_volume() {
    let nodes = [
        ("bare", "{}"),
        ("other", r#"{"labels":{"a":"b"}}"#),
        ("z1", r#"{"labels":{"topology.kubernetes.io/zone":"z1"}}"#),
        (
            "z1r",
            r#"{"labels":{"topology.kubernetes.io/zone":"z1","topology.kubernetes.io/region":"r"}}"#,
        ),
        ("z2", r#"{"labels":{"topology.kubernetes.io/zone":"z2"}}"#),
        ("old1", r#"{"labels":{"failure-domain.beta.kubernetes.io/zone":"z1"}}"#),
        (
            "mixed",
            r#"{"labels":{"failure-domain.beta.kubernetes.io/zone":"z2","topology.kubernetes.io/zone":"z1"}}"#,
        ),
        ("r", r#"{"labels":{"topology.kubernetes.io/region":"r"}}"#),
    ];
    let all_but = |passing: &[&'static str]| -> Vec<&'static str> {
        let names = nodes.iter().map(|(name, _)| *name);
        names.filter(|name| !passing.contains(name)).collect()
    };
    let cases: [(Labels<'_>, Vec<&str>); 9] = [
        (&[(ZONE, "z1")], all_but(&["bare", "other", "z1", "z1r", "mixed"])),
        (
            &[(ZONE, "z1__ z2")],
            all_but(&["bare", "other", "z1", "z1r", "z2", "mixed"]),
        ),
        (&[(BETA_ZONE, "z1")], all_but(&["bare", "other", "z1", "z1r", "old1"])),
        (&[(BETA_ZONE, "z2")], all_but(&["bare", "other", "z2", "mixed"])),
        (&[(BETA_ZONE, "z2"), (ZONE, "z1")], all_but(&["bare", "other", "mixed"])),
        (&[(ZONE, "z1"), (REGION, "r")], all_but(&["bare", "other", "z1r"])),
        (&[(BETA_REGION, "r")], all_but(&["bare", "other", "z1r", "r"])),
        (&[(ZONE, "z3")], all_but(&["bare", "other"])),
        (&[(REGION, "q")], all_but(&["bare", "other"])),
    ];
    for (labels, rejected) in cases {
        let cluster = Cluster::of_nodes(nodes).with(bound(labels));
        let verdicts = cluster.filter(&extensions(), &naming(&["c"]));
        for (name, _) in nodes {
            let expected = rejected.contains(&name).then(|| unresolvable([REASON]));
            assert_eq!(verdicts.of(name), expected, "{labels:?} {name}");
        }
    }
}

#[test]
fn every_volume_of_the_pod_counts() {
    let cluster = Cluster::of_nodes([
        ("z1", r#"{"labels":{"topology.kubernetes.io/zone":"z1"}}"#),
        ("z2", r#"{"labels":{"topology.kubernetes.io/zone":"z2"}}"#),
    ])
    .with([
        volume("one").label(ZONE, "z1").object(),
        volume("two").label(ZONE, "z2").object(),
        claim("c1").bound("one").object(),
        claim("c2").bound("two").object(),
    ]);
    let verdicts = cluster.filter(&extensions(), &naming(&["c1", "c2"]));
    assert!(verdicts.of("z1").is_some() && verdicts.of("z2").is_some());
}

#[test]
fn volumes_that_say_nothing_of_zones_skip_the_filter() {
    let zoned = [("n", r#"{"labels":{"topology.kubernetes.io/zone":"z1"}}"#)];
    let labels: [&[(&str, &str)]; 4] = [&[], &[("zone", "z")], &[(ZONE, "")], &[(ZONE, "z1__")]];
    for labels in labels {
        let cluster = Cluster::of_nodes(zoned).with(bound(labels));
        assert!(cluster.filter(&extensions(), &naming(&["c"])).skipped(), "{labels:?}");
    }
    let waiting = [
        storage_class("slow").waits().object(),
        claim("c").class("slow").object(),
    ];
    let cluster = Cluster::of_nodes(zoned).with(waiting);
    assert!(cluster.filter(&extensions(), &naming(&["c"])).skipped());
    assert!(cluster.filter(&extensions(), &naming(&[])).skipped());
}

#[test]
fn a_claim_that_cannot_be_judged_stops_the_pod_and_says_why() {
    let objects = || {
        [
            storage_class("now").object(),
            storage_class("modeless")
                .with(|class| class.binding_mode = None)
                .object(),
            claim("classless").object(),
            claim("now").class("now").object(),
            claim("modeless").class("modeless").object(),
            claim("of-no-class").class("none").object(),
            claim("lost").bound("gone").object(),
        ]
    };
    let cases = [
        ("", "PersistentVolumeClaim had no name"),
        ("gone", r#"persistentvolumeclaim "gone" not found"#),
        (
            "classless",
            "PersistentVolumeClaim had no pv name and storageClass name",
        ),
        ("of-no-class", r#"storageclass.storage.k8s.io "none" not found"#),
        ("modeless", r#"VolumeBindingMode not set for StorageClass "modeless""#),
        ("now", "PersistentVolume had no name"),
        ("lost", r#"persistentvolume "gone" not found"#),
    ];
    let cluster = Cluster::of_nodes([("n", "{}")]).with(objects());
    for (name, expected) in cases {
        let status = cluster.stopped(&extensions(), &naming(&[name])).unwrap();
        assert_eq!(status, Status::new(Code::UnschedulableAndUnresolvable, NAME, expected));
        let alone = Extensions {
            filter: extensions().filter,
            ..Extensions::new()
        };
        let verdicts = cluster.filter(&alone, &naming(&[name]));
        assert_eq!(
            verdicts.of("n"),
            Some(unresolvable([expected])),
            "a filter that is enabled alone"
        );
    }
}

#[test]
fn a_filter_that_is_enabled_alone_finds_the_volumes_itself() {
    let cluster = Cluster::of_nodes([("n", r#"{"labels":{"topology.kubernetes.io/zone":"z1"}}"#)]);
    let cluster = cluster.with(bound(&[(ZONE, "z2")]));
    let alone = Extensions {
        filter: extensions().filter,
        ..Extensions::new()
    };
    assert_eq!(
        cluster.filter(&alone, &naming(&["c"])).of("n"),
        Some(unresolvable([REASON]))
    );
    assert_eq!(cluster.filter(&alone, &naming(&[])).of("n"), None);
}

#[test]
fn hints_want_a_class_that_waits_or_a_claim_of_the_pod_or_a_volume_placed_anew() {
    let listener = Listener::of(&extensions());
    let waiting = naming(&["c"]);
    let added = |object: StorageObject| listener.wakes_on_storage(&waiting, None, Some(object));
    assert!(added(storage_class("s").waits().object()));
    assert!(!added(storage_class("s").object()));
    assert!(!added(
        storage_class("s").with(|class| class.binding_mode = None).object()
    ));
    assert!(added(claim("c").object()));
    assert!(!added(claim("d").object()));
    assert!(!added(claim("c").namespace("other").object()));
    assert!(added(volume("any").object()));
    let updated = |old: StorageObject, new: StorageObject| listener.wakes_on_storage(&waiting, Some(old), Some(new));
    assert!(updated(claim("c").object(), claim("c").bound("pv").object()));
    assert!(!updated(claim("d").object(), claim("d").bound("pv").object()));
    let placed = |label: &str, value: &str| volume("pv").label(label, value).object();
    assert!(updated(volume("pv").object(), placed(ZONE, "z1")));
    assert!(updated(placed(ZONE, "z1"), placed(ZONE, "z1__z2")));
    assert!(updated(placed(ZONE, "z1"), placed(BETA_ZONE, "z1")));
    assert!(!updated(placed(ZONE, "z1__z2"), placed(ZONE, "z2__ z1")));
    assert!(!updated(placed("a", "b"), placed("a", "c")));
    assert!(!listener.wakes_on_storage(&waiting, Some(storage_class("s").waits().object()), None));
}

#[test]
fn every_new_or_relabelled_node_brings_pods_back() {
    let listener = Listener::of(&extensions());
    let (waiting, node) = (naming(&["c"]), node("n", "{}"));
    assert!(listener.wakes_on_node(Action::ADD, &waiting, None, Some(&node)));
    assert!(listener.wakes_on_node(Action::UPDATE_NODE_LABEL, &waiting, Some(&node), Some(&node)));
    assert!(listener.wakes_on_node(Action::UPDATE_NODE_TAINT, &waiting, Some(&node), Some(&node)));
    assert!(!listener.hears_of(EventResource::Node, Action::UPDATE_NODE_ALLOCATABLE));
}
