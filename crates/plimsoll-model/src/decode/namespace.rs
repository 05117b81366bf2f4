use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Deserializer;

use super::{WireUid, WireVersion, or_default};
use crate::{Labels, Namespace};

impl<'de> Deserialize<'de> for Namespace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WireNamespace { metadata } = WireNamespace::deserialize(deserializer)?;
        Ok(Self {
            name: metadata.name,
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            labels: metadata.labels,
        })
    }
}

#[derive(Deserialize)]
struct WireNamespace {
    metadata: WireNamespaceMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireNamespaceMeta {
    name: CompactString,
    uid: WireUid,
    resource_version: WireVersion,
    #[serde(default, deserialize_with = "or_default")]
    labels: Labels,
}
