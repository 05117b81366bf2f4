use serde_json::{Map, Value, json};

use super::{
    BETA_CLASS, BETA_REGION, BETA_ZONE, CSI_ZONES, Class, DRIVERS, Habits, Store, gibibytes, labels_of_volume, metadata,
};
use crate::dice::Dice;
use crate::generate::affinity;
use crate::generate::node::{HOSTNAME, REGION, ZONE};

const PATH: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";

impl Store<'_> {
    /// Volumes that nobody has yet, of classes whose claims wait.
    pub(super) fn add_spare_volumes(&mut self, dice: &mut Dice) {
        for class in self.classes.clone() {
            let count = match class {
                Class { waits: false, .. } => dice.below(2),
                Class { by_hand: true, .. } => dice.one_of(&[1, 2, 3, 4, 6, 8]),
                Class { by_hand: false, .. } => dice.one_of(&[0, 0, 1, 2, 3]),
            };
            for _ in 0..count {
                let volume = self.volume(dice, &class.name);
                self.case.persistent_volumes.push(volume);
            }
        }
    }

    /// A volume of a class that nobody has, in any phase.
    pub(super) fn volume(&mut self, dice: &mut Dice, class: &str) -> Value {
        let name = format!("volume-{}", self.case.persistent_volumes.len());
        let size = self.size(dice);
        let nodes = self.case.nodes.len();
        let near = if self.habits == Habits::Contended { 10 } else { 55 };
        let mut volume = any_volume(dice, &name, nodes, near);
        // Those of drivers count towards limits.
        while self.habits == Habits::Contended && volume["spec"]["csi"].is_null() && dice.percent(85) {
            volume = any_volume(dice, &name, nodes, near);
        }
        volume["spec"]["capacity"] = json!({ "storage": gibibytes(dice, size) });
        if !class.is_empty() {
            volume["spec"]["storageClassName"] = json!(class);
            if dice.percent(5) {
                volume["metadata"]["annotations"][BETA_CLASS] = json!(class);
                if !self.scores_room && dice.percent(40) {
                    volume["spec"]["storageClassName"] = json!("another");
                }
            }
        }
        volume
    }
}

/// A volume without a class; so often in a hundred not all nodes reach it, and about as often it is in a zone.
pub(crate) fn any_volume(dice: &mut Dice, name: &str, nodes: usize, near: usize) -> Value {
    let modes = modes(dice);
    let mut spec = json!({ "capacity": { "storage": "5Gi" }, "accessModes": modes });
    let (kind, source) = source(dice);
    spec[kind] = source;
    // A local volume must say where it is.
    if kind == "local" || dice.percent(near) {
        spec["nodeAffinity"] = json!({ "required": { "nodeSelectorTerms": terms(dice, nodes) } });
    }
    if dice.percent(8) {
        spec["volumeMode"] = json!(dice.pick(&["Block", "Filesystem"]));
    }
    // Others cannot be altered.
    if kind == "csi" && dice.percent(5) {
        spec["volumeAttributesClassName"] = json!(dice.pick(&["gold", "silver"]));
    }
    let mut volume = json!({ "metadata": metadata(name), "spec": spec });
    let mut labels = labels_of_volume(dice);
    if dice.percent(near) {
        label_zones(dice, kind, &mut labels);
    }
    if !labels.is_empty() {
        volume["metadata"]["labels"] = Value::Object(labels);
    }
    if dice.percent(4) {
        volume["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        volume["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    }
    let phase = dice.seldom(15, &["Available"], &["Pending", "Bound", "Released", "Failed"]);
    volume["status"] = json!({ "phase": phase });
    volume
}

/// One pod's alone, or any of the others.
fn modes(dice: &mut Dice) -> Vec<&'static str> {
    match dice.below(20) {
        0..10 => vec!["ReadWriteOnce"],
        10..14 => vec!["ReadWriteOnce", "ReadOnlyMany"],
        14..16 => vec!["ReadWriteMany"],
        16 => vec!["ReadOnlyMany"],
        17 | 18 => vec!["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
        _ => vec!["ReadWriteOncePod"],
    }
}

/// Zones of a volume; several stand in one label.
fn label_zones(dice: &mut Dice, kind: &str, labels: &mut Map<String, Value>) {
    // Regions are made out of zones where there are several: of any others no disk can be found.
    let several: &[&str] = if kind == "gcePersistentDisk" && dice.percent(70) {
        &["us-east-a__us-east-b", "us-east-a"]
    } else {
        &["z1__z2", "z2__z3", "z1__z2__z3"]
    };
    let odd = dice.pick(&["", "z1____z2", "z9"]);
    let value = match dice.below(20) {
        0..12 => dice.pick(&["z1", "z1", "z2", "z3"]),
        12..18 => dice.pick(several),
        _ => odd,
    };
    let key = dice.seldom(20, &[ZONE], &[BETA_ZONE]);
    labels.insert(key.to_owned(), json!(value));
    if dice.percent(25) {
        let key = dice.seldom(20, &[REGION], &[BETA_REGION]);
        labels.insert(key.to_owned(), json!(dice.pick(&["r1", "r1", "r2"])));
    }
}

/// Which nodes reach a volume.
fn terms(dice: &mut Dice, nodes: usize) -> Vec<Value> {
    let zones = |dice: &mut Dice| -> Vec<&'static str> {
        let mut zones = dice.some(2, &["z1", "z2", "z3"]);
        if zones.is_empty() {
            zones.push("z1");
        }
        zones
    };
    let of =
        |key: &str, values: Value| json!({ "matchExpressions": [{ "key": key, "operator": "In", "values": values }] });
    match dice.below(100) {
        0..30 => {
            let zones = zones(dice);
            vec![of(ZONE, json!(zones))]
        }
        30..36 => {
            let zones = zones(dice);
            vec![of(BETA_ZONE, json!(zones))]
        }
        36..62 => {
            let hosts: Vec<String> = (0..dice.between(1, nodes + 1))
                .map(|_| format!("n{}", dice.below(nodes + 1)))
                .collect();
            vec![of(HOSTNAME, json!(hosts))]
        }
        62..68 => vec![of(dice.pick(&[REGION, BETA_REGION]), json!(["r1"]))],
        68..76 => {
            let zones = zones(dice);
            vec![of(dice.pick(&CSI_ZONES), json!(zones))]
        }
        76..82 => {
            let zones = zones(dice);
            let mut term = of(ZONE, json!(zones));
            if let Some(expressions) = term["matchExpressions"].as_array_mut() {
                expressions.push(json!({ "key": BETA_REGION, "operator": "In", "values": ["r1"] }));
            }
            vec![term]
        }
        _ => affinity::terms_of_volume(dice, nodes),
    }
}

/// The field that tells the source, and its value.
fn source(dice: &mut Dice) -> (&'static str, Value) {
    match dice.below(100) {
        0..34 => {
            let driver = if dice.percent(80) {
                DRIVERS[0]
            } else {
                dice.pick(&DRIVERS)
            };
            (
                "csi",
                json!({ "driver": driver, "volumeHandle": format!("handle-{}", dice.below(12)) }),
            )
        }
        34..48 => ("local", json!({ "path": "/mnt/disk" })),
        48..54 => ("hostPath", json!({ "path": "/mnt/path" })),
        54..58 => ("nfs", json!({ "server": "nfs.example.com", "path": "/" })),
        58..60 => (
            "iscsi",
            json!({ "targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-01.com.example:a", "lun": 0 }),
        ),
        60..62 => (
            "rbd",
            json!({ "monitors": ["m1"], "image": "a", "pool": "rbd", "user": "admin", "keyring": "/k" }),
        ),
        _ => in_tree(dice),
    }
}

fn in_tree(dice: &mut Dice) -> (&'static str, Value) {
    match dice.below(20) {
        0..6 => {
            let id = dice.seldom(
                12,
                &["vol-1", "vol-2", "aws://z1/vol-1", "aws:///vol-3"],
                &["aws://z1/disk", "aws:///vol-1/x"],
            );
            ("awsElasticBlockStore", json!({ "volumeID": id }))
        }
        6..11 => (
            "gcePersistentDisk",
            json!({ "pdName": dice.pick(&["disk-1", "disk-2", "disk-3"]) }),
        ),
        11..14 => {
            let disk = if dice.percent(85) {
                json!({ "diskName": "d", "diskURI": PATH, "kind": "Managed" })
            } else {
                let kind = dice.pick(&["Shared", "Dedicated"]);
                json!({ "diskName": "d", "diskURI": "https://a.blob.core.windows.net/c/d.vhd", "kind": kind })
            };
            ("azureDisk", disk)
        }
        14 => (
            "azureFile",
            json!({ "secretName": "s", "shareName": "share", "secretNamespace": "default" }),
        ),
        15..17 => ("cinder", json!({ "volumeID": dice.pick(&["c-1", "c-2"]) })),
        17 | 18 => ("portworxVolume", json!({ "volumeID": dice.pick(&["p-1", "p-2"]) })),
        _ => ("vsphereVolume", json!({ "volumePath": "[store] disk" })),
    }
}
