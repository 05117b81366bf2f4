//! A replacement: the worst that can happen to it, and an update of itself by itself.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use plimsoll_chart::Replica;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, suite};
use plimsoll_controlplane::User;

use crate::helm;
use crate::release::{of_cluster, with_chart};
use crate::stage::{LIMIT, Stage};

const RELEASE: &str = "plimsoll";
const QUICK: &str = "leaderElection.leaseDuration=6s,leaderElection.renewDeadline=4s,leaderElection.retryPeriod=1s";

/// Ends the kube-scheduler that runs, and places a pod, which a replica of the release has to do then.
async fn hand_over(cluster: &mut Cluster<'_>, running: usize, name: &str) -> anyhow::Result<()> {
    let replica = cluster.replicas().get_mut(running).context("no kube-scheduler")?;
    replica.terminate().await?;
    cluster.create_pods([pod(name)]).await?;
    cluster.bound(name).await?;
    let by = cluster.bind_of(name).await?.group;
    ensure!(!by.starts_with(User::REPLICA_GROUP), "{name} was bound by {by}");
    Ok(())
}

#[test]
fn a_replacement_whose_replicas_and_pods_all_go_comes_back_by_the_kube_scheduler_that_stands_by() -> anyhow::Result<()>
{
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let helm = of_cluster(helm, cluster)?;
        cluster.create_nodes(["n1", "n2", "n3"].map(node)).await?;
        let leader = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;
        cluster.create_pods([pod("before")]).await?;
        cluster.bound("before").await?;

        // Without a word about its absence: it holds the Lease.
        let values = format!("--set=mode=replacement,{QUICK}");
        with_chart(&helm, "install", RELEASE, "kube-system", &[&values])?;
        let first = stage.ready(3).await?;
        hand_over(cluster, leader, "replaced").await?;
        let standby = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;

        stage.kubelet.kill_all();
        let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), "kube-system");
        let ours = ListParams::default().labels("app.kubernetes.io/instance=plimsoll");
        pods.delete_collection(&DeleteParams::default().grace_period(0), &ours)
            .await?;
        let gone: BTreeSet<String> = first.into_iter().map(|replica| replica.uid).collect();
        let all_new = |replicas: &[Replica]| {
            let new = |replica: &Replica| replica.ready && !gone.contains(&replica.uid);
            (replicas.len() == 3 && replicas.iter().all(new)).then_some(())
        };
        stage.kubelet.until("three others are ready", LIMIT, all_new).await?;
        hand_over(cluster, standby, "back").await?;

        stage.nothing_forbidden()?;
        helm.run(&["uninstall", RELEASE, "--wait", "--namespace", "kube-system"])?;
        stage.all_gone().await?;
        stage.all_ended_well()
    })
}

/// The names that the Lease has had since the last `from`.
fn holders_since(cluster: &Cluster<'_>, from: &[Replica]) -> Vec<String> {
    let is_ours = |holder: &String| from.iter().any(|replica| holder.starts_with(&replica.pod));
    cluster.history().read(|state| {
        let first = state.holders.iter().position(is_ours).unwrap_or(state.holders.len());
        state.holders[first..].to_vec()
    })
}

#[test]
fn an_update_of_a_replacement_is_placed_by_itself_and_the_lead_is_handed_over_each_time() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let helm = of_cluster(helm, cluster)?;
        cluster.create_nodes(["n1", "n2", "n3"].map(node)).await?;
        let leader = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;
        cluster.create_pods([pod("before")]).await?;
        cluster.bound("before").await?;
        // With the durations that are the defaults: whoever has to wait for the Lease to run out is seen.
        with_chart(&helm, "install", RELEASE, "kube-system", &["--set=mode=replacement"])?;
        let first = stage.ready(3).await?;
        hand_over(cluster, leader, "replaced").await?;

        let update = ["--reuse-values", "--set=clientConnection.qps=60"];
        with_chart(&helm, "upgrade", RELEASE, "kube-system", &update)?;
        let old: BTreeSet<&str> = first.iter().map(|replica| replica.uid.as_str()).collect();
        let mut placed = 0;
        let deadline = tokio::time::Instant::now() + LIMIT;
        loop {
            let name = format!("meanwhile-{placed}");
            cluster.create_pods([pod(&name)]).await?;
            cluster.bound(&name).await?;
            // However long it takes, the nodes have room.
            cluster.delete_pod(&name).await?;
            placed += 1;
            let now = stage.kubelet.replicas();
            if now.len() == 3 && now.iter().all(|one| one.ready && !old.contains(one.uid.as_str())) {
                break;
            }
            ensure!(tokio::time::Instant::now() < deadline, "there are still {now:#?}");
        }
        let last = stage.kubelet.replicas();
        let all: Vec<Replica> = first.iter().chain(&last).cloned().collect();
        let holders = holders_since(cluster, &all);
        // Freed each time before it was taken: nobody had to wait for it to run out, and nobody else took it.
        let (leaders, gaps): (Vec<_>, Vec<_>) = holders.iter().enumerate().partition(|(place, _)| place % 2 == 0);
        ensure!(leaders.len() > 1, "the leader was never replaced: {holders:?}");
        ensure!(gaps.iter().all(|(_, holder)| holder.is_empty()), "{holders:?}");
        ensure!(leaders.iter().all(|(_, holder)| !holder.is_empty()), "{holders:?}");
        suite::say(&format!(
            "    {placed} pods placed during the update, leaders: {holders:?}"
        ));

        stage.nothing_forbidden()?;
        helm.run(&["uninstall", RELEASE, "--wait", "--namespace", "kube-system"])?;
        stage.all_gone().await?;
        stage.all_ended_well()
    })
}
