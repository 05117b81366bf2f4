//! Writes to volumes and claims carry a time-out as those to pods do: none is applied when another leader may have begun.

use anyhow::{Context, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use plimsoll_client::VolumeReply;
use plimsoll_cluster::fixtures::{claim, volume};
use plimsoll_cluster::{Cluster, State, Write, suite};
use plimsoll_model::storage::VolumeWrite;
use plimsoll_model::{ObjectName, ResourceVersion, Uid};

use crate::fencing::{scheduler_client, token};

/// Both writes there are, to the volume and the claim called `name`.
async fn writes(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<[(Write, VolumeWrite); 2]> {
    let (volume_uid, version) = identity(cluster.volumes().get(name).await?.metadata)?;
    let (claim_uid, claim_version) = identity(cluster.claims().get(name).await?.metadata)?;
    let claim = ObjectName::new(cluster.namespace(), name);
    let bind = VolumeWrite::BindVolume {
        volume: name.into(),
        uid: volume_uid,
        version,
        claim: claim.clone(),
        claim_uid: claim_uid.clone(),
        claim_version,
        by_controller: true,
    };
    let select = VolumeWrite::SelectNode {
        claim,
        uid: claim_uid,
        version: claim_version,
        node: "n1".into(),
    };
    Ok([(Write::Volume, bind), (Write::Claim, select)])
}

fn identity(metadata: ObjectMeta) -> anyhow::Result<(Uid, ResourceVersion)> {
    let (uid, version) = metadata.uid.zip(metadata.resource_version).context("no identity")?;
    Ok((Uid::new(uid), version.parse()?))
}

/// Whether the volume and the claim called `name` show what was to be written to them.
fn written(state: &State, name: &str) -> Option<[bool; 2]> {
    let volume = state.volumes.get(name)?.spec.as_ref()?.claim_ref.is_some();
    let mut annotations = state.claim(name)?.metadata.annotations.iter().flatten();
    let claim = annotations.any(|(key, node)| key == "volume.kubernetes.io/selected-node" && node == "n1");
    Some([volume, claim])
}

#[test]
fn the_api_server_applies_no_write_to_storage_whose_time_out_has_passed() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_volumes(["late", "prompt"].map(volume)).await?;
        cluster.create_claims(["late", "prompt"].map(claim)).await?;
        let client = scheduler_client(cluster).await?;
        let gate = cluster.write_gate().await?;
        for (write, wanted) in writes(cluster, "late").await? {
            gate.close(write, "late");
            let reply = client.write_volume(&token(), &wanted).await;
            ensure!(matches!(reply, VolumeReply::Unknown { .. }), "{write:?}: {reply:?}");
            // The gate still holds it: by now the time-out has passed.
            gate.arrival(write, "late").await?;
            gate.open(write, "late");
        }
        // What comes later has been through the same gate, and is applied.
        for (write, wanted) in writes(cluster, "prompt").await? {
            let reply = client.write_volume(&token(), &wanted).await;
            ensure!(matches!(reply, VolumeReply::Done(_)), "{write:?}: {reply:?}");
        }
        let done = |state: &State| (written(state, "prompt")? == [true, true]).then_some(());
        cluster.history().until("prompt is written", super::LIMIT, done).await?;
        let late = cluster.history().read(|state| written(state, "late"));
        assert_eq!(late, Some([false, false]));
        Ok(())
    })
}
