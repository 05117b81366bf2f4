//! Volumes that a driver makes when a pod has a node: where that node reaches them.

use plimsoll_cluster::fixtures::{claim, node, pod, storage_class};
use plimsoll_cluster::provisioner::driver;
use plimsoll_cluster::{Cluster, State, suite};

use super::{ZONE, node_in};

/// The zone whose nodes reach the volume of a claim.
fn zone_of(cluster: &Cluster<'_>, volume: &str) -> Option<String> {
    cluster.history().read(|state: &State| {
        let affinity = state.volumes.get(volume)?.spec.as_ref()?.node_affinity.as_ref()?;
        let terms = &affinity.required.as_ref()?.node_selector_terms;
        let values = terms.first()?.match_expressions.as_ref()?.first()?.values.as_ref()?;
        values.first().cloned()
    })
}

#[test]
fn a_volume_is_made_in_the_zone_where_the_pod_got_its_node() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes([node_in("a", "a1"), node_in("b", "b1"), node_in("b", "b2")])
            .await?;
        cluster.create_classes([storage_class("made").provisioned()]).await?;
        cluster.start_volume_controllers().await?;
        let _driver = cluster.start_provisioner(driver(ZONE)).await?;
        cluster.start_scheduler()?;
        cluster
            .create_claims([claim("data").class("made"), claim("more").class("made")])
            .await?;
        let p = pod("p").volume_claim("data").volume_claim("more");
        cluster
            .create_pods([p.node_selector("kubernetes.io/hostname", "b2")])
            .await?;
        assert_eq!(cluster.bound("p").await?, "b2");
        for claim in ["data", "more"] {
            assert_eq!(cluster.selected_node(claim).await?, "b2");
            let volume = cluster.claim_bound(claim).await?;
            assert_eq!(zone_of(cluster, &volume).as_deref(), Some("b"));
        }
        // Whoever uses the claim later goes where the volume is, however full the other nodes of the zone are.
        cluster
            .create_pods([pod("later").cpu("3").volume_claim("data")])
            .await?;
        cluster.create_pods([pod("last").cpu("3").volume_claim("data")]).await?;
        let mut nodes = [cluster.bound("later").await?, cluster.bound("last").await?];
        nodes.sort();
        assert_eq!(nodes, ["b1", "b2"]);
        Ok(())
    })
}

#[test]
fn a_class_that_allows_some_zones_gets_volumes_and_pods_there_alone() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes([node_in("a", "a1"), node_in("b", "b1"), node("nowhere")])
            .await?;
        cluster
            .create_classes([
                storage_class("in-b").provisioned().allowed(ZONE, &["b", "c"]),
                storage_class("in-c").provisioned().allowed(ZONE, &["c"]),
            ])
            .await?;
        cluster.start_volume_controllers().await?;
        let _driver = cluster.start_provisioner(driver(ZONE)).await?;
        cluster.start_scheduler()?;
        cluster
            .create_claims([claim("data").class("in-b"), claim("far").class("in-c")])
            .await?;
        cluster
            .create_pods([pod("p").volume_claim("data"), pod("q").volume_claim("far")])
            .await?;
        assert_eq!(cluster.bound("p").await?, "b1");
        let why = "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind.";
        cluster.pending_because("q", why).await?;
        cluster.create_nodes([node_in("c", "c1")]).await?;
        assert_eq!(cluster.bound("q").await?, "c1");
        Ok(())
    })
}
