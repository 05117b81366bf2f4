//! What kubelets would do, without containers.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;
use tokio::task::JoinSet;

use crate::written::written;

/// How many pods are dealt with at once: one kubelet after the other would be slow where hundreds of pods end together.
const AT_ONCE: usize = 16;

/// Plays every kubelet of the cluster while it lives: a bound pod becomes Running and Ready, a pod with a deletion
/// timestamp goes away. It must be made inside a Tokio runtime.
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
    let act = |pod: Pod| async move { act(client, &pod).await };
    written(Api::<Pod>::all(client.clone()))
        .try_for_each_concurrent(AT_ONCE, act)
        .await
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
        let running = running(metadata.uid.as_deref(), Timestamp::now());
        pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(&running))
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

/// The patch by which a kubelet tells that a pod runs since `start`.
pub fn running(uid: Option<&str>, start: Timestamp) -> serde_json::Value {
    json!({
        "metadata": { "uid": uid },
        "status": {
            "phase": "Running",
            "startTime": Time(start),
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}
