//! A cluster in which a release can run: the controllers that make its pods, and kubelets that start them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use plimsoll_chart::{Ended, Host, Kubelet, Replica, possible, wait_for_account};
use plimsoll_cluster::{Cluster, Scheduler, suite};
use plimsoll_controlplane::{ControlPlane, ControllerManager, User};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long anything may take that needs no time by itself, on a machine that does much else.
pub(crate) const LIMIT: Duration = Duration::from_mins(5);

/// The image that the chart and the manifests name.
const IMAGE: &str = "plimsoll";

/// What makes pods of a Deployment and gives them accounts, what keeps budgets, binds claims and takes away what nobody owns.
const CONTROLLERS: [&str; 10] = [
    "deployment-controller",
    "replicaset-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
];

/// kube-scheduler's credentials as kubeadm writes them: what belongs to them is in the file.
fn self_contained(control_plane: &ControlPlane) -> anyhow::Result<String> {
    let kubeconfig = control_plane.server().kubeconfig(&User::scheduler(User::REPLICAS))?;
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(kubeconfig)?)?;
    let cluster = config.pointer_mut("/clusters/0/cluster").and_then(Value::as_object_mut);
    let cluster = cluster.context("no cluster")?;
    let authority = cluster.remove("certificate-authority").context("no authority")?;
    let authority = std::fs::read(authority.as_str().context("no path")?)?;
    cluster.insert("certificate-authority-data".to_owned(), json!(ByteString(authority)));
    Ok(config.to_string())
}

/// Releases of tests that failed: their replicas would come back, and their names are taken.
async fn take_away_what_failures_left(client: &Client) -> anyhow::Result<()> {
    all_away::<Deployment>(client, &ListParams::default()).await?;
    all_away::<ReplicaSet>(client, &ListParams::default()).await?;
    all_away::<Secret>(client, &ListParams::default().labels("owner=helm")).await
}

async fn all_away<K>(client: &Client, which: &ListParams) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    for object in Api::<K>::all(client.clone()).list(which).await? {
        let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
        api.delete(&object.name_any(), &DeleteParams::default()).await?;
    }
    Ok(())
}

pub(crate) struct Stage {
    pub(crate) kubelet: Kubelet,
    _controllers: ControllerManager,
}

impl Stage {
    /// `None` where kube-scheduler is under test, and on machines that let nobody make containers.
    pub(crate) async fn set(cluster: &mut Cluster<'_>) -> anyhow::Result<Option<Self>> {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(None);
        }
        if let Err(reason) = possible() {
            let reason = plimsoll_go_programs::skip("containers", reason)?;
            suite::say(&format!("\n*** NO REPLICA OF A RELEASE IS STARTED: {reason}\n"));
            return Ok(None);
        }
        let client = cluster.client().clone();
        take_away_what_failures_left(&client).await?;
        let namespace = cluster.namespace().to_owned();
        let control_plane = cluster.control_plane();
        let controllers = control_plane.start_controllers(&CONTROLLERS).await?;
        let folder = control_plane.dir().path().join(&namespace);
        std::fs::create_dir_all(&folder)?;
        let credentials = folder.join("scheduler.conf");
        std::fs::write(&credentials, self_contained(control_plane)?)?;
        // As kubeadm leaves it.
        std::fs::set_permissions(&credentials, std::fs::Permissions::from_mode(0o600))?;
        let host = Host {
            folder,
            api_server_port: control_plane.server().port(),
            files: BTreeMap::from([(PathBuf::from("/etc/kubernetes/scheduler.conf"), credentials)]),
        };
        let program = Scheduler::Plimsoll.program(control_plane)?;
        let kubelet = Kubelet::start(client.clone(), host, IMAGE, &program)?;
        for namespace in [namespace.as_str(), "kube-system"] {
            wait_for_account(&client, namespace, LIMIT).await?;
        }
        Ok(Some(Self {
            kubelet,
            _controllers: controllers,
        }))
    }

    /// Waits until so many replicas are ready, and no more run.
    pub(crate) async fn ready(&self, count: usize) -> anyhow::Result<Vec<Replica>> {
        let all_ready = |replicas: &[Replica]| {
            let ready = replicas.len() == count && replicas.iter().all(|replica| replica.ready);
            ready.then(|| replicas.to_vec())
        };
        self.kubelet
            .until(&format!("{count} replicas are ready"), LIMIT, all_ready)
            .await
    }

    /// Waits until none runs any more.
    pub(crate) async fn all_gone(&self) -> anyhow::Result<()> {
        let none = |replicas: &[Replica]| replicas.is_empty().then_some(());
        self.kubelet.until("no replica runs", LIMIT, none).await
    }

    /// Nothing that anyone asked for so far was forbidden. To be asked before the rights are taken away.
    pub(crate) fn nothing_forbidden(&self) -> anyhow::Result<()> {
        let running = self
            .kubelet
            .replicas()
            .into_iter()
            .map(|replica| (replica.log(), replica.pod));
        let ended = self.kubelet.ended().into_iter().map(|ended| (ended.log, ended.pod));
        for (log, pod) in running.chain(ended) {
            ensure!(!log.contains("forbidden"), "something is forbidden to {pod}:\n{log}");
        }
        Ok(())
    }

    /// Every process that was asked to end has ended well.
    pub(crate) fn all_ended_well(&self) -> anyhow::Result<()> {
        for Ended { pod, code, asked, log } in self.kubelet.ended() {
            ensure!(!asked || code == Some(0), "{pod} ended with {code:?}:\n{log}");
        }
        Ok(())
    }
}
