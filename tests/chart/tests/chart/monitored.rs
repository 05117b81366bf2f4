//! What Prometheus is given to read the metrics with.

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::client::Body;
use kube::{Api, Client, Config};
use plimsoll_chart::Replica;
use plimsoll_cluster::fixtures::node;
use plimsoll_cluster::{Cluster, Election, Scheduler, suite};

use crate::accepted::definitions;
use crate::helm;
use crate::release::{of_cluster, restricted, with_chart};
use crate::stage::{LIMIT, Stage};

const NAMESPACE: &str = "chart-monitored";

/// The token that the monitor names, as soon as the cluster has made it.
async fn token(cluster: &Cluster<'_>) -> anyhow::Result<String> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client().clone(), NAMESPACE);
    let deadline = tokio::time::Instant::now() + LIMIT;
    loop {
        let secret = secrets.get("plimsoll-metrics").await?;
        if let Some(token) = secret.data.and_then(|mut data| data.remove("token")) {
            return Ok(String::from_utf8(token.0)?);
        }
        ensure!(tokio::time::Instant::now() < deadline, "no token is made");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

async fn status(replica: &Replica, token: Option<&str>, path: &str) -> anyhow::Result<http::StatusCode> {
    let mut config = Config::new(format!("https://{}:10259", replica.address).parse()?);
    config.accept_invalid_certs = true;
    config.auth_info.token = token.map(|token| token.to_owned().into());
    let request = http::Request::get(path).body(Body::empty())?;
    Ok(Client::try_from(config)?.send(request).await?.status())
}

#[test]
fn the_account_of_the_monitor_may_read_metrics_and_nothing_else() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let helm = of_cluster(helm, cluster)?;
        let kinds: Api<CustomResourceDefinition> = Api::all(cluster.client().clone());
        let definitions = definitions()?;
        for definition in &definitions {
            kinds.create(&PostParams::default(), definition).await?;
        }
        restricted(cluster.client(), NAMESPACE).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster.start(Scheduler::KubeScheduler, Election::Off, &[])?;
        let values = ["--set=replicaCount=1,metrics.podMonitor.enabled=true,metrics.prometheusRule.enabled=true"];
        let deadline = tokio::time::Instant::now() + LIMIT;
        // Helm knows a kind as soon as the API server serves it.
        while let Err(error) = with_chart(&helm, "install", "plimsoll", NAMESPACE, &values) {
            ensure!(tokio::time::Instant::now() < deadline, "{error:#}");
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        let replicas = stage.ready(1).await?;
        let replica = replicas.first().context("no replica")?;
        let token = token(cluster).await?;
        assert_eq!(status(replica, Some(&token), "/metrics").await?, http::StatusCode::OK);
        assert_eq!(
            status(replica, Some(&token), "/debug/explain").await?,
            http::StatusCode::FORBIDDEN
        );
        assert_eq!(status(replica, None, "/metrics").await?, http::StatusCode::FORBIDDEN);
        stage.nothing_forbidden()?;
        helm.run(&["uninstall", "plimsoll", "--wait", "--namespace", NAMESPACE])?;
        stage.all_gone().await?;
        for definition in definitions {
            let name = definition.metadata.name.context("no name")?;
            kinds.delete(&name, &DeleteParams::default()).await?;
        }
        stage.all_ended_well()
    })
}
