//! An independent witness: a watch of all pods that notes when each was seen bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, WatchEvent};
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::load::locked;

/// How long the server may hold one watch; below the time after which clients give up silent connections.
const SECONDS: u32 = 290;

/// Watches for as long as it lives.
#[derive(Debug)]
pub(crate) struct Observer {
    seen: Arc<Mutex<Seen>>,
    watching: JoinHandle<()>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The pods that there are, by `namespace/name`.
    pods: BTreeMap<String, Known>,
    /// Every pod that was seen without a node and then with one, in that order.
    bound: Vec<Bound>,
    /// How many were bound when a scheduler first said that a pod fits nowhere.
    refused_after: Option<usize>,
    failure: Option<String>,
}

/// A pod as it was seen last.
#[derive(Debug)]
struct Known {
    namespace: String,
    labels: BTreeMap<String, String>,
    bound: bool,
    attempted: bool,
}

/// A pod that was seen bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    /// `namespace/name`.
    pub(crate) key: String,
    pub(crate) namespace: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) node: String,
    pub(crate) at: Instant,
}

/// Which pods are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which<'a> {
    /// All when empty.
    pub(crate) namespaces: &'a [String],
    /// All when empty.
    pub(crate) labels: &'a BTreeMap<String, String>,
}

/// How many pods there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) bound: usize,
    /// Not bound, but a scheduler has said why.
    pub(crate) attempted: usize,
}

/// What is needed of a pod; reading all of it would take the time of whom is measured.
#[derive(Clone, Debug, Deserialize)]
struct Slim {
    metadata: SlimMetadata,
    #[serde(default)]
    spec: SlimSpec,
    #[serde(default)]
    status: SlimStatus,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMetadata {
    namespace: String,
    name: String,
    resource_version: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimSpec {
    #[serde(default)]
    node_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct SlimStatus {
    #[serde(default)]
    conditions: Vec<SlimCondition>,
}

#[derive(Clone, Debug, Deserialize)]
struct SlimCondition {
    r#type: String,
    #[serde(default)]
    reason: String,
}

impl Which<'_> {
    fn has(&self, namespace: &String, labels: &BTreeMap<String, String>) -> bool {
        (self.namespaces.is_empty() || self.namespaces.contains(namespace))
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// Whether the pod is one of them.
    pub(crate) fn takes(&self, bound: &Bound) -> bool {
        self.has(&bound.namespace, &bound.labels)
    }
}

impl Observer {
    /// Begins with the present; there must be no pods yet.
    pub(crate) async fn start(client: kube::Client) -> anyhow::Result<Self> {
        let pods: Api<Pod> = Api::all(client.clone());
        let list = pods.list_metadata(&ListParams::default().limit(1)).await?;
        let version = list.metadata.resource_version.context("a list without a version")?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        #[expect(
            clippy::disallowed_methods,
            reason = "its parent is the observer, with which it ends"
        )]
        let watching = tokio::spawn(async move {
            if let Err(error) = watch(&client, version, &shared).await {
                locked(&shared).failure = Some(format!("{error:#}"));
            }
        });
        Ok(Self { seen, watching })
    }

    /// Asks about what was seen; an error when the watch has failed.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Seen) -> T) -> anyhow::Result<T> {
        let seen = locked(&self.seen);
        match &seen.failure {
            Some(failure) => anyhow::bail!("the benchmark's own watch failed: {failure}"),
            None => Ok(question(&seen)),
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Seen {
    pub(crate) fn counts(&self, which: Which<'_>) -> Counts {
        let mut counts = Counts::default();
        for pod in self.pods.values().filter(|pod| which.has(&pod.namespace, &pod.labels)) {
            counts.bound += usize::from(pod.bound);
            counts.attempted += usize::from(pod.attempted && !pod.bound);
        }
        counts
    }

    /// The pods of the namespace with these labels, by key.
    pub(crate) fn keys(&self, which: Which<'_>) -> Vec<String> {
        let pods = self.pods.iter();
        let meant = pods.filter(|(_, pod)| which.has(&pod.namespace, &pod.labels));
        meant.map(|(key, _)| key.clone()).collect()
    }

    pub(crate) fn bound(&self) -> &[Bound] {
        &self.bound
    }

    pub(crate) fn refused_after(&self) -> Option<usize> {
        self.refused_after
    }

    fn note(&mut self, pod: Slim, at: Instant) {
        let key = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
        let is_bound = !pod.spec.node_name.is_empty();
        let condition = pod
            .status
            .conditions
            .iter()
            .find(|condition| condition.r#type == "PodScheduled");
        if self.refused_after.is_none() && condition.is_some_and(|condition| condition.reason == "Unschedulable") {
            self.refused_after = Some(self.bound.len());
        }
        let known = self.pods.entry(key.clone()).or_insert_with(|| Known {
            namespace: pod.metadata.namespace.clone(),
            labels: BTreeMap::new(),
            // Who is made with a node was not scheduled.
            bound: is_bound,
            attempted: false,
        });
        known.attempted |= condition.is_some();
        if is_bound && !known.bound {
            known.bound = true;
            self.bound.push(Bound {
                key,
                namespace: pod.metadata.namespace,
                labels: pod.metadata.labels.clone(),
                node: pod.spec.node_name,
                at,
            });
        }
        known.labels = pod.metadata.labels;
    }

    fn forget(&mut self, pod: &Slim) {
        self.pods
            .remove(&format!("{}/{}", pod.metadata.namespace, pod.metadata.name));
    }
}

async fn watch(client: &kube::Client, mut version: String, seen: &Mutex<Seen>) -> anyhow::Result<()> {
    loop {
        let path = format!("/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds={SECONDS}");
        let request = http::Request::get(path).body(Vec::new())?;
        let changes = client.request_events::<Slim>(request).await?;
        let mut changes = std::pin::pin!(changes);
        loop {
            let change = match changes.next().await {
                Some(Ok(change)) => change,
                // One that has ended is followed by another from the last version seen.
                None | Some(Err(kube::Error::ReadEvents(_))) => break,
                Some(Err(error)) => return Err(error.into()),
            };
            let at = Instant::now();
            match change {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    version.clone_from(&pod.metadata.resource_version);
                    locked(seen).note(pod, at);
                }
                WatchEvent::Deleted(pod) => {
                    version.clone_from(&pod.metadata.resource_version);
                    locked(seen).forget(&pod);
                }
                WatchEvent::Bookmark(mark) => version = mark.metadata.resource_version,
                WatchEvent::Error(status) => return Err(kube::Error::Api(status).into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(name: &str, node: &str, labels: &Value, condition: &Value) -> Slim {
        let pod = json!({
            "metadata": { "namespace": "a", "name": name, "resourceVersion": "1", "labels": labels },
            "spec": { "nodeName": node },
            "status": { "conditions": condition },
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_pod_counts_as_bound_once_it_was_seen_without_a_node() {
        let (mut seen, at) = (Seen::default(), Instant::now());
        let red = json!({ "color": "red" });
        let none = json!([]);
        let refused = json!([{ "type": "PodScheduled", "reason": "Unschedulable" }]);
        seen.note(pod("made-there", "n", &red, &none), at);
        for node in ["", "n", "n"] {
            seen.note(pod("p", node, &red, &none), at);
        }
        seen.note(pod("q", "", &json!({}), &refused), at);
        seen.note(pod("r", "", &red, &none), at);
        assert_eq!(
            seen.bound().iter().map(|bound| bound.key.as_str()).collect::<Vec<_>>(),
            ["a/p"]
        );
        assert_eq!(seen.refused_after(), Some(1));
        let (everywhere, labels) = (Vec::new(), BTreeMap::from([("color".to_owned(), "red".to_owned())]));
        let all = BTreeMap::new();
        let which = |labels| Which {
            namespaces: &everywhere,
            labels,
        };
        assert_eq!(seen.counts(which(&all)), Counts { bound: 2, attempted: 1 });
        assert_eq!(seen.counts(which(&labels)), Counts { bound: 2, attempted: 0 });
        assert_eq!(seen.keys(which(&labels)), ["a/made-there", "a/p", "a/r"]);
        seen.forget(&pod("p", "n", &red, &none));
        assert_eq!(seen.counts(which(&labels)), Counts { bound: 1, attempted: 0 });
        let elsewhere = ["b".to_owned()];
        let nowhere = Which {
            namespaces: &elsewhere,
            labels: &all,
        };
        assert!(seen.keys(nowhere).is_empty() && !nowhere.takes(&seen.bound()[0]));
    }
}
