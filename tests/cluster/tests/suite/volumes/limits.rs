//! How many volumes a node takes, and which zones a volume is in.

use k8s_openapi::api::storage::v1::CSINode;
use kube::Api;
use kube::api::{Patch, PatchParams};
use plimsoll_cluster::fixtures::{DRIVER, claim, csi_node, node, pod, volume};
use plimsoll_cluster::{Cluster, suite};
use serde_json::json;

use super::{ZONE, node_in};

const FULL: &str = "0/1 nodes are available: 1 node(s) exceed max volume count.";

/// One node, claims bound to volumes of their names, and no controllers.
async fn stage(cluster: &mut Cluster<'_>, claims: &[&str]) -> anyhow::Result<()> {
    cluster.create_nodes([node("n1")]).await?;
    cluster.create_volumes(claims.iter().map(|name| volume(name))).await?;
    bind(cluster, claims).await
}

/// Claims as the controller leaves them, bound to volumes of their names.
async fn bind(cluster: &Cluster<'_>, claims: &[&str]) -> anyhow::Result<()> {
    let bound = claims.iter().map(|name| claim(name).volume(name).bound());
    cluster.create_claims(bound).await
}

#[test]
fn a_node_takes_as_many_volumes_as_its_driver_says_and_another_when_one_is_let_go() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster, &["a", "b", "c"]).await?;
        cluster.create_csi_nodes([csi_node("n1").attaches(DRIVER, 2)]).await?;
        cluster.start_scheduler()?;
        for name in ["a", "b"] {
            cluster.create_pods([pod(name).volume_claim(name)]).await?;
            cluster.bound(name).await?;
        }
        cluster
            .create_pods([pod("c").volume_claim("c"), pod("again").volume_claim("b")])
            .await?;
        // A volume that is there already takes no more of the node.
        assert_eq!(cluster.bound("again").await?, "n1");
        cluster.pending_because("c", FULL).await?;
        cluster.delete_pod("again").await?;
        cluster.pod_changes_heard_by_scheduler().await?;
        cluster.pending_because("c", FULL).await?;
        cluster.delete_pod("a").await?;
        assert_eq!(cluster.bound("c").await?, "n1");
        Ok(())
    })
}

#[test]
fn a_volume_attached_for_no_pod_takes_its_place_until_it_is_detached() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster, &["a", "b"]).await?;
        cluster.create_csi_nodes([csi_node("n1").attaches(DRIVER, 1)]).await?;
        cluster.attach("b", "n1").await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("p").volume_claim("a")]).await?;
        cluster.pending_because("p", FULL).await?;
        cluster.detach("b", "n1").await?;
        assert_eq!(cluster.bound("p").await?, "n1");
        Ok(())
    })
}

#[test]
fn a_limit_that_rises_lets_the_next_pod_in() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster, &["a", "b"]).await?;
        cluster.create_csi_nodes([csi_node("n1").attaches(DRIVER, 1)]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("a").volume_claim("a")]).await?;
        cluster.bound("a").await?;
        cluster.create_pods([pod("b").volume_claim("b")]).await?;
        cluster.pending_because("b", FULL).await?;
        let more = csi_node("n1").attaches(DRIVER, 2).build();
        let patch = Patch::Merge(json!({ "spec": more.spec }));
        Api::<CSINode>::all(cluster.client().clone())
            .patch("n1", &PatchParams::default(), &patch)
            .await?;
        assert_eq!(cluster.bound("b").await?, "n1");
        Ok(())
    })
}

#[test]
fn a_disk_of_a_cloud_provider_counts_as_the_csi_volume_that_it_has_become() -> anyhow::Result<()> {
    const AWS: &str = "ebs.csi.aws.com";
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1")]).await?;
        cluster
            .create_volumes([volume("a").aws_disk(), volume("b").aws_disk(), volume("c").driver(AWS)])
            .await?;
        bind(cluster, &["a", "b", "c"]).await?;
        cluster
            .create_csi_nodes([csi_node("n1").attaches(AWS, 1).migrated("kubernetes.io/aws-ebs")])
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("a").volume_claim("a")]).await?;
        cluster.bound("a").await?;
        cluster
            .create_pods([pod("b").volume_claim("b"), pod("c").volume_claim("c")])
            .await?;
        cluster.pending_because("b", FULL).await?;
        cluster.pending_because("c", FULL).await
    })
}

#[test]
fn a_pod_goes_to_the_zone_that_the_labels_of_its_volume_name() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node_in("a", "a1"), node_in("b", "b1")]).await?;
        cluster
            .create_volumes([volume("near").label(ZONE, "b"), volume("far").label(ZONE, "c__d")])
            .await?;
        bind(cluster, &["near", "far"]).await?;
        cluster.start_scheduler()?;
        cluster
            .create_pods([pod("p").volume_claim("near"), pod("q").volume_claim("far")])
            .await?;
        assert_eq!(cluster.bound("p").await?, "b1");
        let why = "0/2 nodes are available: 2 node(s) had no available volume zone.";
        cluster.pending_because("q", why).await?;
        cluster.create_nodes([node_in("d", "d1")]).await?;
        assert_eq!(cluster.bound("q").await?, "d1");
        Ok(())
    })
}
