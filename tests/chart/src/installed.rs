//! A release in a cluster, and its replicas: what kubelets would start, started here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, ServiceAccount};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use plimsoll_controlplane::{ControlPlane, Process, User, free_port};
use serde_json::json;

use crate::mount::Mount;

/// Where the chart mounts the configuration.
const CONFIG: &str = "/etc/plimsoll";

/// A release that Helm installed.
pub struct Installed {
    client: Client,
    namespace: String,
    name: String,
}

/// A running replica.
#[derive(Debug)]
pub struct Replica {
    /// The program.
    pub process: Process,
    /// Where it serves health and metrics.
    pub port: u16,
    mount: Mount,
    kubeconfig: PathBuf,
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

    /// Its container.
    pub async fn container(&self) -> anyhow::Result<Container> {
        self.pod_spec()
            .await?
            .containers
            .into_iter()
            .next()
            .context("no container")
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

    /// Starts a replica with the Deployment's own arguments, the `ConfigMap` as its folder, and a token of the service
    /// account. What must differ on this machine is the address and port, which come last and win, and the way to the API
    /// server, which is written into the configuration: a pod would find it in its environment.
    pub async fn start(&self, number: usize, program: &Path, control_plane: &ControlPlane) -> anyhow::Result<Replica> {
        let folder = control_plane
            .dir()
            .path()
            .join(format!("{}-{}-{number}", self.namespace, self.name));
        let spec = self.pod_spec().await?;
        let account = spec.service_account_name.context("no service account")?;
        let kubeconfig = folder.with_extension("kubeconfig");
        let admin = User::admin();
        let of_admin = std::fs::read_to_string(control_plane.server().kubeconfig(&admin)?)?;
        std::fs::write(
            &kubeconfig,
            of_admin.replace(&admin.token(), &self.token(&account).await?),
        )?;
        let mount = Mount::new(&folder, &self.data_for(&kubeconfig).await?)?;
        let port = free_port()?;
        let own = folder.display().to_string();
        let arguments = self.container().await?.args.unwrap_or_default();
        let mut arguments: Vec<_> = arguments
            .iter()
            .map(|argument| argument.replace(CONFIG, &own))
            .collect();
        arguments.extend(["--bind-address=127.0.0.1".to_owned(), format!("--secure-port={port}")]);
        // A pod would find it in its environment.
        let asks = |of| format!("--{of}-kubeconfig={}", kubeconfig.display());
        arguments.extend(["authentication", "authorization"].map(asks));
        let log = folder.with_extension("log");
        let process = Process::spawn(&format!("{}-{number}", self.name), program, &arguments, &[], &log)?;
        Ok(Replica {
            process,
            port,
            mount,
            kubeconfig,
        })
    }

    async fn token(&self, account: &str) -> anyhow::Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } }))?;
        let answer = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?;
        answer.status.and_then(|status| status.token).context("no token")
    }

    async fn data_for(&self, kubeconfig: &Path) -> anyhow::Result<BTreeMap<String, String>> {
        let data = self.config_map().await?.data.context("an empty ConfigMap")?;
        let way = format!("clientConnection:\n  kubeconfig: {}\n", kubeconfig.display());
        let with_way = |(name, text): (String, String)| (name, text.replacen("clientConnection:\n", &way, 1));
        Ok(data.into_iter().map(with_way).collect())
    }
}

impl Replica {
    /// A client of the API server with this replica's token.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    /// Brings the `ConfigMap` as it is now, as a kubelet does within a minute or so.
    pub async fn refresh(&mut self, installed: &Installed) -> anyhow::Result<()> {
        self.mount.update(&installed.data_for(&self.kubeconfig).await?)
    }
}
