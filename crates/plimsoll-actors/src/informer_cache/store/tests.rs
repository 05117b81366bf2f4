use plimsoll_model::Raw;
use plimsoll_model::testing::{attachment, claim, csi_driver, csi_node, pod, storage_capacity, storage_class, volume};

use super::*;

fn at(name: &str, uid: &str, version: u64) -> Arc<Pod> {
    let mut pod = pod(name).build();
    pod.uid = Uid::from(uid);
    pod.resource_version = ResourceVersion::new(version);
    Arc::new(pod)
}

/// A store that has had its first list, of nothing.
fn listed() -> Store<Pod> {
    let mut store = Store::default();
    store.replace(Vec::new(), &[], ResourceVersion::new(0), &mut Vec::new());
    store
}

fn told(changes: &[StoreChange<Pod>]) -> Vec<String> {
    changes
        .iter()
        .map(|change| match change {
            StoreChange::Added(pod) => format!("+{}@{}", pod.uid, pod.resource_version),
            StoreChange::Updated { old, new } => {
                format!("{}@{}>{}", new.uid, old.resource_version, new.resource_version)
            }
            StoreChange::Deleted(pod) => format!("-{}@{}", pod.uid, pod.resource_version),
        })
        .collect()
}

#[test]
fn a_relist_tells_what_went_what_came_and_what_changed() {
    let mut store = Store::default();
    let mut out = Vec::new();
    let first = vec![at("a", "1", 1), at("b", "2", 2), at("c", "3", 3)];
    store.replace(first, &[], ResourceVersion::new(5), &mut out);
    out.clear();
    let second = vec![at("a", "1", 1), at("b", "2", 7), at("d", "4", 6)];
    store.replace(second, &[], ResourceVersion::new(8), &mut out);
    assert_eq!(told(&out), ["2@2>7", "+4@6", "-3@3"]);
}

#[test]
fn a_pod_created_anew_under_its_name_is_two_pods() {
    let mut store = listed();
    let mut out = Vec::new();
    store.upsert(at("a", "1", 1), &mut out);
    store.upsert(at("a", "2", 4), &mut out);
    assert_eq!(told(&out), ["+1@1", "-1@1", "+2@4"]);
}

#[test]
fn two_streams_of_the_same_changes_tell_each_change_once() {
    let mut store = listed();
    let mut out = Vec::new();
    let name = at("a", "1", 1).name.clone();
    store.upsert(at("a", "1", 1), &mut out);
    // The forced stream is ahead and has seen the deletion; the kind's own watch comes after with what was before it.
    store.delete(&name, ResourceVersion::new(3), &mut out);
    store.upsert(at("a", "1", 2), &mut out);
    store.delete(&name, ResourceVersion::new(3), &mut out);
    assert_eq!(told(&out), ["+1@1", "-1@1"]);
    assert_eq!(store.applied(), ResourceVersion::new(3));
}

#[test]
fn a_list_from_the_past_changes_nothing() {
    let mut store = Store::default();
    let mut out = Vec::new();
    store.replace(vec![at("a", "1", 9)], &[], ResourceVersion::new(9), &mut out);
    out.clear();
    store.replace(Vec::new(), &[], ResourceVersion::new(4), &mut out);
    assert!(out.is_empty());
    assert_eq!(store.applied(), ResourceVersion::new(9));
}

#[test]
fn what_cannot_be_decoded_stays_as_it_was_known() {
    let mut store = Store::default();
    let mut out = Vec::new();
    store.replace(vec![at("a", "1", 1)], &[], ResourceVersion::new(1), &mut out);
    out.clear();
    let name = at("a", "1", 1).name.clone();
    store.replace(Vec::new(), &[name], ResourceVersion::new(2), &mut out);
    assert!(out.is_empty());
    assert_eq!(store.len(), 1);
}

#[test]
fn a_watch_from_the_beginning_does_not_stand_in_for_the_first_list() {
    let mut store = Store::default();
    let mut out = Vec::new();
    // By name, not by version: "b" would be passed over after "a".
    store.upsert(at("a", "1", 9), &mut out);
    store.upsert(at("b", "2", 3), &mut out);
    store.progress(ResourceVersion::new(9));
    assert!(out.is_empty());
    assert_eq!(store.applied(), ResourceVersion::new(0));
    let list = vec![at("a", "1", 9), at("b", "2", 3)];
    store.replace(list, &[], ResourceVersion::new(9), &mut out);
    assert_eq!(told(&out), ["+1@9", "+2@3"]);
}

#[test]
fn an_object_that_cannot_even_be_named_keeps_all_that_are_missing() {
    let mut store = Store::default();
    let mut out = Vec::new();
    store.replace(
        vec![at("a", "1", 1), at("b", "2", 1)],
        &[],
        ResourceVersion::new(1),
        &mut out,
    );
    out.clear();
    let nameless = ObjectName::new("", "");
    store.replace(vec![at("b", "2", 1)], &[nameless], ResourceVersion::new(2), &mut out);
    assert!(out.is_empty());
    assert_eq!(store.len(), 2);
}

#[test]
fn an_update_of_what_is_not_kept_is_not_told() {
    let namespace = |version: u64, team: &str| {
        Arc::new(Namespace {
            name: "shop".into(),
            uid: Uid::from("1"),
            resource_version: ResourceVersion::new(version),
            labels: [("team", team)].into_iter().collect(),
        })
    };
    let mut store = Store::default();
    store.replace(vec![namespace(1, "a")], &[], ResourceVersion::new(1), &mut Vec::new());
    let mut out = Vec::new();
    store.upsert(namespace(2, "a"), &mut out);
    store.replace(vec![namespace(3, "a")], &[], ResourceVersion::new(3), &mut out);
    assert!(out.is_empty());
    assert_eq!(store.applied(), ResourceVersion::new(3));
    store.upsert(namespace(4, "b"), &mut out);
    let [StoreChange::Updated { old, new }] = out.as_slice() else {
        panic!("{out:?}");
    };
    // The newest before, though nobody was told of it.
    assert_eq!((old.resource_version.as_u64(), new.resource_version.as_u64()), (3, 4));
}

fn whole(name: &str, uid: &str, version: u64) -> Arc<Pod> {
    let raw = Raw::of_object(b"{}").unwrap();
    Arc::new(Pod {
        raw: Some(raw),
        ..(*at(name, uid, version)).clone()
    })
}

#[test]
fn an_object_read_whole_takes_the_place_of_what_was_known_of_it() {
    let mut store = Store::default();
    let mut out = Vec::new();
    let parts = vec![at("a", "1", 1), at("b", "2", 2), at("c", "3", 3)];
    store.replace(parts, &[], ResourceVersion::new(5), &mut out);
    out.clear();
    let list = || vec![whole("a", "1", 1), whole("b", "2", 2), whole("c", "3", 3)];
    store.upsert(at("c", "3", 7), &mut out);
    // Older than the store: what has changed since stays as it is.
    store.replace(list(), &[], ResourceVersion::new(6), &mut out);
    assert_eq!(told(&out), ["3@3>7", "1@1>1", "2@2>2"]);
    out.clear();
    store.replace(list(), &[], ResourceVersion::new(6), &mut out);
    store.upsert(whole("a", "1", 1), &mut out);
    assert!(out.is_empty(), "told once");
    store.upsert(whole("c", "3", 7), &mut out);
    assert_eq!(told(&out), ["3@7>7"]);
    assert!(store.objects().all(|pod| pod.raw.is_some()));
    assert_eq!(store.applied(), ResourceVersion::new(7));
}

#[test]
fn an_update_of_what_the_scheduler_does_not_read_brings_the_newest_whole_object() {
    let mut store = listed();
    let mut out = Vec::new();
    store.upsert(whole("a", "1", 1), &mut out);
    store.upsert(whole("a", "1", 2), &mut out);
    store.replace(vec![whole("a", "1", 3)], &[], ResourceVersion::new(3), &mut out);
    assert_eq!(told(&out), ["+1@1", "1@1>2", "1@2>3"]);
}

/// What an update that changes nothing but the version tells, as a number of changes.
fn told_of_a_new_version(object: impl Fn(u64) -> StorageObject) -> usize {
    let mut store = Store::default();
    let first = vec![Arc::new(object(1))];
    store.replace(first, &[], ResourceVersion::new(1), &mut Vec::new());
    let mut out = Vec::new();
    store.upsert(Arc::new(object(2)), &mut out);
    assert_eq!(store.applied(), ResourceVersion::new(2));
    out.len()
}

#[test]
fn of_storage_that_nobody_writes_an_update_of_what_is_not_kept_is_not_told() {
    for told in [
        told_of_a_new_version(|version| storage_class("a").resource_version(version).object()),
        told_of_a_new_version(|version| csi_driver("a").resource_version(version).object()),
        told_of_a_new_version(|version| csi_node("a").resource_version(version).object()),
        told_of_a_new_version(|version| storage_capacity("a", "fast").resource_version(version).object()),
        told_of_a_new_version(|version| attachment("a", "d", "n", "v").resource_version(version).object()),
    ] {
        assert_eq!(told, 0);
    }
    let mut store = Store::default();
    let node = |version, limit| Arc::new(csi_node("n").resource_version(version).driver("d", limit).object());
    store.replace(vec![node(1, Some(3))], &[], ResourceVersion::new(1), &mut Vec::new());
    let mut out = Vec::new();
    store.upsert(node(2, Some(4)), &mut out);
    assert_eq!(out.len(), 1, "a limit has changed");
}

#[test]
fn every_version_of_a_volume_or_claim_is_told_since_writes_carry_it() {
    let volumes = told_of_a_new_version(|version| volume("v").resource_version(version).object());
    let claims = told_of_a_new_version(|version| claim("c").resource_version(version).object());
    assert_eq!((volumes, claims), (1, 1));
}
