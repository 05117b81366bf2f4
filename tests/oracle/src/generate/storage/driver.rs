//! What CSI drivers say of themselves, of nodes and of the room they have, and what is attached.

use serde_json::{Map, Value, json};

use super::{Class, DRIVERS, Habits, IN_TREE, Store, gibibytes, metadata};
use crate::dice::Dice;
use crate::generate::node::{HOSTNAME, ZONE};

const MIGRATED: &str = "storage.alpha.kubernetes.io/migrated-plugins";
const ZONES: [&str; 3] = ["z1", "z2", "z3"];

impl Store<'_> {
    /// At most one of them forbids nodes without it: of several the message names any.
    pub(super) fn add_drivers(&mut self, dice: &mut Dice) {
        let strict = dice.pick(&DRIVERS[..3]);
        for name in DRIVERS {
            if dice.percent(if name == DRIVERS[0] { 85 } else { 35 }) {
                let mut driver = any_driver(dice, name);
                if self.scores_room && dice.percent(70) {
                    driver["spec"]["storageCapacity"] = json!(true);
                }
                if name == strict && dice.percent(70) {
                    driver["spec"]["preventPodSchedulingIfMissing"] = json!(true);
                }
                self.case.csi_drivers.push(driver);
            }
        }
    }

    pub(super) fn add_csi_nodes(&mut self, dice: &mut Dice) {
        let names: Vec<Value> = self
            .case
            .nodes
            .iter()
            .map(|node| node["metadata"]["name"].clone())
            .collect();
        let tight = self.habits == Habits::Contended;
        for name in names {
            if dice.percent(82) {
                let node = any_csi_node(dice, name.as_str().unwrap_or_default(), tight);
                self.case.csi_nodes.push(node);
            }
        }
    }

    /// Room for volumes of classes whose driver tells of it.
    pub(super) fn add_capacities(&mut self, dice: &mut Dice) {
        for class in self.classes.clone() {
            if self.scores_room {
                self.add_room_apart(dice, &class);
                continue;
            }
            for number in 0..dice.one_of(&[0, 1, 1, 2, 3]) {
                let mut capacity = any_capacity(dice, &format!("{}-{number}", class.name));
                capacity["storageClassName"] = json!(class.name);
                self.case.csi_storage_capacities.push(capacity);
            }
        }
    }

    /// No node reaches two: whichever is found first would make the score.
    fn add_room_apart(&mut self, dice: &mut Dice, class: &Class) {
        let hosts: Vec<String> = (0..self.case.nodes.len()).map(|number| format!("n{number}")).collect();
        let (key, places) = if dice.percent(65) {
            (HOSTNAME, hosts)
        } else {
            (ZONE, ZONES.map(ToOwned::to_owned).into())
        };
        for place in places {
            if dice.percent(80) {
                let amount = dice.between(4, 80);
                self.case.csi_storage_capacities.push(json!({
                    "metadata": namespaced(&format!("{}-{place}", class.name)),
                    "storageClassName": class.name,
                    "nodeTopology": { "matchLabels": { key: place } },
                    "capacity": gibibytes(dice, amount),
                }));
            }
        }
    }

    pub(super) fn add_attachments(&mut self, dice: &mut Dice) {
        // What is attached does not go with its pod.
        let most = if self.habits == Habits::Contended {
            2
        } else {
            2 * self.case.nodes.len()
        };
        for number in 0..dice.below(most + 1) {
            let node = self.some_node(dice);
            let volumes = self.case.persistent_volumes.len();
            let mut attachment = any_attachment(dice, &format!("attachment-{number}"), volumes);
            attachment["spec"]["nodeName"] = json!(node);
            self.case.volume_attachments.push(attachment);
        }
    }
}

/// A driver that may tell what room it has.
pub(crate) fn any_driver(dice: &mut Dice, name: &str) -> Value {
    let mut spec = json!({ "attachRequired": true, "podInfoOnMount": false });
    if dice.percent(80) {
        spec["storageCapacity"] = json!(dice.percent(60));
    }
    json!({ "metadata": metadata(name), "spec": spec })
}

/// What drivers say of a node: limits that are soon reached, or none.
pub(crate) fn any_csi_node(dice: &mut Dice, name: &str, tight: bool) -> Value {
    let mut node = json!({ "metadata": metadata(name) });
    if dice.percent(80) {
        let migrated: Vec<&str> = IN_TREE.into_iter().filter(|_| dice.percent(75)).collect();
        node["metadata"]["annotations"] = json!({ MIGRATED: migrated.join(",") });
    }
    let mut drivers = Vec::new();
    for driver in DRIVERS {
        if !dice.percent(if driver == DRIVERS[0] { 90 } else { 40 }) {
            continue;
        }
        let mut entry = json!({ "name": driver, "nodeID": "id", "topologyKeys": [HOSTNAME] });
        let limit = if tight {
            dice.one_of(&[1, 1, 2, 2, 3, 4])
        } else {
            dice.one_of(&[0, 1, 1, 2, 3, 5, 39])
        };
        match dice.below(10) {
            0..7 => entry["allocatable"] = json!({ "count": limit }),
            7 => entry["allocatable"] = json!({}),
            _ => {}
        }
        drivers.push(entry);
    }
    node["spec"] = json!({ "drivers": drivers });
    node
}

/// Room in one part of the cluster.
pub(crate) fn any_capacity(dice: &mut Dice, name: &str) -> Value {
    let mut capacity = json!({ "metadata": namespaced(name), "storageClassName": "class-0" });
    let amount = |dice: &mut Dice| {
        if dice.percent(12) {
            return dice.pick(&["0", "1", "1e9", "100Ti"]).to_owned();
        }
        let amount = dice.between(1, 24);
        gibibytes(dice, amount)
    };
    if dice.percent(90) {
        capacity["capacity"] = json!(amount(dice));
    }
    if dice.percent(25) {
        capacity["maximumVolumeSize"] = json!(amount(dice));
    }
    match dice.below(20) {
        0 => {}
        1..5 => capacity["nodeTopology"] = json!({}),
        5..9 => {
            let hosts: Vec<String> = (0..dice.between(1, 4)).map(|_| format!("n{}", dice.below(6))).collect();
            let expression = json!({ "key": HOSTNAME, "operator": "In", "values": hosts });
            capacity["nodeTopology"] = json!({ "matchExpressions": [expression] });
        }
        _ => capacity["nodeTopology"] = json!({ "matchLabels": { ZONE: dice.pick(&ZONES) } }),
    }
    capacity
}

/// An attachment of one of so many volumes, or of one that is gone, or that stands in a pod.
pub(crate) fn any_attachment(dice: &mut Dice, name: &str, volumes: usize) -> Value {
    let attacher = if dice.percent(75) {
        DRIVERS[0]
    } else {
        dice.pick(&DRIVERS)
    };
    let source = if dice.percent(95) {
        json!({ "persistentVolumeName": format!("volume-{}", dice.below(volumes + 1)) })
    } else {
        let csi = json!({ "driver": attacher, "volumeHandle": "handle-0" });
        json!({ "inlineVolumeSpec": { "csi": csi, "accessModes": ["ReadWriteOnce"] } })
    };
    json!({
        "metadata": metadata(name),
        "spec": { "attacher": attacher, "nodeName": "n0", "source": source },
        "status": { "attached": dice.percent(80) },
    })
}

fn namespaced(name: &str) -> Value {
    let mut metadata = Map::new();
    for (field, value) in [
        ("name", name),
        ("uid", name),
        ("resourceVersion", "1"),
        ("namespace", "kube-system"),
    ] {
        metadata.insert(field.to_owned(), json!(value));
    }
    Value::Object(metadata)
}
