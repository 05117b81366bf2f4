//! The storage of a test: what there is, who keeps it, and waiting for it.

use std::collections::BTreeSet;
use std::fmt::Debug;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Cluster, PROMPT, create_all};
use crate::fixtures::{ClaimFixture, ClassFixture, CsiNodeFixture, VolumeFixture, csi_driver};
use crate::history::State;
use crate::provisioner::{Driver, Provisioner};

/// The controllers by which claims are bound, protected, and made for pods that bring their volumes along.
const CONTROLLERS: [&str; 4] = [
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "ephemeral-volume-controller",
];

impl Cluster<'_> {
    /// Starts kube-controller-manager's controllers of volumes; they go with the test.
    pub async fn start_volume_controllers(&mut self) -> anyhow::Result<()> {
        self.controllers = Some(self.control_plane.start_controllers(&CONTROLLERS).await?);
        Ok(())
    }

    /// Starts a provisioner, which works for as long as the value lives.
    pub async fn start_provisioner(&self, driver: Driver) -> anyhow::Result<Provisioner> {
        Provisioner::start(self.client.clone(), self.namespace(), driver).await
    }

    /// The claims of this test.
    pub fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.client.clone(), self.namespace())
    }

    /// The volumes.
    pub fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.client.clone())
    }

    /// Creates storage classes.
    pub async fn create_classes(&self, classes: impl IntoIterator<Item = ClassFixture>) -> anyhow::Result<()> {
        let classes = classes.into_iter().map(ClassFixture::build).collect();
        create_all(&Api::<StorageClass>::all(self.client.clone()), classes).await
    }

    /// Creates volumes. Without a controller they are nobody's to find: see [`make_available`](Self::make_available).
    pub async fn create_volumes(&self, volumes: impl IntoIterator<Item = VolumeFixture>) -> anyhow::Result<()> {
        create_all(&self.volumes(), volumes.into_iter().map(VolumeFixture::build).collect()).await
    }

    /// Says of a volume what the controller would: that it is free.
    pub async fn make_available(&self, volume: &str) -> anyhow::Result<()> {
        let free = Patch::Merge(json!({ "status": { "phase": "Available" } }));
        self.volumes()
            .patch_status(volume, &PatchParams::default(), &free)
            .await?;
        Ok(())
    }

    /// Creates claims.
    pub async fn create_claims(&self, claims: impl IntoIterator<Item = ClaimFixture>) -> anyhow::Result<()> {
        create_all(&self.claims(), claims.into_iter().map(ClaimFixture::build).collect()).await
    }

    /// Creates what drivers say of nodes.
    pub async fn create_csi_nodes(&self, nodes: impl IntoIterator<Item = CsiNodeFixture>) -> anyhow::Result<()> {
        let nodes = nodes.into_iter().map(CsiNodeFixture::build).collect();
        create_all(&Api::<CSINode>::all(self.client.clone()), nodes).await
    }

    /// Creates the driver that provisioners and volumes of tests have.
    pub async fn create_csi_driver(&self, tracks_capacity: bool) -> anyhow::Result<()> {
        let drivers = Api::<CSIDriver>::all(self.client.clone());
        create_all(&drivers, vec![csi_driver(tracks_capacity)]).await
    }

    /// An attachment of a volume to a node.
    pub async fn attach(&self, volume: &str, node: &str) -> anyhow::Result<()> {
        let attachment = json!({
            "metadata": { "name": format!("{volume}-{node}") },
            "spec": {
                "attacher": crate::fixtures::DRIVER,
                "nodeName": node,
                "source": { "persistentVolumeName": volume },
            },
        });
        Box::pin(self.create::<VolumeAttachment>(attachment)).await
    }

    /// Deletes an attachment.
    pub async fn detach(&self, volume: &str, node: &str) -> anyhow::Result<()> {
        let attachments = Api::<VolumeAttachment>::all(self.client.clone());
        let name = format!("{volume}-{node}");
        attachments.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Deletes a claim; it goes when the controller that protects it lets it.
    pub async fn delete_claim(&self, name: &str) -> anyhow::Result<()> {
        self.claims().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Deletes a claim, and waits until it is gone.
    pub async fn delete_claim_for_good(&self, name: &str) -> anyhow::Result<()> {
        self.delete_claim(name).await?;
        let gone = |state: &State| state.claim(name).is_none().then_some(());
        self.history
            .until(&format!("the claim {name} is gone"), PROMPT, gone)
            .await
    }

    /// Waits until the controller has bound the claim, and tells its volume.
    pub async fn claim_bound(&self, name: &str) -> anyhow::Result<String> {
        let volume = |state: &State| {
            let claim = state.claim(name)?;
            let phase = claim.status.as_ref()?.phase.as_deref()?;
            claim.spec.as_ref()?.volume_name.clone().filter(|_| phase == "Bound")
        };
        self.history
            .until(&format!("the claim {name} is bound"), PROMPT, volume)
            .await
    }

    /// Waits until the claim names the node where its volume is to be made, and tells which.
    pub async fn selected_node(&self, name: &str) -> anyhow::Result<String> {
        let node = |state: &State| selected(state.claim(name)?).map(str::to_owned);
        self.history.until(&format!("{name} names a node"), PROMPT, node).await
    }

    /// Waits until the volume names a claim, and tells which.
    pub async fn claim_named_by(&self, volume: &str) -> anyhow::Result<String> {
        let named = |state: &State| {
            let claim = state.volumes.get(volume)?.spec.as_ref()?.claim_ref.as_ref()?;
            claim.uid.as_ref()?;
            claim.name.clone()
        };
        self.history
            .until(&format!("{volume} names a claim"), PROMPT, named)
            .await
    }

    /// Waits until the volume is in that phase.
    pub async fn volume_is(&self, volume: &str, phase: &str) -> anyhow::Result<()> {
        let is = |state: &State| {
            let status = state.volumes.get(volume)?.status.as_ref()?;
            (status.phase.as_deref() == Some(phase)).then_some(())
        };
        self.history.until(&format!("{volume} is {phase}"), PROMPT, is).await
    }
}

/// The node where the volume of a claim is to be made.
pub(crate) fn selected(claim: &PersistentVolumeClaim) -> Option<&str> {
    let annotations = claim.metadata.annotations.as_ref()?;
    annotations
        .get("volume.kubernetes.io/selected-node")
        .map(String::as_str)
}

/// Takes away the storage of earlier tests, whose controllers are gone by now.
pub(super) async fn reset(client: &kube::Client) -> anyhow::Result<()> {
    let claims = Api::<PersistentVolumeClaim>::all(client.clone());
    let claims = claims.list_metadata(&ListParams::default()).await?.items.into_iter();
    let namespaces: BTreeSet<String> = claims.filter_map(|claim| claim.metadata.namespace).collect();
    for namespace in namespaces {
        delete_all_for_good(&Api::<PersistentVolumeClaim>::namespaced(client.clone(), &namespace)).await?;
    }
    delete_all_for_good(&Api::<PersistentVolume>::all(client.clone())).await?;
    delete_all_for_good(&Api::<VolumeAttachment>::all(client.clone())).await?;
    delete_all(&Api::<StorageClass>::all(client.clone())).await?;
    delete_all(&Api::<CSINode>::all(client.clone())).await?;
    delete_all(&Api::<CSIDriver>::all(client.clone())).await?;
    super::stage::delete_each::<CSIStorageCapacity>(client).await
}

async fn delete_all<K>(api: &Api<K>) -> anyhow::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    api.delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    Ok(())
}

/// Deletes all objects of a kind that finalizers protect.
async fn delete_all_for_good<K>(api: &Api<K>) -> anyhow::Result<()>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Serialize,
{
    delete_all(api).await?;
    let left = api.list_metadata(&ListParams::default()).await?.items;
    let let_go = |object: kube::core::PartialObjectMeta<K>| async move {
        let name = object.metadata.name.unwrap_or_default();
        let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        match api.patch_metadata(&name, &PatchParams::default(), &free).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    };
    futures::stream::iter(left)
        .map(let_go)
        .buffer_unordered(16)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await?;
    Ok(())
}
