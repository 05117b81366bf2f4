//! Volumes that stand in the pod itself.

use serde_json::{Value, json};

use super::DRIVERS;
use crate::dice::Dice;

/// By a CSI driver. Nobody counts those.
pub(super) fn csi(dice: &mut Dice) -> Value {
    json!({ "csi": { "driver": dice.pick(&DRIVERS[..2]) } })
}

/// A disk that pods may not share, or that counts where its kind has moved to a driver.
pub(super) fn in_tree(dice: &mut Dice) -> Value {
    let read_only = dice.percent(50);
    match dice.below(20) {
        0..5 => json!({ "gcePersistentDisk": { "pdName": dice.pick(&["disk-1", "disk-2"]), "readOnly": read_only } }),
        5..9 => {
            let id = dice.seldom(5, &["vol-1", "vol-2", "aws://z1/vol-1"], &["aws://z1/disk"]);
            json!({ "awsElasticBlockStore": { "volumeID": id, "readOnly": read_only } })
        }
        9..11 => {
            let iqn = dice.pick(&["iqn.2026-01.com.example:a", "iqn.2026-01.com.example:b"]);
            let portal = dice.pick(&["10.0.0.1:3260", "10.0.0.2:3260"]);
            json!({ "iscsi": { "targetPortal": portal, "iqn": iqn, "lun": 0, "readOnly": read_only } })
        }
        11..15 => {
            let monitors: &[&str] = dice.one_of(&[&["m1"], &["m1", "m2"], &["m2"], &["m2", "m3"]]);
            let pool = dice.seldom(20, &["rbd"], &["other"]);
            json!({
                "rbd": {
                    "monitors": monitors, "image": dice.pick(&["a", "b"]), "pool": pool, "user": "admin", "keyring": "/k",
                    "readOnly": read_only,
                },
            })
        }
        15 | 16 => {
            let disk = if dice.percent(90) {
                json!({ "diskName": "d", "diskURI": "/subscriptions/s/disks/d", "kind": "Managed" })
            } else {
                json!({ "diskName": "d", "diskURI": "https://a.blob.core.windows.net/c/d.vhd", "kind": "Shared" })
            };
            json!({ "azureDisk": disk })
        }
        17 => json!({ "cinder": { "volumeID": dice.pick(&["c-1", "c-2"]) } }),
        18 => json!({ "portworxVolume": { "volumeID": dice.pick(&["p-1", "p-2"]) } }),
        _ if dice.percent(50) => json!({ "azureFile": { "secretName": "s", "shareName": "share" } }),
        _ => json!({ "vsphereVolume": { "volumePath": "[store] disk" } }),
    }
}
