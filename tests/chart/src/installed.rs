//! A release in a cluster.

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, PodSpec, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

/// A release that Helm installed.
pub struct Installed {
    client: Client,
    namespace: String,
    name: String,
}

impl std::fmt::Debug for Installed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Installed({}/{})", self.namespace, self.name)
    }
}

impl Installed {
    /// The release whose objects have this full name.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Its Deployment.
    pub async fn deployment(&self) -> anyhow::Result<Deployment> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(deployments.get(&self.name).await?)
    }

    /// Its pods.
    pub async fn pod_spec(&self) -> anyhow::Result<PodSpec> {
        let spec = self.deployment().await?.spec.context("no spec")?;
        spec.template.spec.context("no pods")
    }

    /// The `ConfigMap` that its pods mount.
    pub async fn config_map(&self) -> anyhow::Result<ConfigMap> {
        let spec = self.pod_spec().await?;
        let name = spec
            .volumes
            .into_iter()
            .flatten()
            .find_map(|volume| Some(volume.config_map?.name))
            .context("no ConfigMap is mounted")?;
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(maps.get(&name).await?)
    }

    /// Makes a token of a service account of its namespace.
    pub async fn token_of(&self, account: &str) -> anyhow::Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } }))?;
        let answer = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?;
        answer.status.and_then(|status| status.token).context("no token")
    }
}
