use compact_str::CompactString;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::decode::or_default;
use crate::{InTreeVolume, VolumeKind};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireVolume {
    #[serde(default, deserialize_with = "or_default")]
    name: CompactString,
    persistent_volume_claim: Option<WireClaim>,
    ephemeral: Option<IgnoredAny>,
    image: Option<WireImage>,
    csi: Option<WireCsi>,
    gce_persistent_disk: Option<WireGce>,
    aws_elastic_block_store: Option<WireAws>,
    iscsi: Option<WireIscsi>,
    rbd: Option<WireRbd>,
    azure_disk: Option<IgnoredAny>,
    azure_file: Option<IgnoredAny>,
    cinder: Option<IgnoredAny>,
    portworx_volume: Option<IgnoredAny>,
    vsphere_volume: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireClaim {
    #[serde(default, deserialize_with = "or_default")]
    claim_name: CompactString,
}

#[derive(Deserialize)]
struct WireImage {
    #[serde(default, deserialize_with = "or_default")]
    reference: CompactString,
}

#[derive(Deserialize)]
struct WireCsi {
    #[serde(default, deserialize_with = "or_default")]
    driver: CompactString,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGce {
    #[serde(default, deserialize_with = "or_default")]
    pd_name: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    read_only: bool,
}

#[derive(Deserialize)]
struct WireAws {
    #[serde(default, rename = "volumeID", deserialize_with = "or_default")]
    volume_id: CompactString,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireIscsi {
    #[serde(default, deserialize_with = "or_default")]
    iqn: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    read_only: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRbd {
    #[serde(default, deserialize_with = "or_default")]
    monitors: Box<[CompactString]>,
    #[serde(default, deserialize_with = "or_default")]
    pool: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    image: CompactString,
    #[serde(default, deserialize_with = "or_default")]
    read_only: bool,
}

impl WireVolume {
    /// Its kind, if the scheduler has to know of it.
    pub(super) fn kind(self) -> Option<VolumeKind> {
        if let Some(claim) = self.persistent_volume_claim {
            return Some(VolumeKind::PersistentVolumeClaim {
                claim: claim.claim_name,
            });
        }
        if self.ephemeral.is_some() {
            return Some(VolumeKind::Ephemeral { volume: self.name });
        }
        if let Some(image) = self.image {
            return Some(VolumeKind::Image {
                reference: image.reference,
            });
        }
        if let Some(csi) = self.csi {
            return Some(VolumeKind::Csi { driver: csi.driver });
        }
        self.disk()
    }

    fn disk(self) -> Option<VolumeKind> {
        if let Some(WireGce { pd_name, read_only }) = self.gce_persistent_disk {
            return Some(VolumeKind::GcePersistentDisk { pd_name, read_only });
        }
        if let Some(WireAws { volume_id }) = self.aws_elastic_block_store {
            return Some(VolumeKind::AwsElasticBlockStore { volume_id });
        }
        if let Some(WireIscsi { iqn, read_only }) = self.iscsi {
            return Some(VolumeKind::Iscsi { iqn, read_only });
        }
        if let Some(WireRbd {
            monitors,
            pool,
            image,
            read_only,
        }) = self.rbd
        {
            let pool = if pool.is_empty() {
                CompactString::const_new("rbd")
            } else {
                pool
            };
            return Some(VolumeKind::Rbd {
                monitors,
                pool,
                image,
                read_only,
            });
        }
        let others = [
            (self.azure_disk, InTreeVolume::AzureDisk),
            (self.azure_file, InTreeVolume::AzureFile),
            (self.cinder, InTreeVolume::Cinder),
            (self.portworx_volume, InTreeVolume::Portworx),
            (self.vsphere_volume, InTreeVolume::Vsphere),
        ];
        others
            .into_iter()
            .find(|(present, _)| present.is_some())
            .map(|(_, kind)| VolumeKind::InTree(kind))
    }
}
