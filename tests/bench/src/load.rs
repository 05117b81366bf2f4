//! Whoever makes pods and nodes: the client of the benchmark itself.

mod arrivals;
mod kinds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) use arrivals::Arrivals;
use kinds::Kinds;

/// How many requests of one step are under way at a time, as in upstream's loader.
pub(crate) const WORKERS: usize = 30;

/// How often a request is made that the server could not take.
const TRIES: u32 = 8;

/// A client that counts its requests and gives names.
pub(crate) struct Loader {
    client: kube::Client,
    kinds: Kinds,
    names: AtomicUsize,
    requests: Mutex<BTreeMap<String, u64>>,
    /// When each pod was due, by `namespace/name`.
    due: Mutex<BTreeMap<String, Instant>>,
}

impl Loader {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self {
            kinds: Kinds::new(client.clone()),
            client,
            names: AtomicUsize::new(0),
            requests: Mutex::default(),
            due: Mutex::default(),
        }
    }

    /// Gives the object a name of its own where it has only the beginning of one. The same steps give the same names.
    pub(crate) fn name(&self, object: &mut Value) -> anyhow::Result<String> {
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        let metadata = object["metadata"].as_object_mut().context("no metadata")?;
        let beginning = metadata.remove("generateName");
        if let Some(name) = metadata.get("name").and_then(Value::as_str) {
            return Ok(name.to_owned());
        }
        let beginning = beginning.as_ref().and_then(Value::as_str).unwrap_or("object-");
        let name = format!("{beginning}{:06}", self.names.fetch_add(1, Ordering::Relaxed));
        metadata.insert("name".to_owned(), Value::String(name.clone()));
        Ok(name)
    }

    /// Makes an object, whatever its kind, and returns its name.
    pub(crate) async fn create(&self, namespace: Option<&str>, mut object: Value) -> anyhow::Result<String> {
        let name = self.name(&mut object)?;
        let kind = self.kinds.of(&object).await?;
        let path = kind.path(namespace)?;
        self.write("POST", &kind.plural(), &path, &object)
            .await
            .with_context(|| format!("cannot create {path}/{name}"))?;
        Ok(name)
    }

    /// Makes a pod, due at that time. One that is on a node already also gets its status, as a kubelet would write it.
    pub(crate) async fn create_pod(&self, namespace: &str, mut pod: Value, due: Instant) -> anyhow::Result<()> {
        let name = self.name(&mut pod)?;
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let is_placed = pod["spec"]["nodeName"].is_string();
        if !is_placed {
            locked(&self.due).insert(format!("{namespace}/{name}"), due);
        }
        let written = self.write("POST", "pods", &path, &pod).await;
        written.with_context(|| format!("cannot create {path}/{name}"))?;
        if is_placed && !pod["status"].is_null() {
            let path = format!("{path}/{name}/status");
            let written = self.write("PUT", "pods/status", &path, &pod).await;
            return written.with_context(|| format!("cannot replace {path}"));
        }
        Ok(())
    }

    /// Puts the object in the place of the one of its name; a part of it where a subresource is given.
    pub(crate) async fn replace(&self, namespace: Option<&str>, object: &Value, part: &str) -> anyhow::Result<()> {
        let kind = self.kinds.of(object).await?;
        let name = object["metadata"]["name"]
            .as_str()
            .context("an object without a name")?;
        let mut path = format!("{}/{name}", kind.path(namespace)?);
        let mut counted = kind.plural();
        if !part.is_empty() {
            path = format!("{path}/{part}");
            counted = format!("{counted}/{part}");
        }
        let written = self.write("PUT", &counted, &path, object).await;
        written.with_context(|| format!("cannot replace {path}"))
    }

    /// The namespace, for an object whose kind has namespaces.
    pub(crate) async fn namespace_of<'a>(&self, object: &Value, namespace: &'a str) -> anyhow::Result<Option<&'a str>> {
        Ok(self.kinds.of(object).await?.namespaced().then_some(namespace))
    }

    /// Deletes an object of that kind, if it is there.
    pub(crate) async fn delete(&self, namespace: Option<&str>, object: &Value, name: &str) -> anyhow::Result<()> {
        let kind = self.kinds.of(object).await?;
        let path = format!("{}/{name}", kind.path(namespace)?);
        self.delete_at(&kind.plural(), &path, &json!({})).await
    }

    /// Deletes a pod with the grace that it asks for, if it is there.
    pub(crate) async fn delete_pod(&self, key: &str) -> anyhow::Result<()> {
        let (namespace, name) = key.split_once('/').context("no key")?;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        self.delete_at("pods", &path, &json!({})).await
    }

    async fn delete_at(&self, counted: &str, path: &str, options: &Value) -> anyhow::Result<()> {
        match self.write("DELETE", counted, path, options).await {
            Err(error) if code(&error) == Some(404) => Ok(()),
            outcome => outcome.with_context(|| format!("cannot delete {path}")),
        }
    }

    /// Deletes all pods of a namespace with these labels in one request, at once where `now`.
    pub(crate) async fn delete_pods(
        &self,
        namespace: &str,
        labels: &BTreeMap<String, String>,
        now: bool,
    ) -> anyhow::Result<()> {
        let selector: Vec<String> = labels.iter().map(|(key, value)| format!("{key}%3D{value}")).collect();
        let path = format!(
            "/api/v1/namespaces/{namespace}/pods?labelSelector={}",
            selector.join("%2C")
        );
        let options = if now {
            json!({ "gracePeriodSeconds": 0 })
        } else {
            json!({})
        };
        self.delete_at("pods", &path, &options).await
    }

    /// Makes a namespace unless it is there.
    pub(crate) async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.create_unless_there(namespace).await
    }

    /// Makes an object without a namespace unless it is there.
    pub(crate) async fn create_unless_there(&self, object: Value) -> anyhow::Result<()> {
        match self.create(None, object).await {
            Err(error) if code(&error) == Some(409) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Makes `count` objects by `each`, [`WORKERS`] at a time.
    pub(crate) async fn all<F>(&self, count: usize, each: impl Fn(usize) -> F) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let under_way = futures::stream::iter((0..count).map(each)).buffer_unordered(WORKERS);
        under_way.try_collect::<()>().await
    }

    /// How often each kind of request was made, as `POST pods`.
    pub(crate) fn requests(&self) -> BTreeMap<String, u64> {
        locked(&self.requests).clone()
    }

    /// When each pod was due.
    pub(crate) fn due(&self) -> BTreeMap<String, Instant> {
        locked(&self.due).clone()
    }

    /// A server that is too busy is asked again, as upstream's loader does. A request that was cut off may have been
    /// carried out: the answer that the object is there then says so.
    async fn write(&self, verb: &str, counted: &str, path: &str, body: &Value) -> anyhow::Result<()> {
        let body = serde_json::to_vec(body)?;
        let mut cut_off = false;
        for attempt in 1.. {
            *locked(&self.requests).entry(format!("{verb} {counted}")).or_default() += 1;
            let request = http::Request::builder()
                .method(verb)
                .uri(path)
                .header(http::header::CONTENT_TYPE, "application/json")
                .body(body.clone())?;
            let Err(error) = self.client.request_text(request).await else {
                return Ok(());
            };
            let again = match &error {
                kube::Error::Api(status) => status.code == 429 || status.code >= 500,
                _ => true,
            };
            if cut_off && matches!(&error, kube::Error::Api(status) if status.code == 409 && verb == "POST") {
                return Ok(());
            }
            if !again || attempt == TRIES {
                return Err(error.into());
            }
            cut_off |= !matches!(&error, kube::Error::Api(status) if status.code == 429);
            tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
        }
        Ok(())
    }
}

/// The HTTP status with which the API server refused.
fn code(error: &anyhow::Error) -> Option<u16> {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// Whoever panicked while holding it has failed the run already.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
