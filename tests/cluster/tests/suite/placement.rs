//! Pods that can be placed are, where they may be, and the cluster is told.

use std::collections::BTreeSet;

use anyhow::Context;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{PodFacts, suite};
use serde_json::json;

#[test]
fn a_pod_that_fits_is_bound_with_its_condition_and_event() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1")]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("a").cpu("1").memory("1Gi")]).await?;
        assert_eq!(cluster.bound("a").await?, "n1");

        let status = cluster
            .history()
            .read(|state| state.pod("a").and_then(PodFacts::scheduled).cloned());
        assert_eq!(status.context("no PodScheduled")?.status, "True");
        let event = cluster.event("a", "Scheduled").await?;
        let note = format!("Successfully assigned {}/a to n1", cluster.namespace());
        assert_eq!(event.note.as_deref(), Some(note.as_str()));
        assert_eq!(event.type_.as_deref(), Some("Normal"));
        assert_eq!(event.action.as_deref(), Some("Binding"));
        assert_eq!(event.reporting_controller.as_deref(), Some("default-scheduler"));
        assert!(
            event
                .reporting_instance
                .is_some_and(|instance| instance.starts_with("default-scheduler-"))
        );
        let regarding = event.regarding.context("an event about nothing")?;
        assert_eq!(
            (regarding.kind.as_deref(), regarding.name.as_deref()),
            (Some("Pod"), Some("a"))
        );
        Ok(())
    })
}

#[test]
fn pods_and_nodes_that_were_there_before_the_scheduler_are_not_forgotten() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes((0..4).map(|i| node(&format!("n{i}")).cpu("2")))
            .await?;
        cluster
            .create_pods((0..8).map(|i| pod(&format!("p{i}")).cpu("1")))
            .await?;
        cluster.start_scheduler()?;
        cluster.bound_count(8, std::time::Duration::from_secs(30)).await
    })
}

#[test]
fn selectors_taints_and_ports_decide_where_a_pod_goes() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes([
                node("plain"),
                node("disk").label("disk", "ssd"),
                node("tainted").taint("dedicated", "batch", "NoSchedule"),
            ])
            .await?;
        cluster.start_scheduler()?;
        cluster
            .create_pods([
                pod("selective").node_selector("disk", "ssd"),
                pod("tolerant")
                    .toleration("dedicated", "batch")
                    .node_selector("kubernetes.io/hostname", "tainted"),
                pod("port-1").host_port(8080),
                pod("port-2").host_port(8080),
            ])
            .await?;
        assert_eq!(cluster.bound("selective").await?, "disk");
        assert_eq!(cluster.bound("tolerant").await?, "tainted");
        let ports = BTreeSet::from([cluster.bound("port-1").await?, cluster.bound("port-2").await?]);
        assert_eq!(ports, BTreeSet::from(["disk".to_owned(), "plain".to_owned()]));
        cluster.create_pods([pod("port-3").host_port(8080)]).await?;
        let why = "0/3 nodes are available: 1 node(s) had untolerated taint(s), \
                   2 node(s) didn't have free ports for the requested pod ports.";
        cluster.pending_because("port-3", why).await
    })
}

#[test]
fn pods_go_where_those_are_that_they_need_and_not_where_those_are_that_they_avoid() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("web").label("app", "web")]).await?;
        let web = cluster.bound("web").await?;
        cluster
            .create_pods([
                pod("near").near("app", "web"),
                pod("away").label("app", "shy").away_from("app", "web"),
            ])
            .await?;
        assert_eq!(cluster.bound("near").await?, web);
        let away = cluster.bound("away").await?;
        assert_ne!(away, web);
        // The shy one keeps others away too.
        let intruder = pod("intruder").label("app", "web");
        let intruder = intruder.node_selector("kubernetes.io/hostname", &away);
        cluster.create_pods([intruder]).await?;
        let why = "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, \
                   1 node(s) didn't satisfy existing pods anti-affinity rules.";
        cluster.pending_because("intruder", why).await
    })
}

#[test]
fn strictly_spread_pods_take_turns_and_wait_for_a_domain_that_may_take_them() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster
            .create_nodes([node("n1"), node("n2"), node("gone").unschedulable()])
            .await?;
        cluster.start_scheduler()?;
        let web = |name: &str| pod(name).label("app", "web").spread("app", "web");
        cluster.create_pods([web("a"), web("b")]).await?;
        let nodes = BTreeSet::from([cluster.bound("a").await?, cluster.bound("b").await?]);
        assert_eq!(nodes.len(), 2);
        // The node that may not be used is the emptiest.
        cluster.create_pods([web("c")]).await?;
        let why = "0/3 nodes are available: 1 node(s) were unschedulable, \
                   2 node(s) didn't match pod topology spread constraints.";
        cluster.pending_because("c", why).await?;
        cluster.delete_node("gone").await?;
        cluster.bound("c").await?;
        Ok(())
    })
}

#[test]
fn pods_of_a_service_are_spread_though_nothing_is_said_about_it() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // The large node is so much emptier that without a reason every pod goes there.
        cluster.create_nodes([node("large").cpu("64"), node("small")]).await?;
        cluster
            .create_in_namespace::<Service>(json!({
                "metadata": { "name": "web" },
                "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
            }))
            .await?;
        cluster.start_scheduler()?;
        for name in ["db-0", "db-1"] {
            cluster.create_pods([pod(name).cpu("500m").label("app", "db")]).await?;
            assert_eq!(cluster.bound(name).await?, "large");
        }
        let mut nodes = BTreeSet::new();
        for name in ["web-0", "web-1"] {
            cluster.create_pods([pod(name).cpu("500m").label("app", "web")]).await?;
            nodes.insert(cluster.bound(name).await?);
        }
        assert_eq!(nodes.len(), 2);
        Ok(())
    })
}

#[test]
fn when_there_is_room_for_one_the_higher_priority_gets_it() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        for (name, value) in [("high", 1000), ("low", 10)] {
            let class = json!({ "metadata": { "name": name }, "value": value, "preemptionPolicy": "Never" });
            cluster.create::<PriorityClass>(class).await?;
        }
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        // The low one is older, and both wait when the scheduler comes.
        cluster.create_pods([pod("low").cpu("1").priority_class("low")]).await?;
        cluster
            .create_pods([pod("high").cpu("1").priority_class("high")])
            .await?;
        cluster.start_scheduler()?;
        assert_eq!(cluster.bound("high").await?, "n1");
        cluster
            .pending_because("low", "0/1 nodes are available: 1 Insufficient cpu.")
            .await
    })
}

#[test]
fn a_pod_meant_for_another_scheduler_is_left_alone() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1")]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("theirs").scheduler("somebody-else")]).await?;
        // Later in the same stream of changes, so the scheduler has seen the other one when it places this.
        cluster.create_pods([pod("ours")]).await?;
        cluster.bound("ours").await?;
        let theirs = cluster.pods().get("theirs").await?;
        assert_eq!(theirs.node(), None);
        assert_eq!(theirs.scheduled(), None);
        assert!(cluster.binds()?.iter().all(|bind| bind.pod == "ours"));
        Ok(())
    })
}
