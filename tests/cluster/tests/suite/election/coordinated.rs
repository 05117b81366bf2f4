//! kube-apiserver's own coordinator says who leads.

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use plimsoll_cluster::fixtures::node;
use plimsoll_cluster::{Cluster, Election, Scheduler, State, suite};
use serde_json::json;

use super::{TAKE_OVER, bound_by, holder, place, until_led, without_kube_scheduler};

const COORDINATED: Election = Election::Flags(&[
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
    "--feature-gates=CoordinatedLeaderElection=true",
]);

fn candidates(cluster: &Cluster<'_>) -> Api<LeaseCandidate> {
    Api::namespaced(cluster.client().clone(), "kube-system")
}

async fn until_candidates(cluster: &Cluster<'_>, count: usize) -> anyhow::Result<()> {
    for _ in 0..200 {
        if candidates(cluster).list(&ListParams::default()).await?.items.len() == count {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    anyhow::bail!("not {count} candidates")
}

/// Waits until somebody else than `before` holds the lease, and says who.
async fn next_holder(cluster: &Cluster<'_>, before: &str) -> anyhow::Result<String> {
    let other = |state: &State| state.holder().filter(|holder| *holder != before).map(str::to_owned);
    cluster.history().until("another leads", TAKE_OVER, other).await
}

#[test]
fn the_leader_is_the_one_that_the_api_servers_coordinator_chooses() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if without_kube_scheduler(cluster) {
            return Ok(());
        }
        let all = ListParams::default();
        candidates(cluster)
            .delete_collection(&DeleteParams::default(), &all)
            .await?;
        cluster.create_nodes([node("n1").cpu("16")]).await?;
        let first = cluster.start(Scheduler::Plimsoll, COORDINATED, &[])?;
        until_led(cluster, 1).await?;
        let oldest = holder(cluster)?;
        place(cluster, "a", 3).await?;
        bound_by(cluster, "a", 3, first).await?;
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "kube-system");
        let spec = leases.get("kube-scheduler").await?.spec.context("no spec")?;
        assert_eq!(spec.strategy.as_deref(), Some("OldestEmulationVersion"));
        let candidate = candidates(cluster).get(&oldest).await?.spec;
        assert_eq!(candidate.lease_name, "kube-scheduler");
        let readiness = cluster.replicas()[first].reads("/readyz?verbose").await?;
        ensure!(readiness.contains("[+]informer-sync ok"), "{readiness}");

        // A candidate of the other kind. Its patch release is later, so that it is preferred to none of ours.
        let other = cluster.start(Scheduler::KubeScheduler, COORDINATED, &[])?;
        until_candidates(cluster, 2).await?;
        for spec in candidates(cluster)
            .list(&all)
            .await?
            .items
            .into_iter()
            .map(|candidate| candidate.spec)
        {
            assert_eq!(
                (&spec.emulation_version, &spec.strategy, &spec.lease_name),
                (&candidate.emulation_version, &candidate.strategy, &candidate.lease_name)
            );
        }
        place(cluster, "b", 3).await?;
        bound_by(cluster, "b", 3, first).await?;

        // Killed: its lease runs out, and it gives the coordinator no answer.
        cluster.replicas()[first].process.kill()?;
        let kube_scheduler = next_holder(cluster, &oldest).await?;
        place(cluster, "c", 3).await?;
        bound_by(cluster, "c", 3, other).await?;
        candidates(cluster).delete(&oldest, &DeleteParams::default()).await?;

        // And back: the coordinator prefers ours, and kube-scheduler makes way, which ends it.
        let third = cluster.start(Scheduler::Plimsoll, COORDINATED, &[])?;
        let back = next_holder(cluster, &kube_scheduler).await?;
        place(cluster, "d", 3).await?;
        bound_by(cluster, "d", 3, third).await?;
        candidates(cluster)
            .delete(&kube_scheduler, &DeleteParams::default())
            .await?;

        // The coordinator would rather see another: ours makes way, and takes its candidate away on the way out.
        let fourth = cluster.start(Scheduler::Plimsoll, COORDINATED, &[])?;
        until_candidates(cluster, 2).await?;
        // The coordinator prefers the older candidate, by whole seconds: the one that makes way comes back as another, and
        // must not do so within the second in which the fourth came.
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        let preferred = json!({ "spec": { "preferredHolder": "whoever" } });
        leases
            .patch("kube-scheduler", &PatchParams::default(), &Patch::Merge(preferred))
            .await?;
        next_holder(cluster, &back).await?;
        place(cluster, "e", 3).await?;
        bound_by(cluster, "e", 3, fourth).await?;

        assert_eq!(cluster.replicas()[third].terminate().await?, Some(0));
        assert_eq!(cluster.replicas()[fourth].terminate().await?, Some(0));
        until_candidates(cluster, 0).await
    })
}
