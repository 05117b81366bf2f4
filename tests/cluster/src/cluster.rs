//! One test's view of the cluster.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use plimsoll_controlplane::{
    AccessRequest, BindRequest, ControlPlane, ControllerManager, FakeKubelet, PodRequest, User,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

mod scheduler_state;
mod stage;
pub(crate) mod storage;

use crate::explain::PodFacts;
use crate::fixtures::{NodeFixture, PodFixture};
use crate::history::History;
use crate::invariants::{self, Evidence, Verdict};
use crate::permissions::{self, Permissions};
use crate::replica::{ConfigFile, Election, Replica, Scheduler};
use crate::write_gate::WriteGate;

/// How long anything may take that needs no time by itself: generous, for a shared machine of two cores.
const PROMPT: Duration = Duration::from_secs(30);

/// The scheduler name that every scheduler under test serves.
const SERVED: &[&str] = &["default-scheduler"];

/// A clean cluster with a namespace of its own for the test's pods.
pub struct Cluster<'a> {
    control_plane: &'a mut ControlPlane,
    client: kube::Client,
    namespace: String,
    history: History,
    kubelet: Option<FakeKubelet>,
    controllers: Option<ControllerManager>,
    replicas: Vec<Replica>,
    programs: BTreeMap<String, Scheduler>,
    first_replica: usize,
    binds_before: usize,
    pod_requests_before: usize,
    access_requests_before: usize,
}

impl<'a> Cluster<'a> {
    pub(crate) async fn new(
        control_plane: &'a mut ControlPlane,
        namespace: &str,
        first_replica: usize,
    ) -> anyhow::Result<Self> {
        let client = control_plane.client(&User::admin()).await?;
        Box::pin(reset(&client)).await?;
        let history = History::start(control_plane.etcd(), control_plane.etcd().revision().await?).await?;
        let binds_before = control_plane.bind_requests()?.len();
        let pod_requests_before = control_plane.pod_requests()?.len();
        let access_requests_before = control_plane.access_requests()?.len();
        let body = serde_json::from_value(serde_json::json!({ "metadata": { "name": namespace } }))?;
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        namespaces.create(&PostParams::default(), &body).await?;
        Ok(Self {
            control_plane,
            client,
            namespace: namespace.to_owned(),
            history,
            kubelet: None,
            controllers: None,
            replicas: Vec::new(),
            programs: BTreeMap::new(),
            first_replica,
            binds_before,
            pod_requests_before,
            access_requests_before,
        })
    }

    /// An administrator's client.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// The pods of this test.
    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The nodes.
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// The namespace of this test.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The control plane, for breaking it.
    pub fn control_plane(&mut self) -> &mut ControlPlane {
        self.control_plane
    }

    /// What has happened since the test began.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The replicas started so far, in order; those ended too.
    pub fn replicas(&mut self) -> &mut [Replica] {
        &mut self.replicas
    }

    /// Bound pods become Running and deleted ones go away, from now on.
    pub fn start_kubelets(&mut self) {
        self.kubelet = Some(FakeKubelet::start(self.client.clone()));
    }

    /// Starts the scheduler under test alone, without election.
    pub fn start_scheduler(&mut self) -> anyhow::Result<()> {
        self.start(Scheduler::under_test(), Election::Off, &[])?;
        Ok(())
    }

    /// Starts a replica and returns its place in [`replicas`](Self::replicas).
    pub fn start(&mut self, scheduler: Scheduler, election: Election, env: &[(&str, &str)]) -> anyhow::Result<usize> {
        let number = self.first_replica + self.replicas.len();
        ensure!(
            number < User::REPLICAS,
            "the control plane knows no more scheduler identities"
        );
        let replica = Replica::start(scheduler, number, election, env, self.control_plane)?;
        self.programs.insert(replica.user.group.clone(), scheduler);
        self.replicas.push(replica);
        Ok(self.replicas.len() - 1)
    }

    /// Starts the scheduler under test with a configuration file; see [`ConfigFile`].
    pub fn start_configured(&mut self, config: &str) -> anyhow::Result<ConfigFile> {
        self.start_configured_as(Scheduler::under_test(), config)
    }

    /// Starts this scheduler with a configuration file.
    pub fn start_configured_as(&mut self, scheduler: Scheduler, config: &str) -> anyhow::Result<ConfigFile> {
        let number = self.first_replica + self.replicas.len();
        ensure!(
            number < User::REPLICAS,
            "the control plane knows no more scheduler identities"
        );
        let (replica, file) = Replica::start_configured(scheduler, number, config, self.control_plane)?;
        self.programs.insert(replica.user.group.clone(), scheduler);
        self.replicas.push(replica);
        Ok(file)
    }

    pub(crate) fn next_replica(&self) -> usize {
        self.first_replica + self.replicas.len()
    }

    /// Creates nodes.
    pub async fn create_nodes(&self, nodes: impl IntoIterator<Item = NodeFixture>) -> anyhow::Result<()> {
        create_all(&self.nodes(), nodes.into_iter().map(NodeFixture::build).collect()).await
    }

    /// Creates pods, many at a time.
    pub async fn create_pods(&self, pods: impl IntoIterator<Item = PodFixture>) -> anyhow::Result<()> {
        create_all(&self.pods(), pods.into_iter().map(PodFixture::build).collect()).await
    }

    /// Creates any object of the cluster from JSON.
    pub async fn create<K>(&self, object: serde_json::Value) -> anyhow::Result<()>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::ClusterResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        Api::<K>::all(self.client.clone())
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(())
    }

    /// Creates any object of the test's namespace from JSON.
    pub async fn create_in_namespace<K>(&self, object: serde_json::Value) -> anyhow::Result<()>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        Api::<K>::namespaced(self.client.clone(), self.namespace())
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(())
    }

    /// Merges a patch into a node.
    pub async fn patch_node(&self, name: &str, patch: serde_json::Value) -> anyhow::Result<()> {
        self.nodes()
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(())
    }

    /// Merges a patch into a pod.
    pub async fn patch_pod(&self, name: &str, patch: serde_json::Value) -> anyhow::Result<()> {
        self.pods()
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(())
    }

    /// Adds a toleration of `key=value`, whatever the effect, to a pod. Those that it has can only be added to.
    pub async fn tolerate(&self, name: &str, key: &str, value: &str) -> anyhow::Result<()> {
        let spec = self.pods().get(name).await?.spec.unwrap_or_default();
        let mut tolerations = serde_json::to_value(spec.tolerations.unwrap_or_default())?;
        let more = serde_json::json!({ "key": key, "operator": "Equal", "value": value });
        tolerations.as_array_mut().context("no list")?.push(more);
        self.patch_pod(name, serde_json::json!({ "spec": { "tolerations": tolerations } }))
            .await
    }

    /// Lets a pod's container ask for another amount of CPU.
    pub async fn resize(&self, name: &str, cpu: &str) -> anyhow::Result<()> {
        let main = serde_json::json!({ "name": "main", "resources": { "requests": { "cpu": cpu } } });
        let patch = Patch::Strategic(serde_json::json!({ "spec": { "containers": [main] } }));
        self.pods()
            .patch_subresource("resize", name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    /// Deletes a pod at once.
    pub async fn delete_pod(&self, name: &str) -> anyhow::Result<()> {
        self.pods()
            .delete(name, &DeleteParams::default().grace_period(0))
            .await?;
        Ok(())
    }

    /// Deletes a node.
    pub async fn delete_node(&self, name: &str) -> anyhow::Result<()> {
        self.nodes().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Sets up a gate for what schedulers write to pods; it goes with the test.
    pub async fn write_gate(&self) -> anyhow::Result<WriteGate> {
        WriteGate::start(&self.client, self.control_plane.authority()).await
    }

    /// Waits until the pod is bound and tells where.
    pub async fn bound(&self, name: &str) -> anyhow::Result<String> {
        let node = |state: &crate::State| state.pod(name)?.node().map(str::to_owned);
        self.history.until(&format!("{name} is bound"), PROMPT, node).await
    }

    /// Waits until `count` pods are bound.
    pub async fn bound_count(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let enough = |state: &crate::State| (state.bound() >= count).then_some(());
        self.history
            .until(&format!("{count} pods are bound"), limit, enough)
            .await
    }

    /// Waits until the pod says why it is pending.
    pub async fn why_pending(&self, name: &str) -> anyhow::Result<String> {
        let why = |state: &crate::State| state.pod(name)?.why_pending().map(str::to_owned);
        self.history
            .until(&format!("{name} says why it is pending"), PROMPT, why)
            .await
    }

    /// Waits until the message of a pending pod, without what preemption adds, is `expected`.
    pub async fn pending_because(&self, name: &str, expected: &str) -> anyhow::Result<()> {
        let fits = |state: &crate::State| {
            let why = state.pod(name)?.why_pending()?;
            (crate::without_preemption(why) == expected).then_some(())
        };
        self.history
            .until(&format!("{name} is pending because {expected:?}"), PROMPT, fits)
            .await
    }

    /// Waits until an event about the pod has the reason, and returns it.
    pub async fn event(&self, name: &str, reason: &str) -> anyhow::Result<Event> {
        let deadline = tokio::time::Instant::now() + PROMPT;
        loop {
            let has = |event: &Event| event.reason.as_deref() == Some(reason);
            if let Some(event) = self.events(name).await?.into_iter().find(has) {
                return Ok(event);
            }
            ensure!(tokio::time::Instant::now() < deadline, "no event {reason} about {name}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The events about the pod so far.
    pub async fn events(&self, name: &str) -> anyhow::Result<Vec<Event>> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut about = events.list(&ListParams::default()).await?.items;
        about.retain(|event| {
            let regarding = event.regarding.as_ref().and_then(|regarding| regarding.name.as_deref());
            regarding == Some(name)
        });
        Ok(about)
    }

    /// The Bindings asked for in this test.
    pub fn binds(&self) -> anyhow::Result<Vec<BindRequest>> {
        Ok(self.control_plane.bind_requests()?.split_off(self.binds_before))
    }

    /// What schedulers asked for in this test beside Bindings: deletions, evictions and changes of status of pods.
    pub fn pod_requests(&self) -> anyhow::Result<Vec<PodRequest>> {
        let mut requests = self.control_plane.pod_requests()?.split_off(self.pod_requests_before);
        requests.retain(PodRequest::by_scheduler);
        Ok(requests)
    }

    /// What schedulers and service accounts asked for in this test.
    pub fn access_requests(&self) -> anyhow::Result<Vec<AccessRequest>> {
        Ok(self
            .control_plane
            .access_requests()?
            .split_off(self.access_requests_before))
    }

    /// Waits until the audit log tells of the Binding that bound the pod, and returns it. The log is written a moment
    /// after etcd.
    pub async fn bind_of(&self, name: &str) -> anyhow::Result<BindRequest> {
        let deadline = tokio::time::Instant::now() + PROMPT;
        loop {
            if let Some(bind) = self.binds()?.into_iter().find(|bind| bind.bound() && bind.pod == name) {
                return Ok(bind);
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "the audit log has no Binding of {name}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until every pending pod is explained, then judges the whole test.
    pub(crate) async fn judge(&mut self) -> anyhow::Result<Verdict> {
        for replica in &mut self.replicas {
            replica.process.exited()?;
        }
        let quiet = |state: &crate::State| invariants::unexplained(state, SERVED).is_empty().then_some(());
        // When it does not come to that, the judge says so better.
        let _ = self
            .history
            .until("every pending pod is explained", PROMPT, quiet)
            .await;
        self.audit_settled().await?;
        let binds = self.binds()?;
        let mut verdict = self.history.read_records(|records| {
            invariants::judge(&Evidence {
                records,
                binds: &binds,
                programs: &self.programs,
                served: SERVED,
            })
        })?;
        verdict.violations.extend(self.found_by_audits().await?);
        verdict.violations.extend(self.asked_without_a_rule()?);
        Ok(verdict)
    }

    /// What replicas of ours asked for in this test that the role which comes with them does not cover: here they run with
    /// kube-scheduler's, which is wider.
    fn asked_without_a_rule(&self) -> anyhow::Result<Vec<String>> {
        let mut requests = self.access_requests()?;
        requests.retain(|request| self.programs.get(&request.group) == Some(&Scheduler::Plimsoll));
        permissions::note(&requests)?;
        let missing = Permissions::of_tests()?.missing(&requests);
        let words = |asked: String| format!("{asked} is asked for without a rule in deploy/plimsoll.yaml");
        Ok(missing.into_iter().map(words).collect())
    }

    /// Waits until the audit log has a Binding for every pod that was bound, or for two seconds: a Binding whose client
    /// or server was killed half-way may be missing for good.
    async fn audit_settled(&self) -> anyhow::Result<()> {
        let bound = self.history.read_records(invariants::binds_to_expect);
        for _ in 0..20 {
            if self.binds()?.iter().filter(|bind| bind.bound()).count() >= bound {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// The ends of all logs, for a failure.
    pub(crate) fn logs(&self) -> String {
        let tail = |replica: &Replica| {
            let process = &replica.process;
            format!(
                "--- {} ({})\n{}\n",
                process.log().display(),
                replica.user.group,
                process.log_tail(40)
            )
        };
        self.replicas.iter().map(tail).collect()
    }
}

/// Takes away what earlier tests left.
pub(crate) async fn reset(client: &kube::Client) -> anyhow::Result<()> {
    WriteGate::remove(client).await?;
    let (now, everything) = (DeleteParams::default().grace_period(0), ListParams::default());
    Api::<Node>::all(client.clone())
        .delete_collection(&DeleteParams::default(), &everything)
        .await?;
    let pods = Api::<Pod>::all(client.clone()).list_metadata(&everything).await?;
    for pod in &pods.items {
        // Only those whose test wanted them to stay have any.
        let finalizers = pod.metadata.finalizers.iter().flatten();
        if let Some((namespace, name)) = pod.metadata.namespace.as_deref().zip(pod.metadata.name.as_deref())
            && finalizers.count() > 0
        {
            let let_go = Patch::Merge(serde_json::json!({ "metadata": { "finalizers": null } }));
            Api::<Pod>::namespaced(client.clone(), namespace)
                .patch_metadata(name, &PatchParams::default(), &let_go)
                .await?;
        }
    }
    let mut namespaces: Vec<String> = pods
        .items
        .into_iter()
        .filter_map(|pod| pod.metadata.namespace)
        .collect();
    namespaces.dedup();
    for namespace in namespaces {
        Api::<Pod>::namespaced(client.clone(), &namespace)
            .delete_collection(&now, &everything)
            .await?;
    }
    storage::reset(client).await?;
    stage::reset(client).await?;
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> = Api::namespaced(client.clone(), "kube-system");
    match leases.delete("kube-scheduler", &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        outcome => drop(outcome?),
    }
    let left = Api::<Pod>::all(client.clone()).list_metadata(&everything).await?;
    ensure!(
        left.items.is_empty(),
        "{} pods of an earlier test do not go away",
        left.items.len()
    );
    Ok(())
}

pub(crate) async fn create_all<K>(api: &Api<K>, objects: Vec<K>) -> anyhow::Result<()>
where
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    let params = PostParams::default();
    let create = |object: K| {
        let params = &params;
        async move { api.create(params, &object).await }
    };
    let created = futures::stream::iter(objects).map(create).buffer_unordered(16);
    created
        .try_for_each(|_| std::future::ready(Ok(())))
        .await
        .context("cannot create an object")
}
