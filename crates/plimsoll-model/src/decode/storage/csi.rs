use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Deserializer;

use super::bytes;
use crate::LabelSelector;
use crate::ObjectName;
use crate::decode::{WireMeta, WireUid, WireVersion, non_empty, or_default};
use crate::storage::{CsiDriver, CsiNode, CsiNodeDriver, CsiStorageCapacity};

#[derive(Deserialize)]
struct WireDriver {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireDriverSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireDriverSpec {
    #[serde(default, deserialize_with = "or_default")]
    storage_capacity: bool,
    #[serde(default, deserialize_with = "or_default")]
    prevent_pod_scheduling_if_missing: bool,
}

impl<'de> Deserialize<'de> for CsiDriver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WireDriver { metadata, spec } = WireDriver::deserialize(deserializer)?;
        Ok(Self {
            name: metadata.object_name(),
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            storage_capacity: spec.storage_capacity,
            prevents_scheduling_if_missing: spec.prevent_pod_scheduling_if_missing,
        })
    }
}

#[derive(Deserialize)]
struct WireCsiNode {
    metadata: WireCsiNodeMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireCsiNodeSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCsiNodeMeta {
    name: CompactString,
    uid: WireUid,
    resource_version: WireVersion,
    #[serde(default, deserialize_with = "or_default")]
    annotations: WireCsiNodeAnnotations,
}

#[derive(Deserialize, Default)]
struct WireCsiNodeAnnotations {
    #[serde(
        default,
        rename = "storage.alpha.kubernetes.io/migrated-plugins",
        deserialize_with = "non_empty"
    )]
    migrated_plugins: Option<CompactString>,
}

#[derive(Deserialize, Default)]
struct WireCsiNodeSpec {
    #[serde(default, deserialize_with = "or_default")]
    drivers: Vec<WireCsiNodeDriver>,
}

#[derive(Deserialize)]
struct WireCsiNodeDriver {
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    allocatable: WireAllocatable,
}

#[derive(Deserialize, Default)]
struct WireAllocatable {
    #[serde(default)]
    count: Option<i32>,
}

impl<'de> Deserialize<'de> for CsiNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WireCsiNode { metadata, spec } = WireCsiNode::deserialize(deserializer)?;
        let plugins = metadata.annotations.migrated_plugins;
        let plugins = plugins.iter().flat_map(|plugins| plugins.split(','));
        Ok(Self {
            name: ObjectName::new("", metadata.name),
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            migrated_plugins: plugins.map(CompactString::from).collect(),
            drivers: spec.drivers.into_iter().map(CsiNodeDriver::from).collect(),
        })
    }
}

impl From<WireCsiNodeDriver> for CsiNodeDriver {
    fn from(wire: WireCsiNodeDriver) -> Self {
        Self {
            name: wire.name,
            limit: wire.allocatable.count,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCapacity {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    storage_class_name: CompactString,
    #[serde(default)]
    node_topology: Option<LabelSelector>,
    #[serde(default, deserialize_with = "bytes")]
    capacity: Option<i64>,
    #[serde(default, deserialize_with = "bytes")]
    maximum_volume_size: Option<i64>,
}

impl<'de> Deserialize<'de> for CsiStorageCapacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireCapacity::deserialize(deserializer)?;
        Ok(Self {
            name: wire.metadata.object_name(),
            uid: wire.metadata.uid.0,
            resource_version: wire.metadata.resource_version.0,
            class: wire.storage_class_name,
            node_topology: wire.node_topology,
            capacity: wire.capacity,
            maximum_volume_size: wire.maximum_volume_size,
        })
    }
}
