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
    aws_elastic_block_store: Option<WireDisk>,
    iscsi: Option<WireIscsi>,
    rbd: Option<WireRbd>,
    azure_disk: Option<WireAzureDisk>,
    azure_file: Option<IgnoredAny>,
    cinder: Option<WireDisk>,
    portworx_volume: Option<WireDisk>,
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

/// One that is told by its identity alone.
#[derive(Deserialize)]
struct WireDisk {
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
        if let Some(WireDisk { volume_id }) = self.aws_elastic_block_store {
            let volume = self.name;
            return Some(VolumeKind::AwsElasticBlockStore { volume, volume_id });
        }
        if let Some(WireIscsi { iqn, read_only }) = self.iscsi {
            return Some(VolumeKind::Iscsi { iqn, read_only });
        }
        if let Some(rbd) = self.rbd {
            return Some(rbd.kind());
        }
        self.in_tree().map(VolumeKind::InTree)
    }

    fn in_tree(self) -> Option<InTreeVolume> {
        if let Some(WireAzureDisk { disk_uri, kind }) = self.azure_disk {
            return Some(InTreeVolume::AzureDisk {
                volume: self.name,
                disk_uri,
                kind,
            });
        }
        if self.azure_file.is_some() {
            return Some(InTreeVolume::AzureFile);
        }
        if let Some(WireDisk { volume_id }) = self.cinder {
            return Some(InTreeVolume::Cinder { volume_id });
        }
        if let Some(WireDisk { volume_id }) = self.portworx_volume {
            return Some(InTreeVolume::Portworx { volume_id });
        }
        self.vsphere_volume.map(|_| InTreeVolume::Vsphere)
    }
}

impl WireRbd {
    fn kind(self) -> VolumeKind {
        let pool = if self.pool.is_empty() {
            CompactString::const_new("rbd")
        } else {
            self.pool
        };
        VolumeKind::Rbd {
            monitors: self.monitors,
            pool,
            image: self.image,
            read_only: self.read_only,
        }
    }
}
