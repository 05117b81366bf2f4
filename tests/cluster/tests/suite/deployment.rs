//! What `deploy/` holds works as it is written there.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client, Config};
use plimsoll_cluster::deployment::{Deployment, dockerfile};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Scheduler, suite};
use plimsoll_controlplane::{Process, User, free_port};
use serde_json::json;

#[test]
fn the_manifest_is_accepted_and_its_account_may_do_all_that_scheduling_takes() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        let deployment = Deployment::read()?;
        deployment.apply(cluster.client()).await?;
        admitted_where_restricted(cluster.client(), &deployment).await?;
        let (mut process, port) = start(cluster, &deployment).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster.create_pods([pod("a"), pod("huge").cpu("1000")]).await?;
        cluster.bound("a").await?;
        cluster.event("a", "Scheduled").await?;
        cluster.why_pending("huge").await?;
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "kube-system");
        let holder = leases
            .get("kube-scheduler")
            .await?
            .spec
            .and_then(|spec| spec.holder_identity);
        ensure!(
            holder.is_some_and(|holder| !holder.is_empty()),
            "nobody holds the lease"
        );
        answers_at(port, &deployment.probed_paths()?).await?;
        tells_administrators_more(port).await?;
        let refused = "forbidden";
        ensure!(
            !process.log_text().contains(refused),
            "something is {refused}:\n{}",
            process.log_tail(20)
        );
        let status = process.terminate(Duration::from_secs(20)).await?;
        assert_eq!(status.and_then(|status| status.code()), Some(0));
        deployment.delete(cluster.client()).await
    })
}

/// The pod gets past the `restricted` pod security standard.
async fn admitted_where_restricted(client: &Client, deployment: &Deployment) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let name = "plimsoll-restricted";
    let enforce = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let namespace = serde_json::from_value(json!({ "metadata": { "name": name, "labels": enforce } }))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let mut template = deployment.pod_template()?;
    template["metadata"]["name"] = json!("plimsoll");
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), name);
    pods.create(&dry_run, &serde_json::from_value(template)?)
        .await
        .context("the pod is not admitted")?;
    namespaces.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// The program with the manifest's arguments, as the manifest's service account. What must differ on this machine comes
/// last and wins.
async fn start(cluster: &mut Cluster<'_>, deployment: &Deployment) -> anyhow::Result<(Process, u16)> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().clone(), "kube-system");
    let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } }))?;
    let answer = accounts
        .create_token_request("plimsoll", &PostParams::default(), &request)
        .await?;
    let token = answer.status.and_then(|status| status.token).context("no token")?;
    let port = free_port()?;
    let mut arguments = deployment.arguments()?;
    let kubeconfig = kubeconfig(cluster, &token)?;
    arguments.extend(
        ["", "authentication-", "authorization-"].map(|of| format!("--{of}kubeconfig={}", kubeconfig.display())),
    );
    arguments.extend(["--bind-address=127.0.0.1".to_owned(), format!("--secure-port={port}")]);
    let control_plane = cluster.control_plane();
    let program = Scheduler::Plimsoll.program(control_plane)?;
    let log = control_plane.dir().path().join("deployed.log");
    Ok((Process::spawn("plimsoll", &program, &arguments, &[], &log)?, port))
}

fn kubeconfig(cluster: &mut Cluster<'_>, token: &str) -> anyhow::Result<PathBuf> {
    let admin = User::admin();
    let control_plane = cluster.control_plane();
    let of_admin = std::fs::read_to_string(control_plane.server().kubeconfig(&admin)?)?;
    let path = control_plane.dir().path().join("deployed.kubeconfig");
    std::fs::write(&path, of_admin.replace(&admin.token(), token))?;
    Ok(path)
}

/// The account may ask about whoever asks it, and which authorities the cluster trusts.
async fn tells_administrators_more(port: u16) -> anyhow::Result<()> {
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse()?);
    config.accept_invalid_certs = true;
    config.auth_info.token = Some(User::admin().token().into());
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let metrics = Client::try_from(config)?.request_text(request).await?;
    ensure!(metrics.contains("scheduler_"), "{metrics}");
    Ok(())
}

async fn answers_at(port: u16, paths: &[String]) -> anyhow::Result<()> {
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse()?);
    // As a kubelet: it does not look at the certificate.
    config.accept_invalid_certs = true;
    let client = Client::try_from(config)?;
    for path in paths {
        let request = http::Request::get(path).body(Vec::new())?;
        let answer = client.request_text(request).await;
        assert_eq!(answer.with_context(|| format!("{path} is not well"))?, "ok");
    }
    Ok(())
}

#[test]
fn the_image_is_built_as_the_tree_says_and_runs_as_the_manifest_says() -> anyhow::Result<()> {
    let text = dockerfile()?;
    let has = |line: &str| text.lines().any(|other| other.trim_start().starts_with(line));
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let pinned = std::fs::read_to_string(format!("{top}/rust-toolchain.toml"))?;
    let version = pinned.lines().find_map(|line| line.strip_prefix("channel = "));
    let version = version.context("no pinned toolchain")?.trim_matches('"');
    assert!(has(&format!("FROM rust:{version}-")), "not built with {version}");
    assert!(has(&format!("ENV RUSTUP_TOOLCHAIN={version}")));
    assert!(has("cargo build --locked --release --package plimsoll --bin plimsoll"));
    assert!(has("ENTRYPOINT [\"/plimsoll\"]"));
    let deployment = Deployment::read()?;
    let template = deployment.pod_template()?;
    let user = &template["spec"]["securityContext"]["runAsUser"];
    let group = &template["spec"]["securityContext"]["runAsGroup"];
    assert!(has(&format!("USER {user}:{group}")), "not as {user}:{group}");
    let container = deployment.container()?;
    let port = &container["ports"][0]["containerPort"];
    assert!(has(&format!("EXPOSE {port}")));
    assert!(deployment.arguments()?.contains(&format!("--secure-port={port}")));
    // The arguments follow the image's entry point.
    assert!(container.get("command").is_none());
    Ok(())
}
