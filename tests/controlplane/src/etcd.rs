//! etcd: the store under the API server, and the one witness that misses nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{AsyncBufReadExt, Stream, StreamExt, TryStreamExt};
use k8s_openapi::ByteString;
use serde::Deserialize;

use crate::availability::Programs;
use crate::loopback::free_port;
use crate::process::Process;

/// A single-member etcd without fsync, spoken to through its JSON gateway. It keeps its ports and its data over restarts.
#[derive(Debug)]
pub struct Etcd {
    process: Process,
    port: u16,
    peer: u16,
    dir: PathBuf,
}

/// Asks an etcd, whichever process serves its port.
#[derive(Clone, Copy, Debug)]
pub struct EtcdClient {
    port: u16,
}

/// One write to one key, in the order in which etcd took them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The store's revision after the write; the API server's `resourceVersion`.
    pub revision: i64,
    /// For example `/registry/pods/default/a`.
    pub key: String,
    /// The stored object, or `None` when the key was deleted.
    pub value: Option<Vec<u8>>,
}

impl Etcd {
    pub(crate) async fn start(programs: &Programs, dir: &Path) -> anyhow::Result<Self> {
        let (port, peer) = (free_port()?, free_port()?);
        let process = spawn(programs, dir, port, peer)?;
        let mut etcd = Self {
            process,
            port,
            peer,
            dir: dir.to_owned(),
        };
        etcd.ready().await?;
        Ok(etcd)
    }

    /// SIGKILL. What it has acknowledged is in its files: only the machine's end, not the process's, could lose it.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }

    /// Starts it again with the data it had, and waits until it answers.
    pub(crate) async fn start_again(&mut self, programs: &Programs) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process = spawn(programs, &self.dir, self.port, self.peer)?;
        self.ready().await
    }

    /// For asking it, also after a restart.
    pub fn client(&self) -> EtcdClient {
        EtcdClient { port: self.port }
    }

    /// Where the API server finds it.
    pub(crate) fn url(&self) -> String {
        self.client().url()
    }

    /// See [`EtcdClient::revision`].
    pub async fn revision(&self) -> anyhow::Result<i64> {
        self.client().revision().await
    }

    /// See [`EtcdClient::compact`].
    pub async fn compact(&self) -> anyhow::Result<i64> {
        self.client().compact().await
    }

    /// See [`EtcdClient::history`].
    pub async fn history(&self, revision: i64) -> anyhow::Result<impl Stream<Item = anyhow::Result<Change>> + use<>> {
        self.client().history(revision).await
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
        while let Err(error) = self.revision().await {
            self.process.ensure_running()?;
            ensure!(
                tokio::time::Instant::now() < deadline,
                "etcd does not answer: {error:#}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

fn spawn(programs: &Programs, dir: &Path, port: u16, peer: u16) -> anyhow::Result<Process> {
    let (client_url, peer_url) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
    let args = [
        format!("--data-dir={}", dir.join("etcd").display()),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
        format!("--listen-client-urls={client_url}"),
        format!("--advertise-client-urls={client_url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster=default={peer_url}"),
    ];
    Process::spawn("etcd", &programs.require("etcd")?, &args, &[], &dir.join("etcd.log"))
}

impl EtcdClient {
    fn url(self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The revision of the last write.
    pub async fn revision(self) -> anyhow::Result<i64> {
        let answer: RangeAnswer = self
            .post("range", &serde_json::json!({ "key": to_base64("/")? }))
            .await?;
        answer.header.revision.parse().context("etcd's revision is no number")
    }

    /// Forgets every revision before the present one: whoever wants to go on watching from an older one is told 410.
    /// Returns the revision compacted at.
    pub async fn compact(self) -> anyhow::Result<i64> {
        let revision = self.revision().await?;
        let body = serde_json::json!({ "revision": revision.to_string(), "physical": true });
        self.post::<serde_json::Value>("compaction", &body).await?;
        Ok(revision)
    }

    /// Every write to keys below `/registry/` from `revision` on, then each new one as it comes, in order.
    pub async fn history(self, revision: i64) -> anyhow::Result<impl Stream<Item = anyhow::Result<Change>> + use<>> {
        let body = serde_json::json!({ "create_request": {
            "key": to_base64("/registry/")?,
            "range_end": to_base64("/registry0")?,
            "start_revision": revision.to_string(),
        }});
        let request = http::Request::post("/v3/watch").body(serde_json::to_vec(&body)?)?;
        let lines = self.http()?.request_stream(request).await?.lines();
        let batches = lines.map(|line| decode_batch(&line.context("etcd's watch broke off")?));
        Ok(batches
            .map_ok(|changes| futures::stream::iter(changes.into_iter().map(Ok)))
            .try_flatten())
    }

    async fn post<T: serde::de::DeserializeOwned>(self, call: &str, body: &serde_json::Value) -> anyhow::Result<T> {
        let request = http::Request::post(format!("/v3/kv/{call}")).body(serde_json::to_vec(body)?)?;
        let text = self.http()?.request_text(request).await?;
        serde_json::from_str(&text).with_context(|| format!("etcd answers {text}"))
    }

    /// The client for the API server does for any JSON over HTTP.
    fn http(self) -> anyhow::Result<kube::Client> {
        let mut config = kube::Config::new(self.url().parse()?);
        config.default_retry = false;
        Ok(kube::Client::try_from(config)?)
    }
}

/// etcd's gateway carries bytes as base64, which is how Kubernetes writes them too.
fn to_base64(key: &str) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(ByteString(key.as_bytes().to_vec()))?)
}

fn decode_batch(line: &str) -> anyhow::Result<Vec<Change>> {
    let answer: WatchAnswer = serde_json::from_str(line).with_context(|| format!("etcd's watch says {line}"))?;
    let result = answer.result.with_context(|| format!("etcd's watch says {line}"))?;
    ensure!(!result.canceled, "etcd ended the watch: {line}");
    result.events.into_iter().map(WatchEvent::into_change).collect()
}

#[derive(Deserialize)]
struct RangeAnswer {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    revision: String,
}

#[derive(Deserialize)]
struct WatchAnswer {
    result: Option<WatchResult>,
}

#[derive(Deserialize)]
struct WatchResult {
    #[serde(default)]
    canceled: bool,
    #[serde(default)]
    events: Vec<WatchEvent>,
}

#[derive(Deserialize)]
struct WatchEvent {
    /// Absent for a put: the gateway leaves out what has its default value.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    kv: KeyValue,
}

#[derive(Deserialize)]
struct KeyValue {
    key: ByteString,
    mod_revision: String,
    #[serde(default)]
    value: Option<ByteString>,
}

impl WatchEvent {
    fn into_change(self) -> anyhow::Result<Change> {
        let deleted = self.kind.as_deref() == Some("DELETE");
        Ok(Change {
            revision: self.kv.mod_revision.parse().context("a revision is no number")?,
            key: String::from_utf8(self.kv.key.0).context("a key is not UTF-8")?,
            value: if deleted {
                None
            } else {
                self.kv.value.map(|value| value.0)
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_carries_its_value_and_a_delete_none() {
        let line = r#"{"result":{"header":{"revision":"9"},"events":[
            {"kv":{"key":"L3JlZ2lzdHJ5L3BvZHMvYQ==","mod_revision":"7","value":"e30="}},
            {"type":"DELETE","kv":{"key":"L3JlZ2lzdHJ5L3BvZHMvYQ==","mod_revision":"8"}}]}}"#;
        let change = |revision, value: Option<&[u8]>| Change {
            revision,
            key: "/registry/pods/a".to_owned(),
            value: value.map(<[u8]>::to_vec),
        };
        assert_eq!(
            decode_batch(line).unwrap(),
            vec![change(7, Some(b"{}")), change(8, None)]
        );
    }

    #[test]
    fn a_cancelled_watch_is_an_error_not_an_end() {
        let line = r#"{"result":{"canceled":true,"compact_revision":"40"}}"#;
        assert!(decode_batch(line).unwrap_err().to_string().contains("ended the watch"));
    }
}
