//! What kubelets write of pods.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use plimsoll_controlplane::running;
use serde_json::{Value, json};

use super::Replica;

fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.unwrap_or("Pending")
}

/// Whether the pod has run, and will not run again.
pub(super) fn is_over(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// A bound pod of no interest runs, and goes when it is to go.
pub(super) async fn play(client: &Client, pod: &Pod) -> anyhow::Result<()> {
    if pod.metadata.deletion_timestamp.is_some() {
        return gone(client, pod).await;
    }
    if phase(pod) == "Pending" {
        write(client, pod, &running(pod.metadata.uid.as_deref(), Timestamp::now())).await?;
    }
    Ok(())
}

/// Nothing of the pod is left.
pub(super) async fn gone(client: &Client, pod: &Pod) -> anyhow::Result<()> {
    let mut now = DeleteParams::default().grace_period(0);
    now.preconditions = Some(Preconditions {
        uid: pod.uid(),
        resource_version: None,
    });
    let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    unless_gone(pods.delete(&pod.name_any(), &now).await)
}

/// Tells that a pod runs, where, and whether it is ready.
pub(super) async fn tell(client: &Client, pod: &Pod, replica: &Replica) -> anyhow::Result<()> {
    let ready = if replica.ready { "True" } else { "False" };
    let container = pod.spec.iter().flat_map(|spec| &spec.containers).next();
    let image = container.and_then(|container| container.image.clone());
    let now = Time(Timestamp::now());
    let status = json!({
        "metadata": { "uid": replica.uid },
        "status": {
            "phase": "Running",
            "podIP": replica.address,
            "podIPs": [{ "ip": replica.address }],
            "startTime": now,
            "conditions": [
                { "type": "ContainersReady", "status": ready },
                { "type": "Ready", "status": ready, "lastTransitionTime": now },
            ],
            "containerStatuses": [{
                "name": container.map(|container| container.name.clone()),
                "image": image, "imageID": image,
                "ready": replica.ready, "started": replica.ready, "restartCount": replica.restarts,
                "state": { "running": { "startedAt": now } },
            }],
        },
    });
    write(client, pod, &status).await
}

/// Tells that a pod has come to its end.
pub(super) async fn over(client: &Client, pod: &Pod, well: bool) -> anyhow::Result<()> {
    let phase = if well { "Succeeded" } else { "Failed" };
    write(client, pod, &json!({ "status": { "phase": phase } })).await
}

async fn write(client: &Client, pod: &Pod, status: &Value) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let patched = pods
        .patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(status))
        .await;
    unless_gone(patched)
}

/// Somebody else was faster, or the name belongs to another pod by now.
fn unless_gone<T>(outcome: kube::Result<T>) -> anyhow::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}
