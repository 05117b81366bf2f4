use compact_str::CompactString;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use super::{WireStorage, access_modes, class, present, volume_mode};
use crate::decode::{WireUid, WireVersion, non_empty, or_default};
use crate::storage::{ClaimReference, PersistentVolume, VolumePhase, VolumeSource};
use crate::{Labels, NodeSelectorTerm, ObjectName, Uid};

#[derive(Deserialize)]
struct WirePersistentVolume {
    metadata: WireVolumeMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireVolumeSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: WireVolumeStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireVolumeMeta {
    name: CompactString,
    uid: WireUid,
    resource_version: WireVersion,
    #[serde(default, deserialize_with = "or_default")]
    labels: Labels,
    #[serde(default)]
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "or_default")]
    annotations: WireVolumeAnnotations,
}

#[derive(Deserialize, Default)]
struct WireVolumeAnnotations {
    #[serde(
        default,
        rename = "volume.beta.kubernetes.io/storage-class",
        deserialize_with = "present"
    )]
    class: Option<CompactString>,
    #[serde(
        default,
        rename = "pv.kubernetes.io/bound-by-controller",
        deserialize_with = "present"
    )]
    bound_by_controller: Option<CompactString>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireVolumeSpec {
    #[serde(default, deserialize_with = "or_default")]
    storage_class_name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    capacity: WireStorage,
    #[serde(default, deserialize_with = "or_default")]
    access_modes: Vec<CompactString>,
    #[serde(default)]
    volume_mode: Option<CompactString>,
    #[serde(default)]
    volume_attributes_class_name: Option<CompactString>,
    #[serde(default)]
    claim_ref: Option<WireClaimReference>,
    #[serde(default, deserialize_with = "or_default")]
    node_affinity: WireVolumeAffinity,
    #[serde(default)]
    csi: Option<WireCsi>,
    #[serde(default)]
    gce_persistent_disk: Option<WireGce>,
    #[serde(default)]
    aws_elastic_block_store: Option<WireVolumeId>,
    #[serde(default)]
    azure_disk: Option<WireAzureDisk>,
    #[serde(default)]
    azure_file: Option<WireAzureFile>,
    #[serde(default)]
    cinder: Option<WireVolumeId>,
    #[serde(default)]
    portworx_volume: Option<WireVolumeId>,
    #[serde(default)]
    vsphere_volume: Option<WireVsphere>,
}

#[derive(Deserialize)]
struct WireClaimReference {
    #[serde(default, deserialize_with = "or_default")]
    namespace: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
    #[serde(default, deserialize_with = "non_empty")]
    uid: Option<CompactString>,
}

#[derive(Deserialize, Default)]
struct WireVolumeAffinity {
    #[serde(default)]
    required: Option<WireNodeSelector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireNodeSelector {
    #[serde(default, deserialize_with = "or_default")]
    node_selector_terms: Vec<NodeSelectorTerm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCsi {
    #[serde(default, deserialize_with = "or_default")]
    driver: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    volume_handle: CompactString,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGce {
    #[serde(default, deserialize_with = "or_default")]
    pd_name: CompactString,
}

#[derive(Deserialize)]
struct WireVolumeId {
    #[serde(default, rename = "volumeID", deserialize_with = "or_default")]
    volume_id: CompactString,
}

#[derive(Deserialize)]
struct WireAzureDisk {
    #[serde(default, rename = "diskURI", deserialize_with = "or_default")]
    disk_uri: CompactString,
    #[serde(default)]
    kind: Option<CompactString>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAzureFile {
    #[serde(default, deserialize_with = "or_default")]
    share_name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    secret_name: CompactString,
    #[serde(default)]
    secret_namespace: Option<CompactString>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireVsphere {
    #[serde(default, deserialize_with = "or_default")]
    volume_path: CompactString,
}

#[derive(Deserialize, Default)]
struct WireVolumeStatus {
    #[serde(default, deserialize_with = "or_default")]
    phase: CompactString,
}

impl<'de> Deserialize<'de> for PersistentVolume {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WirePersistentVolume {
            metadata,
            mut spec,
            status,
        } = WirePersistentVolume::deserialize(deserializer)?;
        let source = spec.take_source();
        let terms = spec.node_affinity.required.map(|selector| selector.node_selector_terms);
        Ok(Self {
            name: ObjectName::new("", metadata.name),
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            labels: metadata.labels,
            deleting: metadata.deletion_timestamp.is_some(),
            bound_by_controller: metadata.annotations.bound_by_controller.is_some(),
            class: class(metadata.annotations.class, spec.storage_class_name),
            capacity: spec.capacity.storage,
            access_modes: access_modes(&spec.access_modes),
            volume_mode: spec.volume_mode.as_deref().map(volume_mode),
            attributes_class: spec.volume_attributes_class_name,
            claim: spec.claim_ref.map(ClaimReference::from),
            node_affinity: terms.map(Into::into),
            source,
            phase: phase(&status.phase),
        })
    }
}

impl From<WireClaimReference> for ClaimReference {
    fn from(wire: WireClaimReference) -> Self {
        Self {
            name: ObjectName {
                namespace: wire.namespace,
                name: wire.name,
            },
            uid: wire.uid.map(Uid::new),
        }
    }
}

impl WireVolumeSpec {
    /// The API server lets one source through.
    fn take_source(&mut self) -> VolumeSource {
        if let Some(WireCsi { driver, volume_handle }) = self.csi.take() {
            return VolumeSource::Csi {
                driver,
                handle: volume_handle,
            };
        }
        if let Some(WireGce { pd_name }) = self.gce_persistent_disk.take() {
            return VolumeSource::GcePersistentDisk { pd_name };
        }
        if let Some(WireVolumeId { volume_id }) = self.aws_elastic_block_store.take() {
            return VolumeSource::AwsElasticBlockStore { volume_id };
        }
        if let Some(WireAzureDisk { disk_uri, kind }) = self.azure_disk.take() {
            return VolumeSource::AzureDisk { disk_uri, kind };
        }
        if let Some(file) = self.azure_file.take() {
            return VolumeSource::AzureFile {
                share_name: file.share_name,
                secret_name: file.secret_name,
                secret_namespace: file.secret_namespace,
            };
        }
        if let Some(WireVolumeId { volume_id }) = self.cinder.take() {
            return VolumeSource::Cinder { volume_id };
        }
        if let Some(WireVolumeId { volume_id }) = self.portworx_volume.take() {
            return VolumeSource::Portworx { volume_id };
        }
        match self.vsphere_volume.take() {
            Some(WireVsphere { volume_path }) => VolumeSource::Vsphere { volume_path },
            None => VolumeSource::Other,
        }
    }
}

fn phase(name: &str) -> VolumePhase {
    match name {
        "Available" => VolumePhase::Available,
        "Bound" => VolumePhase::Bound,
        "Released" => VolumePhase::Released,
        "Failed" => VolumePhase::Failed,
        _ => VolumePhase::Pending,
    }
}
