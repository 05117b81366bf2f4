//! Which volume a claim gets, and when: at once, or when a pod has a node.

use plimsoll_cluster::fixtures::{claim, node, pod, storage_class, volume};
use plimsoll_cluster::{Cluster, suite};

const HOSTNAME: &str = "kubernetes.io/hostname";

/// Two nodes, the controllers, and the class `local` of which nobody makes volumes.
async fn stage(cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
    cluster.create_nodes([node("n1"), node("n2")]).await?;
    cluster.create_classes([storage_class("local")]).await?;
    cluster.start_volume_controllers().await?;
    cluster.start_scheduler()
}

#[test]
fn a_claim_bound_at_once_keeps_its_pod_waiting_for_a_volume_and_takes_it_there() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        cluster.create_classes([storage_class("eager").immediate()]).await?;
        cluster.create_claims([claim("data").class("eager")]).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let why = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
        cluster.pending_because("p", why).await?;
        cluster.create_volumes([volume("v").class("eager").on("n2")]).await?;
        assert_eq!(cluster.claim_bound("data").await?, "v");
        assert_eq!(cluster.bound("p").await?, "n2");
        Ok(())
    })
}

#[test]
fn a_claim_that_waits_gets_the_smallest_volume_that_fits_where_its_pod_does() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        let local = |name: &str, size: &str, node: &str| volume(name).class("local").size(size).on(node);
        cluster
            .create_volumes([
                local("large", "9Gi", "n1"),
                local("fitting", "3Gi", "n1"),
                local("small", "1Gi", "n1"),
                local("elsewhere", "2Gi", "n2"),
                local("labelled", "5Gi", "n1").label("disk", "fast"),
            ])
            .await?;
        for volume in ["large", "fitting", "small", "elsewhere", "labelled"] {
            cluster.volume_is(volume, "Available").await?;
        }
        cluster
            .create_claims([
                claim("data").class("local").size("2Gi"),
                claim("selective").class("local").size("2Gi").labelled("disk", "fast"),
            ])
            .await?;
        let both = pod("p").volume_claim("data").volume_claim("selective");
        cluster.create_pods([both.node_selector(HOSTNAME, "n1")]).await?;
        assert_eq!(cluster.bound("p").await?, "n1");
        assert_eq!(cluster.claim_bound("data").await?, "fitting");
        assert_eq!(cluster.claim_bound("selective").await?, "labelled");
        Ok(())
    })
}

#[test]
fn a_pod_that_finds_no_volume_where_it_fits_waits_until_one_comes() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        cluster
            .create_volumes([volume("elsewhere").class("local").on("n2")])
            .await?;
        cluster.volume_is("elsewhere", "Available").await?;
        cluster.create_claims([claim("data").class("local")]).await?;
        let p = pod("p").volume_claim("data").node_selector(HOSTNAME, "n1");
        cluster.create_pods([p]).await?;
        let why = "0/2 nodes are available: 1 node(s) didn't find available persistent volumes to bind, \
                   1 node(s) didn't match Pod's node affinity/selector.";
        cluster.pending_because("p", why).await?;
        cluster.create_volumes([volume("here").class("local").on("n1")]).await?;
        assert_eq!(cluster.bound("p").await?, "n1");
        assert_eq!(cluster.claim_bound("data").await?, "here");
        Ok(())
    })
}

#[test]
fn a_pod_whose_bound_volume_is_elsewhere_is_told_so_and_another_goes_there() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        cluster
            .create_volumes([volume("v").class("local").on("n2").mode("ReadWriteMany")])
            .await?;
        let named = claim("data").class("local").mode("ReadWriteMany").volume("v");
        cluster.create_claims([named]).await?;
        assert_eq!(cluster.claim_bound("data").await?, "v");
        let apart = pod("apart").volume_claim("data").node_selector(HOSTNAME, "n1");
        cluster.create_pods([apart, pod("beside").volume_claim("data")]).await?;
        assert_eq!(cluster.bound("beside").await?, "n2");
        let why = "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, \
                   1 node(s) didn't match Pod's node affinity/selector.";
        cluster.pending_because("apart", why).await
    })
}

#[test]
fn a_volume_meant_for_a_claim_is_taken_though_a_smaller_one_is_free() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        let namespace = cluster.namespace().to_owned();
        let local = |name: &str, size: &str| volume(name).class("local").size(size).on("n1");
        cluster
            .create_volumes([
                local("small", "1Gi"),
                local("meant", "5Gi").meant_for(&namespace, "data"),
            ])
            .await?;
        cluster.volume_is("small", "Available").await?;
        cluster.volume_is("meant", "Available").await?;
        cluster
            .create_claims([claim("data").class("local"), claim("other").class("local").size("5Gi")])
            .await?;
        // Only `meant` is large enough for it, and it is not its own.
        cluster.create_pods([pod("q").volume_claim("other")]).await?;
        let why = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.";
        cluster.pending_because("q", why).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        assert_eq!(cluster.bound("p").await?, "n1");
        assert_eq!(cluster.claim_bound("data").await?, "meant");
        Ok(())
    })
}

#[test]
fn a_pod_waits_for_a_claim_that_is_not_there_yet() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let why = "0/2 nodes are available: persistentvolumeclaim \"data\" not found.";
        cluster.pending_because("p", why).await?;
        cluster.create_volumes([volume("v").class("local").on("n1")]).await?;
        cluster.volume_is("v", "Available").await?;
        cluster.create_claims([claim("data").class("local")]).await?;
        assert_eq!(cluster.bound("p").await?, "n1");
        Ok(())
    })
}

#[test]
fn a_pod_that_brings_its_volume_along_waits_until_its_claim_is_made() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster.create_classes([storage_class("local")]).await?;
        cluster.create_volumes([volume("v").class("local").on("n2")]).await?;
        cluster.start_scheduler()?;
        let brings = pod("p").ephemeral_volume("scratch", &claim("").class("local"));
        cluster.create_pods([brings]).await?;
        let why = "0/2 nodes are available: waiting for ephemeral volume controller to create the \
                   persistentvolumeclaim \"p-scratch\".";
        cluster.pending_because("p", why).await?;
        cluster.start_volume_controllers().await?;
        assert_eq!(cluster.bound("p").await?, "n2");
        assert_eq!(cluster.claim_bound("p-scratch").await?, "v");
        Ok(())
    })
}
