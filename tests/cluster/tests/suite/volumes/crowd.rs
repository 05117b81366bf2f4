//! Many pods with claims of their own at once.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolume;
use plimsoll_cluster::fixtures::{DRIVER, claim, csi_node, pod, storage_class};
use plimsoll_cluster::provisioner::driver;
use plimsoll_cluster::{State, suite};

use super::{ZONE, node_in};

const PODS: usize = 500;
const NODES: usize = 20;

/// For that many volumes to be made and bound, on a shared machine of two cores.
const PATIENCE: Duration = Duration::from_mins(3);

#[test]
fn five_hundred_pods_with_claims_that_wait_for_them_fill_the_nodes_to_their_limits() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // Room for exactly as many volumes: one counted twice or given away twice shows.
        let (name, most) = (|i: usize| format!("n{i}"), i32::try_from(PODS / NODES)?);
        let zone = |i: usize| ["a", "b", "c"][i % 3];
        cluster
            .create_nodes((0..NODES).map(|i| node_in(zone(i), &name(i))))
            .await?;
        cluster
            .create_csi_nodes((0..NODES).map(|i| csi_node(&name(i)).attaches(DRIVER, most)))
            .await?;
        cluster.create_classes([storage_class("made").provisioned()]).await?;
        cluster.start_volume_controllers().await?;
        let _driver = cluster.start_provisioner(driver(ZONE)).await?;
        let claimed = |i: usize| format!("p{i}");
        cluster
            .create_claims((0..PODS).map(|i| claim(&claimed(i)).class("made")))
            .await?;
        cluster
            .create_pods((0..PODS).map(|i| pod(&claimed(i)).volume_claim(&claimed(i))))
            .await?;
        let start = tokio::time::Instant::now();
        cluster.start_scheduler()?;
        cluster.bound_count(PODS, PATIENCE).await?;
        suite::say(&format!(
            "    {PODS} pods with a volume each placed in {:.1?}",
            start.elapsed()
        ));
        let made = |state: &State| state.volumes.values().filter(|volume| is_bound(volume)).count();
        assert_eq!(cluster.history().read(made), PODS);
        cluster.create_claims([claim("one-too-many").class("made")]).await?;
        cluster
            .create_pods([pod("one-too-many").volume_claim("one-too-many")])
            .await?;
        let why = format!("0/{NODES} nodes are available: {NODES} node(s) exceed max volume count.");
        cluster.pending_because("one-too-many", &why).await
    })
}

fn is_bound(volume: &PersistentVolume) -> bool {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Bound")
}
