//! The worst that can happen to a replacement: all replicas gone at once, and their pods too.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use plimsoll_chart::{Installed, Replica};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, suite};
use plimsoll_controlplane::{Process, User};

use crate::helm;
use crate::release::{of_cluster, with_chart};
use crate::replicas::{end, ready, start};

const RELEASE: &str = "comeback";
const REPLICAS: usize = 3;

/// Of leases that must run out first.
const LIMIT: Duration = Duration::from_mins(1);

/// The controllers that make pods of a Deployment.
fn controllers(cluster: &mut Cluster<'_>) -> anyhow::Result<Process> {
    let control_plane = cluster.control_plane();
    let name = "kube-controller-manager";
    let program = control_plane.programs().path(name).context("no controllers")?;
    let kubeconfig = control_plane.server().kubeconfig(&User::admin())?;
    let arguments = [
        format!("--kubeconfig={}", kubeconfig.display()),
        "--controllers=deployment-controller,replicaset-controller".to_owned(),
        "--leader-elect=false".to_owned(),
        "--use-service-account-credentials=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    let log = control_plane.dir().path().join("controllers.log");
    Process::spawn(name, &program, &arguments, &[], &log)
}

fn of_release() -> ListParams {
    ListParams::default().labels(&format!("app.kubernetes.io/instance={RELEASE}"))
}

/// Waits until as many pods run as there should be replicas, none of them among `gone`. Returns their UIDs.
async fn running(cluster: &Cluster<'_>, gone: &BTreeSet<String>) -> anyhow::Result<BTreeSet<String>> {
    let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), "kube-system");
    let runs = |pod: &Pod| {
        pod.status
            .as_ref()
            .is_some_and(|status| status.phase.as_deref() == Some("Running"))
    };
    let deadline = tokio::time::Instant::now() + LIMIT;
    loop {
        let list = pods.list(&of_release()).await?;
        let uids = list.items.into_iter().filter(runs).filter_map(|pod| pod.metadata.uid);
        let uids: BTreeSet<String> = uids.filter(|uid| !gone.contains(uid)).collect();
        if uids.len() == REPLICAS {
            return Ok(uids);
        }
        ensure!(tokio::time::Instant::now() < deadline, "only {} pods run", uids.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What kubelets would start for these pods.
async fn start_all(cluster: &mut Cluster<'_>, installed: &Installed, from: usize) -> anyhow::Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for number in from..from + REPLICAS {
        let mut replica = start(cluster, installed, number).await?;
        ready(installed, &mut replica).await?;
        replicas.push(replica);
    }
    Ok(replicas)
}

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
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        let helm = of_cluster(helm, cluster)?;
        let client = cluster.client().clone();
        let _controllers = controllers(cluster)?;
        cluster.create_nodes(["n1", "n2", "n3"].map(node)).await?;
        cluster.start_kubelets();
        let leader = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;
        cluster.create_pods([pod("before")]).await?;
        cluster.bound("before").await?;

        // Without a word about its absence: it holds the Lease.
        let values = "--set=mode=replacement,leaderElection.leaseDuration=6s,leaderElection.renewDeadline=4s,leaderElection.retryPeriod=1s";
        with_chart(&helm, "install", RELEASE, "kube-system", &[values])?;
        let installed = Installed::new(client.clone(), "kube-system", "comeback-plimsoll");
        let first = running(cluster, &BTreeSet::new()).await?;
        let mut replicas = start_all(cluster, &installed, 0).await?;
        hand_over(cluster, leader, "replaced").await?;
        let standby = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;

        for replica in &mut replicas {
            replica.process.kill()?;
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
        let now = DeleteParams::default().grace_period(0);
        pods.delete_collection(&now, &of_release()).await?;
        running(cluster, &first).await?;
        let replicas = start_all(cluster, &installed, REPLICAS).await?;
        hand_over(cluster, standby, "back").await?;

        for replica in replicas {
            end(replica).await?;
        }
        helm.run(&["uninstall", RELEASE, "--namespace", "kube-system"])?;
        // Nobody collects garbage here.
        let sets: Api<ReplicaSet> = Api::namespaced(client, "kube-system");
        sets.delete_collection(&now, &of_release()).await?;
        Ok(())
    })
}
