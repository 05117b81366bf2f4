//! The kubelets of a cluster whose nodes are names only: pods of Plimsoll are processes, started as their own specifications
//! say, and all others are said to run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodSpec, ServiceAccount};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Config, ResourceExt};
use plimsoll_controlplane::{ControlPlane, Process, User, running};
use serde_json::json;

use crate::mounted::MountedFolder;
use crate::workplace::Workplace;

/// Where a configuration says how the API server is reached.
const SECTION: &str = "clientConnection:\n";

/// All kubelets together.
pub struct Kubelets {
    client: Client,
    /// An administrator's kubeconfig, and the token in it.
    kubeconfig: (String, String),
    replicas: BTreeMap<String, Replica>,
    /// Pods of others that were told to run.
    told: BTreeSet<String>,
    folder: PathBuf,
    program: PathBuf,
    started: u8,
}

impl std::fmt::Debug for Kubelets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubelets")
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

/// A pod of Plimsoll.
#[derive(Debug)]
struct Replica {
    process: Process,
    address: String,
    mount: Option<(MountedFolder, Mounted)>,
    ready: bool,
    ending: bool,
}

/// Which `ConfigMap` a pod sees, and the way to the API server that a pod would find in its environment.
#[derive(Debug, Clone)]
struct Mounted {
    namespace: String,
    name: String,
    kubeconfig: PathBuf,
    data: BTreeMap<String, String>,
}

impl Kubelets {
    /// Kubelets of this control plane that start `plimsoll` of the workplace.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn new(control_plane: &ControlPlane, place: &Workplace) -> anyhow::Result<Self> {
        let admin = User::admin();
        let kubeconfig = std::fs::read_to_string(control_plane.server().kubeconfig(&admin)?)?;
        Ok(Self {
            client: control_plane.client(&admin).await?,
            kubeconfig: (kubeconfig, admin.token()),
            replicas: BTreeMap::new(),
            told: BTreeSet::new(),
            folder: place.path("pods"),
            program: place.path("bin/plimsoll"),
            started: 0,
        })
    }

    /// Looks at every pod once.
    ///
    /// # Errors
    /// When a pod cannot be started, or one of Plimsoll's ended by itself.
    pub async fn look(&mut self) -> anyhow::Result<()> {
        let pods = Api::<Pod>::all(self.client.clone())
            .list(&ListParams::default())
            .await?;
        for pod in pods.items {
            Box::pin(self.attend(&pod))
                .await
                .with_context(|| format!("the pod {}", pod.name_any()))?;
        }
        Ok(())
    }

    async fn attend(&mut self, pod: &Pod) -> anyhow::Result<()> {
        let (Some(uid), Some(spec)) = (pod.uid(), pod.spec.as_ref()) else {
            return Ok(());
        };
        if pod.metadata.deletion_timestamp.is_some() {
            return self.end(pod, &uid).await;
        }
        if spec.node_name.is_none() {
            return Ok(());
        }
        let container = spec.containers.first().context("no container")?;
        let of_plimsoll = container.image.as_deref().unwrap_or_default().contains("plimsoll");
        if !of_plimsoll || is_run_once(spec) {
            return self.tell(pod, &uid).await;
        }
        if let Some(replica) = self.replicas.get_mut(&uid) {
            replica.process.ensure_running()?;
            replica.refresh(&self.client).await?;
            if !replica.ready && replica.answers().await? {
                replica.ready = true;
                let address = replica.address.clone();
                self.patch(pod, &uid, json!({ "podIP": address, "podIPs": [{ "ip": address }] }))
                    .await?;
            }
            return Ok(());
        }
        let replica = self.start(pod, spec, container).await?;
        self.replicas.insert(uid, replica);
        Ok(())
    }

    /// A pod of somebody else's: it runs, and one that is to be run once has ended well.
    async fn tell(&mut self, pod: &Pod, uid: &str) -> anyhow::Result<()> {
        if !self.told.insert(uid.to_owned()) {
            return Ok(());
        }
        let once = pod.spec.as_ref().is_some_and(is_run_once);
        self.patch(pod, uid, json!({})).await?;
        if once {
            self.patch(pod, uid, json!({ "phase": "Succeeded" })).await?;
        }
        Ok(())
    }

    async fn patch(&self, pod: &Pod, uid: &str, more: serde_json::Value) -> anyhow::Result<()> {
        let mut patch = running(Some(uid), Timestamp::now());
        for (field, value) in more.as_object().into_iter().flatten() {
            patch["status"][field] = value.clone();
        }
        let outcome = self
            .pods(pod)
            .patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(&patch))
            .await;
        gone_is_fine(outcome)
    }

    async fn end(&mut self, pod: &Pod, uid: &str) -> anyhow::Result<()> {
        if let Some(replica) = self.replicas.get_mut(uid) {
            if !replica.ending {
                replica.ending = true;
                replica.process.terminate(Duration::ZERO).await?;
            }
            if replica.process.exited()?.is_none() {
                return Ok(());
            }
            self.replicas.remove(uid);
        }
        let mut now = DeleteParams::default().grace_period(0);
        now.preconditions = Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        });
        gone_is_fine(self.pods(pod).delete(&pod.name_any(), &now).await)
    }

    fn pods(&self, pod: &Pod) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default())
    }

    /// An address of this machine that no other process of the tests has: a pod has one, and may use any port of it.
    fn address(&mut self) -> String {
        self.started += 1;
        let own = std::process::id();
        format!("127.{}.{}.{}", 64 + own % 128, own / 128 % 256, self.started)
    }

    async fn start(&mut self, pod: &Pod, spec: &PodSpec, container: &Container) -> anyhow::Result<Replica> {
        let address = self.address();
        let folder = self.folder.join(pod.name_any());
        std::fs::create_dir_all(&folder)?;
        let kubeconfig = folder.join("kubeconfig");
        let namespace = pod.namespace().context("no namespace")?;
        let account = spec.service_account_name.as_deref().context("no service account")?;
        let (of_admin, token) = &self.kubeconfig;
        let own = self.token(&namespace, account).await?;
        std::fs::write(&kubeconfig, of_admin.replace(token, &own))?;

        let mut arguments = container.args.clone().unwrap_or_default();
        let mut mount = None;
        if let Some((name, path)) = config_map(spec, container) {
            let mut mounted = Mounted {
                namespace,
                name,
                kubeconfig: kubeconfig.clone(),
                data: BTreeMap::new(),
            };
            mounted.data = mounted.now(&self.client).await?;
            let seen = folder.join("mounted");
            for argument in &mut arguments {
                *argument = argument.replace(&path, &seen.display().to_string());
            }
            mount = Some((MountedFolder::new(&seen, &mounted.data)?, mounted));
        } else {
            arguments.push(format!("--kubeconfig={}", kubeconfig.display()));
        }
        // A pod would find these in its environment, and have its network to itself.
        let asks = |of| format!("--{of}-kubeconfig={}", kubeconfig.display());
        arguments.extend(["authentication", "authorization"].map(asks));
        arguments.push(format!("--bind-address={address}"));
        let process = Process::spawn(
            &pod.name_any(),
            &self.program,
            &arguments,
            &[("POD_IP", &address)],
            &folder.join("log"),
        )?;
        Ok(Replica {
            process,
            address,
            mount,
            ready: false,
            ending: false,
        })
    }

    async fn token(&self, namespace: &str, account: &str) -> anyhow::Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } }))?;
        let answer = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?;
        answer.status.and_then(|status| status.token).context("no token")
    }
}

impl Replica {
    /// Brings the `ConfigMap` as it is now; kubelets do within a minute or so.
    async fn refresh(&mut self, client: &Client) -> anyhow::Result<()> {
        if let Some((mount, mounted)) = &mut self.mount {
            let data = mounted.now(client).await?;
            if data != mounted.data {
                mount.exchange(&data)?;
                mounted.data = data;
            }
        }
        Ok(())
    }

    /// Whether it says that it is ready, on the port that the chart and the manifest give it.
    async fn answers(&self) -> anyhow::Result<bool> {
        let mut config = Config::new(format!("https://{}:10259", self.address).parse()?);
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let request = http::Request::get("/readyz").body(Vec::new())?;
        Ok(Client::try_from(config)?.request_text(request).await.is_ok())
    }
}

impl Mounted {
    async fn now(&self, client: &Client) -> anyhow::Result<BTreeMap<String, String>> {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &self.namespace);
        // One that was deleted stays mounted.
        let Some(map) = maps.get_opt(&self.name).await? else {
            return Ok(self.data.clone());
        };
        let way = format!("{SECTION}  kubeconfig: {}\n", self.kubeconfig.display());
        let with_way = |text: String| {
            if text.contains(SECTION) {
                text.replacen(SECTION, &way, 1)
            } else {
                format!("{text}{way}")
            }
        };
        let data = map.data.context("an empty ConfigMap")?.into_iter();
        Ok(data.map(|(key, text)| (key, with_way(text))).collect())
    }
}

/// Whether it comes to an end, as the pod of `helm test`.
fn is_run_once(spec: &PodSpec) -> bool {
    spec.restart_policy.as_deref() == Some("Never")
}

/// The `ConfigMap` that the container sees, and where.
fn config_map(spec: &PodSpec, container: &Container) -> Option<(String, String)> {
    let volumes = spec.volumes.as_deref().unwrap_or_default();
    let of_map = |volume: &k8s_openapi::api::core::v1::Volume| {
        Some((volume.name.clone(), volume.config_map.as_ref()?.name.clone()))
    };
    let (volume, map) = volumes.iter().find_map(of_map)?;
    let mounts = container.volume_mounts.as_deref().unwrap_or_default();
    let mount = mounts.iter().find(|mount| mount.name == volume)?;
    Some((map, Path::new(&mount.mount_path).display().to_string()))
}

fn gone_is_fine<T>(outcome: kube::Result<T>) -> anyhow::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}
