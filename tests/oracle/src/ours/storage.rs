use std::sync::Arc;

use anyhow::Context;
use plimsoll_model::storage::{StorageKind, StorageObject};
use plimsoll_model::{
    decode_csi_driver, decode_csi_node, decode_csi_storage_capacity, decode_persistent_volume,
    decode_persistent_volume_claim, decode_storage_class, decode_volume_attachment,
};
use serde_json::Value;

use super::bytes;
use crate::case::Case;

/// A case's objects of storage, by kind.
pub(crate) fn of_case(case: &Case) -> [(StorageKind, &[Value]); 7] {
    [
        (StorageKind::StorageClass, &case.storage_classes),
        (StorageKind::CsiDriver, &case.csi_drivers),
        (StorageKind::CsiNode, &case.csi_nodes),
        (StorageKind::CsiStorageCapacity, &case.csi_storage_capacities),
        (StorageKind::VolumeAttachment, &case.volume_attachments),
        (StorageKind::PersistentVolume, &case.persistent_volumes),
        (StorageKind::PersistentVolumeClaim, &case.persistent_volume_claims),
    ]
}

pub(crate) fn decode(kind: StorageKind, object: &Value) -> anyhow::Result<StorageObject> {
    let json = &bytes(object);
    Ok(match kind {
        StorageKind::StorageClass => Arc::new(decode_storage_class(json)?).into(),
        StorageKind::CsiDriver => Arc::new(decode_csi_driver(json)?).into(),
        StorageKind::CsiNode => Arc::new(decode_csi_node(json)?).into(),
        StorageKind::CsiStorageCapacity => Arc::new(decode_csi_storage_capacity(json)?).into(),
        StorageKind::VolumeAttachment => Arc::new(decode_volume_attachment(json)?).into(),
        StorageKind::PersistentVolume => Arc::new(decode_persistent_volume(json)?).into(),
        StorageKind::PersistentVolumeClaim => Arc::new(decode_persistent_volume_claim(json)?).into(),
    })
}

/// An object that tells its kind.
pub(crate) fn decode_told(object: &Value) -> anyhow::Result<StorageObject> {
    let told = object["kind"].as_str().unwrap_or_default();
    let mut kinds = StorageKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.as_str() == told);
    decode(kind.with_context(|| format!("{told:?} is no kind of storage"))?, object)
}
