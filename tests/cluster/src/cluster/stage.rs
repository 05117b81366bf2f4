//! What is there before the scheduler under test comes: priorities, running pods, disruption budgets.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use plimsoll_controlplane::User;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use super::{Cluster, PROMPT, create_all};
use crate::fixtures::{PodFixture, pod, priority_class};

/// The controller that keeps the status of disruption budgets.
const DISRUPTION: &str = "disruption-controller";

/// The role by which schedulers may evict.
const EVICTIONS: &str = "plimsoll-evictions";

impl Cluster<'_> {
    /// Creates a `PriorityClass` for each number, for [`PodFixture::priority`].
    pub async fn create_priorities(&self, priorities: impl IntoIterator<Item = i32>) -> anyhow::Result<()> {
        for priority in priorities {
            self.create_priority_class(&priority_class(priority), priority, true)
                .await?;
        }
        Ok(())
    }

    /// Creates a `PriorityClass` of which pods may preempt others or not, and waits until the API server admits pods of
    /// it.
    pub async fn create_priority_class(&self, name: &str, value: i32, preempts: bool) -> anyhow::Result<()> {
        let policy = if preempts { "PreemptLowerPriority" } else { "Never" };
        let class = json!({ "metadata": { "name": name }, "value": value, "preemptionPolicy": policy });
        self.create::<PriorityClass>(class).await?;
        let (probe, deadline) = (pod("probe").priority_class(name).build(), Instant::now() + PROMPT);
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        while let Err(error) = self.pods().create(&dry_run, &probe).await {
            ensure!(Instant::now() < deadline, "no pod of {name} is admitted: {error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Creates pods that run on the nodes they name: Running, Ready, and since the time they say.
    pub fn create_running_pods(
        &self,
        pods: impl IntoIterator<Item = PodFixture>,
    ) -> impl Future<Output = anyhow::Result<()>> {
        // Not inside the future: an array of fixtures would make it large.
        let fixtures: Vec<PodFixture> = pods.into_iter().collect();
        let api = self.pods();
        async move {
            create_all(&api, fixtures.iter().cloned().map(PodFixture::build).collect()).await?;
            let run = fixtures.into_iter().map(|fixture| run(&api, fixture));
            let all = futures::stream::iter(run).buffer_unordered(16);
            all.try_for_each(|()| std::future::ready(Ok(()))).await
        }
    }

    /// Starts kube-controller-manager's disruption controller; it goes with the test.
    pub async fn start_disruption_controller(&mut self) -> anyhow::Result<()> {
        self.controllers = Some(self.control_plane.start_controllers(&[DISRUPTION]).await?);
        Ok(())
    }

    /// Creates a disruption budget for the pods with the label, `limits` being `minAvailable` or `maxUnavailable`, and
    /// waits until the controller allows `allowed` disruptions.
    pub async fn create_budget(
        &self,
        name: &str,
        (key, value): (&str, &str),
        limits: serde_json::Value,
        allowed: i32,
    ) -> anyhow::Result<()> {
        let mut spec = limits;
        spec["selector"] = json!({ "matchLabels": { key: value } });
        self.create_in_namespace::<PodDisruptionBudget>(json!({ "metadata": { "name": name }, "spec": spec }))
            .await?;
        self.budget_allows(name, allowed).await
    }

    /// Waits until the controller allows that many disruptions, having seen the budget as it is.
    pub async fn budget_allows(&self, name: &str, allowed: i32) -> anyhow::Result<()> {
        let budgets: Api<PodDisruptionBudget> = Api::namespaced(self.client.clone(), &self.namespace);
        let deadline = Instant::now() + PROMPT;
        loop {
            let budget = budgets.get(name).await?;
            let status = budget.status.as_ref();
            let seen = status.is_some_and(|status| status.observed_generation == budget.metadata.generation);
            if seen && status.is_some_and(|status| status.disruptions_allowed == Some(allowed)) {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "the budget {name} does not come to allow {allowed} disruptions: {status:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Lets schedulers evict pods, which the API server's own role for them does not, and waits until that counts.
    pub async fn allow_evictions(&self) -> anyhow::Result<()> {
        self.create::<ClusterRole>(json!({
            "metadata": { "name": EVICTIONS },
            "rules": [{ "apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"] }],
        }))
        .await?;
        let scheduler = User::scheduler(0).name;
        self.create::<ClusterRoleBinding>(json!({
            "metadata": { "name": EVICTIONS },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": EVICTIONS },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": scheduler }],
        }))
        .await?;
        let question: SubjectAccessReview = serde_json::from_value(json!({ "spec": {
            "user": scheduler,
            "resourceAttributes": {
                "namespace": self.namespace(), "resource": "pods", "subresource": "eviction", "verb": "create",
            },
        } }))?;
        let (reviews, deadline) = (Api::all(self.client.clone()), Instant::now() + PROMPT);
        let allowed = |answer: SubjectAccessReview| answer.status.is_some_and(|status| status.allowed);
        while !allowed(reviews.create(&PostParams::default(), &question).await?) {
            ensure!(
                Instant::now() < deadline,
                "schedulers do not come to be allowed to evict"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Creates a `ReplicaSet` of so many pods with the label, and returns its UID. Nobody makes the pods.
    pub async fn create_replica_set(
        &self,
        name: &str,
        (key, value): (&str, &str),
        replicas: i32,
    ) -> anyhow::Result<String> {
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), &self.namespace);
        let set = json!({
            "metadata": { "name": name },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": { key: value } },
                "template": {
                    "metadata": { "labels": { key: value } },
                    "spec": { "containers": [{ "name": "main", "image": "registry.example/main:1" }] },
                },
            },
        });
        let set = sets
            .create(&PostParams::default(), &serde_json::from_value(set)?)
            .await?;
        set.metadata.uid.context("the API server gave no UID")
    }

    /// Asks a pod to go, with its grace period: a bound pod stays until a kubelet has ended it.
    pub async fn ask_to_go(&self, name: &str) -> anyhow::Result<()> {
        self.pods().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// Says of a pod what its kubelet would.
async fn run(pods: &Api<Pod>, fixture: PodFixture) -> anyhow::Result<()> {
    let start = fixture.start_time().parse()?;
    let name = fixture.build().metadata.name.context("a pod without a name")?;
    let running = Patch::Strategic(plimsoll_controlplane::running(None, start));
    pods.patch_status(&name, &PatchParams::default(), &running).await?;
    Ok(())
}

/// Takes away the priorities, budgets and replica sets of earlier tests.
pub(super) async fn reset(client: &kube::Client) -> anyhow::Result<()> {
    let classes: Api<PriorityClass> = Api::all(client.clone());
    for class in classes.list(&ListParams::default()).await? {
        let name = class.metadata.name.unwrap_or_default();
        if !name.starts_with("system-") {
            classes.delete(&name, &DeleteParams::default()).await?;
        }
    }
    let evictions = ListParams::default().fields(&format!("metadata.name={EVICTIONS}"));
    Api::<ClusterRoleBinding>::all(client.clone())
        .delete_collection(&DeleteParams::default(), &evictions)
        .await?;
    Api::<ClusterRole>::all(client.clone())
        .delete_collection(&DeleteParams::default(), &evictions)
        .await?;
    delete_each::<PodDisruptionBudget>(client).await?;
    delete_each::<ReplicaSet>(client).await
}

pub(super) async fn delete_each<K>(client: &kube::Client) -> anyhow::Result<()>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    for object in Api::<K>::all(client.clone()).list(&ListParams::default()).await? {
        let metadata = object.meta();
        let (namespace, name) = (&metadata.namespace, &metadata.name);
        Api::<K>::namespaced(client.clone(), namespace.as_deref().unwrap_or_default())
            .delete(name.as_deref().unwrap_or_default(), &DeleteParams::background())
            .await?;
    }
    Ok(())
}
