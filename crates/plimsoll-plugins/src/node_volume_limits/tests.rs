use plimsoll_config::FeatureGates;
use plimsoll_model::storage::{StorageObject, VolumeSource};
use plimsoll_model::testing::{attachment, claim, csi_driver, csi_node, storage_class, volume};
use plimsoll_model::{Footprint, Uid};

use super::*;
use crate::fixture::{Cluster, Listener, Rejection, made, made_with, named_pod, node, pod, resolvable, unresolvable};

const EBS: &str = "ebs.csi.aws.com";

fn plugin() -> Extensions {
    made(construct)
}

/// A pod with volumes that are written as `claim c`, `ephemeral v` or a source in JSON.
fn using(volumes: &[&str]) -> Pod {
    pod(&spec(volumes))
}

fn spec(volumes: &[&str]) -> String {
    let source = |volume: &str| match volume.split_once(' ') {
        Some(("claim", name)) => format!(r#""name":"v","persistentVolumeClaim":{{"claimName":"{name}"}}"#),
        Some(("ephemeral", name)) => format!(r#""name":"{name}","ephemeral":{{"volumeClaimTemplate":{{}}}}"#),
        _ => format!(r#""name":"v",{volume}"#),
    };
    let volumes: Vec<String> = volumes.iter().map(|volume| format!("{{{}}}", source(volume))).collect();
    format!(r#"{{"volumes":[{}]}}"#, volumes.join(","))
}

/// Claims `c0` to `c3` have volumes of driver `d`, `other` one of another driver; `ebs` has an in-tree disk, and `late` and
/// `late-ebs` wait for volumes that are to be made.
fn objects() -> Vec<StorageObject> {
    let mut objects = vec![
        volume("other").csi("e", "h").object(),
        claim("other").bound("other").object(),
        volume("ebs")
            .source(VolumeSource::AwsElasticBlockStore {
                volume_id: "aws://z/vol-1".into(),
            })
            .object(),
        claim("ebs").bound("ebs").object(),
        storage_class("late").waits().provisioner("d").object(),
        claim("late").class("late").object(),
        storage_class("late-ebs")
            .waits()
            .provisioner("kubernetes.io/aws-ebs")
            .object(),
        claim("late-ebs").class("late-ebs").object(),
        volume("share")
            .source(VolumeSource::Vsphere {
                volume_path: "p".into(),
            })
            .object(),
        claim("share").bound("share").object(),
    ];
    for at in 0..4 {
        let name = format!("c{at}");
        objects.push(volume(&name).csi("d", &name).object());
        objects.push(claim(&name).bound(&name).object());
    }
    objects
}

fn cluster(limits: &[(&str, Option<i32>)]) -> Cluster {
    let limited = limits
        .iter()
        .fold(csi_node("limited"), |node, (driver, limit)| node.driver(driver, *limit));
    let objects = objects().into_iter().chain([limited.object()]);
    Cluster::of_nodes([("limited", "{}"), ("free", "{}")]).with(objects)
}

fn full() -> Rejection {
    resolvable(["node(s) exceed max volume count"])
}

/// Limits, volumes of pods on the node, volumes of the pod, and whether the node is full for it.
type Case<'a> = (&'a [(&'a str, Option<i32>)], &'a [&'a [&'a str]], &'a [&'a str], bool);

#[test]
fn a_node_attaches_no_more_volumes_of_a_driver_than_it_can() {
    let inline = r#""awsElasticBlockStore":{"volumeID":"vol-2"}"#;
    let same_inline = r#""awsElasticBlockStore":{"volumeID":"aws://z/vol-1"}"#;
    let cases: [Case<'_>; 24] = [
        (&[("d", Some(1))], &[], &["claim c0"], false),
        (&[("d", Some(1))], &[], &["claim c0", "claim c1"], true),
        (&[("d", Some(1))], &[], &["claim c0", "claim c0"], false),
        (&[("d", Some(0))], &[], &["claim c0"], true),
        (&[("d", None)], &[], &["claim c0"], false),
        (&[], &[], &["claim c0"], false),
        (&[("e", Some(0))], &[], &["claim c0"], false),
        (&[("d", Some(2))], &[&["claim c0"], &["claim c1"]], &["claim c2"], true),
        (&[("d", Some(3))], &[&["claim c0"], &["claim c1"]], &["claim c2"], false),
        // Used already: nothing new.
        (&[("d", Some(1))], &[&["claim c0", "claim c1"]], &["claim c0"], false),
        (&[("d", Some(2))], &[&["claim c0"]], &["claim c0", "claim c1"], false),
        (&[("d", Some(1))], &[&["claim c0"]], &["claim c0", "claim c1"], true),
        // Each driver for itself.
        (
            &[("d", Some(1)), ("e", Some(1))],
            &[&["claim c0"]],
            &["claim other"],
            false,
        ),
        (
            &[("d", Some(9)), ("e", Some(1))],
            &[&["claim other"]],
            &["claim c0", "claim late", r#""emptyDir":{}"#],
            false,
        ),
        // To be made: counts for its driver, on nodes and in the pod.
        (&[("d", Some(1))], &[&["claim late"]], &["claim c0"], true),
        (&[("d", Some(1))], &[&["claim c0"]], &["claim late"], true),
        (&[("d", Some(1))], &[&["claim late"]], &["claim late"], false),
        // In-tree disks are CSI volumes.
        (&[(EBS, Some(1))], &[&["claim ebs"]], &[inline], true),
        (&[(EBS, Some(1))], &[&[inline]], &["claim late-ebs"], true),
        (&[(EBS, Some(1))], &[&["claim ebs"]], &[same_inline], false),
        (&[(EBS, Some(2))], &[&["claim ebs"], &[same_inline]], &[inline], false),
        // What is not counted anywhere.
        (&[("csi.vsphere.vmware.com", Some(0))], &[], &["claim share"], false),
        (
            &[("d", Some(0))],
            &[],
            &[r#""csi":{"driver":"d"}"#, "claim other"],
            false,
        ),
        // A claim of a pod on the node that is gone, or of somebody else.
        (
            &[("d", Some(1))],
            &[&["claim gone"], &["ephemeral v"]],
            &["claim c0"],
            false,
        ),
    ];
    for (limits, running, wanted, rejected) in cases {
        let mut cluster = cluster(limits).with([claim("pod-v").class("late").object()]);
        for volumes in running {
            cluster.add_pod("limited", &using(volumes));
            cluster.add_pod("free", &using(volumes));
        }
        let verdicts = cluster.filter(&plugin(), &using(wanted));
        let case = format!("{limits:?} {running:?} {wanted:?}");
        assert_eq!(verdicts.of("limited"), rejected.then(full), "{case}");
        assert_eq!(verdicts.of("free"), None, "{case}");
    }
}

#[test]
fn a_volume_that_is_merely_attached_takes_its_place_and_is_new_all_the_same() {
    let attached = |volume: &str| attachment(volume, "d", "limited", volume).object();
    let cases: [(&[&str], &[&str], &str, bool); 6] = [
        (&["c0"], &[], "claim c1", true),
        (&["c0"], &[], "claim c0", true),
        (&["c0"], &["claim c0"], "claim c0", false),
        (&["gone"], &[], "claim c1", false),
        (&["ebs"], &[], "claim c1", false),
        (&[], &[], "claim c1", false),
    ];
    for (volumes, running, wanted, rejected) in cases {
        let mut cluster = cluster(&[("d", Some(1))]).with(volumes.iter().map(|volume| attached(volume)));
        cluster.add_pod("limited", &using(running));
        let verdicts = cluster.filter(&plugin(), &using(&[wanted]));
        assert_eq!(
            verdicts.of("limited"),
            rejected.then(full),
            "{volumes:?} {running:?} {wanted}"
        );
    }
}

#[test]
fn the_claim_of_an_ephemeral_volume_counts_if_it_was_made_for_the_pod() {
    let owned = claim("pod-v").bound("c0").made_for(&Uid::from("pod")).object();
    let mut cluster = cluster(&[("d", Some(1))]).with([owned]);
    let ephemeral = using(&["ephemeral v"]);
    assert_eq!(cluster.filter(&plugin(), &ephemeral).of("limited"), None);
    cluster.add_pod("limited", &ephemeral);
    assert_eq!(
        cluster.filter(&plugin(), &using(&["claim c1"])).of("limited"),
        Some(full())
    );
    assert_eq!(cluster.filter(&plugin(), &using(&["claim c0"])).of("limited"), None);
}

#[test]
fn what_is_attached_follows_claims_volumes_and_classes() {
    let mut cluster = cluster(&[("d", Some(1)), ("e", Some(0))]);
    let running = using(&["claim later"]);
    cluster.add_pod("limited", &running);
    let of_limited = |cluster: &Cluster| cluster.filter(&plugin(), &using(&["claim c0"])).of("limited");
    assert_eq!(of_limited(&cluster), None, "a claim that is not there");
    let mut cluster = cluster.with([claim("later").class("none").wants("pv").object()]);
    assert_eq!(of_limited(&cluster), None, "neither volume nor class are there");
    let class = storage_class("none").provisioner("d").object();
    cluster = cluster.with([class.clone()]);
    assert_eq!(of_limited(&cluster), Some(full()), "to be made by the class");
    cluster = cluster.with([volume("pv").csi("e", "h").object()]);
    assert_eq!(of_limited(&cluster), None, "by another driver");
    cluster.columns.remove_storage(&volume("pv").object());
    assert_eq!(of_limited(&cluster), Some(full()), "the volume is gone");
    cluster.columns.remove_storage(&class);
    assert_eq!(of_limited(&cluster), None, "the class is gone");
    cluster = cluster.with([class]);
    cluster.columns.remove_pod("limited", &Footprint::of(&running));
    assert_eq!(of_limited(&cluster), None, "the pod is gone");
}

#[test]
fn a_pod_that_needs_no_attached_volume_skips_the_filter() {
    for volume in [r#""emptyDir":{}"#, r#""csi":{"driver":"d"}"#, r#""iscsi":{"iqn":"q"}"#] {
        assert!(cluster(&[]).filter(&plugin(), &using(&[volume])).skipped(), "{volume}");
    }
    for volume in [
        r#""azureFile":{}"#,
        r#""vsphereVolume":{}"#,
        r#""cinder":{}"#,
        "claim c0",
    ] {
        assert!(!cluster(&[]).filter(&plugin(), &using(&[volume])).skipped(), "{volume}");
    }
}

#[test]
fn a_claim_that_is_not_there_rejects_every_node() {
    let verdicts = cluster(&[]).filter(&plugin(), &using(&["claim c0", "claim gone"]));
    let text = r#"looking up PVC default/gone: persistentvolumeclaim "gone" not found"#;
    for node in ["limited", "free"] {
        assert_eq!(verdicts.of(node), Some(unresolvable([text])));
    }
    let verdicts = cluster(&[]).filter(&plugin(), &using(&["ephemeral v"]));
    let text = r#"looking up PVC default/pod-v: persistentvolumeclaim "pod-v" not found"#;
    assert_eq!(verdicts.of("free"), Some(unresolvable([text])));
}

#[test]
fn a_volume_that_cannot_be_told_fails_the_attempt() {
    let azure = r#""azureDisk":{"diskURI":"u","kind":"Dedicated"}"#;
    let cases: [(&[&str], &str); 4] = [
        (&["claim "], "PersistentVolumeClaim had no name"),
        (
            &["ephemeral v", "claim gone"],
            "PVC default/pod-v was not created for pod default/pod (pod is not owner)",
        ),
        (
            &[azure],
            "converting volume(v) from inline to csi: kind(Dedicated) is not supported in csi migration",
        ),
        (
            &[r#""awsElasticBlockStore":{"volumeID":"aws://d"}"#],
            "converting volume(v) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for \
             AWS volume (aws://d)",
        ),
    ];
    for (wanted, expected) in cases {
        let cluster = cluster(&[]).with([claim("pod-v").object()]);
        assert_eq!(cluster.failure(&plugin(), &using(wanted)).as_deref(), Some(expected));
    }
    let bare = Cluster::of_nodes([("n", "{}")]);
    assert_eq!(
        bare.failure(&plugin(), &using(&[azure])),
        None,
        "no CSI driver says anything of a node"
    );
}

#[test]
fn a_pod_on_a_node_whose_volume_cannot_be_told_keeps_no_other_out() {
    let mut cluster = cluster(&[("d", Some(1)), ("disk.csi.azure.com", Some(0))]).with([claim("pod-v").object()]);
    cluster.add_pod("limited", &using(&["ephemeral v"]));
    cluster.add_pod(
        "limited",
        &using(&[r#""azureDisk":{"diskURI":"u","kind":"Dedicated"}"#]),
    );
    let wanted = using(&["claim c0"]);
    assert_eq!(cluster.failure(&plugin(), &wanted), None);
    assert_eq!(cluster.filter(&plugin(), &wanted).of("limited"), None);
}

#[test]
fn a_driver_may_insist_on_being_on_the_node_if_the_gate_lets_it() {
    let gates = FeatureGates::default().with(Gate::VolumeLimitScaling, true);
    let with_gate = made_with(construct, None, &gates).unwrap();
    let insisting = [
        csi_driver("d").required_on_nodes().object(),
        csi_driver("e").object(),
        csi_driver(EBS).required_on_nodes().object(),
    ];
    let cluster = cluster(&[("e", None)]).with(insisting);
    let missing = |driver: &str| {
        let text = format!("{driver} CSI driver is not installed on the node");
        Some(resolvable([text.as_str()]))
    };
    let cases: [(&[&str], Option<&str>, Option<&str>); 5] = [
        (&["claim c0"], Some("d"), Some("d")),
        (&["claim other"], None, None),
        (&["claim other", "claim late"], Some("d"), Some("d")),
        (&["claim ebs"], Some(EBS), None),
        (&["claim ebs", "claim c0"], Some(EBS), Some("d")),
    ];
    for (wanted, on_csi_node, elsewhere) in cases {
        let verdicts = cluster.filter(&with_gate, &using(wanted));
        assert_eq!(verdicts.of("limited"), on_csi_node.and_then(missing), "{wanted:?}");
        assert_eq!(verdicts.of("free"), elsewhere.and_then(missing), "{wanted:?}");
        let without = cluster.filter(&plugin(), &using(wanted));
        assert_eq!((without.of("limited"), without.of("free")), (None, None), "{wanted:?}");
    }
    let installed = cluster.with([csi_node("free").driver("d", Some(1)).object()]);
    assert_eq!(installed.filter(&with_gate, &using(&["claim c0"])).of("free"), None);
}

#[test]
fn hints_want_a_higher_limit_or_room_or_a_claim_of_the_pod() {
    let listener = Listener::of(&plugin());
    let waiting = using(&["claim c", "ephemeral v"]);
    let wakes = |old: Option<StorageObject>, new: Option<StorageObject>| listener.wakes_on_storage(&waiting, old, new);
    assert!(wakes(None, Some(csi_node("n").object())));
    assert!(wakes(Some(csi_node("n").object()), None));
    let limits = |limits: &[(&str, Option<i32>)]| {
        let node = limits
            .iter()
            .fold(csi_node("n"), |node, (driver, limit)| node.driver(driver, *limit));
        Some(node.object())
    };
    assert!(wakes(limits(&[("d", Some(1))]), limits(&[("d", Some(2))])));
    assert!(wakes(limits(&[]), limits(&[("d", Some(0))])));
    assert!(wakes(limits(&[("d", Some(1))]), limits(&[("d", None)])));
    assert!(wakes(limits(&[("d", Some(1)), ("e", None)]), limits(&[("e", None)])));
    assert!(!wakes(limits(&[("d", None)]), limits(&[("d", Some(1))])));
    assert!(!wakes(limits(&[("d", None)]), limits(&[])));
    assert!(!wakes(
        limits(&[("d", Some(2)), ("e", None)]),
        limits(&[("d", Some(1)), ("e", None)])
    ));
    assert!(wakes(None, Some(claim("c").object())));
    assert!(wakes(None, Some(claim("pod-v").object())));
    assert!(!wakes(None, Some(claim("v").object())));
    assert!(!wakes(None, Some(claim("c").namespace("other").object())));
    assert!(wakes(Some(claim("c").object()), Some(claim("c").bound("pv").object())));
    assert!(!wakes(Some(claim("d").object()), Some(claim("d").bound("pv").object())));
    assert!(!wakes(
        Some(claim("c").object()),
        Some(claim("c").requested("2Gi").object())
    ));
    assert!(wakes(Some(attachment("a", "d", "n", "pv").object()), None));
    assert!(!wakes(None, Some(attachment("a", "d", "n", "pv").object())));
    let new = node("n", "{}");
    assert!(listener.wakes_on_node(Action::ADD, &waiting, None, Some(&new)));
    assert!(!listener.hears_of(EventResource::Node, Action::UPDATE_NODE_LABEL));
}

#[test]
fn a_driver_that_no_longer_insists_brings_pods_back() {
    let gates = FeatureGates::default().with(Gate::VolumeLimitScaling, true);
    let listener = Listener::of(&made_with(construct, None, &gates).unwrap());
    let waiting = using(&["claim c"]);
    let insisting = || Some(csi_driver("d").required_on_nodes().object());
    let lax = || Some(csi_driver("d").object());
    let cases = [
        (insisting(), lax(), true),
        (insisting(), None, true),
        (insisting(), insisting(), false),
        (lax(), insisting(), false),
        (lax(), None, false),
        (None, lax(), false),
    ];
    for (old, new, expected) in cases {
        let wakes = listener.wakes_on_storage(&waiting, old.clone(), new.clone());
        assert_eq!(wakes, expected, "{old:?} {new:?}");
    }
    let without = Listener::of(&plugin());
    assert!(!without.wakes_on_storage(&waiting, insisting(), None));
}

#[test]
fn an_attachment_that_goes_helps_pods_with_claims_or_with_disks_of_its_driver() {
    let listener = Listener::of(&plugin());
    let gone = || Some(attachment("a", EBS, "n", "pv").object());
    let cases: [(&[&str], bool); 6] = [
        (
            &[r#""vsphereVolume":{"volumePath":"p","storagePolicyName":"s"}"#],
            false,
        ),
        (&["claim c"], true),
        (&["ephemeral v"], true),
        (&[r#""awsElasticBlockStore":{"volumeID":"vol-1"}"#], true),
        (&[r#""cinder":{"volumeID":"1"}"#], false),
        (&[r#""azureFile":{"shareName":"s"}"#, "claim c"], true),
    ];
    for (volumes, expected) in cases {
        assert_eq!(
            listener.wakes_on_storage(&using(volumes), gone(), None),
            expected,
            "{volumes:?}"
        );
    }
    let hint = |pod: &Pod| {
        let event = ClusterEvent::new(EventResource::VolumeAttachment, Action::DELETE);
        let objects = EventObjects::Storage { old: gone(), new: None };
        plugin().enqueue.unwrap().queueing_hint(event, event, pod, &objects)
    };
    let text = "converting volume(v) from inline to csi: kind(Shared) is not supported in csi migration";
    let untold = using(&[r#""azureDisk":{"diskURI":"u","kind":"Shared"}"#]);
    assert_eq!(hint(&untold), Err(text.to_owned()));
}

#[test]
fn a_pod_that_goes_helps_if_it_had_a_place_and_a_volume_that_counts() {
    let listener = Listener::of(&plugin());
    let waiting = using(&["claim c"]);
    let on_node = |mut pod: Pod| {
        pod.node_name = Some("n".into());
        pod
    };
    let cases = [
        (on_node(using(&["claim other"])), true),
        (on_node(named_pod("other", "{}", &spec(&["ephemeral v"]))), true),
        (on_node(using(&[r#""vsphereVolume":{}"#])), true),
        (using(&["claim other"]), false),
        (on_node(using(&[r#""csi":{"driver":"d"}"#])), false),
        (on_node(using(&[])), false),
    ];
    for (gone, expected) in cases {
        let wakes = listener.wakes_on_pod(Action::DELETE, &waiting, Some(&gone), None);
        assert_eq!(wakes, expected, "{gone:?}");
        assert_eq!(listener.may_help_some_pod(Action::DELETE, &gone, &gone), expected);
    }
}
