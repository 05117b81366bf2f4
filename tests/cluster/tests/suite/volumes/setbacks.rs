//! What can go wrong between the decision and the binding of a pod with storage. Whatever it is, the pod says so and is tried
//! again, and meanwhile nobody else waits.

use std::time::Duration;

use anyhow::ensure;
use plimsoll_cluster::fixtures::{claim, pod, storage_class};
use plimsoll_cluster::provisioner::{Conduct, Provisioner, driver};
use plimsoll_cluster::{Cluster, PodFacts, State, suite};

use super::{LIMIT, ZONE, node_in, waits_for_volumes, was_told};

/// A node in each of two zones, the class `made`, and a driver that behaves so.
async fn stage(cluster: &mut Cluster<'_>, conduct: Conduct) -> anyhow::Result<Provisioner> {
    cluster.create_nodes([node_in("a", "a1"), node_in("b", "b1")]).await?;
    cluster.create_classes([storage_class("made").provisioned()]).await?;
    cluster.start_volume_controllers().await?;
    cluster.start_provisioner(driver(ZONE).conduct(conduct)).await
}

#[test]
fn when_the_driver_cannot_make_the_volume_the_pod_says_so_and_is_tried_again() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let driver = stage(cluster, Conduct::Refuses).await?;
        cluster.start_scheduler()?;
        cluster.create_claims([claim("data").class("made")]).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let why = "running PreBind plugin \"VolumeBinding\": binding volumes: provisioning failed for PVC \"data\"";
        was_told(cluster, "p", why).await?;
        driver.behave(Conduct::Provides);
        cluster.bound("p").await?;
        Ok(())
    })
}

#[test]
fn a_driver_that_never_answers_keeps_nobody_else_waiting_and_the_pod_is_told_in_time() -> anyhow::Result<()> {
    const WAITING: usize = 40;
    suite::run(async |cluster| {
        let driver = stage(cluster, Conduct::IsSilent).await?;
        cluster.start_configured(&waits_for_volumes(5))?;
        let name = |i: usize| format!("p{i}");
        cluster
            .create_claims((0..WAITING).map(|i| claim(&name(i)).class("made")))
            .await?;
        cluster
            .create_pods((0..WAITING).map(|i| pod(&name(i)).volume_claim(&name(i))))
            .await?;
        let selected = |state: &State| {
            let claims = state.claims.values();
            let chosen = |claim: &&k8s_openapi::api::core::v1::PersistentVolumeClaim| {
                let annotations = claim.metadata.annotations.iter().flatten();
                annotations.into_iter().any(|(key, _)| key.ends_with("/selected-node"))
            };
            (claims.filter(chosen).count() == WAITING).then_some(())
        };
        cluster
            .history()
            .until("every claim names a node", LIMIT, selected)
            .await?;
        // More pods wait for volumes now than the scheduler writes at a time.
        let start = tokio::time::Instant::now();
        cluster.create_pods((0..20).map(|i| pod(&format!("plain{i}")))).await?;
        cluster.bound_count(20, LIMIT).await?;
        ensure!(
            start.elapsed() < Duration::from_secs(4),
            "plain pods waited {:?} for the volumes of others",
            start.elapsed()
        );
        let why = "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";
        was_told(cluster, "p0", why).await?;
        driver.behave(Conduct::Provides);
        cluster.bound_count(20 + WAITING, LIMIT).await
    })
}

#[test]
fn a_driver_that_takes_its_time_is_waited_for() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let _driver = stage(cluster, Conduct::ProvidesAfter(Duration::from_secs(3))).await?;
        cluster.start_scheduler()?;
        cluster.create_claims([claim("data").class("made")]).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let chosen = cluster.selected_node("data").await?;
        assert_eq!(cluster.bound("p").await?, chosen);
        let tries = cluster.metrics().await?.attempts_in_vain();
        assert_eq!(tries, 0, "it was tried again while its volume was being made");
        Ok(())
    })
}

#[test]
fn when_the_claim_is_deleted_while_its_volume_is_awaited_the_pod_waits_for_another_claim() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let driver = stage(cluster, Conduct::IsSilent).await?;
        cluster.start_scheduler()?;
        cluster.create_claims([claim("data").class("made")]).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        cluster.selected_node("data").await?;
        cluster.delete_claim_for_good("data").await?;
        let why = "0/2 nodes are available: persistentvolumeclaim \"data\" not found.";
        cluster.pending_because("p", why).await?;
        driver.behave(Conduct::Provides);
        cluster.create_claims([claim("data").class("made")]).await?;
        cluster.bound("p").await?;
        Ok(())
    })
}

#[test]
fn when_the_pod_is_deleted_while_its_volume_is_awaited_its_place_is_free_again() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let driver = stage(cluster, Conduct::IsSilent).await?;
        cluster.start_scheduler()?;
        cluster
            .create_claims(["a", "b"].map(|name| claim(name).class("made")))
            .await?;
        let whole = |name: &str| pod(name).cpu("4").volume_claim(name);
        cluster.create_pods(["a", "b"].map(whole)).await?;
        for name in ["a", "b"] {
            cluster.selected_node(name).await?;
        }
        cluster.create_pods([pod("next").cpu("4")]).await?;
        let why = "0/2 nodes are available: 2 Insufficient cpu.";
        cluster.pending_because("next", why).await?;
        let freed = cluster.selected_node("a").await?;
        cluster.delete_pod("a").await?;
        assert_eq!(cluster.bound("next").await?, freed);
        driver.behave(Conduct::Provides);
        let other = cluster.bound("b").await?;
        assert_ne!(other, freed);
        let left = cluster
            .history()
            .read(|state| state.pod("a").is_some_and(|pod| pod.node().is_some()));
        ensure!(!left, "a deleted pod was bound");
        Ok(())
    })
}
