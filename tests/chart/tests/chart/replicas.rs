//! Replicas that run as an installed release says, with exactly its service account's rights.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client, Config};
use plimsoll_chart::{Helm, Installed, Replica};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Scheduler, suite};
use serde_json::json;
use tokio::task::JoinSet;

use crate::helm;
use crate::release::{of_cluster, restricted, with_chart};

/// How long anything may take that needs no time by itself.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn start(cluster: &mut Cluster<'_>, installed: &Installed, number: usize) -> anyhow::Result<Replica> {
    let control_plane = cluster.control_plane();
    let program = Scheduler::Plimsoll.program(control_plane)?;
    installed.start(number, &program, control_plane).await
}

/// Ends a replica in order. Nothing that it asked for was forbidden.
pub(crate) async fn end(mut replica: Replica) -> anyhow::Result<()> {
    let log = replica.process.log_text();
    ensure!(!log.contains("forbidden"), "something is forbidden:\n{log}");
    let status = replica.process.terminate(LIMIT).await?;
    assert_eq!(status.and_then(|status| status.code()), Some(0));
    Ok(())
}

/// Waits until a replica answers at the paths of its probes, as a kubelet would: without a look at the certificate.
pub(crate) async fn ready(installed: &Installed, replica: &mut Replica) -> anyhow::Result<()> {
    let mut config = Config::new(format!("https://127.0.0.1:{}", replica.port).parse()?);
    config.accept_invalid_certs = true;
    let client = Client::try_from(config)?;
    let container = installed.container().await?;
    let probes = [
        container.startup_probe,
        container.liveness_probe,
        container.readiness_probe,
    ];
    for probe in probes {
        let path = probe
            .and_then(|probe| probe.http_get?.path)
            .context("a probe without a path")?;
        let deadline = tokio::time::Instant::now() + LIMIT;
        loop {
            let request = http::Request::get(&path).body(Vec::new())?;
            match client.request_text(request).await {
                Ok(answer) if answer == "ok" => break,
                answer => ensure!(tokio::time::Instant::now() < deadline, "{path} is not well: {answer:?}"),
            }
            replica.process.ensure_running()?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn holder(client: &Client, lease: &str) -> anyhow::Result<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let holder = leases.get(lease).await?.spec.and_then(|spec| spec.holder_identity);
    holder
        .filter(|holder| !holder.is_empty())
        .context("nobody holds the Lease")
}

/// The pod of the Deployment gets past the `restricted` standard of its namespace.
async fn admitted(client: &Client, namespace: &str, installed: &Installed) -> anyhow::Result<()> {
    let pod = json!({ "metadata": { "name": "admitted" }, "spec": installed.pod_spec().await? });
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let created = pods.create(&dry_run, &serde_json::from_value(pod)?).await;
    created.map(drop).context("the pod is not admitted")
}

/// The API server puts the account's requests where the chart's `FlowSchema`s say, although the namespace is not
/// kube-system.
async fn treated_as_a_scheduler(admin: &Client, account: &Client, namespace: &str) -> anyhow::Result<()> {
    let schemas: Api<FlowSchema> = Api::all(admin.clone());
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll";
    for (suffix, path) in [("scheduler", "/api/v1/nodes?limit=1"), ("leases", lease)] {
        let schema = schemas.get(&format!("{namespace}-plimsoll-{suffix}")).await?;
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
async fn may_no_more(account: &Client, namespace: &str) -> anyhow::Result<()> {
    for path in [
        "/api/v1/secrets",
        "/api/v1/namespaces/kube-system/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager",
        &format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/plimsoll"),
    ] {
        let request = http::Request::get(path).body(Body::empty())?;
        let status = account.send(request).await?.status();
        ensure!(status == http::StatusCode::FORBIDDEN, "{path}: {status}");
    }
    Ok(())
}

/// `helm test` comes to its end when its pod was placed and has ended well, which is the kubelet's part.
async fn helm_test(helm: &Arc<Helm>, client: &Client, namespace: &str) -> anyhow::Result<()> {
    let (mut task, helm, own) = (JoinSet::new(), Arc::clone(helm), namespace.to_owned());
    task.spawn_blocking(move || helm.run(&["test", "plimsoll", "--timeout=60s", "--namespace", &own]));
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let deadline = tokio::time::Instant::now() + LIMIT;
    loop {
        let pod = pods.get_opt("plimsoll-placement-test").await?;
        let phase = pod.and_then(|pod| pod.status?.phase);
        if phase.as_deref() == Some("Running") {
            let succeeded = json!({ "status": { "phase": "Succeeded" } });
            let params = PatchParams::default();
            pods.patch_status("plimsoll-placement-test", &params, &Patch::Merge(&succeeded))
                .await?;
            break;
        }
        ensure!(tokio::time::Instant::now() < deadline, "the test's pod is not placed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let outcome = task.join_next().await.context("no outcome")??;
    ensure!(outcome?.contains("Succeeded"));
    Ok(())
}

#[test]
fn a_second_scheduler_elects_places_reloads_and_hands_over_with_its_accounts_rights() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        let helm = Arc::new(of_cluster(helm, cluster)?);
        let client = cluster.client().clone();
        let namespace = "chart-second";
        restricted(&client, namespace).await?;
        with_chart(&helm, "install", "plimsoll", namespace, &[])?;
        let installed = Installed::new(client.clone(), namespace, "plimsoll");
        admitted(&client, namespace, &installed).await?;

        let mut first = start(cluster, &installed, 0).await?;
        cluster.start_kubelets();
        cluster.create_nodes([node("n1")]).await?;
        let ours = |name: &str| pod(name).scheduler("plimsoll");
        cluster
            .create_pods([ours("a"), ours("huge").cpu("1000"), pod("foreign")])
            .await?;
        cluster.bound("a").await?;
        cluster.event("a", "Scheduled").await?;
        cluster.why_pending("huge").await?;
        ready(&installed, &mut first).await?;
        let leader = holder(&client, "plimsoll").await?;
        helm_test(&helm, &client, namespace).await?;
        let account = first.client().await?;
        treated_as_a_scheduler(&client, &account, namespace).await?;
        may_no_more(&account, namespace).await?;

        let mut second = start(cluster, &installed, 1).await?;
        ready(&installed, &mut second).await?;
        // The file of both changes, and no process is started anew.
        let profiles = r#"--set-json=profiles=[{"schedulerName":"plimsoll"},{"schedulerName":"late"}]"#;
        with_chart(&helm, "upgrade", "plimsoll", namespace, &[profiles])?;
        first.refresh(&installed).await?;
        second.refresh(&installed).await?;
        cluster.create_pods([pod("late").scheduler("late")]).await?;
        cluster.bound("late").await?;

        end(first).await?;
        cluster.create_pods([ours("b"), pod("later").scheduler("late")]).await?;
        cluster.bound("b").await?;
        cluster.bound("later").await?;
        assert_ne!(holder(&client, "plimsoll").await?, leader);
        let foreign = cluster.pods().get("foreign").await?;
        ensure!(
            foreign.spec.is_some_and(|spec| spec.node_name.is_none()),
            "a foreign pod was bound"
        );
        // Nobody here explains that one.
        cluster.delete_pod("foreign").await?;
        end(second).await?;
        helm.run(&["uninstall", "plimsoll", "--namespace", namespace])?;
        Ok(())
    })
}

#[test]
fn a_replacement_takes_kube_schedulers_lease_and_pods_with_its_accounts_rights() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        let helm = of_cluster(helm, cluster)?;
        let client = cluster.client().clone();
        let values = ["--set=mode=replacement,replacement.kubeSchedulerAbsent=true"];
        with_chart(&helm, "install", "plimsoll", "kube-system", &values)?;
        let installed = Installed::new(client.clone(), "kube-system", "plimsoll");
        let mut replica = start(cluster, &installed, 0).await?;
        ready(&installed, &mut replica).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster.create_pods([pod("a"), pod("huge").cpu("1000")]).await?;
        cluster.bound("a").await?;
        cluster.event("a", "Scheduled").await?;
        cluster.why_pending("huge").await?;
        holder(&client, "kube-scheduler").await?;
        end(replica).await?;
        helm.run(&["uninstall", "plimsoll", "--namespace", "kube-system"])?;
        Ok(())
    })
}
