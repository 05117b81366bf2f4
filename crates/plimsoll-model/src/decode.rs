use compact_str::CompactString;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, de};

use crate::storage::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageKind,
    VolumeAttachment,
};
use crate::{DisruptionBudget, Namespace, Node, ObjectName, Pod, ResourceVersion, Uid, WorkloadKind, WorkloadSelector};

mod disruption_budget;
mod namespace;
mod node;
mod pod;
mod storage;
#[cfg(test)]
mod tests;
mod workload_selector;

use workload_selector::{WireLabelled, WireSelecting};

/// An object that can't be read. It concerns that object alone; [`decode_metadata`] may still tell which it is.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode {kind}: {source}")]
pub struct DecodeError {
    kind: &'static str,
    source: serde_json::Error,
}

impl DecodeError {
    /// An object of this kind could not be read, for this reason.
    pub fn of(kind: &'static str, source: serde_json::Error) -> Self {
        Self { kind, source }
    }
}

/// Just enough to tell which object something is, for those that can't be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMetaHead {
    /// Empty for cluster-wide kinds.
    pub namespace: CompactString,
    /// Name of the object.
    pub name: CompactString,
    /// Its identity.
    pub uid: Uid,
    /// Its version.
    pub resource_version: ResourceVersion,
}

/// Reads a pod from JSON. What the scheduler does not read is skipped, nulls count as absent.
pub fn decode_pod(json: &[u8]) -> Result<Pod, DecodeError> {
    decode("pod", json)
}

/// Reads a node from JSON. What the scheduler does not read is skipped, nulls count as absent.
pub fn decode_node(json: &[u8]) -> Result<Node, DecodeError> {
    decode("node", json)
}

/// Reads a namespace from JSON; all but its labels is skipped.
pub fn decode_namespace(json: &[u8]) -> Result<Namespace, DecodeError> {
    decode("namespace", json)
}

/// Reads the selector of a service, replication controller, replica set or stateful set from its JSON; all else is
/// skipped.
pub fn decode_workload_selector(kind: WorkloadKind, json: &[u8]) -> Result<WorkloadSelector, DecodeError> {
    match kind {
        WorkloadKind::Service | WorkloadKind::ReplicationController => {
            decode::<WireLabelled>(kind.as_str(), json).map(|object| object.into_selector(kind))
        }
        WorkloadKind::ReplicaSet | WorkloadKind::StatefulSet => {
            decode::<WireSelecting>(kind.as_str(), json).map(|object| object.into_selector(kind))
        }
    }
}

/// Reads a pod disruption budget of `policy/v1` from JSON; its selector need not be valid.
pub fn decode_disruption_budget(json: &[u8]) -> Result<DisruptionBudget, DecodeError> {
    decode("pod disruption budget", json)
}

/// Reads a `PersistentVolume` from JSON. An access mode or phase that no API server writes is taken as the type says, a
/// volume mode for a file system.
pub fn decode_persistent_volume(json: &[u8]) -> Result<PersistentVolume, DecodeError> {
    decode(StorageKind::PersistentVolume.as_str(), json)
}

/// Reads a `PersistentVolumeClaim` from JSON; its selector need not be valid.
pub fn decode_persistent_volume_claim(json: &[u8]) -> Result<PersistentVolumeClaim, DecodeError> {
    decode(StorageKind::PersistentVolumeClaim.as_str(), json)
}

/// Reads a `StorageClass` from JSON. A binding mode that no API server writes is `Immediate`.
pub fn decode_storage_class(json: &[u8]) -> Result<StorageClass, DecodeError> {
    decode(StorageKind::StorageClass.as_str(), json)
}

/// Reads a `CSIDriver` from JSON.
pub fn decode_csi_driver(json: &[u8]) -> Result<CsiDriver, DecodeError> {
    decode(StorageKind::CsiDriver.as_str(), json)
}

/// Reads a `CSINode` from JSON.
pub fn decode_csi_node(json: &[u8]) -> Result<CsiNode, DecodeError> {
    decode(StorageKind::CsiNode.as_str(), json)
}

/// Reads a `CSIStorageCapacity` from JSON; its topology need not be valid.
pub fn decode_csi_storage_capacity(json: &[u8]) -> Result<CsiStorageCapacity, DecodeError> {
    decode(StorageKind::CsiStorageCapacity.as_str(), json)
}

/// Reads a `VolumeAttachment` from JSON.
pub fn decode_volume_attachment(json: &[u8]) -> Result<VolumeAttachment, DecodeError> {
    decode(StorageKind::VolumeAttachment.as_str(), json)
}

/// Reads only the identity from the JSON of any object.
pub fn decode_metadata(json: &[u8]) -> Result<ObjectMetaHead, DecodeError> {
    let object: WireHead = decode("object metadata", json)?;
    let WireMeta {
        namespace,
        name,
        uid,
        resource_version,
    } = object.metadata;
    Ok(ObjectMetaHead {
        namespace,
        name,
        uid: uid.0,
        resource_version: resource_version.0,
    })
}

fn decode<T: DeserializeOwned>(kind: &'static str, json: &[u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(json).map_err(|source| DecodeError { kind, source })
}

/// A field for which null means the same as absence.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A text for which empty means the same as absence.
fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CompactString>, D::Error> {
    Ok(Option::<CompactString>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

#[derive(Deserialize)]
struct WireHead {
    metadata: WireMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    #[serde(default, deserialize_with = "or_default")]
    namespace: CompactString,
    name: CompactString,
    uid: WireUid,
    resource_version: WireVersion,
}

impl WireMeta {
    fn object_name(&self) -> ObjectName {
        ObjectName {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// A UID that is not empty: everything is kept by it.
struct WireUid(Uid);

impl<'de> Deserialize<'de> for WireUid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = CompactString::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(de::Error::custom("empty uid"));
        }
        Ok(Self(Uid::new(text)))
    }
}

struct WireVersion(ResourceVersion);

impl<'de> Deserialize<'de> for WireVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = CompactString::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}
