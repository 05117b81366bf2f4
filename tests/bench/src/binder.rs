//! The dumb binder: it binds every pod that has no node to the next node in turn, with as many requests under way as
//! the API server likes. What it reaches is the ceiling for any scheduler.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, WatchEvent};
use plimsoll_controlplane::client_from;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::load::locked;

/// Requests under way at a time.
const REQUESTS: usize = 64;

/// Pods without a node, as a list or a watch shows them.
const UNBOUND: &str = "/api/v1/pods?fieldSelector=spec.nodeName%3D";

#[derive(Clone, Debug, Deserialize)]
struct Waiting {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    name: String,
    resource_version: String,
    #[serde(default)]
    deletion_timestamp: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    scheduling_gates: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
struct List {
    metadata: ListMetadata,
    items: Vec<Waiting>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
}

struct Binder {
    client: kube::Client,
    /// Read when the first pod waits.
    nodes: OnceCell<Vec<String>>,
    next: AtomicUsize,
}

/// Binds until it is killed.
pub async fn bind_all(kubeconfig: &Path) -> anyhow::Result<()> {
    let binder = Binder {
        client: client_from(kubeconfig).await?,
        nodes: OnceCell::new(),
        next: AtomicUsize::new(0),
    };
    let list: List = binder
        .client
        .request(http::Request::get(UNBOUND).body(Vec::new())?)
        .await?;
    let mut version = list.metadata.resource_version;
    let waiting = futures::stream::iter(list.items.into_iter().map(anyhow::Ok));
    waiting
        .try_for_each_concurrent(REQUESTS, |pod| Box::pin(binder.bind(pod)))
        .await?;
    loop {
        let path = format!("{UNBOUND}&watch=1&resourceVersion={version}&timeoutSeconds=290");
        let changes = binder
            .client
            .request_events::<Waiting>(http::Request::get(path).body(Vec::new())?);
        let seen = Mutex::new(version.clone());
        let changes = changes.await?.map(|change| change.map_err(anyhow::Error::from));
        let pods = changes.try_filter_map(|change: WatchEvent<Waiting>| {
            let (pod, is_new) = match change {
                WatchEvent::Added(pod) => (pod, true),
                // Changed and not bound yet, or gone from the list since it is bound.
                WatchEvent::Modified(pod) | WatchEvent::Deleted(pod) => (pod, false),
                _ => return std::future::ready(Ok(None)),
            };
            locked(&seen).clone_from(&pod.metadata.resource_version);
            std::future::ready(Ok(Some(pod).filter(|_| is_new)))
        });
        let bound = pods.try_for_each_concurrent(REQUESTS, |pod| Box::pin(binder.bind(pod)));
        bound.await?;
        version.clone_from(&locked(&seen));
    }
}

impl Binder {
    async fn bind(&self, pod: Waiting) -> anyhow::Result<()> {
        if !pod.spec.scheduling_gates.is_empty() || pod.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let nodes = self.nodes.get_or_try_init(|| self.nodes()).await?;
        let next = self.next.fetch_add(1, Ordering::Relaxed) % nodes.len();
        let node = nodes.get(next).context("no nodes")?;
        let Metadata { namespace, name, .. } = &pod.metadata;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "namespace": namespace, "name": name },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&binding)?)?;
        match self.client.request_text(request).await {
            // Seen in the list and in the watch, or gone meanwhile.
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
            outcome => Ok(outcome.map(drop)?),
        }
    }

    async fn nodes(&self) -> anyhow::Result<Vec<String>> {
        let nodes = Api::<Node>::all(self.client.clone())
            .list_metadata(&ListParams::default())
            .await?;
        let names: Vec<String> = nodes.items.into_iter().filter_map(|node| node.metadata.name).collect();
        ensure!(!names.is_empty(), "there are no nodes");
        Ok(names)
    }
}
