//! What kubelets would do, without containers.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions, WatchEvent, WatchParams};
use serde_json::json;
use tokio::task::JoinSet;

/// Plays every kubelet of the cluster while it lives: a bound pod becomes Running, a pod with a deletion timestamp goes
/// away. It must be made inside a Tokio runtime.
#[derive(Debug)]
pub struct FakeKubelet {
    _task: JoinSet<()>,
}

impl FakeKubelet {
    /// Starts with the rights of `client`, which must be an administrator's.
    pub fn start(client: kube::Client) -> Self {
        let mut task = JoinSet::new();
        task.spawn(async move {
            // The API server may be away for a while; kubelets try again.
            while let Err(_error) = Box::pin(follow(&client)).await {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        Self { _task: task }
    }
}

/// Acts on every pod there is, then on every change, until the watch fails.
async fn follow(client: &kube::Client) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::all(client.clone());
    let list = pods.list(&ListParams::default()).await?;
    for pod in &list.items {
        act(client, pod).await?;
    }
    let mut version = list.metadata.resource_version.unwrap_or_default();
    loop {
        let mut changes = pods.watch(&WatchParams::default(), &version).await?.boxed();
        while let Some(change) = changes.try_next().await? {
            match change {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    version = pod.metadata.resource_version.clone().unwrap_or_default();
                    act(client, &pod).await?;
                }
                WatchEvent::Deleted(pod) => version = pod.metadata.resource_version.unwrap_or_default(),
                WatchEvent::Bookmark(mark) => version = mark.metadata.resource_version,
                WatchEvent::Error(status) => return Err(kube::Error::Api(status).into()),
            }
        }
    }
}

async fn act(client: &kube::Client, pod: &Pod) -> anyhow::Result<()> {
    let metadata = &pod.metadata;
    let (Some(namespace), Some(name)) = (metadata.namespace.as_deref(), metadata.name.as_deref()) else {
        return Ok(());
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("Pending");
    let outcome = if metadata.deletion_timestamp.is_some() {
        let mut now = DeleteParams::default().grace_period(0);
        now.preconditions = Some(Preconditions {
            uid: metadata.uid.clone(),
            resource_version: None,
        });
        pods.delete(name, &now).await.map(drop)
    } else if bound && phase == "Pending" {
        let running = json!({ "metadata": { "uid": metadata.uid }, "status": { "phase": "Running" } });
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&running))
            .await
            .map(drop)
    } else {
        return Ok(());
    };
    match outcome {
        // Somebody else was faster, or the name belongs to another pod by now.
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        outcome => Ok(outcome?),
    }
}
