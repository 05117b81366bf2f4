use serde_json::{Value, json};

use super::HintCase;
use crate::dice::Dice;
use crate::generate::{
    any_attachment, any_capacity, any_claim, any_class, any_csi_node, any_driver, any_volume, claims_of, pod_labels,
    topologies,
};

const ZONE_LABELS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// The kinds of storage, by what makes one that could matter to a pod and what alters it.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Class,
    Driver,
    CsiNode,
    Capacity,
    Attachment,
    Volume,
    Claim,
}

const KINDS: [Kind; 7] = [
    Kind::Class,
    Kind::Driver,
    Kind::CsiNode,
    Kind::Capacity,
    Kind::Attachment,
    Kind::Volume,
    Kind::Claim,
];

/// An object of storage that is new, gone or altered.
pub(super) fn change(dice: &mut Dice, case: &mut HintCase) {
    let kind = dice.one_of(&KINDS);
    let mut old = kind.any(dice, &case.cluster.pod);
    old["apiVersion"] = json!(match kind {
        Kind::Volume | Kind::Claim => "v1",
        _ => "storage.k8s.io/v1",
    });
    old["kind"] = json!(kind.name());
    match dice.below(20) {
        0..5 => case.new_storage = Some(old),
        5..9 => case.old_storage = Some(old),
        _ => {
            let mut new = old.clone();
            new["metadata"]["resourceVersion"] = json!("2");
            for _ in 0..super::how_many(dice) {
                kind.alter(dice, &mut new);
            }
            case.old_storage = Some(old);
            case.new_storage = Some(new);
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Class => "StorageClass",
            Self::Driver => "CSIDriver",
            Self::CsiNode => "CSINode",
            Self::Capacity => "CSIStorageCapacity",
            Self::Attachment => "VolumeAttachment",
            Self::Volume => "PersistentVolume",
            Self::Claim => "PersistentVolumeClaim",
        }
    }

    fn any(self, dice: &mut Dice, waiting: &Value) -> Value {
        match self {
            Self::Class => any_class(dice),
            Self::Driver => {
                let name = driver_of(dice, waiting);
                any_driver(dice, &name)
            }
            Self::CsiNode => any_csi_node(dice, "n0", false),
            Self::Capacity => any_capacity(dice, "capacity"),
            Self::Attachment => any_attachment(dice, "attachment", 3),
            Self::Volume => any_volume(dice, "volume-0", 3, 60),
            Self::Claim => {
                let name = claim_of(dice, waiting);
                let own = waiting["metadata"]["namespace"].clone();
                let namespace = if dice.percent(85) { own } else { json!("team-b") };
                any_claim(dice, &name, &namespace)
            }
        }
    }

    /// What the API server lets be altered, and what it does not where a plugin looks at it.
    fn alter(self, dice: &mut Dice, object: &mut Value) {
        match self {
            Self::Class => match dice.below(3) {
                0 => object["allowedTopologies"] = topologies(dice),
                1 => remove(object, "allowedTopologies"),
                _ => object["metadata"]["labels"] = Value::Object(pod_labels(dice)),
            },
            Self::Driver => match dice.below(4) {
                0 | 1 => object["spec"]["storageCapacity"] = json!(dice.percent(40)),
                2 => remove(&mut object["spec"], "storageCapacity"),
                _ => object["spec"]["preventPodSchedulingIfMissing"] = json!(dice.percent(50)),
            },
            Self::CsiNode => {
                let other = any_csi_node(dice, "n0", false);
                match dice.below(4) {
                    0 => object["metadata"]["annotations"] = other["metadata"]["annotations"].clone(),
                    1 => limit(dice, object),
                    2 => object["spec"] = other["spec"].clone(),
                    _ => object["metadata"]["labels"] = Value::Object(pod_labels(dice)),
                }
                if object["metadata"]["annotations"].is_null() {
                    remove(&mut object["metadata"], "annotations");
                }
            }
            Self::Capacity => {
                let field = dice.pick(&["capacity", "capacity", "maximumVolumeSize"]);
                if dice.percent(20) {
                    remove(object, field);
                } else {
                    object[field] = json!(dice.pick(&["0", "1Gi", "1024Mi", "5Gi", "20Gi", "100Gi"]));
                }
            }
            Self::Attachment => object["status"]["attached"] = json!(dice.percent(50)),
            Self::Volume => alter_volume(dice, object),
            Self::Claim => match dice.below(4) {
                0 => object["spec"]["volumeName"] = json!("volume-0"),
                1 => object["metadata"]["annotations"] = json!({ "pv.kubernetes.io/bind-completed": "yes" }),
                2 => object["status"]["phase"] = json!(dice.pick(&["Bound", "Lost", "Pending"])),
                _ => object["metadata"]["labels"] = Value::Object(pod_labels(dice)),
            },
        }
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}

fn limit(dice: &mut Dice, node: &mut Value) {
    let drivers = super::elements(node, "/spec/drivers").len();
    if drivers == 0 {
        return;
    }
    let driver = &mut node["spec"]["drivers"][dice.below(drivers)];
    if dice.percent(20) {
        remove(driver, "allocatable");
    } else {
        driver["allocatable"] = json!({ "count": dice.one_of(&[0, 1, 2, 3, 40]) });
    }
}

fn alter_volume(dice: &mut Dice, volume: &mut Value) {
    match dice.below(8) {
        0..3 => {
            let key = dice.pick(&ZONE_LABELS);
            volume["metadata"]["labels"][key] =
                json!(dice.pick(&["z1", "z2", "z1__z2", "z2__z1", "z1__z1", "", "z1____z2"]));
        }
        3 => {
            let key = dice.pick(&ZONE_LABELS);
            if let Some(labels) = volume["metadata"]["labels"].as_object_mut() {
                labels.remove(key);
            }
        }
        4 => volume["status"]["phase"] = json!(dice.pick(&["Available", "Bound", "Released"])),
        5 => volume["spec"]["claimRef"] = json!({ "namespace": "default", "name": "claim-0" }),
        _ => volume["metadata"]["annotations"] = json!({ "note": dice.pick(&["a", "b"]) }),
    }
}

/// Mostly one that the pod uses in line, if there is one.
fn driver_of(dice: &mut Dice, waiting: &Value) -> String {
    let volumes = super::elements(waiting, "/spec/volumes");
    let own = volumes.iter().find_map(|volume| volume["csi"]["driver"].as_str());
    match own {
        Some(own) if dice.percent(75) => own.to_owned(),
        _ => dice.pick(&["disk.csi.example.com", "ebs.csi.aws.com"]).to_owned(),
    }
}

/// Mostly one that the pod uses, also by an ephemeral volume.
fn claim_of(dice: &mut Dice, waiting: &Value) -> String {
    let mut own = claims_of(waiting);
    let pod = waiting["metadata"]["name"].as_str().unwrap_or_default();
    for volume in super::elements(waiting, "/spec/volumes") {
        if volume["ephemeral"].is_object() {
            own.push(format!("{pod}-{}", volume["name"].as_str().unwrap_or_default()));
        }
    }
    if own.is_empty() || dice.percent(35) {
        return dice.pick(&["claim-0", "claim-1", "claim-9"]).to_owned();
    }
    own.swap_remove(dice.below(own.len()))
}
