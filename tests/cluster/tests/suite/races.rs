//! What happens between a decision and its bind.

use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{PodFacts, Write, suite};

#[test]
fn a_pod_deleted_while_binding_gives_its_room_back() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        let gate = cluster.write_gate().await?;
        cluster.start_scheduler()?;
        gate.close(Write::Bind, "doomed");
        cluster.create_pods([pod("doomed").cpu("1")]).await?;
        gate.arrival(Write::Bind, "doomed").await?;
        // The room is claimed while the bind is under way.
        cluster.create_pods([pod("next").cpu("1")]).await?;
        cluster
            .pending_because("next", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        cluster.delete_pod("doomed").await?;
        gate.open(Write::Bind, "doomed");
        assert_eq!(cluster.bound("next").await?, "n1");
        Ok(())
    })
}

#[test]
fn a_pod_recreated_under_its_name_while_binding_is_placed_for_itself() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        let gate = cluster.write_gate().await?;
        cluster.start_scheduler()?;
        gate.close(Write::Bind, "twin");
        cluster
            .create_pods([pod("twin").cpu("1").label("born", "first")])
            .await?;
        gate.arrival(Write::Bind, "twin").await?;
        cluster.delete_pod("twin").await?;
        cluster
            .create_pods([pod("twin").cpu("1").label("born", "second")])
            .await?;
        gate.open(Write::Bind, "twin");
        assert_eq!(cluster.bound("twin").await?, "n1");
        let second = cluster.pods().get("twin").await?;
        let binds = cluster.binds()?;
        let answers: Vec<_> = binds
            .iter()
            .map(|bind| (bind.uid == second.uid(), bind.bound()))
            .collect();
        assert!(
            answers.contains(&(true, true)),
            "the second pod was not bound by its UID: {binds:?}"
        );
        assert!(
            !answers.contains(&(false, true)),
            "the first pod's bind was applied to the second: {binds:?}"
        );
        Ok(())
    })
}

#[test]
fn a_node_removed_while_binding_disturbs_nobody_else() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("gone").cpu("1")]).await?;
        let gate = cluster.write_gate().await?;
        cluster.start_scheduler()?;
        gate.close(Write::Bind, "late");
        cluster.create_pods([pod("late").cpu("1")]).await?;
        gate.arrival(Write::Bind, "late").await?;
        cluster.delete_node("gone").await?;
        cluster.create_nodes([node("stays").cpu("1")]).await?;
        cluster.create_pods([pod("other").cpu("1")]).await?;
        assert_eq!(cluster.bound("other").await?, "stays");
        // The API server binds to a node whether it exists or not; the pod's room is taken should the node come back.
        gate.open(Write::Bind, "late");
        assert_eq!(cluster.bound("late").await?, "gone");
        cluster.create_nodes([node("gone").cpu("1")]).await?;
        cluster.create_pods([pod("third").cpu("1")]).await?;
        cluster
            .pending_because("third", "0/2 nodes are available: 2 Insufficient cpu.")
            .await
    })
}
