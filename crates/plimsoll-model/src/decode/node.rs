use std::fmt;
use std::hash::BuildHasher;

use compact_str::CompactString;
use foldhash::quality::FixedState;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{WireUid, WireVersion, or_default};
use crate::{
    Allocatable, Amounts, AvoidedController, Labels, Node, NodeCondition, NodeImage, NodeSpec, NodeStatus,
    ResourceList, Taint,
};

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WireNode::deserialize(deserializer).map(Self::from)
    }
}

#[derive(Deserialize)]
struct WireNode {
    metadata: WireNodeMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireNodeSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: WireNodeStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireNodeMeta {
    name: CompactString,
    uid: WireUid,
    resource_version: WireVersion,
    #[serde(default, deserialize_with = "or_default")]
    labels: Labels,
    #[serde(default, deserialize_with = "or_default")]
    annotations: Annotations,
}

#[derive(Deserialize, Default)]
struct WireNodeSpec {
    #[serde(default, deserialize_with = "or_default")]
    unschedulable: bool,
    #[serde(default, deserialize_with = "or_default")]
    taints: Vec<Taint>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireNodeStatus {
    #[serde(default, deserialize_with = "or_default")]
    allocatable: ResourceList,
    #[serde(default, deserialize_with = "or_default")]
    images: Vec<WireImage>,
    #[serde(default, deserialize_with = "or_default")]
    conditions: Vec<WireCondition>,
    #[serde(default, deserialize_with = "or_default")]
    declared_features: Vec<CompactString>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireImage {
    #[serde(default, deserialize_with = "or_default")]
    names: Vec<CompactString>,
    #[serde(default, deserialize_with = "or_default")]
    size_bytes: i64,
}

#[derive(Deserialize)]
struct WireCondition {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    kind: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    status: CompactString,
}

impl From<WireNode> for Node {
    fn from(wire: WireNode) -> Self {
        let WireNode { metadata, spec, status } = wire;
        Self {
            name: metadata.name,
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            labels: metadata.labels,
            annotations_hash: metadata.annotations.hash,
            avoided_controllers: metadata.annotations.avoided_controllers,
            spec: NodeSpec {
                unschedulable: spec.unschedulable,
                taints: spec.taints,
            },
            status: NodeStatus {
                allocatable: Allocatable::of(&status.allocatable),
                images: status.images.into_iter().map(NodeImage::from).collect(),
                conditions: status.conditions.into_iter().map(NodeCondition::from).collect(),
                declared_features: status.declared_features,
            },
            raw: None,
        }
    }
}

impl Allocatable {
    /// The accounted amounts of a resource list, and its `pods`.
    pub fn of(list: &ResourceList) -> Self {
        Self {
            amounts: Amounts::of(list),
            pods: list.get("pods").map_or(0, crate::Quantity::value),
        }
    }
}

impl From<WireImage> for NodeImage {
    fn from(wire: WireImage) -> Self {
        Self {
            names: wire.names.into(),
            size_bytes: wire.size_bytes,
        }
    }
}

impl From<WireCondition> for NodeCondition {
    fn from(wire: WireCondition) -> Self {
        Self {
            kind: wire.kind,
            status: wire.status,
        }
    }
}

/// Annotations are large and hardly anybody reads them; mostly it is only asked whether they changed.
#[derive(Default)]
struct Annotations {
    hash: u64,
    avoided_controllers: Vec<AvoidedController>,
}

const PREFER_AVOID_PODS: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Annotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
                let state = FixedState::default();
                let mut annotations = Annotations::default();
                while let Some(pair) = map.next_entry::<CompactString, Option<CompactString>>()? {
                    annotations.hash = annotations.hash.wrapping_add(state.hash_one(&pair));
                    if let (PREFER_AVOID_PODS, Some(text)) = (pair.0.as_str(), &pair.1) {
                        annotations.avoided_controllers = avoided_controllers(text);
                    }
                }
                Ok(annotations)
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAvoidPods {
    #[serde(default, deserialize_with = "or_default")]
    prefer_avoid_pods: Vec<WireAvoidPodsEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAvoidPodsEntry {
    #[serde(default, deserialize_with = "or_default")]
    pod_signature: WirePodSignature,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WirePodSignature {
    #[serde(default)]
    pod_controller: Option<WireController>,
}

#[derive(Deserialize)]
struct WireController {
    #[serde(default, deserialize_with = "or_default")]
    kind: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    uid: CompactString,
}

/// A text that can't be read avoids nobody.
fn avoided_controllers(text: &str) -> Vec<AvoidedController> {
    let entries =
        serde_json::from_str::<WireAvoidPods>(text).map_or_else(|_| Vec::new(), |wire| wire.prefer_avoid_pods);
    let controllers = entries
        .into_iter()
        .filter_map(|entry| entry.pod_signature.pod_controller);
    controllers
        .map(|controller| AvoidedController {
            kind: controller.kind,
            uid: controller.uid,
        })
        .collect()
}
