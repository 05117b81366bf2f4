//! A second scheduler that runs as an installed release says, with exactly its service account's rights.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use kube::api::{EvictParams, ListParams, PostParams};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use plimsoll_chart::{Helm, Installed, Replica};
use plimsoll_cluster::fixtures::{PodFixture, node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, suite};
use plimsoll_controlplane::User;
use serde_json::json;

use crate::helm;
use crate::release::{of_cluster, restricted, with_chart};
use crate::stage::{LIMIT, Stage};

const NAMESPACE: &str = "chart-second";

fn ours(name: &str) -> PodFixture {
    pod(name).scheduler("plimsoll")
}

/// Whether a pod was bound by a replica of the release, which has a service account.
async fn bound_by_ours(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<bool> {
    cluster.bound(name).await?;
    let by = cluster.bind_of(name).await?.group;
    Ok(!by.starts_with(User::REPLICA_GROUP))
}

async fn holder(client: &Client) -> anyhow::Result<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let holder = leases.get("plimsoll").await?.spec.and_then(|spec| spec.holder_identity);
    holder
        .filter(|holder| !holder.is_empty())
        .context("nobody holds the Lease")
}

/// The API server puts the account's requests where the chart's `FlowSchema`s say, although the namespace is not
/// kube-system.
async fn treated_as_a_scheduler(admin: &Client, account: &Client) -> anyhow::Result<()> {
    let schemas: Api<FlowSchema> = Api::all(admin.clone());
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll";
    for (suffix, path) in [("scheduler", "/api/v1/nodes?limit=1"), ("leases", lease)] {
        let schema = schemas.get(&format!("{NAMESPACE}-plimsoll-{suffix}")).await?;
        let expected = schema.metadata.uid.context("no UID")?;
        let deadline = tokio::time::Instant::now() + LIMIT;
        loop {
            let request = http::Request::get(path).body(Body::empty())?;
            let answer = account.send(request).await?;
            ensure!(answer.status().is_success(), "{path}: {}", answer.status());
            if answer
                .headers()
                .get("x-kubernetes-pf-flowschema-uid")
                .is_some_and(|uid| *uid == expected)
            {
                break;
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "{path} is not put into {suffix}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// What a scheduler has no business with is forbidden.
async fn may_no_more(account: &Client) -> anyhow::Result<()> {
    for path in [
        "/api/v1/secrets",
        "/api/v1/namespaces/kube-system/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
        "/apis/coordination.k8s.io/v1/namespaces/chart-second/leases/plimsoll",
    ] {
        let request = http::Request::get(path).body(Body::empty())?;
        let status = account.send(request).await?.status();
        ensure!(status == http::StatusCode::FORBIDDEN, "{path}: {status}");
    }
    Ok(())
}

async fn client_of_account(cluster: &mut Cluster<'_>, installed: &Installed) -> anyhow::Result<Client> {
    let mut config = Config::new(cluster.control_plane().server().url().parse()?);
    config.accept_invalid_certs = true;
    config.auth_info.token = Some(installed.token_of("plimsoll").await?.into());
    Ok(Client::try_from(config)?)
}

/// A certificate of the cluster's own authority for the port, in a Secret.
async fn certificate(cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
    let serving = cluster.control_plane().authority().serving()?;
    let secret = json!({
        "metadata": { "name": "serving" },
        "type": "kubernetes.io/tls",
        "stringData": { "tls.crt": serving.certificate, "tls.key": serving.key },
    });
    let secrets: Api<Secret> = Api::namespaced(cluster.client().clone(), NAMESPACE);
    secrets
        .create(&PostParams::default(), &serde_json::from_value(secret)?)
        .await?;
    Ok(())
}

/// An administrator's client of a replica, which believes the certificate of the Secret and no other.
async fn client_of_replica(cluster: &mut Cluster<'_>, replica: &Replica) -> anyhow::Result<Client> {
    let authority = ByteString(cluster.control_plane().authority().pem().into_bytes());
    let kubeconfig: Kubeconfig = serde_json::from_value(json!({
        "current-context": "replica",
        "contexts": [{ "name": "replica", "context": { "cluster": "replica", "user": "admin" } }],
        "clusters": [{ "name": "replica", "cluster": {
            "server": format!("https://{}:10259", replica.address),
            "certificate-authority-data": authority,
            "tls-server-name": "localhost",
        } }],
        "users": [{ "name": "admin", "user": { "token": User::admin().token() } }],
    }))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// It tells its metrics, and where its time goes: the one folder that can be written is enough for that.
async fn tells_an_administrator(client: &Client) -> anyhow::Result<()> {
    for path in ["/metrics", "/debug/pprof/profile?seconds=1"] {
        let request = http::Request::get(path).body(Body::empty())?;
        let status = client.send(request).await?.status();
        ensure!(status == http::StatusCode::OK, "{path}: {status}");
    }
    Ok(())
}

/// On as many nodes as there are replicas.
async fn spread(pods: &Api<Pod>) -> anyhow::Result<()> {
    let ours = ListParams::default().labels("app.kubernetes.io/name=plimsoll");
    let list = pods.list(&ours).await?;
    let nodes: BTreeSet<String> = list.items.into_iter().filter_map(|pod| pod.spec?.node_name).collect();
    ensure!(nodes.len() == 3, "all are on {nodes:?}");
    Ok(())
}

/// The leader is asked to go as a drained node asks, and only one replica at a time may be.
async fn only_the_leader_may_go(pods: &Api<Pod>, leader: &str, other: &str) -> anyhow::Result<()> {
    let now = EvictParams::default();
    let deadline = tokio::time::Instant::now() + LIMIT;
    // The budget counts a moment after the pods are ready.
    while let Err(error) = pods.evict(leader, &now).await {
        ensure!(
            tokio::time::Instant::now() < deadline,
            "{leader} is not evicted: {error}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    match pods.evict(other, &now).await {
        Err(kube::Error::Api(status)) if status.code == 429 => Ok(()),
        outcome => anyhow::bail!("two may go at once: {outcome:?}"),
    }
}

/// The processes are the same, and were never started anew.
fn same(before: &[Replica], now: &[Replica]) -> bool {
    let about = |replicas: &[Replica]| -> Vec<(String, u32, i32)> {
        let of = |replica: &Replica| (replica.uid.clone(), replica.process, replica.restarts);
        replicas.iter().map(of).collect()
    };
    about(before) == about(now)
}

/// A profile whose wait is no duration, past the schema.
async fn a_bad_profile_is_refused_twice(helm: &Helm, stage: &Stage, cluster: &Cluster<'_>) -> anyhow::Result<()> {
    let bad = r#"--set-json=profiles=[{"schedulerName":"plimsoll","backoff":{"initial":"never"}}]"#;
    let upgrade = |more: &[&str]| {
        let all = [&["--reuse-values", bad], more].concat();
        with_chart(helm, "upgrade", "plimsoll", NAMESPACE, &all)
    };
    let told = upgrade(&[]).err().context("the schema lets it pass")?.to_string();
    ensure!(told.contains("/profiles/0/backoff/initial"), "{told}");
    upgrade(&["--skip-schema-validation"])?;
    let refused = |replicas: &[Replica]| {
        let words = "the last one stays in use";
        replicas
            .iter()
            .all(|replica| replica.log().contains(words))
            .then_some(())
    };
    stage
        .kubelet
        .until("every replica refuses the file", LIMIT, refused)
        .await?;
    cluster.create_pods([ours("nevertheless")]).await?;
    ensure!(bound_by_ours(cluster, "nevertheless").await?);
    Ok(())
}

#[test]
fn a_second_scheduler_runs_as_its_pods_say_follows_its_values_and_hands_over() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let helm = of_cluster(helm, cluster)?;
        let client = cluster.client().clone();
        restricted(&client, NAMESPACE).await?;
        let zoned = |number: u8| node(&format!("n{number}")).label("topology.kubernetes.io/zone", &number.to_string());
        cluster.create_nodes([1, 2, 3].map(zoned)).await?;
        cluster.start(Scheduler::KubeScheduler, Election::Off, &[])?;
        certificate(cluster).await?;
        let values = ["--set=tls.existingSecret=serving", "--wait", "--timeout=3m"];
        with_chart(&helm, "install", "plimsoll", NAMESPACE, &values)?;
        let installed = Installed::new(client.clone(), NAMESPACE, "plimsoll");
        let replicas = stage.ready(3).await?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
        spread(&pods).await?;
        for replica in &replicas {
            tells_an_administrator(&client_of_replica(cluster, replica).await?).await?;
        }

        cluster
            .create_pods([ours("a"), ours("huge").cpu("1000"), pod("foreign")])
            .await?;
        ensure!(bound_by_ours(cluster, "a").await?);
        ensure!(!bound_by_ours(cluster, "foreign").await?, "it was not asked for");
        cluster.event("a", "Scheduled").await?;
        cluster.why_pending("huge").await?;
        helm.run(&["test", "plimsoll", "--timeout=60s", "--namespace", NAMESPACE])?;
        let account = client_of_account(cluster, &installed).await?;
        treated_as_a_scheduler(&client, &account).await?;
        may_no_more(&account).await?;

        // The file of all changes, and no process is started anew.
        let profiles = r#"--set-json=profiles=[{"schedulerName":"plimsoll"},{"schedulerName":"late"}]"#;
        with_chart(&helm, "upgrade", "plimsoll", NAMESPACE, &["--reuse-values", profiles])?;
        cluster.create_pods([pod("late").scheduler("late")]).await?;
        ensure!(bound_by_ours(cluster, "late").await?);
        a_bad_profile_is_refused_twice(&helm, &stage, cluster).await?;
        helm.run(&["rollback", "plimsoll", "2", "--namespace", NAMESPACE])?;
        cluster.create_pods([pod("later").scheduler("late")]).await?;
        ensure!(bound_by_ours(cluster, "later").await?);
        let now = stage.kubelet.replicas();
        ensure!(same(&replicas, &now), "{replicas:#?} became {now:#?}");

        // Its pod goes, another comes; meanwhile those that stand by go on.
        let holder_before = holder(&client).await?;
        let (leaders, others): (Vec<_>, Vec<_>) = replicas
            .iter()
            .partition(|replica| holder_before.starts_with(&replica.pod));
        let leader = leaders.first().context("the leader is no replica")?;
        only_the_leader_may_go(&pods, &leader.pod, &others[0].pod).await?;
        cluster.create_pods([ours("b")]).await?;
        ensure!(bound_by_ours(cluster, "b").await?);
        let is_gone = |replicas: &[Replica]| replicas.iter().all(|one| one.uid != leader.uid).then_some(());
        stage.kubelet.until("the leader's process ends", LIMIT, is_gone).await?;
        stage.ready(3).await?;
        ensure!(!holder(&client).await?.starts_with(&leader.pod));

        stage.nothing_forbidden()?;
        helm.run(&["uninstall", "plimsoll", "--wait", "--namespace", NAMESPACE])?;
        stage.all_gone().await?;
        stage.all_ended_well()
    })
}
