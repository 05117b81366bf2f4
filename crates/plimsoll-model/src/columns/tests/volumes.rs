//! Uses of claims and disks, and what is attached, against plain lists of pods and objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::columns::{AttachableVolume, Columns, NodeSet, VolumeHandle};
use crate::storage::{
    AccessModes, ClaimPhase, CsiNode, CsiNodeDriver, PersistentVolume, PersistentVolumeClaim, StorageClass,
    StorageKind, StorageObject, VolumeAttachment, VolumePhase, VolumeSource, csi_volume, csi_volume_inline,
};
use crate::testing::node;
use crate::{Footprint, InTreeVolume, Labels, ObjectName, PodVolumes, ResourceVersion, Uid, VolumeKind};

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];
const NAMESPACES: [&str; 2] = ["a", "b"];
const PODS: [&str; 2] = ["p0", "p1"];
/// The last two are those of ephemeral volumes of the pods.
const CLAIMS: [&str; 5] = ["c0", "c1", "c2", "p0-v", "p1-v"];
const VOLUMES: [&str; 4] = ["pv0", "pv1", "pv2", "pv3"];
const CLASSES: [&str; 3] = ["s0", "s1", "s2"];
const ATTACHMENTS: [&str; 4] = ["va0", "va1", "va2", "va3"];
const GCE: &str = "pd.csi.storage.gke.io";
const DRIVERS: [&str; 5] = ["d0", "d1", GCE, "ebs.csi.aws.com", "disk.csi.azure.com"];

#[derive(Debug, Clone)]
enum Step {
    SetNode(&'static str),
    RemoveNode(&'static str),
    AddPod(&'static str, Box<Footprint>),
    RemovePod(Index),
    SetStorage(StorageObject),
    RemoveStorage(Index),
}

fn name(name: &str) -> (ObjectName, Uid, ResourceVersion) {
    (ObjectName::new("", name), Uid::from(name), ResourceVersion::new(1))
}

fn source() -> impl Strategy<Value = VolumeSource> {
    let csi = (
        select(&DRIVERS[..3]),
        select(vec!["h0", "h1", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/g0", ""]),
    );
    prop_oneof![
        4 => csi.prop_map(|(driver, handle)| VolumeSource::Csi { driver: driver.into(), handle: handle.into() }),
        2 => select(vec!["g0", "g1"]).prop_map(|name| VolumeSource::GcePersistentDisk { pd_name: name.into() }),
        1 => select(vec!["aws://z/vol-0", "aws://z/0"])
            .prop_map(|id| VolumeSource::AwsElasticBlockStore { volume_id: id.into() }),
        1 => Just(VolumeSource::Vsphere { volume_path: "p".into() }),
        1 => Just(VolumeSource::Other),
    ]
}

prop_compose! {
    fn volume()(at in select(&VOLUMES[..]), source in source()) -> StorageObject {
        let (name, uid, resource_version) = name(at);
        Arc::new(PersistentVolume {
            name,
            uid,
            resource_version,
            labels: Labels::new(),
            deleting: false,
            bound_by_controller: false,
            class: "".into(),
            capacity: None,
            access_modes: AccessModes::NONE,
            volume_mode: None,
            attributes_class: None,
            claim: None,
            node_affinity: None,
            source,
            phase: VolumePhase::Bound,
        })
        .into()
    }
}

prop_compose! {
    fn claim()(
        namespace in select(&NAMESPACES[..]),
        own in select(&CLAIMS[..]),
        volume in prop_oneof![1 => Just(""), 2 => select(&VOLUMES[..])],
        class in prop_oneof![1 => Just(""), 4 => select(&CLASSES[..])],
        controller in proptest::option::of(select(&PODS[..])),
    ) -> StorageObject {
        let (_, uid, resource_version) = name(own);
        Arc::new(PersistentVolumeClaim {
            name: ObjectName::new(namespace, own),
            uid,
            resource_version,
            deleting: false,
            controller: controller.map(|pod| Uid::new(format!("{namespace}/{pod}"))),
            class: class.into(),
            volume: volume.into(),
            annotated: true,
            bind_completed: true,
            selected_node: None,
            requested: None,
            access_modes: AccessModes::NONE,
            volume_mode: None,
            selector: None,
            attributes_class: None,
            phase: ClaimPhase::Pending,
        })
        .into()
    }
}

prop_compose! {
    fn class()(
        at in select(&CLASSES[..]),
        provisioner in select(vec!["d0", "d1", GCE, "kubernetes.io/gce-pd", "kubernetes.io/azure-file", ""]),
    ) -> StorageObject {
        let (name, uid, resource_version) = name(at);
        Arc::new(StorageClass {
            name,
            uid,
            resource_version,
            provisioner: provisioner.into(),
            binding_mode: None,
            allowed_topologies: Vec::new(),
        })
        .into()
    }
}

prop_compose! {
    fn csi_node()(
        at in select(&NODES[..]),
        drivers in proptest::collection::vec((select(&DRIVERS[..]), proptest::option::of(0..3)), 0..4),
    ) -> StorageObject {
        let (name, uid, resource_version) = name(at);
        let drivers = drivers.into_iter().map(|(name, limit)| CsiNodeDriver { name: name.into(), limit });
        Arc::new(CsiNode {
            name,
            uid,
            resource_version,
            migrated_plugins: Vec::new(),
            drivers: drivers.collect(),
        })
        .into()
    }
}

prop_compose! {
    fn attachment()(
        at in select(&ATTACHMENTS[..]),
        node in select(&NODES[..]),
        attacher in select(vec!["d0", "d1", GCE, ""]),
        volume in proptest::option::weighted(0.9, select(&VOLUMES[..])),
    ) -> StorageObject {
        let (name, uid, resource_version) = name(at);
        Arc::new(VolumeAttachment {
            name,
            uid,
            resource_version,
            attacher: attacher.into(),
            node: node.into(),
            volume: volume.map(Into::into),
        })
        .into()
    }
}

fn disk() -> impl Strategy<Value = VolumeKind> {
    let monitors = proptest::sample::subsequence(vec!["m0", "m1", "m2"], 0..=2);
    let rbd = (monitors, select(vec!["rbd", "fast"]), any::<bool>()).prop_map(|(monitors, pool, read_only)| {
        VolumeKind::Rbd {
            monitors: monitors.into_iter().map(Into::into).collect(),
            pool: pool.into(),
            image: "i".into(),
            read_only,
        }
    });
    let gce = (select(vec!["g0", "g1"]), any::<bool>());
    let iscsi = (select(vec!["q0", "q1"]), any::<bool>());
    let azure = (
        select(vec!["u0", "u1"]),
        select(vec![None, Some("Managed"), Some("Shared")]),
    );
    prop_oneof![
        gce.prop_map(|(name, read_only)| VolumeKind::GcePersistentDisk {
            pd_name: name.into(),
            read_only
        }),
        iscsi.prop_map(|(iqn, read_only)| VolumeKind::Iscsi {
            iqn: iqn.into(),
            read_only
        }),
        select(vec!["vol-0", "aws://z/vol-0", "aws://z/0"]).prop_map(|id| VolumeKind::AwsElasticBlockStore {
            volume: "v".into(),
            volume_id: id.into(),
        }),
        azure.prop_map(|(uri, kind)| VolumeKind::InTree(InTreeVolume::AzureDisk {
            volume: "v".into(),
            disk_uri: uri.into(),
            kind: kind.map(Into::into),
        })),
        rbd,
    ]
}

fn pod_volume() -> impl Strategy<Value = VolumeKind> {
    prop_oneof![
        3 => select(&CLAIMS[..]).prop_map(|claim| VolumeKind::PersistentVolumeClaim { claim: claim.into() }),
        2 => Just(VolumeKind::Ephemeral { volume: "v".into() }),
        2 => disk(),
    ]
}

prop_compose! {
    fn footprint()(
        namespace in select(&NAMESPACES[..]),
        name in select(&PODS[..]),
        volumes in proptest::collection::vec(pod_volume(), 0..4),
    ) -> Footprint {
        let volumes = (!volumes.is_empty()).then(|| Arc::new(PodVolumes {
            pod: ObjectName::new(namespace, name),
            uid: Uid::new(format!("{namespace}/{name}")),
            volumes: volumes.into(),
        }));
        Footprint { volumes, ..Footprint::default() }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => select(&NODES[..]).prop_map(Step::SetNode),
        1 => select(&NODES[..]).prop_map(Step::RemoveNode),
        6 => (select(&NODES[..]), footprint()).prop_map(|(node, pod)| Step::AddPod(node, Box::new(pod))),
        3 => any::<Index>().prop_map(Step::RemovePod),
        8 => prop_oneof![volume(), claim(), claim(), class(), csi_node(), attachment()].prop_map(Step::SetStorage),
        3 => any::<Index>().prop_map(Step::RemoveStorage),
    ]
}

/// The same cluster as plain lists.
#[derive(Default)]
struct Cluster {
    nodes: BTreeSet<&'static str>,
    pods: Vec<(&'static str, Footprint)>,
    objects: BTreeMap<(StorageKind, ObjectName), StorageObject>,
}

impl Cluster {
    fn apply(&mut self, columns: &mut Columns, step: Step) {
        match step {
            Step::SetNode(name) => {
                self.nodes.insert(name);
                columns.set_node(&node(name).build());
            }
            Step::RemoveNode(name) => {
                self.nodes.remove(name);
                columns.remove_node(name);
            }
            Step::AddPod(name, footprint) => {
                columns.add_pod(name, &footprint);
                self.pods.push((name, *footprint));
            }
            Step::RemovePod(at) => {
                if !self.pods.is_empty() {
                    let (name, footprint) = self.pods.swap_remove(at.index(self.pods.len()));
                    columns.remove_pod(name, &footprint);
                }
            }
            Step::SetStorage(object) => {
                columns.set_storage(&object);
                self.objects.insert((object.kind(), object.name().clone()), object);
            }
            Step::RemoveStorage(at) => {
                if !self.objects.is_empty() {
                    let key = self.objects.keys().nth(at.index(self.objects.len())).cloned().unwrap();
                    columns.remove_storage(&self.objects.remove(&key).unwrap());
                }
            }
        }
    }

    fn volumes_on(&self, node: &str) -> impl Iterator<Item = (&PodVolumes, &VolumeKind)> {
        let pods = self.pods.iter().filter(move |(own, _)| *own == node);
        let pods = pods.filter_map(|(_, footprint)| footprint.volumes.as_deref());
        pods.flat_map(|pod| pod.volumes.iter().map(move |volume| (pod, volume)))
    }

    fn object(&self, kind: StorageKind, name: ObjectName) -> Option<&StorageObject> {
        self.objects.get(&(kind, name))
    }

    fn claim(&self, name: &ObjectName) -> Option<&PersistentVolumeClaim> {
        match self.object(StorageKind::PersistentVolumeClaim, name.clone())? {
            StorageObject::PersistentVolumeClaim(claim) => Some(claim),
            _ => None,
        }
    }

    fn volume(&self, name: &str) -> Option<&PersistentVolume> {
        match self.object(StorageKind::PersistentVolume, ObjectName::new("", name))? {
            StorageObject::PersistentVolume(volume) => Some(volume),
            _ => None,
        }
    }

    fn class(&self, name: &str) -> Option<&StorageClass> {
        match self.object(StorageKind::StorageClass, ObjectName::new("", name))? {
            StorageObject::StorageClass(class) => Some(class),
            _ => None,
        }
    }

    fn csi_node(&self, name: &str) -> Option<&CsiNode> {
        match self.object(StorageKind::CsiNode, ObjectName::new("", name))? {
            StorageObject::CsiNode(csi_node) => Some(csi_node),
            _ => None,
        }
    }

    fn attachments_of(&self, node: &str) -> impl Iterator<Item = &VolumeAttachment> {
        let attachments = self.objects.values().filter_map(|object| match object {
            StorageObject::VolumeAttachment(attachment) => Some(&**attachment),
            _ => None,
        });
        attachments.filter(move |attachment| attachment.node == node)
    }

    /// What a volume of a pod is attached as on a node that has a `CSINode`.
    fn attached(&self, pod: &PodVolumes, volume: &VolumeKind) -> Option<AttachableVolume> {
        let name = match volume {
            VolumeKind::PersistentVolumeClaim { claim } => claim.to_string(),
            VolumeKind::Ephemeral { volume } => format!("{}-{volume}", pod.pod.name),
            inline => return csi_volume_inline(inline).ok().flatten().map(Into::into),
        };
        let claim = self.claim(&ObjectName::new(pod.pod.namespace.clone(), name))?;
        if matches!(volume, VolumeKind::Ephemeral { .. }) && claim.controller.as_ref() != Some(&pod.uid) {
            return None;
        }
        if let Some(volume) = self.volume(&claim.volume) {
            let volume = csi_volume(volume).ok()??;
            return (!volume.handle.is_empty()).then(|| volume.into());
        }
        let provisioner = &self.class(&claim.class)?.provisioner;
        let driver = match provisioner.as_str() {
            "" | "kubernetes.io/azure-file" => return None,
            "kubernetes.io/gce-pd" => GCE.into(),
            _ => provisioner.clone(),
        };
        let handle = VolumeHandle::OfClaim(claim.name.clone());
        Some(AttachableVolume { driver, handle })
    }

    fn by_pods(&self, node: &str) -> BTreeSet<String> {
        let volumes = self.volumes_on(node);
        let attached = volumes.filter_map(|(pod, volume)| self.attached(pod, volume));
        attached.map(|volume| format!("{volume:?}")).collect()
    }

    fn by_attachments(&self, node: &str) -> BTreeSet<String> {
        let attached = self.attachments_of(node).filter_map(|attachment| {
            let volume = self.volume(attachment.volume.as_ref()?)?;
            let VolumeSource::Csi { handle, .. } = &volume.source else {
                return None;
            };
            (!attachment.attacher.is_empty()).then(|| AttachableVolume {
                driver: attachment.attacher.clone(),
                handle: VolumeHandle::Named(handle.clone()),
            })
        });
        attached.map(|volume| format!("{volume:?}")).collect()
    }

    fn used(&self, node: &str, driver: &str) -> usize {
        let volumes = &self.by_pods(node) | &self.by_attachments(node);
        let of_driver = format!("driver: {driver:?},");
        volumes.iter().filter(|volume| volume.contains(&of_driver)).count()
    }

    fn limit(&self, node: &str, driver: &str) -> Option<i32> {
        let drivers = self.csi_node(node)?.drivers.iter();
        drivers
            .filter(|own| own.name == driver)
            .filter_map(|own| own.limit)
            .next_back()
    }

    fn has_driver(&self, node: &str, driver: &str) -> bool {
        let csi_node = self.csi_node(node);
        csi_node.is_some_and(|csi_node| csi_node.drivers.iter().any(|own| own.name == driver))
    }

    fn check(&self, columns: &Columns) {
        for name in NODES {
            let is_known = self.nodes.contains(name) || self.pods.iter().any(|(node, _)| *node == name);
            let Some(row) = columns.index_of(name) else {
                assert!(!is_known, "{name}");
                continue;
            };
            assert!(is_known, "{name}");
            assert_eq!(
                columns.csi_nodes().contains(row),
                self.csi_node(name).is_some(),
                "{name}"
            );
            for driver in DRIVERS {
                let column = columns.attach_column(driver);
                let used = column.map_or(0, |column| column.used(row));
                let limit = column.and_then(|column| column.limit(row));
                let installed = column.is_some_and(|column| column.installed().contains(row));
                assert_eq!(used as usize, self.used(name, driver), "{name} {driver}");
                assert_eq!(limit, self.limit(name, driver), "{name} {driver}");
                assert_eq!(installed, self.has_driver(name, driver), "{name} {driver}");
            }
        }
        self.check_users(columns);
        self.check_disks(columns);
    }

    /// Who uses which volume and which claim.
    fn check_users(&self, columns: &Columns) {
        let nodes = || {
            NODES
                .into_iter()
                .filter_map(|name| Some((name, columns.index_of(name)?)))
        };
        for (pod, volume) in NODES.into_iter().flat_map(|node| self.volumes_on(node)) {
            let Some(volume) = self.attached(pod, volume) else {
                continue;
            };
            let using: NodeSet = columns.nodes_using(&volume).collect();
            let shown = format!("{volume:?}");
            let expected = nodes().filter(|(name, _)| self.by_pods(name).contains(&shown));
            assert_eq!(using, expected.map(|(_, row)| row).collect(), "{shown}");
        }
        for name in CLAIMS {
            let named = |volume: &VolumeKind| *volume == VolumeKind::PersistentVolumeClaim { claim: name.into() };
            let uses = |node: &'static str| self.volumes_on(node).filter(|(_, volume)| named(volume));
            let everywhere = NODES.into_iter().flat_map(uses).count() as u64;
            assert_eq!(columns.uses_of_claims_named(name), everywhere, "{name}");
            for namespace in NAMESPACES {
                let mut on_nodes = self.nodes.iter().copied().flat_map(uses);
                let expected = on_nodes.any(|(pod, _)| pod.pod.namespace == namespace);
                let claim = ObjectName::new(namespace, name);
                assert_eq!(columns.is_claim_used(&claim), expected, "{claim}");
            }
        }
    }

    fn check_disks(&self, columns: &Columns) {
        for wanted in disks() {
            let conflict = |node: &&&str| self.volumes_on(node).any(|(_, own)| wanted.conflicts_with(own));
            let expected = self
                .nodes
                .iter()
                .filter(conflict)
                .filter_map(|node| columns.index_of(node));
            let expected: NodeSet = expected.collect();
            assert_eq!(
                columns.disk_conflicts(std::slice::from_ref(&wanted)),
                expected,
                "{wanted:?}"
            );
        }
    }
}

/// Some disks to ask for.
fn disks() -> Vec<VolumeKind> {
    let rbd = |monitors: &[&str], read_only| VolumeKind::Rbd {
        monitors: monitors.iter().map(|monitor| (*monitor).into()).collect(),
        pool: "rbd".into(),
        image: "i".into(),
        read_only,
    };
    let mut disks = vec![
        VolumeKind::AwsElasticBlockStore {
            volume: "other".into(),
            volume_id: "vol-0".into(),
        },
        rbd(&["m0", "m3"], true),
        rbd(&["m0", "m2"], false),
        rbd(&[], false),
    ];
    for read_only in [true, false] {
        disks.push(VolumeKind::GcePersistentDisk {
            pd_name: "g0".into(),
            read_only,
        });
        disks.push(VolumeKind::Iscsi {
            iqn: "q0".into(),
            read_only,
        });
    }
    disks
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn volumes_are_counted_as_plain_lists_of_pods_and_objects_say(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let (mut cluster, mut columns) = (Cluster::default(), Columns::new());
        for step in steps {
            cluster.apply(&mut columns, step);
            cluster.check(&columns);
        }
        for (node, footprint) in cluster.pods {
            columns.remove_pod(node, &footprint);
        }
        prop_assert!(columns.volumes.is_without_pods());
        for object in cluster.objects.values() {
            columns.remove_storage(object);
        }
        prop_assert!(columns.volumes.attachments.is_without_volumes());
    }
}
