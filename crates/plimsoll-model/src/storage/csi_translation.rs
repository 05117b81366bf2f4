//! In-tree volumes as the CSI volumes that they have become, as kube-scheduler 1.36 translates them (KEP-625).

use std::collections::BTreeSet;
use std::sync::Arc;

use compact_str::{CompactString, format_compact};
use thiserror::Error;

use super::{PersistentVolume, VolumeSource};
use crate::{InTreeVolume, Labels, NodeSelectorTerm, VolumeKind};

#[cfg(test)]
mod tests;
mod topology;

const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const ZONE: &str = "topology.kubernetes.io/zone";
/// Between the zones of one label.
const ZONES_SEPARATOR: &str = "__";
/// What stands for parts of a handle that only the node knows.
const UNSPECIFIED: &str = "UNSPECIFIED";

/// An in-tree volume plugin that a CSI driver has taken the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InTreePlugin {
    /// `kubernetes.io/aws-ebs`.
    AwsElasticBlockStore,
    /// `kubernetes.io/azure-disk`.
    AzureDisk,
    /// `kubernetes.io/azure-file`.
    AzureFile,
    /// `kubernetes.io/cinder`.
    Cinder,
    /// `kubernetes.io/gce-pd`.
    GcePersistentDisk,
    /// `kubernetes.io/portworx-volume`.
    Portworx,
    /// `kubernetes.io/vsphere-volume`.
    Vsphere,
}

/// Why a volume has no CSI counterpart; the texts are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TranslationError {
    /// The identity of an AWS disk is no identity.
    #[error("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({0})")]
    EbsVolumeId(CompactString),
    /// A blob, which the CSI driver does not know.
    #[error("kind({0}) is not supported in csi migration")]
    AzureDiskKind(CompactString),
    /// A zone of a regional GCE disk that does not name its region.
    #[error(
        "failed to get region from zones: zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {0}"
    )]
    GceZone(CompactString),
    /// Zones of a regional GCE disk that are not in one region.
    #[error(
        "failed to get region from zones: multiple or no regions gotten from zones, got: map[{}]",
        .0.iter().map(|region| format!("{region}:{{}}")).collect::<Vec<_>>().join(" ")
    )]
    GceRegions(BTreeSet<String>),
    /// Nothing tells where the secret of an Azure share is.
    #[error("could not find a secret namespace in PersistentVolumeSource or ClaimRef")]
    AzureFileNamespace,
}

/// A volume of a CSI driver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CsiVolume {
    /// Name of the driver.
    pub driver: CompactString,
    /// The driver's own name of the volume.
    pub handle: CompactString,
}

impl InTreePlugin {
    /// Every plugin.
    pub const ALL: [Self; 7] = [
        Self::AwsElasticBlockStore,
        Self::AzureDisk,
        Self::AzureFile,
        Self::Cinder,
        Self::GcePersistentDisk,
        Self::Portworx,
        Self::Vsphere,
    ];

    /// The plugin of a persistent volume.
    pub fn of_source(source: &VolumeSource) -> Option<Self> {
        match source {
            VolumeSource::AwsElasticBlockStore { .. } => Some(Self::AwsElasticBlockStore),
            VolumeSource::AzureDisk { .. } => Some(Self::AzureDisk),
            VolumeSource::AzureFile { .. } => Some(Self::AzureFile),
            VolumeSource::Cinder { .. } => Some(Self::Cinder),
            VolumeSource::GcePersistentDisk { .. } => Some(Self::GcePersistentDisk),
            VolumeSource::Portworx { .. } => Some(Self::Portworx),
            VolumeSource::Vsphere { .. } => Some(Self::Vsphere),
            VolumeSource::Csi { .. } | VolumeSource::Other => None,
        }
    }

    /// The plugin of an in-line volume of a pod.
    pub fn of_inline(volume: &VolumeKind) -> Option<Self> {
        match volume {
            VolumeKind::GcePersistentDisk { .. } => Some(Self::GcePersistentDisk),
            VolumeKind::AwsElasticBlockStore { .. } => Some(Self::AwsElasticBlockStore),
            VolumeKind::InTree(InTreeVolume::AzureDisk { .. }) => Some(Self::AzureDisk),
            VolumeKind::InTree(InTreeVolume::AzureFile) => Some(Self::AzureFile),
            VolumeKind::InTree(InTreeVolume::Cinder { .. }) => Some(Self::Cinder),
            VolumeKind::InTree(InTreeVolume::Portworx { .. }) => Some(Self::Portworx),
            VolumeKind::InTree(InTreeVolume::Vsphere) => Some(Self::Vsphere),
            VolumeKind::PersistentVolumeClaim { .. }
            | VolumeKind::Ephemeral { .. }
            | VolumeKind::Image { .. }
            | VolumeKind::Csi { .. }
            | VolumeKind::Iscsi { .. }
            | VolumeKind::Rbd { .. } => None,
        }
    }

    /// The plugin of this name: the provisioner of a storage class, for example.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::AwsElasticBlockStore => "kubernetes.io/aws-ebs",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::Cinder => "kubernetes.io/cinder",
            Self::GcePersistentDisk => "kubernetes.io/gce-pd",
            Self::Portworx => "kubernetes.io/portworx-volume",
            Self::Vsphere => "kubernetes.io/vsphere-volume",
        }
    }

    /// The CSI driver that has taken its place.
    pub fn driver(self) -> &'static str {
        match self {
            Self::AwsElasticBlockStore => "ebs.csi.aws.com",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::AzureFile => "file.csi.azure.com",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::GcePersistentDisk => "pd.csi.storage.gke.io",
            Self::Portworx => "pxd.portworx.com",
            Self::Vsphere => "csi.vsphere.vmware.com",
        }
    }

    /// Whether its volumes count towards the CSI driver's limit, on nodes of which CSI drivers say anything at all.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::AzureFile | Self::Vsphere)
    }
}

/// The CSI volume that a persistent volume is or has become; none if it is neither a CSI volume nor of a plugin whose
/// volumes [are counted](InTreePlugin::is_counted).
pub fn csi_volume(volume: &PersistentVolume) -> Result<Option<CsiVolume>, TranslationError> {
    let handle = match &volume.source {
        VolumeSource::Csi { driver, handle } => {
            return Ok(Some(CsiVolume {
                driver: driver.clone(),
                handle: handle.clone(),
            }));
        }
        VolumeSource::GcePersistentDisk { pd_name } => gce_handle(pd_name, &volume.labels)?,
        VolumeSource::AwsElasticBlockStore { volume_id } => ebs_handle(volume_id)?,
        VolumeSource::AzureDisk { disk_uri, kind } => azure_handle(disk_uri, kind.as_deref())?,
        VolumeSource::Cinder { volume_id } | VolumeSource::Portworx { volume_id } => volume_id.clone(),
        VolumeSource::AzureFile { .. } | VolumeSource::Vsphere { .. } | VolumeSource::Other => return Ok(None),
    };
    Ok(InTreePlugin::of_source(&volume.source).map(|plugin| CsiVolume {
        driver: CompactString::const_new(plugin.driver()),
        handle,
    }))
}

/// The CSI volume that an in-line volume of a pod has become; none if it is of no plugin whose volumes
/// [are counted](InTreePlugin::is_counted).
pub fn csi_volume_inline(volume: &VolumeKind) -> Result<Option<CsiVolume>, TranslationError> {
    let handle = match volume {
        VolumeKind::GcePersistentDisk { pd_name, .. } => zonal(UNSPECIFIED, pd_name),
        VolumeKind::AwsElasticBlockStore { volume_id, .. } => ebs_handle(volume_id)?,
        VolumeKind::InTree(InTreeVolume::AzureDisk { disk_uri, kind, .. }) => azure_handle(disk_uri, kind.as_deref())?,
        VolumeKind::InTree(InTreeVolume::Cinder { volume_id } | InTreeVolume::Portworx { volume_id }) => {
            volume_id.clone()
        }
        _ => return Ok(None),
    };
    Ok(InTreePlugin::of_inline(volume).map(|plugin| CsiVolume {
        driver: CompactString::const_new(plugin.driver()),
        handle,
    }))
}

/// Where a persistent volume can be reached from, in the terms of the CSI driver that it has moved to. Any other volume's
/// affinity comes back as it is.
pub fn translated_node_affinity(
    volume: &PersistentVolume,
) -> Result<Option<Arc<[NodeSelectorTerm]>>, TranslationError> {
    csi_volume(volume)?;
    let zone_key = match &volume.source {
        VolumeSource::AwsElasticBlockStore { .. } => "topology.ebs.csi.aws.com/zone",
        VolumeSource::Cinder { .. } => "topology.cinder.csi.openstack.org/zone",
        VolumeSource::GcePersistentDisk { .. } => "topology.gke.io/zone",
        VolumeSource::Vsphere { .. } => return Ok(topology::of_vsphere(volume)),
        VolumeSource::AzureFile { secret_namespace, .. } => {
            let owner = volume.claim.as_ref().map(|claim| &claim.name.namespace);
            return match secret_namespace.as_ref().or(owner) {
                Some(namespace) if !namespace.is_empty() => Ok(volume.node_affinity.clone()),
                _ => Err(TranslationError::AzureFileNamespace),
            };
        }
        VolumeSource::AzureDisk { .. }
        | VolumeSource::Portworx { .. }
        | VolumeSource::Csi { .. }
        | VolumeSource::Other => return Ok(volume.node_affinity.clone()),
    };
    Ok(topology::translated(volume, zone_key))
}

/// `vol-…` as it stands, or after `aws://<zone>/`.
fn ebs_handle(volume_id: &CompactString) -> Result<CompactString, TranslationError> {
    let Some(rest) = volume_id.strip_prefix("aws://") else {
        return Ok(volume_id.clone());
    };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let path = path.find('/').map_or("", |at| &path[at..]).trim_matches('/');
    if path.starts_with("vol-") && !path.contains('/') {
        Ok(path.into())
    } else {
        Err(TranslationError::EbsVolumeId(volume_id.clone()))
    }
}

fn azure_handle(disk_uri: &CompactString, kind: Option<&str>) -> Result<CompactString, TranslationError> {
    match kind {
        Some(kind) if !kind.eq_ignore_ascii_case("Managed") => Err(TranslationError::AzureDiskKind(kind.into())),
        _ => Ok(disk_uri.clone()),
    }
}

fn gce_handle(pd_name: &str, labels: &Labels) -> Result<CompactString, TranslationError> {
    let non_empty = |key: &str| labels.get(key).filter(|zones| !zones.is_empty());
    let Some(zones) = non_empty(BETA_ZONE).or_else(|| non_empty(ZONE)) else {
        return Ok(zonal(UNSPECIFIED, pd_name));
    };
    if !zones.contains(ZONES_SEPARATOR) {
        return Ok(zonal(zones, pd_name));
    }
    let region = gce_region(zones)?;
    Ok(format_compact!(
        "projects/{UNSPECIFIED}/regions/{region}/disks/{pd_name}"
    ))
}

fn zonal(zone: &str, pd_name: &str) -> CompactString {
    format_compact!("projects/{UNSPECIFIED}/zones/{zone}/disks/{pd_name}")
}

/// The region that all the zones are in: `<locale>-<region>` of `<locale>-<region>-<zone>`.
fn gce_region(zones: &str) -> Result<String, TranslationError> {
    let mut regions = BTreeSet::new();
    for zone in zones.split(ZONES_SEPARATOR) {
        match zone.split('-').collect::<Vec<_>>().as_slice() {
            [locale, region, _] => regions.insert(format!("{locale}-{region}")),
            _ => return Err(TranslationError::GceZone(zone.into())),
        };
    }
    match regions.pop_first() {
        Some(region) if regions.is_empty() => Ok(region),
        Some(region) => {
            regions.insert(region);
            Err(TranslationError::GceRegions(regions))
        }
        None => Err(TranslationError::GceRegions(regions)),
    }
}
