use super::*;
use crate::storage::{AccessModes, ClaimReference, VolumePhase};
use crate::{ObjectName, Operator, Requirement, ResourceVersion, Uid};

fn volume(source: VolumeSource) -> PersistentVolume {
    PersistentVolume {
        name: ObjectName::new("", "pv"),
        uid: Uid::from("pv"),
        resource_version: ResourceVersion::new(1),
        labels: Labels::new(),
        deleting: false,
        bound_by_controller: false,
        class: CompactString::default(),
        capacity: None,
        access_modes: AccessModes::NONE,
        volume_mode: None,
        attributes_class: None,
        claim: None,
        node_affinity: None,
        source,
        phase: VolumePhase::Bound,
    }
}

fn labelled(source: VolumeSource, labels: &[(&str, &str)]) -> PersistentVolume {
    PersistentVolume {
        labels: labels.iter().copied().collect(),
        ..volume(source)
    }
}

fn ebs(volume_id: &str) -> VolumeSource {
    VolumeSource::AwsElasticBlockStore {
        volume_id: volume_id.into(),
    }
}

fn gce(pd_name: &str) -> VolumeSource {
    VolumeSource::GcePersistentDisk {
        pd_name: pd_name.into(),
    }
}

fn azure(kind: Option<&str>) -> VolumeSource {
    VolumeSource::AzureDisk {
        disk_uri: "/subscriptions/s".into(),
        kind: kind.map(Into::into),
    }
}

fn azure_file(secret_namespace: Option<&str>) -> VolumeSource {
    VolumeSource::AzureFile {
        share_name: "share".into(),
        secret_name: "secret".into(),
        secret_namespace: secret_namespace.map(Into::into),
    }
}

fn told(result: Result<Option<CsiVolume>, TranslationError>) -> Option<String> {
    match result {
        Ok(volume) => volume.map(|volume| format!("{} {}", volume.driver, volume.handle)),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn a_persistent_volume_has_the_handle_that_its_csi_driver_would_give_it() {
    let zone = "topology.kubernetes.io/zone";
    let beta = "failure-domain.beta.kubernetes.io/zone";
    let cases: [(PersistentVolume, Option<&str>); 20] = [
        (
            volume(VolumeSource::Csi {
                driver: "d".into(),
                handle: "h".into(),
            }),
            Some("d h"),
        ),
        (volume(ebs("vol-1")), Some("ebs.csi.aws.com vol-1")),
        (volume(ebs("whatever")), Some("ebs.csi.aws.com whatever")),
        (volume(ebs("aws://us-east-1a/vol-1")), Some("ebs.csi.aws.com vol-1")),
        (volume(ebs("aws:///vol-1")), Some("ebs.csi.aws.com vol-1")),
        (
            volume(ebs("aws://us-east-1a/disk")),
            Some(
                "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk)",
            ),
        ),
        (
            volume(ebs("aws://vol-1")),
            Some("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://vol-1)"),
        ),
        (
            volume(gce("pd")),
            Some("pd.csi.storage.gke.io projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd"),
        ),
        (
            labelled(gce("pd"), &[(zone, "us-east1-a")]),
            Some("pd.csi.storage.gke.io projects/UNSPECIFIED/zones/us-east1-a/disks/pd"),
        ),
        (
            labelled(gce("pd"), &[(zone, "us-east1-a"), (beta, "us-east1-b")]),
            Some("pd.csi.storage.gke.io projects/UNSPECIFIED/zones/us-east1-b/disks/pd"),
        ),
        (
            labelled(gce("pd"), &[(zone, "us-east1-a"), (beta, "")]),
            Some("pd.csi.storage.gke.io projects/UNSPECIFIED/zones/us-east1-a/disks/pd"),
        ),
        (
            labelled(gce("pd"), &[(zone, "us-east1-a__us-east1-b")]),
            Some("pd.csi.storage.gke.io projects/UNSPECIFIED/regions/us-east1/disks/pd"),
        ),
        (
            labelled(gce("pd"), &[(zone, "us-east1-a__nowhere")]),
            Some(
                "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: nowhere",
            ),
        ),
        (
            labelled(gce("pd"), &[(zone, "us-west1-a__us-east1-b")]),
            Some(
                "failed to get region from zones: multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]",
            ),
        ),
        (volume(azure(None)), Some("disk.csi.azure.com /subscriptions/s")),
        (
            volume(azure(Some("managed"))),
            Some("disk.csi.azure.com /subscriptions/s"),
        ),
        (
            volume(azure(Some("Shared"))),
            Some("kind(Shared) is not supported in csi migration"),
        ),
        (
            volume(VolumeSource::Cinder { volume_id: "c".into() }),
            Some("cinder.csi.openstack.org c"),
        ),
        (
            volume(VolumeSource::Portworx { volume_id: "p".into() }),
            Some("pxd.portworx.com p"),
        ),
        (volume(VolumeSource::Other), None),
    ];
    for (volume, expected) in cases {
        assert_eq!(told(csi_volume(&volume)).as_deref(), expected, "{volume:?}");
    }
}

#[test]
fn an_in_line_volume_has_the_handle_that_its_csi_driver_would_give_it() {
    let aws = |volume_id: &str| VolumeKind::AwsElasticBlockStore {
        volume: "v".into(),
        volume_id: volume_id.into(),
    };
    let azure = |kind: Option<&str>| {
        VolumeKind::InTree(InTreeVolume::AzureDisk {
            volume: "v".into(),
            disk_uri: "u".into(),
            kind: kind.map(Into::into),
        })
    };
    let cases: [(VolumeKind, Option<&str>); 9] = [
        (
            VolumeKind::GcePersistentDisk {
                pd_name: "pd".into(),
                read_only: true,
            },
            Some("pd.csi.storage.gke.io projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd"),
        ),
        (aws("aws://z/vol-1"), Some("ebs.csi.aws.com vol-1")),
        (
            aws("aws://z/1"),
            Some("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/1)"),
        ),
        (azure(Some("Managed")), Some("disk.csi.azure.com u")),
        (
            azure(Some("Dedicated")),
            Some("kind(Dedicated) is not supported in csi migration"),
        ),
        (
            VolumeKind::InTree(InTreeVolume::Cinder { volume_id: "c".into() }),
            Some("cinder.csi.openstack.org c"),
        ),
        (
            VolumeKind::InTree(InTreeVolume::Portworx { volume_id: "p".into() }),
            Some("pxd.portworx.com p"),
        ),
        (VolumeKind::InTree(InTreeVolume::AzureFile), None),
        (VolumeKind::Csi { driver: "d".into() }, None),
    ];
    for (volume, expected) in cases {
        assert_eq!(told(csi_volume_inline(&volume)).as_deref(), expected, "{volume:?}");
    }
}

#[test]
fn plugins_are_found_by_the_names_that_storage_classes_use() {
    for plugin in InTreePlugin::ALL {
        assert_eq!(InTreePlugin::of_name(plugin.name()), Some(plugin));
        assert_eq!(InTreePlugin::of_name(plugin.driver()), None);
    }
    assert_eq!(InTreePlugin::of_name("kubernetes.io/no-provisioner"), None);
    let counted = InTreePlugin::ALL.into_iter().filter(|plugin| plugin.is_counted());
    assert_eq!(
        counted.map(InTreePlugin::driver).collect::<Vec<_>>(),
        [
            "ebs.csi.aws.com",
            "disk.csi.azure.com",
            "cinder.csi.openstack.org",
            "pd.csi.storage.gke.io",
            "pxd.portworx.com"
        ]
    );
}

/// Terms as `key=value,value` joined by `&`, alternatives by ` | `.
fn shown(affinity: Option<&[NodeSelectorTerm]>) -> Option<String> {
    let terms = affinity?.iter().map(|term| {
        let expressions = term.match_expressions.iter();
        let shown = expressions.map(|expression| format!("{}={}", expression.key, expression.values.join(",")));
        shown.collect::<Vec<_>>().join("&")
    });
    Some(terms.collect::<Vec<_>>().join(" | "))
}

fn term(expressions: &[(&str, &[&str])]) -> NodeSelectorTerm {
    let of = |(key, values): &(&str, &[&str])| Requirement::new(*key, Operator::In, values.iter().copied());
    NodeSelectorTerm {
        match_expressions: expressions.iter().map(of).collect(),
        match_fields: Vec::new(),
    }
}

/// Source, labels, affinity, and the affinity that comes of it.
type Case<'a> = (
    VolumeSource,
    &'a [(&'a str, &'a str)],
    Option<Vec<NodeSelectorTerm>>,
    Option<&'a str>,
);

#[test]
fn zones_go_under_the_key_of_the_csi_driver() {
    let zone = "topology.kubernetes.io/zone";
    let beta = "failure-domain.beta.kubernetes.io/zone";
    let beta_region = "failure-domain.beta.kubernetes.io/region";
    let region = "topology.kubernetes.io/region";
    let ebs = || ebs("vol-1");
    let vsphere = || VolumeSource::Vsphere {
        volume_path: "p".into(),
    };
    let cases: [Case<'_>; 13] = [
        (ebs(), &[], None, None),
        (
            ebs(),
            &[(zone, "b__ a__")],
            None,
            Some("topology.ebs.csi.aws.com/zone=a,b"),
        ),
        (ebs(), &[(beta, "a")], None, Some("topology.ebs.csi.aws.com/zone=a")),
        (ebs(), &[(beta, "__")], None, None),
        (
            ebs(),
            &[(zone, "a")],
            Some(vec![term(&[("x", &["1"])]), term(&[("y", &["2"])])]),
            Some("x=1&topology.ebs.csi.aws.com/zone=a | y=2&topology.ebs.csi.aws.com/zone=a"),
        ),
        (
            ebs(),
            &[(zone, "a")],
            Some(vec![term(&[(zone, &["b"]), ("x", &["1"])]), term(&[("y", &["2"])])]),
            Some("topology.ebs.csi.aws.com/zone=b&x=1 | y=2"),
        ),
        (
            ebs(),
            &[],
            Some(vec![term(&[(beta, &["b"]), (beta_region, &["r"])])]),
            Some("topology.ebs.csi.aws.com/zone=b&topology.kubernetes.io/region=r"),
        ),
        (
            ebs(),
            &[],
            Some(vec![term(&[(zone, &["b"]), (beta_region, &["r"])])]),
            Some("topology.ebs.csi.aws.com/zone=b&failure-domain.beta.kubernetes.io/region=r"),
        ),
        (
            gce("pd"),
            &[(zone, "us-east1-a")],
            None,
            Some("topology.gke.io/zone=us-east1-a"),
        ),
        (
            VolumeSource::Cinder { volume_id: "c".into() },
            &[(zone, "nova")],
            None,
            Some("topology.cinder.csi.openstack.org/zone=nova"),
        ),
        (
            vsphere(),
            &[(zone, "a__b"), (region, "r")],
            None,
            Some("topology.csi.vmware.com/zone=a__b&topology.csi.vmware.com/region=r"),
        ),
        (
            vsphere(),
            &[(zone, "a")],
            Some(vec![term(&[(region, &["r"])])]),
            Some("topology.csi.vmware.com/region=r&topology.csi.vmware.com/zone=a"),
        ),
        (
            azure(None),
            &[(zone, "a")],
            Some(vec![term(&[(zone, &["b"])])]),
            Some("topology.kubernetes.io/zone=b"),
        ),
    ];
    for (source, labels, affinity, expected) in cases {
        let volume = PersistentVolume {
            node_affinity: affinity.map(Arc::from),
            ..labelled(source, labels)
        };
        let translated = translated_node_affinity(&volume).unwrap();
        assert_eq!(shown(translated.as_deref()).as_deref(), expected, "{volume:?}");
    }
}

#[test]
fn a_volume_that_no_driver_can_take_over_has_no_translation() {
    let failed = |volume: &PersistentVolume| translated_node_affinity(volume).map_err(|error| error.to_string());
    assert!(failed(&volume(ebs("aws://z/1"))).is_err());
    assert!(failed(&volume(azure(Some("Shared")))).is_err());
    let claimed = PersistentVolume {
        claim: Some(ClaimReference {
            name: ObjectName::new("ns", "claim"),
            uid: None,
        }),
        ..volume(azure_file(None))
    };
    assert_eq!(failed(&claimed), Ok(None));
    assert_eq!(failed(&volume(azure_file(Some("ns")))), Ok(None));
    let text = "could not find a secret namespace in PersistentVolumeSource or ClaimRef";
    assert_eq!(failed(&volume(azure_file(None))), Err(text.to_owned()));
}
