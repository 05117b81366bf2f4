//! What Plimsoll cannot do yet, and what it must survive. These tests are about Plimsoll alone.

use anyhow::ensure;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::DeviceClass;
use plimsoll_cluster::fixtures::{PodFixture, node, pod};
use plimsoll_cluster::{Election, PodFacts, Scheduler, suite};

/// Tells the binary to panic while it decides a pod with the label named.
const PANIC: &str = "PLIMSOLL_TEST_PANIC_LABEL";

/// A pod and the words that must name what it needs and does not get.
fn beyond_reach() -> Vec<(PodFixture, &'static str)> {
    vec![
        (pod("device").resource_claim("gpu"), "resource claims"),
        (pod("member").group("gang"), "scheduling group"),
    ]
}

#[test]
fn a_pod_that_needs_what_is_not_built_is_never_bound_and_is_told_what_is_missing() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        cluster.create_nodes([node("n1")]).await?;
        cluster.start_scheduler()?;
        let (pods, missing): (Vec<PodFixture>, Vec<&str>) = beyond_reach().into_iter().unzip();
        let names: Vec<String> = pods.iter().map(|pod| name(&pod.clone().build())).collect();
        cluster.create_pods(pods).await?;
        for (name, missing) in names.iter().zip(missing) {
            let why = cluster.why_pending(name).await?;
            ensure!(
                why.contains(missing),
                "{name} is told {why:?}, which does not name {missing}"
            );
            let event = cluster.event(name, "FailedScheduling").await?;
            let note = event.note.unwrap_or_default();
            ensure!(
                note.contains(missing),
                "the event of {name} says {note:?}, which does not name {missing}"
            );
        }
        // A change of the cluster wakes them all; still none of them may be bound.
        cluster.create_nodes([node("n2")]).await?;
        cluster.create_pods([pod("plain")]).await?;
        cluster.bound("plain").await?;
        let bound: Vec<String> = cluster.history().read(|state| {
            state
                .pods
                .values()
                .filter(|pod| pod.node().is_some())
                .map(name)
                .collect()
        });
        assert_eq!(bound, ["plain"]);
        Ok(())
    })
}

#[test]
fn an_extended_resource_is_not_taken_from_a_device_class_and_nobody_asks_for_devices() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        let class = serde_json::json!({
            "metadata": { "name": "cards" },
            "spec": { "extendedResourceName": "example.com/card" },
        });
        cluster.create::<DeviceClass>(class).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster.start_scheduler()?;
        cluster
            .create_pods([pod("player").request("example.com/card", "1")])
            .await?;
        let why = "0/1 nodes are available: 1 Insufficient example.com/card.";
        cluster.pending_because("player", why).await?;
        let asked = cluster.access_requests()?;
        ensure!(asked.iter().any(|asked| asked.resource == "nodes"), "{asked:?}");
        ensure!(
            asked.iter().all(|asked| asked.api_group != "resource.k8s.io"),
            "{asked:?}"
        );
        Ok(())
    })
}

#[test]
fn a_pod_whose_decision_panics_does_not_stop_the_others() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster.start(Scheduler::Plimsoll, Election::Off, &[(PANIC, "plimsoll.dev/poison")])?;
        cluster
            .create_pods([pod("poison").label("plimsoll.dev/poison", ""), pod("a"), pod("b")])
            .await?;
        cluster.bound("a").await?;
        cluster.bound("b").await?;
        let why = cluster.why_pending("poison").await?;
        let reason = cluster.history().read(|state| {
            state
                .pod("poison")
                .and_then(PodFacts::scheduled)
                .and_then(|condition| condition.reason.clone())
        });
        assert_eq!(reason.as_deref(), Some("SchedulerError"), "{why}");
        cluster.create_pods([pod("c").cpu("1")]).await?;
        cluster.bound("c").await?;
        for replica in cluster.replicas() {
            replica.process.ensure_running()?;
        }
        Ok(())
    })
}

fn name(pod: &Pod) -> String {
    pod.metadata.name.clone().unwrap_or_default()
}
