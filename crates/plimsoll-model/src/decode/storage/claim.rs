use std::fmt;

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{WireStorage, access_modes, class, volume_mode};
use crate::LabelSelector;
use crate::decode::{WireUid, WireVersion, or_default};
use crate::storage::{ClaimPhase, PersistentVolumeClaim};
use crate::{ObjectName, Uid};

#[derive(Deserialize)]
struct WirePersistentVolumeClaim {
    metadata: WireClaimMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireClaimSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: WireClaimStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireClaimMeta {
    #[serde(default, deserialize_with = "or_default")]
    namespace: CompactString,
    name: CompactString,
    uid: WireUid,
    resource_version: WireVersion,
    #[serde(default)]
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "or_default")]
    owner_references: Vec<WireOwner>,
    #[serde(default, deserialize_with = "or_default")]
    annotations: WireClaimAnnotations,
}

#[derive(Deserialize)]
struct WireOwner {
    #[serde(default, deserialize_with = "or_default")]
    controller: bool,
    #[serde(default, deserialize_with = "or_default")]
    uid: CompactString,
}

/// Whether there are any counts, so that they are not left to a derived decoder.
#[derive(Default)]
struct WireClaimAnnotations {
    any: bool,
    class: Option<CompactString>,
    selected_node: Option<CompactString>,
    bind_completed: bool,
}

impl<'de> Deserialize<'de> for WireClaimAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnnotationsVisitor)
    }
}

struct AnnotationsVisitor;

impl<'de> Visitor<'de> for AnnotationsVisitor {
    type Value = WireClaimAnnotations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("annotations")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut annotations = WireClaimAnnotations::default();
        while let Some(key) = map.next_key::<CompactString>()? {
            annotations.any = true;
            match key.as_str() {
                "volume.beta.kubernetes.io/storage-class" => annotations.class = Some(map.next_value::<Text>()?.0),
                "volume.kubernetes.io/selected-node" => annotations.selected_node = Some(map.next_value::<Text>()?.0),
                "pv.kubernetes.io/bind-completed" => {
                    map.next_value::<IgnoredAny>()?;
                    annotations.bind_completed = true;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(annotations)
    }
}

/// The value of an annotation. As in Go's maps, null is an empty one.
#[derive(Deserialize)]
struct Text(#[serde(deserialize_with = "or_default")] CompactString);

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireClaimSpec {
    #[serde(default, deserialize_with = "or_default")]
    storage_class_name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    volume_name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    access_modes: Vec<CompactString>,
    #[serde(default)]
    volume_mode: Option<CompactString>,
    #[serde(default)]
    selector: Option<LabelSelector>,
    #[serde(default)]
    volume_attributes_class_name: Option<CompactString>,
    #[serde(default, deserialize_with = "or_default")]
    resources: WireClaimResources,
}

#[derive(Deserialize, Default)]
struct WireClaimResources {
    #[serde(default, deserialize_with = "or_default")]
    requests: WireStorage,
}

#[derive(Deserialize, Default)]
struct WireClaimStatus {
    #[serde(default, deserialize_with = "or_default")]
    phase: CompactString,
}

impl<'de> Deserialize<'de> for PersistentVolumeClaim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WirePersistentVolumeClaim { metadata, spec, status } =
            WirePersistentVolumeClaim::deserialize(deserializer)?;
        let mut owners = metadata.owner_references.into_iter();
        let controller = owners.find(|owner| owner.controller);
        Ok(Self {
            name: ObjectName {
                namespace: metadata.namespace,
                name: metadata.name,
            },
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            deleting: metadata.deletion_timestamp.is_some(),
            controller: controller.map(|owner| Uid::new(owner.uid)),
            class: class(metadata.annotations.class, spec.storage_class_name),
            volume: spec.volume_name,
            annotated: metadata.annotations.any,
            bind_completed: metadata.annotations.bind_completed,
            selected_node: metadata.annotations.selected_node,
            requested: spec.resources.requests.storage,
            access_modes: access_modes(&spec.access_modes),
            volume_mode: spec.volume_mode.as_deref().map(volume_mode),
            selector: spec.selector,
            attributes_class: spec.volume_attributes_class_name,
            phase: phase(&status.phase),
        })
    }
}

fn phase(name: &str) -> ClaimPhase {
    match name {
        "Bound" => ClaimPhase::Bound,
        "Lost" => ClaimPhase::Lost,
        _ => ClaimPhase::Pending,
    }
}
