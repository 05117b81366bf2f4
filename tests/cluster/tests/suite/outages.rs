//! The API server goes away and comes back.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, PostParams};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Write, suite};
use plimsoll_controlplane::User;

#[test]
fn after_an_api_server_restart_scheduling_goes_on() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes((0..5).map(|i| node(&format!("n{i}")).cpu("20")))
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("before").cpu("1")]).await?;
        cluster.bound("before").await?;
        // Enough to be in the middle of, and exactly as many as there is room for.
        cluster
            .create_pods((1..100).map(|i| pod(&format!("p{i}")).cpu("1")))
            .await?;
        cluster.control_plane().stop_server()?;
        Box::pin(cluster.control_plane().start_server()).await?;
        cluster.bound_count(100, Duration::from_mins(1)).await?;
        cluster.create_pods([pod("after").cpu("1")]).await?;
        cluster
            .pending_because("after", "0/5 nodes are available: 5 Insufficient cpu.")
            .await
    })
}

#[test]
fn a_bind_whose_reply_is_lost_is_neither_repeated_elsewhere_nor_forgotten() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1"), node("n2").cpu("1")]).await?;
        let gate = cluster.write_gate().await?;
        cluster.start_scheduler()?;
        gate.close(Write::Bind, "a");
        cluster.create_pods([pod("a").cpu("1")]).await?;
        gate.arrival(Write::Bind, "a").await?;
        cluster.control_plane().stop_server()?;
        gate.open(Write::Bind, "a");
        Box::pin(cluster.control_plane().start_server()).await?;
        let first = cluster.bound("a").await?;
        cluster.create_pods([pod("b").cpu("1")]).await?;
        assert_ne!(cluster.bound("b").await?, first);
        Ok(())
    })
}

#[test]
fn what_happened_in_a_partition_is_seen_although_history_is_compacted() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("old").cpu("1")]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("a").cpu("1")]).await?;
        cluster.bound("a").await?;

        // While the scheduler's API server is down, the world changes through another, and the way there is forgotten:
        // a pod goes, a node goes, nodes come, pods come. The scheduler must list again and find all of it. (Pods and
        // nodes are listed apart, in either order, so the new pods ask for what only the new nodes have.)
        cluster.control_plane().stop_server()?;
        let other = Box::pin(cluster.control_plane().second_server()).await?;
        let client = other.client(&User::admin()).await?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), cluster.namespace());
        let nodes: Api<Node> = Api::all(client);
        let at_once = kube::api::DeleteParams::default().grace_period(0);
        let small = |name| pod(name).cpu("1").node_selector("came", "later").build();
        pods.delete("a", &at_once).await?;
        nodes.delete("old", &at_once).await?;
        for name in ["new-1", "new-2"] {
            let new = node(name).cpu("1").label("came", "later").build();
            nodes.create(&PostParams::default(), &new).await?;
        }
        pods.create(&PostParams::default(), &small("b")).await?;
        cluster.control_plane().etcd().compact().await?;
        pods.create(&PostParams::default(), &small("c")).await?;
        drop(other);
        Box::pin(cluster.control_plane().start_server()).await?;

        let on = cluster.bound("b").await?;
        assert_ne!(cluster.bound("c").await?, on, "one node was given out twice");
        // Two nodes: both that came, and no longer the one that went.
        cluster.nodes_known_to_scheduler().await?;
        cluster.create_pods([pod("large").cpu("8")]).await?;
        cluster
            .pending_because("large", "0/2 nodes are available: 2 Insufficient cpu.")
            .await
    })
}
