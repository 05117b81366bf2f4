//! Storage, and the volumes of pods: claims in every state, volumes of every source, classes, drivers, limits, room.

use serde_json::{Map, Value, json};

use super::labels;
use super::node::{REGION, ZONE};
use crate::case::Case;
use crate::dice::Dice;

mod claim;
mod class;
mod driver;
mod inline;
mod volume;

pub(crate) use claim::any_claim;
pub(crate) use class::{any_class, topologies};
pub(crate) use driver::{any_attachment, any_capacity, any_csi_node, any_driver};
pub(crate) use volume::any_volume;

/// Drivers of volumes; the latter five are those that in-tree kinds have moved to.
const DRIVERS: [&str; 7] = [
    "disk.csi.example.com",
    "file.csi.example.com",
    "ebs.csi.aws.com",
    "pd.csi.storage.gke.io",
    "disk.csi.azure.com",
    "cinder.csi.openstack.org",
    "pxd.portworx.com",
];
/// In-tree plugins; no driver counts the volumes of the last two.
const IN_TREE: [&str; 7] = [
    "kubernetes.io/aws-ebs",
    "kubernetes.io/gce-pd",
    "kubernetes.io/azure-disk",
    "kubernetes.io/cinder",
    "kubernetes.io/portworx-volume",
    "kubernetes.io/azure-file",
    "kubernetes.io/vsphere-volume",
];
/// Labels by which CSI drivers know zones.
const CSI_ZONES: [&str; 3] = [
    "topology.ebs.csi.aws.com/zone",
    "topology.gke.io/zone",
    "topology.cinder.csi.openstack.org/zone",
];
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
/// Stands in for the class of the specification where it is there.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Volumes have sizes of up to so many GiB, each its own: of several that are equally large kube-scheduler takes any.
const SIZES: usize = 96;

/// What pods and volumes are in each other's way by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habits {
    /// Anything.
    Any,
    /// What pods give back when they go: claims of one pod only, disks, numbers of volumes.
    Contended,
}

/// A class, as far as claims need to know it.
#[derive(Debug, Clone)]
struct Class {
    name: String,
    /// Its claims wait for a pod.
    waits: bool,
    /// Nobody makes its volumes.
    by_hand: bool,
}

/// What there is of storage so far.
struct Store<'a> {
    case: &'a mut Case,
    habits: Habits,
    /// Room counts in scores: then it must be clear which room that is.
    scores_room: bool,
    classes: Vec<Class>,
    /// Sizes that no volume has yet.
    sizes: Vec<usize>,
}

/// Gives a cluster storage, and its pods volumes.
pub(super) fn furnish(dice: &mut Dice, case: &mut Case, habits: Habits) {
    let scores_room = dice.percent(50);
    if scores_room {
        case.feature_gates.insert("StorageCapacityScoring".to_owned(), true);
    }
    if dice.percent(15) {
        case.feature_gates.insert("VolumeLimitScaling".to_owned(), true);
    }
    without_one_plugin(dice, case);
    arguments(dice, case, scores_room);
    for node in &mut case.nodes {
        zones(dice, node);
    }
    let mut store = Store {
        case,
        habits,
        scores_room,
        classes: Vec::new(),
        sizes: (1..=SIZES).collect(),
    };
    store.add_classes(dice);
    store.furnish_pods(dice);
    store.add_spare_volumes(dice);
    store.add_drivers(dice);
    store.add_csi_nodes(dice);
    store.add_capacities(dice);
    store.add_attachments(dice);
}

/// Now and then one of the plugins of volumes is left out: else the others hardly ever have the first word.
fn without_one_plugin(dice: &mut Dice, case: &mut Case) {
    for profile in case.config["profiles"].as_array_mut().into_iter().flatten() {
        if profile["plugins"].is_null() && dice.percent(10) {
            let name = dice.pick(&[
                "VolumeBinding",
                "VolumeBinding",
                "VolumeRestrictions",
                "NodeVolumeLimits",
                "VolumeZone",
            ]);
            profile["plugins"] = json!({ "multiPoint": { "disabled": [{ "name": name }] } });
        }
    }
}

/// Arguments of the plugin that binds; how full volumes make which score has a say only behind its gate.
fn arguments(dice: &mut Dice, case: &mut Case, scores_room: bool) {
    for profile in case.config["profiles"].as_array_mut().into_iter().flatten() {
        let mut args = Map::new();
        if dice.percent(10) {
            args.insert("bindTimeoutSeconds".to_owned(), json!(dice.one_of(&[1, 600])));
        }
        if scores_room && dice.percent(50) {
            args.insert("shape".to_owned(), json!(super::config::shape(dice)));
        }
        if args.is_empty() {
            continue;
        }
        let entry = json!({ "name": "VolumeBinding", "args": args });
        match &mut profile["pluginConfig"] {
            Value::Array(entries) => entries.push(entry),
            absent => *absent = json!([entry]),
        }
    }
}

/// Zones as CSI drivers know them, and as old clusters do.
fn zones(dice: &mut Dice, node: &mut Value) {
    let zone = node["metadata"]["labels"][ZONE].as_str().unwrap_or("z1").to_owned();
    let labels = &mut node["metadata"]["labels"];
    for key in CSI_ZONES {
        if dice.percent(65) {
            labels[key] = json!(if dice.percent(90) { &zone } else { "z2" });
        }
    }
    if dice.percent(12) {
        labels[BETA_ZONE] = json!(if dice.percent(80) { &zone } else { "z3" });
    }
    if dice.percent(5) {
        labels[BETA_REGION] = json!(dice.pick(&["r1", "r2"]));
    }
    // A cluster of one zone has no such labels.
    if dice.percent(6)
        && let Some(labels) = labels.as_object_mut()
    {
        for key in [ZONE, REGION, BETA_ZONE, BETA_REGION] {
            labels.remove(key);
        }
    }
}

impl Store<'_> {
    /// The nodes' number, and one more.
    fn some_node(&self, dice: &mut Dice) -> String {
        format!("n{}", dice.below(self.case.nodes.len() + 1))
    }

    /// A size that no other volume has, in GiB.
    fn size(&mut self, dice: &mut Dice) -> usize {
        let among = self.sizes.len().min(48);
        if among == 0 {
            return SIZES + self.case.persistent_volumes.len();
        }
        self.sizes.remove(dice.below(among))
    }

    fn furnish_pods(&mut self, dice: &mut Dice) {
        let mut pods = std::mem::take(&mut self.case.pods);
        let mut new = self.case.pod.take();
        let wanted = if dice.percent(8) {
            0
        } else {
            dice.one_of(&[1, 1, 1, 2, 2, 3])
        };
        self.furnish_new(dice, &mut new, wanted);
        for pod in &mut pods {
            if dice.percent(if self.habits == Habits::Contended { 75 } else { 50 }) {
                self.furnish_other(dice, pod, &new);
            }
        }
        self.case.pods = pods;
        self.case.pod = new;
    }

    fn furnish_new(&mut self, dice: &mut Dice, pod: &mut Value, wanted: usize) {
        for number in 0..wanted {
            match dice.below(100) {
                0..12 => self.give_ephemeral(dice, pod, number, 10),
                12..28 => add_volume(pod, "inline", inline::in_tree(dice)),
                28..31 => add_volume(pod, "inline", inline::csi(dice)),
                31 | 32 => add_volume(pod, "absent", claimed("absent")),
                _ => {
                    let name = format!("claim-{number}");
                    self.add_claim(dice, pod, &name, None);
                    add_volume(pod, "claimed", claimed(&name));
                    if dice.percent(2) {
                        add_volume(pod, "again", claimed(&name));
                    }
                }
            }
        }
    }

    /// Volumes that the new pod has, too, or others.
    fn furnish_other(&mut self, dice: &mut Dice, pod: &mut Value, new: &Value) {
        let theirs = claims_of(new);
        let shares = if self.habits == Habits::Contended { 45 } else { 25 };
        if !theirs.is_empty() && dice.percent(shares) {
            if dice.percent(90) {
                pod["metadata"]["namespace"] = new["metadata"]["namespace"].clone();
            }
            add_volume(pod, "shared", claimed(&theirs[dice.below(theirs.len())]));
        }
        let disks = disks_of(new);
        if !disks.is_empty() && dice.percent(shares / 2) {
            add_volume(pod, "shared", disks[dice.below(disks.len())].clone());
        }
        let counts = if self.habits == Habits::Contended {
            [1, 1, 2, 3]
        } else {
            [0, 1, 1, 2]
        };
        for number in 0..dice.one_of(&counts) {
            match dice.below(100) {
                0..10 => self.give_ephemeral(dice, pod, number, 2),
                10..40 => add_volume(pod, "inline", inline::in_tree(dice)),
                40..43 => add_volume(pod, "inline", inline::csi(dice)),
                43 | 44 => add_volume(pod, "absent", claimed("absent")),
                _ => {
                    let name = format!("{}-{number}", pod["metadata"]["name"].as_str().unwrap_or_default());
                    self.add_claim(dice, pod, &name, None);
                    add_volume(pod, "claimed", claimed(&name));
                }
            }
        }
    }

    /// A claim is made for the volume and called after it; so often in a hundred it is another pod's, and now and then it
    /// is not there yet.
    fn give_ephemeral(&mut self, dice: &mut Dice, pod: &mut Value, number: usize, strange: usize) {
        let volume = format!("scratch-{number}");
        let name = format!("{}-{volume}", pod["metadata"]["name"].as_str().unwrap_or_default());
        let owner = if dice.percent(strange) {
            dice.percent(50).then(|| json!({ "name": "another", "uid": "another" }))
        } else {
            Some(json!({ "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"] }))
        };
        if dice.percent(92) {
            self.add_claim(dice, pod, &name, owner.as_ref());
        }
        let template = json!({
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        });
        add_named_volume(
            pod,
            &volume,
            json!({ "ephemeral": { "volumeClaimTemplate": template } }),
        );
    }
}

fn claimed(name: &str) -> Value {
    json!({ "persistentVolumeClaim": { "claimName": name } })
}

/// Adds a volume under a name that the pod does not have yet.
fn add_volume(pod: &mut Value, name: &str, volume: Value) {
    let number = pod["spec"]["volumes"].as_array().map_or(0, Vec::len);
    add_named_volume(pod, &format!("{name}-{number}"), volume);
}

fn add_named_volume(pod: &mut Value, name: &str, mut volume: Value) {
    volume["name"] = json!(name);
    match &mut pod["spec"]["volumes"] {
        Value::Array(volumes) => volumes.push(volume),
        absent => *absent = json!([volume]),
    }
}

/// The disks that stand in a pod itself.
fn disks_of(pod: &Value) -> Vec<Value> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let kinds = ["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"];
    let disks = volumes.filter(|volume| kinds.iter().any(|kind| volume[kind].is_object()));
    disks.cloned().collect()
}

/// The names of claims that a pod uses.
pub(crate) fn claims_of(pod: &Value) -> Vec<String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claims = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    claims.map(ToOwned::to_owned).collect()
}

/// Gives a pod that waits volumes of which nothing else is there.
pub(crate) fn give_volumes(dice: &mut Dice, pod: &mut Value) {
    for _ in 0..dice.between(1, 3) {
        match dice.below(10) {
            0..5 => {
                let name = format!("claim-{}", dice.below(3));
                add_volume(pod, "claimed", claimed(&name));
            }
            5 => {
                let template = json!({
                    "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
                });
                add_volume(
                    pod,
                    "scratch",
                    json!({ "ephemeral": { "volumeClaimTemplate": template } }),
                );
            }
            6 => add_volume(pod, "inline", inline::csi(dice)),
            _ => add_volume(pod, "inline", inline::in_tree(dice)),
        }
    }
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "uid": name, "resourceVersion": "1" })
}

/// An amount of so many GiB, as people write it.
fn gibibytes(dice: &mut Dice, amount: usize) -> String {
    match dice.below(10) {
        0 => format!("{}Mi", amount * 1024),
        1 => (amount << 30).to_string(),
        _ => format!("{amount}Gi"),
    }
}

/// Values of labels that volumes are chosen by.
fn labels_of_volume(dice: &mut Dice) -> Map<String, Value> {
    if dice.percent(50) {
        labels::of_pod(dice)
    } else {
        Map::new()
    }
}
