use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Deserializer;

use crate::decode::{WireMeta, or_default};
use crate::storage::{StorageClass, TopologySelectorTerm, VolumeBindingMode};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireStorageClass {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    provisioner: CompactString,
    #[serde(default)]
    volume_binding_mode: Option<CompactString>,
    #[serde(default, deserialize_with = "or_default")]
    allowed_topologies: Vec<WireTopologyTerm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTopologyTerm {
    #[serde(default, deserialize_with = "or_default")]
    match_label_expressions: Vec<WireExpression>,
}

#[derive(Deserialize)]
struct WireExpression {
    #[serde(default, deserialize_with = "or_default")]
    key: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    values: Vec<CompactString>,
}

impl<'de> Deserialize<'de> for StorageClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireStorageClass::deserialize(deserializer)?;
        Ok(Self {
            name: wire.metadata.object_name(),
            uid: wire.metadata.uid.0,
            resource_version: wire.metadata.resource_version.0,
            provisioner: wire.provisioner,
            binding_mode: wire.volume_binding_mode.as_deref().map(binding_mode),
            allowed_topologies: wire
                .allowed_topologies
                .into_iter()
                .map(TopologySelectorTerm::from)
                .collect(),
        })
    }
}

impl From<WireTopologyTerm> for TopologySelectorTerm {
    fn from(wire: WireTopologyTerm) -> Self {
        let expressions = wire.match_label_expressions.into_iter();
        Self {
            expressions: expressions
                .map(|expression| (expression.key, expression.values))
                .collect(),
        }
    }
}

/// Whatever does not wait does not wait.
fn binding_mode(name: &str) -> VolumeBindingMode {
    match name {
        "WaitForFirstConsumer" => VolumeBindingMode::WaitForFirstConsumer,
        _ => VolumeBindingMode::Immediate,
    }
}
