//! Volumes, claims, classes and what CSI drivers say, out of JSON.

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Deserializer;

use super::{WireMeta, non_empty, or_default};
use crate::Quantity;
use crate::storage::{AccessModes, VolumeAttachment, VolumeMode};

mod claim;
mod csi;
mod storage_class;
mod volume;

/// A text whose absence says something else than an empty one. As in Go's maps, null is an empty one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CompactString>, D::Error> {
    or_default(deserializer).map(Some)
}

/// Bytes, rounded up.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let quantity = Option::<Quantity>::deserialize(deserializer)?;
    Ok(quantity.map(|quantity| quantity.value()))
}

/// A resource list of which only the storage counts.
#[derive(Deserialize, Default)]
struct WireStorage {
    #[serde(default, deserialize_with = "bytes")]
    storage: Option<i64>,
}

fn access_modes(names: &[CompactString]) -> AccessModes {
    names
        .iter()
        .fold(AccessModes::NONE, |modes, name| modes | AccessModes::of_name(name))
}

/// The API server lets no third one through.
fn volume_mode(name: &str) -> VolumeMode {
    match name {
        "Block" => VolumeMode::Block,
        _ => VolumeMode::Filesystem,
    }
}

/// The name of a class: the annotation counts if it is there, also when it is empty.
fn class(annotation: Option<CompactString>, field: CompactString) -> CompactString {
    annotation.unwrap_or(field)
}

#[derive(Deserialize)]
struct WireAttachment {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireAttachmentSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireAttachmentSpec {
    #[serde(default, deserialize_with = "or_default")]
    attacher: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    node_name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    source: WireAttachmentSource,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireAttachmentSource {
    #[serde(default, deserialize_with = "non_empty")]
    persistent_volume_name: Option<CompactString>,
}

impl<'de> Deserialize<'de> for VolumeAttachment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WireAttachment { metadata, spec } = WireAttachment::deserialize(deserializer)?;
        Ok(Self {
            name: metadata.object_name(),
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            attacher: spec.attacher,
            node: spec.node_name,
            volume: spec.source.persistent_volume_name,
        })
    }
}
