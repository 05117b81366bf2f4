//! A pod that fits nowhere says why, in the original's words, and is placed when the world changes.

use anyhow::ensure;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{PodFacts, suite};
use serde_json::json;

#[test]
fn an_unfit_pod_tells_its_reason_in_condition_and_event_and_is_placed_when_a_node_comes() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1"), node("n2").cpu("1")]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("large").cpu("2")]).await?;
        let why = "0/2 nodes are available: 2 Insufficient cpu.";
        cluster.pending_because("large", why).await?;
        let condition = cluster
            .history()
            .read(|state| state.pod("large").and_then(PodFacts::scheduled).cloned());
        let condition = condition.unwrap_or_default();
        assert_eq!(condition.reason.as_deref(), Some("Unschedulable"));
        // No node would be large enough, whoever went.
        let more = "no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for \
                    scheduling.";
        assert_eq!(condition.message, Some(format!("{why} {more}")));
        let event = cluster.event("large", "FailedScheduling").await?;
        ensure!(
            event.note.as_deref().is_some_and(|note| note.starts_with(why)),
            "the event says {:?}",
            event.note
        );
        assert_eq!(event.type_.as_deref(), Some("Warning"));
        assert_eq!(event.action.as_deref(), Some("Scheduling"));

        cluster.create_nodes([node("n3").cpu("4")]).await?;
        assert_eq!(cluster.bound("large").await?, "n3");
        Ok(())
    })
}

#[test]
fn without_any_node_a_pod_says_so_and_is_placed_on_the_first_one() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.start_scheduler()?;
        cluster.create_pods([pod("early")]).await?;
        cluster
            .pending_because("early", "no nodes available to schedule pods")
            .await?;
        cluster.create_nodes([node("n1")]).await?;
        assert_eq!(cluster.bound("early").await?, "n1");
        Ok(())
    })
}

#[test]
fn room_freed_by_a_deleted_pod_is_used() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        cluster.start_kubelets();
        cluster.start_scheduler()?;
        cluster.create_pods([pod("first").cpu("1")]).await?;
        cluster.bound("first").await?;
        cluster.create_pods([pod("second").cpu("1")]).await?;
        cluster
            .pending_because("second", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        // With the usual grace period: the room is free only when the kubelet is done.
        cluster
            .pods()
            .delete("first", &kube::api::DeleteParams::default())
            .await?;
        assert_eq!(cluster.bound("second").await?, "n1");
        Ok(())
    })
}

#[test]
fn an_uncordoned_node_and_a_removed_taint_are_used() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes([
                node("cordoned").unschedulable().cpu("1"),
                node("tainted").taint("dedicated", "batch", "NoSchedule").cpu("1"),
                node("small").cpu("500m"),
            ])
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("a").cpu("1")]).await?;
        let why = "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), \
                   1 node(s) were unschedulable.";
        cluster.pending_because("a", why).await?;
        cluster
            .patch_node("cordoned", json!({ "spec": { "unschedulable": null } }))
            .await?;
        assert_eq!(cluster.bound("a").await?, "cordoned");
        cluster.create_pods([pod("b").cpu("1")]).await?;
        let why = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.";
        cluster.pending_because("b", why).await?;
        cluster
            .patch_node("tainted", json!({ "spec": { "taints": null } }))
            .await?;
        assert_eq!(cluster.bound("b").await?, "tainted");
        Ok(())
    })
}
