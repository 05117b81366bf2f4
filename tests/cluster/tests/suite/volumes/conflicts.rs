//! Two pods want the same volume.

use plimsoll_cluster::fixtures::{claim, node, pod, storage_class, volume};
use plimsoll_cluster::{Cluster, State, Write, suite};

use super::{LIMIT, was_told};
use crate::preemption::{names, removed};

const IN_USE: &str = "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with \
                      ReadWriteOncePod access mode already in-use by another pod.";

/// Two nodes, and a claim called `data` that one pod at a time may use.
async fn one_at_a_time(cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
    cluster.create_priorities([1, 100]).await?;
    cluster.create_nodes([node("n1"), node("n2")]).await?;
    cluster.create_volumes([volume("v").mode("ReadWriteOncePod")]).await?;
    let bound = claim("data").mode("ReadWriteOncePod").volume("v").bound();
    cluster.create_claims([bound]).await?;
    cluster.start_scheduler()
}

#[test]
fn a_claim_for_one_pod_is_used_by_one_after_the_other() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        one_at_a_time(cluster).await?;
        cluster.create_pods([pod("first").volume_claim("data")]).await?;
        cluster.bound("first").await?;
        cluster.create_pods([pod("second").volume_claim("data")]).await?;
        cluster.pending_because("second", IN_USE).await?;
        cluster.delete_pod("first").await?;
        cluster.bound("second").await?;
        Ok(())
    })
}

#[test]
fn a_claim_for_one_pod_goes_to_the_more_important_one() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        one_at_a_time(cluster).await?;
        cluster.start_kubelets();
        cluster
            .create_pods([pod("low").priority(1).volume_claim("data")])
            .await?;
        let node = cluster.bound("low").await?;
        // Removing these would not help.
        cluster
            .create_pods(["x", "y"].map(|name| pod(name).priority(1)))
            .await?;
        cluster.bound_count(3, LIMIT).await?;
        cluster
            .create_pods([pod("high").priority(100).volume_claim("data")])
            .await?;
        assert_eq!(cluster.bound("high").await?, node);
        assert_eq!(removed(cluster), names(["low"]));
        Ok(())
    })
}

#[test]
fn of_two_pods_that_want_the_last_volume_one_gets_it_and_the_other_the_next() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster.create_classes([storage_class("local")]).await?;
        cluster.start_volume_controllers().await?;
        cluster.create_volumes([volume("last").class("local").on("n1")]).await?;
        cluster.volume_is("last", "Available").await?;
        cluster
            .create_claims(["a", "b"].map(|name| claim(name).class("local")))
            .await?;
        cluster
            .create_pods(["a", "b"].map(|name| pod(name).volume_claim(name)))
            .await?;
        // Both are there when the scheduler comes.
        cluster.start_scheduler()?;
        cluster.bound_count(1, LIMIT).await?;
        let got = cluster.history().read(|state: &State| {
            let got = |name: &&str| {
                state
                    .pod(name)
                    .is_some_and(|pod| plimsoll_cluster::PodFacts::node(pod).is_some())
            };
            ["a", "b"].into_iter().find(got)
        });
        let other = if got == Some("a") { "b" } else { "a" };
        let why = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.";
        cluster.pending_because(other, why).await?;
        cluster.create_volumes([volume("next").class("local").on("n2")]).await?;
        assert_eq!(cluster.bound(other).await?, "n2");
        assert_eq!(cluster.claim_bound(other).await?, "next");
        Ok(())
    })
}

#[test]
fn a_volume_that_another_claim_takes_meanwhile_is_not_written_and_the_pod_gets_the_next() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster.create_classes([storage_class("local")]).await?;
        cluster.start_volume_controllers().await?;
        cluster
            .create_volumes([volume("wanted").class("local").on("n1")])
            .await?;
        cluster.volume_is("wanted", "Available").await?;
        cluster.create_claims([claim("data").class("local")]).await?;
        let gate = cluster.write_gate().await?;
        gate.close(Write::Volume, "wanted");
        cluster.start_scheduler()?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        gate.arrival(Write::Volume, "wanted").await?;
        // Who asks for a volume by name gets it from the controller, which the gate lets pass.
        cluster
            .create_claims([claim("quicker").class("local").volume("wanted")])
            .await?;
        assert_eq!(cluster.claim_bound("quicker").await?, "wanted");
        gate.open(Write::Volume, "wanted");
        let why = "running PreBind plugin \"VolumeBinding\": Operation cannot be fulfilled on persistentvolumes \
                   \"wanted\": the object has been modified; please apply your changes to the latest version and try \
                   again";
        was_told(cluster, "p", why).await?;
        cluster.create_volumes([volume("next").class("local").on("n2")]).await?;
        assert_eq!(cluster.bound("p").await?, "n2");
        assert_eq!(cluster.claim_bound("data").await?, "next");
        Ok(())
    })
}
