//! On random small clusters, the plugins that judge volumes over columns say what a look at each node's pods and at the
//! objects of storage says.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_framework::Extensions;
use plimsoll_model::storage::{
    AccessModes, CsiNode, InTreePlugin, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject,
    VolumeAttachment, VolumeBindingMode, VolumeSource, csi_volume, csi_volume_inline,
};
use plimsoll_model::testing::{attachment, claim, csi_node, storage_class, volume};
use plimsoll_model::{Labels, ObjectName, Pod, Uid, VolumeKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;

use crate::fixture::{self, Cluster, Rejection, resolvable, unresolvable};
use crate::{node_volume_limits, volume_restrictions, volume_zone};

mod hints;

const NODES: [&str; 3] = ["n0", "n1", "n2"];
const CLAIMS: [&str; 4] = ["c0", "c1", "c2", "c3"];
const VOLUMES: [&str; 4] = ["v0", "v1", "v2", "v3"];
const EBS: &str = "ebs.csi.aws.com";

/// Everything as objects.
#[derive(Debug, Default)]
struct Objects {
    claims: BTreeMap<ObjectName, PersistentVolumeClaim>,
    volumes: BTreeMap<String, PersistentVolume>,
    classes: BTreeMap<String, StorageClass>,
    csi_nodes: BTreeMap<String, CsiNode>,
    attachments: Vec<VolumeAttachment>,
    nodes: BTreeMap<&'static str, (Labels, Vec<Pod>)>,
}

impl Objects {
    fn learn(&mut self, object: &StorageObject) {
        let name = object.name().name.to_string();
        match object {
            StorageObject::PersistentVolumeClaim(claim) => {
                drop(self.claims.insert(claim.name.clone(), (**claim).clone()));
            }
            StorageObject::PersistentVolume(volume) => drop(self.volumes.insert(name, (**volume).clone())),
            StorageObject::StorageClass(class) => drop(self.classes.insert(name, (**class).clone())),
            StorageObject::CsiNode(node) => drop(self.csi_nodes.insert(name, (**node).clone())),
            StorageObject::VolumeAttachment(attachment) => self.attachments.push((**attachment).clone()),
            other => panic!("{other:?}"),
        }
    }

    fn claim(&self, pod: &Pod, name: &str) -> Option<&PersistentVolumeClaim> {
        self.claims.get(&ObjectName::new(pod.name.namespace.clone(), name))
    }

    fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.nodes.values().flat_map(|(_, pods)| pods)
    }
}

// === Strategies ===

fn source() -> impl Strategy<Value = VolumeSource> {
    let csi = (select(vec!["d", "e", EBS]), select(vec!["h0", "h1", "vol-0"]));
    prop_oneof![
        3 => csi.prop_map(|(driver, handle)| VolumeSource::Csi { driver: driver.into(), handle: handle.into() }),
        1 => select(vec!["vol-0", "aws://z/vol-1", "aws://z/1"])
            .prop_map(|id| VolumeSource::AwsElasticBlockStore { volume_id: id.into() }),
        1 => Just(VolumeSource::AzureFile {
            share_name: "s".into(),
            secret_name: "s".into(),
            secret_namespace: None,
        }),
    ]
}

fn zone_labels() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let keys = vec![
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    ];
    let keys = prop_oneof![2 => Just(Vec::new()), 3 => subsequence(keys, 0..=3)];
    keys.prop_flat_map(|keys| {
        let each = keys
            .into_iter()
            .map(|key| select(vec!["x", "y", "x__y", "x__ y", "x__"]).prop_map(move |value| (key, value)));
        each.collect::<Vec<_>>()
    })
}

fn volumes() -> impl Strategy<Value = Vec<StorageObject>> {
    let each = (source(), zone_labels(), proptest::bool::weighted(0.8));
    vec(each, VOLUMES.len()).prop_map(|given| {
        let given = VOLUMES.into_iter().zip(given).filter(|(_, (.., is_there))| *is_there);
        let objects = given.map(|(name, (source, labels, _))| {
            let labelled = labels
                .iter()
                .fold(volume(name), |volume, (key, value)| volume.label(key, value));
            labelled.source(source).object()
        });
        objects.collect()
    })
}

/// Those that pods name, and those made for ephemeral volumes.
fn claims() -> impl Strategy<Value = Vec<StorageObject>> {
    let names = || CLAIMS.into_iter().chain(["p0-v", "p1-v", "new-v"]);
    let mut volumes: Vec<&str> = VOLUMES.to_vec();
    volumes.push("");
    let each = (
        select(volumes),
        select(vec!["", "now", "later", "later-ebs", "none"]),
        any::<bool>(),
        proptest::option::weighted(0.8, select(vec!["p0", "p1", "new"])),
        proptest::bool::weighted(0.85),
    );
    vec(each, names().count()).prop_map(move |given| {
        let given = names().zip(given).filter(|(_, (.., is_there))| *is_there);
        let objects = given.map(|(name, (volume, class, exclusive, owner, _))| {
            let modes = if exclusive {
                AccessModes::READ_WRITE_ONCE_POD
            } else {
                AccessModes::READ_WRITE_ONCE
            };
            let claim = claim(name).class(class).wants(volume).access(modes);
            claim.with(|claim| claim.controller = owner.map(Uid::from)).object()
        });
        objects.collect()
    })
}

fn classes() -> impl Strategy<Value = Vec<StorageObject>> {
    subsequence(vec!["now", "later", "later-ebs"], 1..=3).prop_map(|names| {
        let classes = names.into_iter().map(|name| match name {
            "now" => storage_class(name).provisioner("d").object(),
            "later" => storage_class(name).waits().provisioner("d").object(),
            _ => storage_class(name)
                .waits()
                .provisioner("kubernetes.io/aws-ebs")
                .object(),
        });
        classes.collect()
    })
}

fn csi_nodes() -> impl Strategy<Value = Vec<StorageObject>> {
    let drivers = vec((select(vec!["d", "e", EBS]), proptest::option::of(0..4)), 0..3);
    vec(proptest::option::weighted(0.8, drivers), NODES.len()).prop_map(|given| {
        let given = NODES.into_iter().zip(given);
        let objects = given.filter_map(|(name, drivers)| {
            let node = drivers?
                .iter()
                .fold(csi_node(name), |node, (driver, limit)| node.driver(driver, *limit));
            Some(node.object())
        });
        objects.collect()
    })
}

fn attachments() -> impl Strategy<Value = Vec<StorageObject>> {
    vec(
        (select(vec!["d", "e", EBS]), select(&NODES[..]), select(&VOLUMES[..])),
        0..4,
    )
    .prop_map(|given| {
        let numbered = (0..).zip(given);
        let objects = numbered.map(|(at, (attacher, node, volume))| {
            let name = format!("a{at}");
            attachment(&name, attacher, node, volume).object()
        });
        objects.collect()
    })
}

fn pod_volume() -> impl Strategy<Value = VolumeKind> {
    let claims = select(&CLAIMS[..]).prop_map(|claim| VolumeKind::PersistentVolumeClaim { claim: claim.into() });
    let ebs = select(vec!["vol-0", "vol-1", "aws://z/vol-0"]).prop_map(|id| VolumeKind::AwsElasticBlockStore {
        volume: "v".into(),
        volume_id: id.into(),
    });
    let iscsi = (select(vec!["q0", "q1"]), any::<bool>()).prop_map(|(iqn, read_only)| VolumeKind::Iscsi {
        iqn: iqn.into(),
        read_only,
    });
    Union::new_weighted(vec![
        (5, claims.boxed()),
        (1, Just(VolumeKind::Ephemeral { volume: "v".into() }).boxed()),
        (1, ebs.boxed()),
        (1, iscsi.boxed()),
        (1, Just(VolumeKind::Csi { driver: "d".into() }).boxed()),
    ])
}

fn pod(name: &'static str) -> impl Strategy<Value = Pod> {
    vec(pod_volume(), 0..4).prop_map(move |volumes| {
        let mut pod = fixture::pod("{}");
        pod.name.name = name.into();
        pod.uid = Uid::from(name);
        pod.spec.volumes = volumes;
        pod
    })
}

fn nodes() -> impl Strategy<Value = Vec<(Labels, Vec<Pod>)>> {
    let pods = vec(prop_oneof![pod("p0"), pod("p1")], 0..3);
    let labels = zone_labels().prop_map(|labels| labels.into_iter().collect::<Labels>());
    vec((labels, pods), NODES.len())
}

prop_compose! {
    fn clusters()(
        volumes in volumes(),
        claims in claims(),
        classes in classes(),
        csi_nodes in csi_nodes(),
        attachments in attachments(),
        nodes in nodes(),
    ) -> (Cluster, Objects) {
        let (mut cluster, mut objects) = (Cluster::default(), Objects::default());
        for (name, (labels, pods)) in NODES.into_iter().zip(nodes) {
            let mut node = fixture::node(name, "{}");
            node.labels = labels.clone();
            cluster.columns.set_node(&node);
            for pod in &pods {
                cluster.add_pod(name, pod);
            }
            objects.nodes.insert(name, (labels, pods));
        }
        for object in [volumes, claims, classes, csi_nodes, attachments].into_iter().flatten() {
            cluster.columns.set_storage(&object);
            objects.learn(&object);
        }
        (cluster, objects)
    }
}

// === Checks ===

/// What is said of a node: nothing, a rejection, or a failure.
type Said = Result<Option<Rejection>, String>;

fn claims_of(pod: &Pod) -> impl Iterator<Item = &str> {
    pod.spec.volumes.iter().filter_map(|volume| match volume {
        VolumeKind::PersistentVolumeClaim { claim } => Some(claim.as_str()),
        _ => None,
    })
}

fn check_restrictions(objects: &Objects, pod: &Pod, node: &str) -> Option<Rejection> {
    let (_, running) = &objects.nodes[node];
    let mut taken = running.iter().flat_map(|running| &running.spec.volumes);
    if taken.any(|taken| pod.spec.volumes.iter().any(|wanted| wanted.conflicts_with(taken))) {
        return Some(resolvable([volume_restrictions::DISK_CONFLICT]));
    }
    let is_exclusive = |claim: &&str| {
        let claim = objects.claim(pod, claim).unwrap();
        claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD)
    };
    let mut exclusive = claims_of(pod).filter(is_exclusive);
    let is_taken = exclusive.any(|wanted| objects.pods().flat_map(claims_of).any(|claim| claim == wanted));
    is_taken.then(|| resolvable([volume_restrictions::CLAIM_CONFLICT]))
}

fn check_zone(objects: &Objects, pod: &Pod, node: &str) -> Option<Rejection> {
    let (labels, _) = &objects.nodes[node];
    let pairs = [
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        (
            "failure-domain.beta.kubernetes.io/region",
            "topology.kubernetes.io/region",
        ),
        ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
    ];
    if pairs.iter().all(|(key, _)| labels.get(key).is_none()) {
        return None;
    }
    let volumes = claims_of(pod).filter_map(|claim| objects.volumes.get(objects.claim(pod, claim)?.volume.as_str()));
    for volume in volumes {
        for (key, today) in pairs {
            let Some(value) = volume.labels.get(key) else { continue };
            let zones: BTreeSet<&str> = value.split("__").map(str::trim).collect();
            let own = labels.get(key).or_else(|| labels.get(today));
            if !zones.contains("") && !own.is_some_and(|own| zones.contains(own)) {
                return Some(unresolvable([volume_zone::REASON]));
            }
        }
    }
    None
}

/// Driver and what tells a volume from others, by the text that tells both.
type Attached = BTreeMap<String, String>;

fn attach(
    objects: &Objects,
    pod: &Pod,
    has_csi_node: bool,
    attached: &mut Attached,
    is_new: bool,
) -> Result<(), String> {
    for volume in &pod.spec.volumes {
        let name = match volume {
            VolumeKind::PersistentVolumeClaim { claim } => claim.to_string(),
            VolumeKind::Ephemeral { volume } => format!("{}-{volume}", pod.name.name),
            inline => {
                if let Some(volume) = csi_volume_inline(inline).unwrap().filter(|_| has_csi_node) {
                    attached.insert(
                        format!("{}/{}", volume.driver, volume.handle),
                        volume.driver.to_string(),
                    );
                }
                continue;
            }
        };
        let Some(claim) = objects.claim(pod, &name) else {
            if is_new {
                return Err(format!(
                    "looking up PVC default/{name}: persistentvolumeclaim {name:?} not found"
                ));
            }
            continue;
        };
        if matches!(volume, VolumeKind::Ephemeral { .. }) && claim.controller.as_ref() != Some(&pod.uid) {
            if is_new {
                let pod = &pod.name.name;
                return Err(format!(
                    "PVC default/{name} was not created for pod default/{pod} (pod is not owner)"
                ));
            }
            continue;
        }
        if let Some((driver, handle)) = driver_and_handle(objects, claim, has_csi_node) {
            attached.insert(format!("{driver}/{handle}"), driver);
        }
    }
    Ok(())
}

fn driver_and_handle(objects: &Objects, claim: &PersistentVolumeClaim, has_csi_node: bool) -> Option<(String, String)> {
    if let Some(volume) = objects.volumes.get(claim.volume.as_str()) {
        let is_in_tree = InTreePlugin::of_source(&volume.source).is_some();
        let volume = csi_volume(volume).ok()??;
        return (has_csi_node || !is_in_tree).then(|| (volume.driver.to_string(), volume.handle.to_string()));
    }
    let class = objects.classes.get(claim.class.as_str())?;
    let driver = match class.provisioner.as_str() {
        "kubernetes.io/aws-ebs" => has_csi_node.then_some(EBS)?,
        driver => driver,
    };
    Some((driver.to_owned(), format!("to be made for {}", claim.name)))
}

fn check_limits(objects: &Objects, pod: &Pod, node: &str) -> Said {
    let csi_node = objects.csi_nodes.get(node);
    let mut new = Attached::new();
    if let Err(text) = attach(objects, pod, csi_node.is_some(), &mut new, true) {
        return if text.starts_with("looking up") {
            Ok(Some(unresolvable([text.as_str()])))
        } else {
            Err(text)
        };
    }
    let (_, running) = &objects.nodes[node];
    let mut used = Attached::new();
    for pod in running {
        attach(objects, pod, csi_node.is_some(), &mut used, false).unwrap();
    }
    new.retain(|name, _| !used.contains_key(name));
    for attachment in objects.attachments.iter().filter(|attachment| attachment.node == node) {
        let volume = attachment.volume.as_deref().and_then(|name| objects.volumes.get(name));
        if let Some(VolumeSource::Csi { handle, .. }) = volume.map(|volume| &volume.source) {
            let driver = attachment.attacher.to_string();
            used.insert(format!("{driver}/{handle}"), driver);
        }
    }
    let count = |volumes: &Attached, driver: &str| volumes.values().filter(|own| *own == driver).count();
    let mut limits = BTreeMap::new();
    for driver in csi_node.into_iter().flat_map(|node| &node.drivers) {
        if let Some(limit) = driver.limit {
            limits.insert(driver.name.as_str(), limit);
        }
    }
    let is_over = limits.into_iter().any(|(driver, limit)| {
        let wanted = count(&new, driver);
        wanted > 0 && count(&used, driver) + wanted > usize::try_from(limit).unwrap()
    });
    Ok(is_over.then(|| resolvable([node_volume_limits::REASON])))
}

/// Why no node is looked at, by the claims alone.
fn stopped(objects: &Objects, pod: &Pod, plugin: &str) -> bool {
    let claims = || claims_of(pod).map(|name| objects.claim(pod, name));
    match plugin {
        volume_restrictions::NAME => claims().any(|claim| claim.is_none()),
        volume_zone::NAME => claims().any(|claim| {
            let waits = |claim: &PersistentVolumeClaim| {
                let class = objects.classes.get(claim.class.as_str());
                class.is_some_and(|class| class.binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer))
            };
            claim.is_none_or(|claim| {
                let has_none = !claim.volume.is_empty() && !objects.volumes.contains_key(claim.volume.as_str());
                has_none || (claim.volume.is_empty() && !waits(claim))
            })
        }),
        _ => false,
    }
}

type Check = fn(&Objects, &Pod, &str) -> Said;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn volumes_over_columns_are_judged_as_each_nodes_objects_are(
        (cluster, objects) in clusters(),
        pod in pod("new"),
    ) {
        let plugins: [(&str, Extensions, Check); 3] = [
            (volume_restrictions::NAME, volume_restrictions::extensions(), |objects, pod, node| {
                Ok(check_restrictions(objects, pod, node))
            }),
            (volume_zone::NAME, volume_zone::extensions(), |objects, pod, node| Ok(check_zone(objects, pod, node))),
            (node_volume_limits::NAME, fixture::made(node_volume_limits::construct), check_limits),
        ];
        for (name, plugin, check) in plugins {
            let is_stopped = stopped(&objects, &pod, name);
            prop_assert_eq!(cluster.stopped(&plugin, &pod).is_some(), is_stopped, "{}", name);
            if is_stopped {
                continue;
            }
            let said: BTreeMap<_, _> = NODES.into_iter().map(|node| (node, check(&objects, &pod, node))).collect();
            if name == node_volume_limits::NAME {
                let expected = said.values().find_map(|said| said.clone().err());
                let failure = cluster.failure(&plugin, &pod);
                prop_assert_eq!(&failure, &expected);
                if failure.is_some() {
                    continue;
                }
            }
            let filtered = cluster.filter(&plugin, &pod);
            for (node, said) in said {
                prop_assert_eq!(filtered.of(node), said.unwrap(), "{} {}", name, node);
            }
        }
    }
}
