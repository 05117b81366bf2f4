//! The harness itself: what the suite's verdicts stand on.

use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, PostParams, WatchParams};
use plimsoll_controlplane::{Availability, Change, ControlPlane, FakeKubelet, Programs, User};
use serde_json::json;

fn programs() -> anyhow::Result<Option<Programs>> {
    Ok(match Availability::find()? {
        Availability::Ready(programs) => Some(programs),
        Availability::Skip(reason) => {
            eprintln!("\n*** SKIPPED: no real control plane: {reason} ***\n");
            None
        }
    })
}

fn pod(name: &str) -> anyhow::Result<Pod> {
    Ok(serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "example.test/main" }] },
    }))?)
}

async fn bind(client: &kube::Client, pod: &str, node: &str) -> anyhow::Result<()> {
    let body = json!({ "metadata": { "name": pod }, "target": { "kind": "Node", "name": node } });
    let request = http::Request::post(format!("/api/v1/namespaces/default/pods/{pod}/binding"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&body)?)?;
    client.request_text(request).await?;
    Ok(())
}

async fn within<T>(what: &str, limit: u64, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    Box::pin(tokio::time::timeout(Duration::from_secs(limit), work))
        .await
        .with_context(|| format!("{what}: too slow"))?
}

#[tokio::test]
async fn every_write_is_in_the_history_and_every_bind_in_the_audit_log() -> anyhow::Result<()> {
    let Some(programs) = programs()? else { return Ok(()) };
    let control_plane = Box::pin(ControlPlane::builder(programs).name("history").start()).await?;
    let admin = control_plane.client(&User::admin()).await?;
    let scheduler = control_plane.client(&User::scheduler(3)).await?;
    let start = control_plane.etcd().revision().await? + 1;
    let pods: Api<Pod> = Api::namespaced(admin.clone(), "default");
    pods.create(&PostParams::default(), &pod("a")?).await?;
    let _kubelet = FakeKubelet::start(admin.clone());
    bind(&scheduler, "a", "n1").await?;
    ensure!(bind(&scheduler, "a", "n2").await.is_err(), "a pod was bound twice");

    // Created, bound, made Running by the kubelet, deleted, and gone for good: each is a change of its own.
    let mut changes = control_plane.etcd().history(start).await?.boxed();
    let of_the_pod = |change: &Change| change.key == "/registry/pods/default/a";
    let mut phases = within("history", 20, async {
        let mut phases = Vec::new();
        while let Some(change) = changes.try_next().await? {
            if !of_the_pod(&change) {
                continue;
            }
            let Some(value) = change.value else { return Ok(phases) };
            let pod: Pod = serde_json::from_slice(&value)?;
            let node = pod.spec.and_then(|spec| spec.node_name);
            let phase = pod.status.and_then(|status| status.phase).unwrap_or_default();
            if phase == "Running" && pod.metadata.deletion_timestamp.is_none() {
                pods.delete("a", &DeleteParams::default()).await?;
            }
            phases.push((node, phase, pod.metadata.deletion_timestamp.is_some()));
        }
        anyhow::bail!("the history ended")
    })
    .await?;
    // Shortening the grace period to nothing is a write of its own.
    phases.dedup();
    let on = |node: &str| Some(node.to_owned());
    let expected = [
        (None, "Pending".to_owned(), false),
        (on("n1"), "Pending".to_owned(), false),
        (on("n1"), "Running".to_owned(), false),
        (on("n1"), "Running".to_owned(), true),
    ];
    assert_eq!(phases, expected);

    let binds = control_plane.bind_requests()?;
    let told: Vec<_> = binds
        .iter()
        .map(|b| (b.pod.as_str(), b.node.as_str(), b.group.as_str(), b.code))
        .collect();
    assert_eq!(told, [("a", "n1", "replica-3", 201), ("a", "n2", "replica-3", 409)]);
    Ok(())
}

#[tokio::test]
async fn a_partition_with_compaction_ends_in_410_and_the_server_comes_back_on_its_port() -> anyhow::Result<()> {
    let Some(programs) = programs()? else { return Ok(()) };
    let mut control_plane = Box::pin(ControlPlane::builder(programs).name("partition").start()).await?;
    let admin = control_plane.client(&User::admin()).await?;
    let url = control_plane.server().url();
    let nodes: Api<Node> = Api::all(admin.clone());
    let version = nodes
        .list(&kube::api::ListParams::default())
        .await?
        .metadata
        .resource_version
        .context("no version")?;

    control_plane.stop_server()?;
    ensure!(
        nodes.list(&kube::api::ListParams::default()).await.is_err(),
        "a stopped server answers"
    );
    let other = Box::pin(control_plane.second_server()).await?;
    let through_other: Api<Node> = Api::all(other.client(&User::admin()).await?);
    let node = |name: &str| serde_json::from_value::<Node>(json!({ "metadata": { "name": name } }));
    through_other.create(&PostParams::default(), &node("n1")?).await?;
    control_plane.etcd().compact().await?;
    through_other.create(&PostParams::default(), &node("n2")?).await?;
    Box::pin(control_plane.start_server()).await?;

    assert_eq!(control_plane.server().url(), url);
    let mut watch = nodes.watch(&WatchParams::default(), &version).await?.boxed();
    let first = within("watch", 10, async { watch.next().await.context("no answer") }).await?;
    let gone = match &first {
        Ok(kube::api::WatchEvent::Error(status)) | Err(kube::Error::Api(status)) => status.code,
        _ => 0,
    };
    ensure!(gone == 410, "watching from a compacted version gave {first:?}");
    Ok(())
}
