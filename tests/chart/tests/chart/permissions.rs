//! What the chart lets its service account do: enough for everything that a replica does, and nothing that none does.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client, Config, ResourceExt};
use plimsoll_chart::{Helm, Installed, Replica};
use plimsoll_cluster::fixtures::{PodFixture, claim, node, pod, storage_class, volume};
use plimsoll_cluster::provisioner::driver;
use plimsoll_cluster::{Cluster, Election, Permissions, Scheduler, Write, WriteGate, suite};
use plimsoll_controlplane::AccessRequest;
use serde_json::json;

use crate::helm;
use crate::release::{of_cluster, restricted, with_chart};
use crate::stage::{LIMIT, Stage};

const NAMESPACE: &str = "chart-permissions";
const ACCOUNT: &str = "system:serviceaccount:chart-permissions:plimsoll";

/// Two profiles.
const VALUES: &str = r"
replicaCount: 2
profiles:
  - schedulerName: plimsoll
  - schedulerName: hard
    podDisruptionBudgetPolicy: Hard
";

fn ours(name: &str) -> PodFixture {
    pod(name).scheduler("plimsoll")
}

/// The roles of the release, as the cluster has them.
async fn roles(client: &Client) -> anyhow::Result<Permissions> {
    let of_cluster: Api<ClusterRole> = Api::all(client.clone());
    let of_lease: Api<Role> = Api::namespaced(client.clone(), "kube-system");
    let role = of_cluster.get("chart-permissions-plimsoll").await?;
    let lease = of_lease.get("chart-permissions-plimsoll:lease").await?;
    Permissions::of([&serde_json::to_value(role)?, &serde_json::to_value(lease)?])
}

/// What the account asked for in this test.
fn asked(cluster: &Cluster<'_>) -> anyhow::Result<Vec<AccessRequest>> {
    let mut requests = cluster.access_requests()?;
    requests.retain(|request| request.user == ACCOUNT);
    Ok(requests)
}

/// Waits until the audit log tells of such a request.
async fn was_asked(cluster: &Cluster<'_>, what: &str, found: impl Fn(&AccessRequest) -> bool) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + LIMIT;
    while !asked(cluster)?.iter().any(&found) {
        ensure!(tokio::time::Instant::now() < deadline, "nobody asked to {what}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Whoever asks a replica for its metrics is asked about: who it is, and whether it may.
async fn askers_are_asked_about(replicas: &[Replica], installed: &Installed) -> anyhow::Result<()> {
    let token = installed.token_of("plimsoll").await?;
    for replica in replicas {
        let mut config = Config::new(format!("https://{}:10259", replica.address).parse()?);
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(token.clone().into());
        let request = http::Request::get("/metrics").body(Body::empty())?;
        let status = Client::try_from(config)?.send(request).await?.status();
        ensure!(status == http::StatusCode::FORBIDDEN, "{status}");
    }
    Ok(())
}

/// Volumes that are there, and one that is made for its pod.
async fn volumes_are_bound(cluster: &Cluster<'_>) -> anyhow::Result<()> {
    cluster
        .create_classes([storage_class("local"), storage_class("made").provisioned()])
        .await?;
    let _driver = cluster.start_provisioner(driver("topology.kubernetes.io/zone")).await?;
    cluster
        .create_volumes([volume("there").class("local").on("n1")])
        .await?;
    cluster.volume_is("there", "Available").await?;
    cluster
        .create_claims([claim("waits").class("local"), claim("wants").class("made")])
        .await?;
    cluster
        .create_pods([
            ours("stores").volume_claim("waits"),
            ours("provides").volume_claim("wants"),
        ])
        .await?;
    cluster.bound("stores").await?;
    cluster.bound("provides").await?;
    Ok(())
}

/// One more important pod makes room by deletion, another by eviction.
async fn room_is_made(cluster: &Cluster<'_>) -> anyhow::Result<()> {
    cluster.create_priorities([1, 100]).await?;
    let full = |number: u8| {
        node(&format!("full-{number}"))
            .cpu("2")
            .label("full", &number.to_string())
    };
    cluster.create_nodes([full(1), full(2)]).await?;
    for (number, name) in [("1", "plimsoll"), ("2", "hard")] {
        let (victim, wins) = (format!("victim-{number}"), format!("wins-{number}"));
        let of = |name: &str, scheduler: &str, priority: i32| {
            pod(name)
                .scheduler(scheduler)
                .cpu("2")
                .priority(priority)
                .node_selector("full", number)
        };
        cluster
            .create_pods([of(&victim, name, 1).label("app", "guarded")])
            .await?;
        cluster.bound(&victim).await?;
        cluster.create_pods([of(&wins, name, 100)]).await?;
        cluster.bound(&wins).await?;
    }
    Ok(())
}

/// A Binding that the API server refuses, since the pod is about to go: the pod is read, to see what became of it.
async fn who_is_there_is_looked_up(cluster: &Cluster<'_>, gate: &WriteGate) -> anyhow::Result<()> {
    gate.close(Write::Bind, "leaves");
    cluster.create_pods([ours("leaves")]).await?;
    gate.arrival(Write::Bind, "leaves").await?;
    let held = |by: serde_json::Value| json!({ "metadata": { "finalizers": by } });
    cluster.patch_pod("leaves", held(json!(["plimsoll.test/held"]))).await?;
    cluster.delete_pod("leaves").await?;
    gate.open(Write::Bind, "leaves");
    let read = |request: &AccessRequest| request.verb == "get" && request.name == "leaves";
    was_asked(cluster, "read the pod", read).await?;
    cluster.patch_pod("leaves", held(json!(null))).await
}

/// The same event again, about a pod and about the Lease.
async fn events_become_series(cluster: &Cluster<'_>, stage: &Stage, installed: &Installed) -> anyhow::Result<()> {
    cluster.create_pods([ours("huge").cpu("1000")]).await?;
    cluster.event("huge", "FailedScheduling").await?;
    // Each that is there makes it be tried again, and is as small as the others.
    for number in 0..3 {
        cluster
            .create_nodes([node(&format!("small-{number}")).cpu("1")])
            .await?;
        cluster.delete_node(&format!("small-{number}")).await?;
    }
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client().clone(), NAMESPACE);
    let map = installed.config_map().await?;
    let good = map.data.clone().unwrap_or_default();
    let good = good.get("config.yaml").context("no file")?;
    let told = |words: &'static str, times: usize| {
        move |replicas: &[Replica]| {
            let count = |replica: &Replica| replica.log().matches(words).count();
            replicas.iter().all(|replica| count(replica) >= times).then_some(())
        }
    };
    for times in [1, 2] {
        for (text, words) in [
            ("kind: Nothing", "the last one stays in use"),
            (good.as_str(), "Another configuration: loaded"),
        ] {
            let changed = Patch::Merge(json!({ "data": { "config.yaml": text } }));
            maps.patch(&map.name_any(), &PatchParams::default(), &changed).await?;
            stage
                .kubelet
                .until(&format!("they say {words:?}"), LIMIT, told(words, times))
                .await?;
        }
    }
    for group in ["events.k8s.io", ""] {
        let series = |request: &AccessRequest| {
            request.verb == "patch" && request.resource == "events" && request.api_group == group
        };
        was_asked(cluster, &format!("count an event of {group:?} again"), series).await?;
    }
    Ok(())
}

/// Replicas whom the API server's coordinator chooses among.
async fn a_coordinator_chooses(cluster: &Cluster<'_>, helm: &Helm, stage: &Stage) -> anyhow::Result<()> {
    let gate = ["--reuse-values", "--set=featureGates.CoordinatedLeaderElection=true"];
    let lease = "--set=leaderElection.resourceName=coordinated,replicaCount=2";
    with_chart(
        helm,
        "upgrade",
        "plimsoll",
        NAMESPACE,
        &["--reuse-values", "--set=replicaCount=0"],
    )?;
    stage.all_gone().await?;
    with_chart(helm, "upgrade", "plimsoll", NAMESPACE, &[gate[0], gate[1], lease])?;
    stage.ready(2).await?;
    cluster.create_pods([ours("chosen")]).await?;
    cluster.bound("chosen").await?;
    // As the coordinator asks whether they are there.
    let candidates: Api<LeaseCandidate> = Api::namespaced(cluster.client().clone(), "kube-system");
    for candidate in candidates.list(&ListParams::default()).await? {
        let asked = Patch::Merge(json!({ "spec": { "pingTime": MicroTime(Timestamp::now()) } }));
        candidates
            .patch(&candidate.name_any(), &PatchParams::default(), &asked)
            .await?;
    }
    let renewed = |request: &AccessRequest| request.verb == "update" && request.resource == "leasecandidates";
    was_asked(cluster, "renew a candidate", renewed).await
}

#[test]
fn every_rule_is_used_and_nothing_is_asked_for_without_one() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let helm = of_cluster(helm, cluster)?;
        let client = cluster.client().clone();
        restricted(&client, NAMESPACE).await?;
        // Releases of other tests may have left it behind, and then nobody makes it.
        let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
        if leases.get_opt("plimsoll").await?.is_some() {
            leases.delete("plimsoll", &DeleteParams::default()).await?;
        }
        cluster
            .create_nodes([node("n1"), node("n2")].map(|node| node.label("topology.kubernetes.io/zone", "a")))
            .await?;
        cluster.start(Scheduler::KubeScheduler, Election::Off, &[])?;
        let values = cluster.control_plane().dir().path().join("permissions.yaml");
        std::fs::write(&values, VALUES)?;
        let values = format!("--values={}", values.display());
        with_chart(&helm, "install", "plimsoll", NAMESPACE, &[&values])?;
        let installed = Installed::new(client.clone(), NAMESPACE, "plimsoll");
        let replicas = stage.ready(2).await?;

        askers_are_asked_about(&replicas, &installed).await?;
        volumes_are_bound(cluster).await?;
        Box::pin(room_is_made(cluster)).await?;
        // Who left it would shut it to all.
        let gate = cluster.write_gate().await?;
        who_is_there_is_looked_up(cluster, &gate).await?;
        events_become_series(cluster, &stage, &installed).await?;
        let permissions = roles(&client).await?;
        let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), NAMESPACE);
        ensure!(budgets.get_opt("plimsoll").await?.is_some());
        let so_far = asked(cluster)?;
        nothing_is_missing(&permissions, &so_far)?;
        let unused = permissions.unused(&so_far);
        ensure!(unused.is_empty(), "nobody needs {unused:#?}");
        ensure!(permissions.count() > 40, "only {} permissions", permissions.count());

        a_coordinator_chooses(cluster, &helm, &stage).await?;
        let coordinated = roles(&client).await?;
        // While they have their rights, to the last request.
        let none = ["--reuse-values", "--set=replicaCount=0"];
        with_chart(&helm, "upgrade", "plimsoll", NAMESPACE, &none)?;
        stage.all_gone().await?;
        stage.nothing_forbidden()?;
        helm.run(&["uninstall", "plimsoll", "--namespace", NAMESPACE])?;
        let all = asked(cluster)?;
        // The Lease of before was still asked for while its replicas ended.
        let mut later = all.clone();
        later.retain(|request| !permissions.missing([request]).is_empty());
        nothing_is_missing(&coordinated, &later)?;
        let unused = coordinated.unused(&all);
        ensure!(unused.is_empty(), "with a coordinator, nobody needs {unused:#?}");
        stage.all_ended_well()
    })
}

/// The cluster's own Role for one `ConfigMap` is the only one beside the chart's.
fn nothing_is_missing(permissions: &Permissions, asked: &[AccessRequest]) -> anyhow::Result<()> {
    let own = |request: &&AccessRequest| request.name != "extension-apiserver-authentication";
    let missing = permissions.missing(asked.iter().filter(own));
    ensure!(missing.is_empty(), "asked for without a rule: {missing:#?}");
    let forbidden: BTreeSet<&str> = asked
        .iter()
        .filter(|request| request.was_forbidden())
        .map(|request| request.uri.as_str())
        .collect();
    ensure!(forbidden.is_empty(), "forbidden: {forbidden:#?}");
    Ok(())
}
