//! The leader is killed in the middle of binding a pod's volumes. The next leader knows only what the API server holds: what was
//! reserved there stays reserved, and the pod goes where it was to go.

use plimsoll_cluster::fixtures::{claim, node, pod, storage_class, volume};
use plimsoll_cluster::provisioner::{Conduct, driver};
use plimsoll_cluster::{Cluster, Election, Scheduler, Write, suite};

use crate::failover::{binder, until_led};

/// Two replicas; gives the place of the leader.
async fn two_replicas(cluster: &mut Cluster<'_>) -> anyhow::Result<usize> {
    for _ in 0..2 {
        cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
    }
    until_led(cluster, 1).await?;
    cluster.create_pods([pod("first")]).await?;
    cluster.bound("first").await?;
    binder(cluster, "first").await
}

/// Four nodes with a free volume each, and a claim called `data` to one of them.
async fn stage(cluster: &mut Cluster<'_>) -> anyhow::Result<usize> {
    let nodes = ["n1", "n2", "n3", "n4"];
    cluster.create_nodes(nodes.map(node)).await?;
    cluster.create_classes([storage_class("local")]).await?;
    cluster
        .create_volumes(nodes.map(|name| volume(&format!("on-{name}")).class("local").on(name)))
        .await?;
    for name in nodes {
        cluster.make_available(&format!("on-{name}")).await?;
    }
    cluster.create_claims([claim("data").class("local")]).await?;
    two_replicas(cluster).await
}

/// The volume that names the claim, and no other does.
async fn reserved(cluster: &Cluster<'_>) -> anyhow::Result<String> {
    let named = |state: &plimsoll_cluster::State| {
        let mut volumes = state.volumes.iter();
        let names_claim = |volume: &k8s_openapi::api::core::v1::PersistentVolume| {
            volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some())
        };
        volumes
            .find(|(_, volume)| names_claim(volume))
            .map(|(name, _)| name.clone())
    };
    cluster
        .history()
        .until("a volume names the claim", super::LIMIT, named)
        .await
}

/// Waits until the other replica has bound `p` where its volume is, and looks for other volumes that were touched.
async fn finished(cluster: &mut Cluster<'_>, killed: usize, volume: &str) -> anyhow::Result<()> {
    until_led(cluster, 2).await?;
    assert_eq!(format!("on-{}", cluster.bound("p").await?), volume);
    assert_ne!(binder(cluster, "p").await?, killed);
    assert_eq!(cluster.claim_bound("data").await?, volume);
    let named = cluster.history().read(|state| {
        let named = state.volumes.values().filter(|volume| {
            let spec = volume.spec.as_ref();
            spec.is_some_and(|spec| spec.claim_ref.is_some())
        });
        named.count()
    });
    assert_eq!(named, 1, "another volume was reserved too");
    Ok(())
}

#[test]
fn the_leader_is_killed_between_the_write_of_the_volume_and_its_bond() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let leader = stage(cluster).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let volume = reserved(cluster).await?;
        cluster.replicas()[leader].process.kill()?;
        // The next leader finds the volume as the first one left it.
        until_led(cluster, 2).await?;
        cluster.start_volume_controllers().await?;
        finished(cluster, leader, &volume).await
    })
}

#[test]
fn the_leader_is_killed_between_the_bond_of_the_volume_and_the_binding_of_the_pod() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let leader = stage(cluster).await?;
        cluster.start_volume_controllers().await?;
        let gate = cluster.write_gate().await?;
        gate.close(Write::Bind, "p");
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let volume = cluster.claim_bound("data").await?;
        gate.arrival(Write::Bind, "p").await?;
        cluster.replicas()[leader].process.kill()?;
        // By then the API server has noticed that nobody waits for its answer any more.
        until_led(cluster, 2).await?;
        gate.open(Write::Bind, "p");
        finished(cluster, leader, &volume).await
    })
}

#[test]
fn the_leader_is_killed_when_it_writes_the_volume() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let leader = stage(cluster).await?;
        cluster.start_volume_controllers().await?;
        let gate = cluster.write_gate().await?;
        let writes = ["on-n1", "on-n2", "on-n3", "on-n4"].map(|name| (Write::Volume, name));
        for (write, name) in writes {
            gate.close(write, name);
        }
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        gate.first_arrival(&writes).await?;
        cluster.replicas()[leader].process.kill()?;
        until_led(cluster, 2).await?;
        for (write, name) in writes {
            gate.open(write, name);
        }
        let volume = cluster.claim_bound("data").await?;
        finished(cluster, leader, &volume).await
    })
}

#[test]
fn the_leader_is_killed_while_the_driver_makes_the_volume() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes(["n1", "n2", "n3", "n4"].map(node)).await?;
        cluster.create_classes([storage_class("made").provisioned()]).await?;
        cluster.start_volume_controllers().await?;
        let by_node = driver("kubernetes.io/hostname").conduct(Conduct::IsSilent);
        let driver = cluster.start_provisioner(by_node).await?;
        let leader = two_replicas(cluster).await?;
        cluster.create_claims([claim("data").class("made")]).await?;
        cluster.create_pods([pod("p").volume_claim("data")]).await?;
        let chosen = cluster.selected_node("data").await?;
        cluster.replicas()[leader].process.kill()?;
        until_led(cluster, 2).await?;
        // What the next leader has promised away cannot be promised again.
        driver.behave(Conduct::Provides);
        assert_eq!(cluster.bound("p").await?, chosen);
        assert_ne!(binder(cluster, "p").await?, leader);
        Ok(())
    })
}
