use super::*;
use crate::storage::{
    AccessModes, ClaimPhase, ClaimReference, CsiNodeDriver, TopologySelectorTerm, VolumeBindingMode, VolumeMode,
    VolumePhase, VolumeSource,
};
use crate::{NodeSelectorTerm, Requirement};

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// An object of which the given parts are merged into some metadata.
fn object(parts: &Value) -> Vec<u8> {
    let mut object = json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "5"}});
    for (part, value) in parts.as_object().unwrap() {
        match (object.get_mut(part), value.as_object()) {
            (Some(Value::Object(known)), Some(fields)) => known.extend(fields.clone()),
            _ => object[part] = value.clone(),
        }
    }
    object.to_string().into_bytes()
}

fn volume(parts: &Value) -> PersistentVolume {
    decode_persistent_volume(&object(parts)).unwrap()
}

fn claim(parts: &Value) -> PersistentVolumeClaim {
    decode_persistent_volume_claim(&object(parts)).unwrap()
}

fn class(parts: &Value) -> StorageClass {
    decode_storage_class(&object(parts)).unwrap()
}

#[test]
fn a_bound_volume_keeps_what_scheduling_reads() {
    let volume = volume(&json!({
        "kind": "PersistentVolume",
        "metadata": {
            "labels": {"topology.kubernetes.io/zone": "z1"},
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes", "pv.kubernetes.io/provisioned-by": "p"},
            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": {
            "capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "volumeMode": "Block",
            "storageClassName": "fast", "persistentVolumeReclaimPolicy": "Delete", "volumeAttributesClassName": "gold",
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "uid": "c1",
                "resourceVersion": "4", "apiVersion": "v1"},
            "csi": {"driver": "disk.example.com", "volumeHandle": "h1", "fsType": "ext4",
                "volumeAttributes": {"a": "b"}},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["z1"]}]}]}},
        },
        "status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"},
    }));
    let term = NodeSelectorTerm {
        match_expressions: vec![Requirement::new("zone", Operator::In, ["z1"])],
        ..NodeSelectorTerm::default()
    };
    let expected = testing::volume("a")
        .uid("1")
        .resource_version(5)
        .label("topology.kubernetes.io/zone", "z1")
        .class("fast")
        .capacity("8Gi")
        .access(AccessModes::READ_WRITE_ONCE | AccessModes::READ_ONLY_MANY)
        .block()
        .csi("disk.example.com", "h1")
        .term(term)
        .bound(&testing::claim("data").namespace("shop").uid("c1").build())
        .with(|volume| {
            volume.deleting = true;
            volume.attributes_class = Some("gold".into());
        });
    assert_eq!(volume, expected.build());
}

#[test]
fn a_volume_that_says_nothing_has_nothing() {
    for parts in [
        json!({}),
        json!({"spec": null, "status": null, "metadata": {"labels": null, "annotations": null}}),
        json!({"spec": {"capacity": null, "accessModes": null, "claimRef": null, "nodeAffinity": null, "csi": null,
            "volumeMode": null, "storageClassName": null}, "status": {"phase": null}}),
        json!({"spec": {"capacity": {}, "nodeAffinity": {}}, "metadata": {"deletionTimestamp": null}}),
    ] {
        let expected = testing::volume("a").uid("1").resource_version(5).with(|volume| {
            volume.capacity = None;
            volume.access_modes = AccessModes::NONE;
            volume.volume_mode = None;
            volume.phase = VolumePhase::Pending;
        });
        assert_eq!(volume(&parts), expected.build(), "{parts}");
    }
}

#[test]
fn each_source_that_a_driver_counts_is_told() {
    let cases = [
        (
            json!({"gcePersistentDisk": {"pdName": "d", "fsType": "ext4"}}),
            VolumeSource::GcePersistentDisk { pd_name: "d".into() },
        ),
        (
            json!({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}),
            VolumeSource::AwsElasticBlockStore {
                volume_id: "aws://z/vol-1".into(),
            },
        ),
        (
            json!({"azureDisk": {"diskName": "n", "diskURI": "/u", "kind": "Managed"}}),
            VolumeSource::AzureDisk {
                disk_uri: "/u".into(),
                kind: Some("Managed".into()),
            },
        ),
        (
            json!({"azureDisk": {"diskURI": "/u"}}),
            VolumeSource::AzureDisk {
                disk_uri: "/u".into(),
                kind: None,
            },
        ),
        (
            json!({"azureFile": {"shareName": "s", "secretName": "k", "secretNamespace": ""}}),
            VolumeSource::AzureFile {
                share_name: "s".into(),
                secret_name: "k".into(),
                secret_namespace: Some("".into()),
            },
        ),
        (
            json!({"cinder": {"volumeID": "c"}}),
            VolumeSource::Cinder { volume_id: "c".into() },
        ),
        (
            json!({"portworxVolume": {"volumeID": "p"}}),
            VolumeSource::Portworx { volume_id: "p".into() },
        ),
        (
            json!({"vsphereVolume": {"volumePath": "[ds] v.vmdk"}}),
            VolumeSource::Vsphere {
                volume_path: "[ds] v.vmdk".into(),
            },
        ),
        (
            json!({"csi": {}}),
            VolumeSource::Csi {
                driver: "".into(),
                handle: "".into(),
            },
        ),
        (json!({"local": {"path": "/mnt"}}), VolumeSource::Other),
        (json!({"hostPath": {"path": "/x"}}), VolumeSource::Other),
    ];
    for (spec, expected) in cases {
        assert_eq!(volume(&json!({ "spec": spec })).source, expected, "{spec}");
    }
}

#[test]
fn the_annotation_of_a_class_counts_before_the_field_even_when_it_is_empty() {
    let cases = [
        (json!({}), json!("field"), "field"),
        (json!({CLASS: "old"}), json!("field"), "old"),
        (json!({CLASS: ""}), json!("field"), ""),
        (json!({CLASS: null}), json!("field"), ""),
        (json!({"other": "old"}), json!(null), ""),
    ];
    for (annotations, field, expected) in cases {
        let parts = json!({"metadata": {"annotations": annotations}, "spec": {"storageClassName": field}});
        assert_eq!(volume(&parts).class, expected, "{parts}");
        assert_eq!(claim(&parts).class, expected, "{parts}");
    }
}

#[test]
fn sizes_are_bytes_rounded_up() {
    let cases = [
        (json!("10Gi"), Some(10 << 30)),
        (json!("1500m"), Some(2)),
        (json!("0"), Some(0)),
        (json!(5), Some(5)),
        (json!("1e3"), Some(1000)),
        (json!("-1"), Some(-1)),
        (json!(null), None),
    ];
    for (written, expected) in cases {
        let sizes = json!({ "storage": written, "other": "1" });
        let volume = volume(&json!({"spec": {"capacity": sizes}}));
        assert_eq!(volume.capacity, expected, "{written}");
        let claim = claim(&json!({"spec": {"resources": {"requests": sizes, "limits": {"storage": "9"}}}}));
        assert_eq!(claim.requested, expected, "{written}");
        let parts = object(&json!({"capacity": written, "maximumVolumeSize": written}));
        let capacity = decode_csi_storage_capacity(&parts).unwrap();
        assert_eq!(
            (capacity.capacity, capacity.maximum_volume_size),
            (expected, expected),
            "{written}"
        );
    }
    let broken = object(&json!({"spec": {"capacity": {"storage": "large"}}}));
    let error = decode_persistent_volume(&broken).unwrap_err().to_string();
    assert!(error.starts_with("cannot decode PersistentVolume: "), "{error}");
}

#[test]
fn modes_and_phases_are_read_by_name() {
    let modes = |names: Value| {
        let spec = json!({"accessModes": names});
        assert_eq!(
            volume(&json!({ "spec": spec })).access_modes,
            claim(&json!({ "spec": spec })).access_modes
        );
        volume(&json!({ "spec": spec })).access_modes
    };
    assert_eq!(modes(json!([])), AccessModes::NONE);
    assert_eq!(
        modes(json!(["ReadWriteMany", "ReadWriteMany"])),
        AccessModes::READ_WRITE_MANY
    );
    assert_eq!(modes(json!(["ReadWriteOncePod"])), AccessModes::READ_WRITE_ONCE_POD);
    assert_eq!(
        modes(json!(["readwriteonce", "ReadWriteOnce"])),
        AccessModes::UNKNOWN | AccessModes::READ_WRITE_ONCE
    );
    for (name, mode) in [
        (json!("Block"), Some(VolumeMode::Block)),
        (json!("Filesystem"), Some(VolumeMode::Filesystem)),
        (json!(null), None),
    ] {
        let parts = json!({"spec": {"volumeMode": name}});
        assert_eq!((volume(&parts).volume_mode, claim(&parts).volume_mode), (mode, mode));
    }
    for (name, of_volume, of_claim) in [
        ("Pending", VolumePhase::Pending, ClaimPhase::Pending),
        ("Available", VolumePhase::Available, ClaimPhase::Pending),
        ("Bound", VolumePhase::Bound, ClaimPhase::Bound),
        ("Released", VolumePhase::Released, ClaimPhase::Pending),
        ("Failed", VolumePhase::Failed, ClaimPhase::Pending),
        ("Lost", VolumePhase::Pending, ClaimPhase::Lost),
    ] {
        let parts = json!({"status": {"phase": name}});
        assert_eq!(
            (volume(&parts).phase, claim(&parts).phase),
            (of_volume, of_claim),
            "{name}"
        );
    }
}

#[test]
fn the_claim_that_a_volume_is_kept_for_has_an_identity_only_once_it_is_bound() {
    for uid in [json!(null), json!("")] {
        let volume = volume(&json!({"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": uid}}}));
        let expected = ClaimReference {
            name: crate::ObjectName::new("shop", "data"),
            uid: None,
        };
        assert_eq!(volume.claim, Some(expected));
        assert!(!volume.bound_by_controller);
    }
}

#[test]
fn no_affinity_is_told_from_one_that_matches_nothing() {
    let terms = |affinity: Value| volume(&json!({"spec": {"nodeAffinity": affinity}})).node_affinity;
    assert_eq!(terms(json!({})), None);
    assert_eq!(terms(json!({"required": null})), None);
    assert_eq!(terms(json!({"required": {}})).as_deref(), Some([].as_slice()));
    assert_eq!(
        terms(json!({"required": {"nodeSelectorTerms": [{}]}})).as_deref(),
        Some([NodeSelectorTerm::default()].as_slice())
    );
}

#[test]
fn a_bound_claim_keeps_what_scheduling_reads() {
    let claim = claim(&json!({
        "metadata": {
            "namespace": "shop",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
                "volume.kubernetes.io/selected-node": "n1"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "other"},
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pod-1", "controller": true},
            ],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "accessModes": ["ReadWriteMany"], "volumeMode": "Block", "volumeName": "v", "storageClassName": "fast",
            "resources": {"requests": {"storage": "5Gi"}}, "volumeAttributesClassName": "",
            "selector": {"matchLabels": {"a": "b"}},
        },
        "status": {"phase": "Bound", "capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteMany"]},
    }));
    let selector = LabelSelector::of_labels([("a", "b")].into_iter().collect());
    let expected = testing::claim("a")
        .namespace("shop")
        .uid("1")
        .resource_version(5)
        .class("fast")
        .requested("5Gi")
        .access(AccessModes::READ_WRITE_MANY)
        .block()
        .selector(selector)
        .bound("v")
        .selected_node("n1")
        .made_for(&crate::Uid::from("pod-1"))
        .deleting()
        .with(|claim| claim.attributes_class = Some("".into()));
    assert_eq!(claim, expected.build());
}

#[test]
fn a_claim_that_says_nothing_has_nothing() {
    for parts in [
        json!({"metadata": {"namespace": "default"}}),
        json!({"metadata": {"namespace": "default", "annotations": null, "ownerReferences": null,
            "deletionTimestamp": null}, "spec": null, "status": null}),
        json!({"metadata": {"namespace": "default", "ownerReferences": [{"uid": "u", "controller": null}]},
            "spec": {"resources": {"requests": null}, "selector": null, "volumeName": null}, "status": {}}),
    ] {
        let expected = testing::claim("a").uid("1").resource_version(5).with(|claim| {
            claim.requested = None;
            claim.access_modes = AccessModes::NONE;
            claim.volume_mode = None;
            claim.annotated = false;
        });
        assert_eq!(claim(&parts), expected.build(), "{parts}");
    }
}

#[test]
fn annotations_of_a_claim_count_by_being_there() {
    let annotated = |annotations: Value| claim(&json!({"metadata": {"annotations": annotations}}));
    let empty = annotated(json!({"pv.kubernetes.io/bind-completed": "", "volume.kubernetes.io/selected-node": ""}));
    assert!(empty.bind_completed);
    assert_eq!(empty.selected_node.as_deref(), Some(""));
    let absent = annotated(json!({"pv.kubernetes.io/bound-by-controller": "yes"}));
    assert!(!absent.bind_completed && absent.annotated);
    assert_eq!(absent.selected_node, None);
    assert!(!annotated(json!({})).annotated);
    assert_eq!(
        annotated(json!({"volume.kubernetes.io/selected-node": null}))
            .selected_node
            .as_deref(),
        Some("")
    );
}

#[test]
fn an_invalid_selector_of_a_claim_is_kept_and_selects_nothing() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let claim = claim(&json!({"spec": {"selector": selector}}));
    assert!(!claim.selector.unwrap().is_valid());
}

#[test]
fn of_a_class_the_provisioner_the_mode_and_the_topologies_are_kept() {
    let fast = class(&json!({
        "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
        "parameters": {"type": "ssd"}, "allowVolumeExpansion": true,
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": "zone", "values": ["z1", "z2"]}, {"key": "rack", "values": null}]},
            {},
        ],
    }));
    let topologies = [
        TopologySelectorTerm {
            expressions: vec![
                ("zone".into(), vec!["z1".into(), "z2".into()]),
                ("rack".into(), Vec::new()),
            ],
        },
        TopologySelectorTerm::default(),
    ];
    assert_eq!((fast.name.to_string().as_str(), fast.uid.as_str()), ("a", "1"));
    assert_eq!(fast.resource_version.as_u64(), 5);
    assert_eq!(fast.provisioner, "disk.example.com");
    assert_eq!(fast.binding_mode, Some(VolumeBindingMode::WaitForFirstConsumer));
    assert_eq!(fast.allowed_topologies, topologies);
    let expected = testing::storage_class("a").uid("1").resource_version(5);
    let none = expected.with(|class| {
        class.provisioner = "".into();
        class.binding_mode = None;
    });
    assert_eq!(
        class(&json!({"provisioner": null, "allowedTopologies": null})),
        none.build()
    );
    assert_eq!(
        class(&json!({"volumeBindingMode": "Immediate"})).binding_mode,
        Some(VolumeBindingMode::Immediate)
    );
}

#[test]
fn of_a_driver_it_is_kept_whether_it_tells_its_room_and_must_be_there() {
    for (spec, expected) in [
        (json!(null), (false, false)),
        (json!({"storageCapacity": null}), (false, false)),
        (json!({"storageCapacity": true, "attachRequired": false}), (true, false)),
        (
            json!({"storageCapacity": false, "preventPodSchedulingIfMissing": true}),
            (false, true),
        ),
    ] {
        let driver = decode_csi_driver(&object(&json!({ "spec": spec }))).unwrap();
        assert_eq!(
            (driver.storage_capacity, driver.prevents_scheduling_if_missing),
            expected,
            "{spec}"
        );
    }
}

#[test]
fn of_a_csi_node_the_drivers_their_limits_and_what_has_migrated_are_kept() {
    let node = decode_csi_node(&object(&json!({
        "metadata": {"annotations": {
            "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/cinder"}},
        "spec": {"drivers": [
            {"name": "b", "nodeID": "n", "topologyKeys": ["zone"], "allocatable": {"count": 25}},
            {"name": "a", "nodeID": "n", "topologyKeys": null, "allocatable": {"count": 0}},
            {"name": "c", "nodeID": "n", "allocatable": {}},
            {"name": "d", "nodeID": "n", "allocatable": null},
        ]},
    })));
    let expected = testing::csi_node("a")
        .uid("1")
        .resource_version(5)
        .migrated("kubernetes.io/aws-ebs")
        .migrated("kubernetes.io/cinder")
        .driver("b", Some(25))
        .driver("a", Some(0))
        .driver("c", None)
        .driver("d", None);
    assert_eq!(node.unwrap(), expected.build());
    for annotations in [json!(null), json!({"storage.alpha.kubernetes.io/migrated-plugins": ""})] {
        let parts = object(&json!({"metadata": {"annotations": annotations}, "spec": {"drivers": null}}));
        let node = decode_csi_node(&parts).unwrap();
        assert_eq!(node.drivers, [] as [CsiNodeDriver; 0]);
        assert!(node.migrated_plugins.is_empty(), "{annotations}");
    }
    let broken = object(&json!({"spec": {"drivers": [{"name": "a", "allocatable": {"count": 3_000_000_000_u32}}]}}));
    assert!(decode_csi_node(&broken).is_err());
}

#[test]
fn of_a_capacity_the_class_and_the_nodes_that_reach_it_are_kept() {
    let told = decode_csi_storage_capacity(&object(&json!({
        "metadata": {"namespace": "csi", "name": "c"}, "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {"zone": "z1"}}, "capacity": "100Gi", "maximumVolumeSize": "10Gi",
    })));
    let expected = testing::storage_capacity("c", "fast")
        .namespace("csi")
        .uid("1")
        .resource_version(5)
        .reaching("zone", "z1")
        .capacity("100Gi")
        .maximum_volume_size("10Gi");
    assert_eq!(told.unwrap(), expected.build());
    let topology = |written: Value| {
        let parts = object(&json!({"storageClassName": "fast", "nodeTopology": written}));
        decode_csi_storage_capacity(&parts).unwrap().node_topology
    };
    assert_eq!(topology(json!(null)), None);
    assert_eq!(topology(json!({})), Some(LabelSelector::default()));
}

#[test]
fn of_an_attachment_the_driver_the_node_and_the_volume_are_kept() {
    let decoded = |spec: Value| decode_volume_attachment(&object(&json!({ "spec": spec }))).unwrap();
    let attached = decoded(json!({"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}));
    let expected = testing::attachment("a", "d", "n1", "v").uid("1").resource_version(5);
    assert_eq!(attached, expected.clone().build());
    let inline = decoded(json!({"attacher": "d", "nodeName": "n1", "source": {"inlineVolumeSpec": {"csi": {}}}}));
    assert_eq!(inline, expected.inline().build());
    assert_eq!(decoded(json!(null)).volume, None);
}

#[test]
fn storage_without_an_identity_is_refused() {
    let nameless = br#"{"metadata":{"uid":"1","resourceVersion":"1"}}"#.as_slice();
    let unversioned = br#"{"metadata":{"name":"a","uid":"1"}}"#.as_slice();
    let without_uid = br#"{"metadata":{"name":"a","uid":"","resourceVersion":"1"}}"#.as_slice();
    for json in [nameless, unversioned, without_uid] {
        let errors = [
            decode_persistent_volume(json).unwrap_err(),
            decode_persistent_volume_claim(json).unwrap_err(),
            decode_storage_class(json).unwrap_err(),
            decode_csi_driver(json).unwrap_err(),
            decode_csi_node(json).unwrap_err(),
            decode_csi_storage_capacity(json).unwrap_err(),
            decode_volume_attachment(json).unwrap_err(),
        ];
        let begins: Vec<String> = errors
            .iter()
            .map(|error| error.to_string().split(':').next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(
            begins,
            [
                "cannot decode PersistentVolume",
                "cannot decode PersistentVolumeClaim",
                "cannot decode StorageClass",
                "cannot decode CSIDriver",
                "cannot decode CSINode",
                "cannot decode CSIStorageCapacity",
                "cannot decode VolumeAttachment",
            ]
        );
    }
}
